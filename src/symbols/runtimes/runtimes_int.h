/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNTIMES_INT_H
#define RUNTIMES_INT_H
/*
 * Inside symbols/runtimes: what a runtime's file provides, and what helps it.
 */
#include "reads/chains.h"
#include "symbols/runtimes/runtimes.h"
#include "wire/runtimes.h"

struct image;

/*
 * For the kernel side: the words of an element that frame() looks at, by their places.
 * Each is a multiple of eight; none: it cannot read these frames.
 */
struct runtime_running {
	uint32_t kept_cnt, kept[RT_KEPT];
	uint32_t check_off; /* as in rt_shape */
	uint32_t native_len; /* not 0: by native frames, so many bytes of each */
	uint32_t back, ref_off;
	int32_t ref_add;
};

struct runtime_proc {
	const struct runtime_lang *lang;
	struct runtime_mem mem;
	uint64_t bias;
	char version[32];
	struct chain_shape shape;
	struct runtime_running running;
	struct runtime_range loops[RUNTIME_LOOP_MAX];
	size_t loop_cnt;
	void *own; /* of the language's file, freed with it */
};

struct runtime_lang {
	const char *name;
	bool loops_merge; /* as runtime_loops_merge */
	bool by_native;	  /* as runtime_by_native */
	bool (*is_file)(const char *base_name);
	/* r has lang, mem and bias; fills version, shape, loops, own. */
	int (*open)(struct runtime_proc *r, const struct runtime_file *f, struct image *im,
		    struct err *err);
	void (*release)(struct runtime_proc *r); /* NULL: own holds nothing; it may be NULL */
	long (*threads)(struct runtime_proc *r, struct runtime_thread *ret, size_t max);
	/* One element; false: it is no frame.  NULL where elements are no frames, but ... */
	bool (*frame)(const struct runtime_proc *r, uint64_t addr, const uint8_t *elem,
		      struct runtime_frame *ret);
	/* ... memory in which frames are found: as runtime_frames. */
	long (*frames)(struct runtime_proc *r, const uint8_t *elems, size_t cnt,
		       struct runtime_frame *ret);
	/* NULL, or as runtime_lock_of. */
	bool (*lock)(struct runtime_proc *r, const uint8_t *elems, size_t cnt,
		     struct runtime_lock *ret);
	int (*cookie)(struct runtime_proc *r, uint64_t code, uint64_t *ret);
	int (*describe)(struct runtime_proc *r, const struct runtime_frame *f,
			struct runtime_name *ret);
};

extern const struct runtime_lang runtime_cpython;
extern const struct runtime_lang runtime_php;
extern const struct runtime_lang runtime_hotspot;
extern const struct runtime_lang runtime_ruby;
extern const struct runtime_lang runtime_v8;

/* ---- runtime_read.c */

struct runtime_symbol {
	const char *name;
	uint64_t *ret_addr; /* in the process; left alone where there is none */
	uint64_t *ret_size; /* may be NULL */
};

/* The symbols of those names, exported ones first; ret_addr is 0 before. How many were found. */
size_t runtime_symbols(struct image *im, uint64_t bias, const struct runtime_symbol *wanted,
		       size_t cnt);

/* The text that follows prefix in the file's constants, cut to len with its NUL. -ENOENT: none. */
int runtime_text_after(struct image *im, const char *prefix, char *ret, size_t len);

static inline int runtime_read(const struct runtime_proc *r, uint64_t addr, void *out, size_t len)
{
	return r->mem.read(r->mem.ctx, addr, out, len);
}

int runtime_read_u64(const struct runtime_proc *r, uint64_t addr, uint64_t *ret);
int runtime_read_u32(const struct runtime_proc *r, uint64_t addr, uint32_t *ret);

/* Bytes of an element; the caller knows that they lie in it. */
uint64_t runtime_u64(const uint8_t *bytes, size_t off);
uint32_t runtime_u32(const uint8_t *bytes, size_t off);

/* A piece of a path as whole folders: "/a/lib/x.py" has "/lib/". */
bool runtime_path_has(const char *path, const char *const *parts, size_t cnt);

#endif /* RUNTIMES_INT_H */
