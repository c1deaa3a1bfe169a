/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GOPCLN_H
#define GOPCLN_H
/*
 * The table of functions that Go's linker puts into every program for Go's own
 * runtime (.gopclntab): names, bounds, and how far the stack pointer is from
 * the return address at each instruction.  strip leaves it.  Not for its files
 * and lines.
 *
 *	struct gopcln g;
 *	gopcln_open, gopcln_fn for each index below fn_cnt
 *	gopcln_sp_begin, gopcln_sp_next ...
 *
 * All is borrowed from the image.  Nothing in the table is believed: a look-up
 * stays within the section, whatever it holds.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct image;

enum {
	GOPCLN_FN_MAX = 4 << 20,
	GOPCLN_BYTES_MAX = 256 << 20, /* of the section; the largest seen has 35 MiB */
	GOPCLN_NAME_MAX = 4096,	      /* a longer name is none */
};

enum gopcln_version { /* the Go release that brought the form */
	GOPCLN_1_2 = 2,
	GOPCLN_1_16 = 16,
	GOPCLN_1_18 = 18,
	GOPCLN_1_20 = 20,
};

struct gopcln {
	const uint8_t *data;
	size_t len;
	uint64_t off, vaddr; /* of data, in the file and in the program */
	enum gopcln_version version;
	unsigned quantum;   /* instructions are multiples of so many bytes */
	uint32_t fn_cnt;
	uint64_t text;	    /* what addresses count from; 0 before Go 1.18 */
	size_t names_off, names_len; /* where the names are, within data */
	size_t index_off;   /* addresses and where to read on */
	size_t infos_off;   /* what index_off's offsets count from */
	size_t values_off;  /* of stack pointers */
};

struct gopcln_fn {
	uint64_t vaddr, end; /* end > vaddr */
	uint32_t name;	     /* offset from names_off; it ends within names_len */
	uint32_t sp_off;     /* for gopcln_sp_begin */
	bool is_top;	     /* nobody called it: a stack ends here (from Go 1.18 on) */
};

/* -ENOENT when the file has none, -EINVAL a damaged or unknown one, -E2BIG over a bound. */
int gopcln_open(struct image *im, struct gopcln *ret);

/* The same for the section's bytes alone: without relocations and what else says where text is. */
int gopcln_parse(const uint8_t *data, size_t len, struct gopcln *ret);

/* false: that entry is damaged. */
bool gopcln_fn(const struct gopcln *g, uint32_t idx, struct gopcln_fn *ret);

const char *gopcln_name(const struct gopcln *g, const struct gopcln_fn *fn);

struct gopcln_sp { /* in [vaddr, end) the return address is at rsp + depth */
	uint64_t vaddr, end;
	int32_t depth;
	const uint8_t *at, *stop; /* inside */
	uint64_t fn_end;
};

void gopcln_sp_begin(const struct gopcln *g, const struct gopcln_fn *fn, struct gopcln_sp *it);
/* false: no more, or damaged. */
bool gopcln_sp_next(const struct gopcln *g, struct gopcln_sp *it);

#endif /* GOPCLN_H */
