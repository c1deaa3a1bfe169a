/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNTIMES_H
#define RUNTIMES_H
/*
 * Functions of interpreted programs, read from the memory of the process as it
 * is: no flag, agent, signal or stop.  A runtime keeps a list of frames for each
 * thread; this knows where it begins, what an element holds, and how to get from
 * an element to a name.  It reads through functions of its caller, so it works
 * on the memory of a process and on a recorded image alike.
 *
 *	runtime_lang_of (a mapped file) ... runtime_open (once per process)
 *	runtime_threads, runtime_shape (what to read), runtime_frames, runtime_name
 *	runtime_free
 *
 * Where things lie differs by version: a table has those that are known, and
 * runtime_open checks it against the process (the types of objects, pointers
 * that lead back).  What is not known is refused, never guessed.  To add a
 * runtime: a file with a const struct runtime_lang (runtimes_int.h), its line in
 * runtimes.c, docs/symbols.md, and a case in tests/bpf/t_runtimes.
 *
 * Nothing that is read is trusted.  Bounds: RUNTIME_*_MAX.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct chain_shape;
struct err;
struct rt_shape;
struct runtime_lang;
struct runtime_proc;

enum {
	RUNTIME_TEXT_MAX = 512,	    /* bytes of a name; longer ones are cut */
	RUNTIME_THREAD_MAX = 512,   /* threads of a process */
	RUNTIME_LINES_MAX = 65536,  /* bytes of a function's table of lines */
	RUNTIME_LOOP_MAX = 4,
	RUNTIME_DEPTH_MAX = 512,    /* frames of a stack */
};

struct runtime_mem {
	void *ctx;
	/* All of len bytes, or -errno. */
	int (*read)(void *ctx, uint64_t addr, void *out, size_t len);
	/* A list that begins at anchor: elements after their addresses, appended; their count. */
	long (*list)(void *ctx, const struct chain_shape *shape, uint64_t anchor, struct buf *out);
};

struct runtime_file { /* the runtime's own program or library, as it is mapped */
	const char *name; /* without folders */
	int fd;
	uint64_t map_start, map_off; /* where some of its code is mapped */
};

struct runtime_thread {
	uint64_t anchor;
	uint64_t until;	  /* of an array of frames: its end */
	uint64_t pthread; /* pthread_self(), 0 unknown */
	uint32_t ns_tid;  /* in the process' own pid namespace; 0: not kept */
};

struct runtime_frame {
	uint64_t code;	   /* whose name it has */
	uint64_t at;	   /* where in it */
	uint64_t lines;	   /* of some runtimes: what leads from at to a line */
	uint32_t native;   /* index of the native frame that it is, runtime_by_native */
	bool is_hidden;	   /* no function of the program */
	bool ends_loop;	   /* the outermost that one native frame of the interpreter runs */
};

struct runtime_name {
	struct buf fn, file; /* file "" unknown */
	uint32_t line, def_line; /* 0 unknown */
	uint64_t cookie; /* another one: the address has other code by now */
	bool is_library; /* not the program's own: it came with the runtime, or as a package */
};

struct runtime_lock { /* of the runtime's own: no word of memory is shared by its waiters */
	uint64_t addr;
	uint32_t holder_ns_tid; /* 0 unknown */
	struct buf name;	/* "monitor of Pool" */
};

struct runtime_range {
	uint64_t start, end;
};

/* The runtime whose file this may be, NULL for none.  Others that map it are refused later. */
const struct runtime_lang *runtime_lang_of(const char *base_name);
const char *runtime_lang_name(const struct runtime_lang *l); /* "Python" */
size_t runtime_lang_idx(const struct runtime_lang *l);
size_t runtime_lang_cnt(void);
const struct runtime_lang *runtime_lang_at(size_t idx);

/*
 * -ENOENT no such runtime in this file, -ENOTSUP a version that is not known or
 * whose memory is not as the table has it: *err says.  mem is copied.
 */
int runtime_open(const struct runtime_lang *l, const struct runtime_file *f,
		 const struct runtime_mem *mem, struct runtime_proc **ret, struct err *err);
void runtime_free(struct runtime_proc *r);

const char *runtime_version(const struct runtime_proc *r); /* "3.11.2" */
const struct chain_shape *runtime_shape(const struct runtime_proc *r);
size_t runtime_elem_len(const struct runtime_proc *r);

/* Threads of the runtime now, at most max; their count or -errno. */
long runtime_threads(struct runtime_proc *r, struct runtime_thread *ret, size_t max);

/* Native code whose frames run those of the program: addresses in the process. */
size_t runtime_loops(const struct runtime_proc *r, struct runtime_range ret[RUNTIME_LOOP_MAX]);

/*
 * True where each of the program's functions is one native frame, which the kernel side
 * hands over: such a runtime has no threads and no list to be read.
 */
bool runtime_by_native(const struct runtime_proc *r);

/* True where native frames of loops that lie side by side run one piece of the program. */
bool runtime_loops_merge(const struct runtime_proc *r);

/*
 * The frames of a list of the shape, innermost first: cnt elements, each after its
 * address, as chain_follow puts them out.  Their count; -EBADMSG, -E2BIG or another
 * -errno where one of them is no frame: none are to be used then.
 */
long runtime_frames(struct runtime_proc *r, const uint8_t *elems, size_t cnt,
		    struct runtime_frame ret[RUNTIME_DEPTH_MAX]);

/*
 * The same while the thread runs, read by the kernel side (wire/runtimes.h): what it is to
 * read, false where it cannot; and the words that it kept as elements of such a list,
 * appended, with zeros between them.  Their count, or -EBADMSG.
 */
bool runtime_kernel_shape(const struct runtime_proc *r, struct rt_shape *ret);
bool runtime_is_sampled(const struct runtime_proc *r); /* it can */
long runtime_kept(const struct runtime_proc *r, const uint64_t *words, size_t cnt, struct buf *out);

/*
 * The lock that a thread waits for, by the same list; false: none that is known.
 * The caller releases name, also then.
 */
bool runtime_lock_of(struct runtime_proc *r, const uint8_t *elems, size_t cnt,
		     struct runtime_lock *ret);

/* 0 with *ret filled (which the caller releases, also on failure), or -errno. */
int runtime_name(struct runtime_proc *r, const struct runtime_frame *f, struct runtime_name *ret);
/* The cookie alone: does code still stand for the same function? */
int runtime_cookie(struct runtime_proc *r, uint64_t code, uint64_t *ret);
void runtime_name_release(struct runtime_name *n);

#endif /* RUNTIMES_H */
