/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYMTAB_H
#define SYMTAB_H
/*
 * The functions of one file by address, from any number of symbol tables and
 * from the bounds that unwind information knows.  Not for choosing the tables:
 * see module.h.
 *
 *	struct symtab t = {0};
 *	symtab_add ... symtab_add_plt, symtab_add_go, symtab_add_bounds, symtab_finish
 *	symtab_find, symtab_name ... symtab_release
 *
 * Names stay in the file and are read one by one, since of a hundred thousand
 * a profile asks for a few hundred; they are copied only where the table has
 * no plain place in a file.  Of several symbols at one address one is kept:
 * functions before others, sized before unsized, global before weak before
 * local, those without leading underscores first.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "symbols/names/symbol_source.h"

struct buf;
struct gopcln;
struct image;

enum {
	SYMTAB_BYTES_MAX = 128 << 20,	 /* of one table as it is in the file */
	SYMTAB_STRINGS_MAX = 256 << 20, /* of its names */
	SYMTAB_MAX = 4 << 20,	 /* symbols of one file; more are left out and counted */
	SYMTAB_TABLE_MAX = 6,	 /* tables of one file */
	SYMTAB_NEST_MAX = 32,	 /* entries looked back at for one that reaches further */
};

/* The range that symbols must lie in: the executable part of the mapped file. */
struct symtab_text {
	uint64_t base_vaddr;
	uint64_t len;
};

struct symtab_entry { /* 16 bytes, sorted by pc */
	uint32_t pc;
	uint32_t len;
	uint32_t name; /* offset in its table's strings */
	uint8_t table; /* index into tables */
	uint8_t rank;  /* smaller is better */
	uint16_t flags; /* enum symtab_flags */
};

enum symtab_flags {
	SYMTAB_UNSIZED = 1 << 0, /* len is a guess: to the end of the bounds or the next symbol */
	SYMTAB_BOUNDS = 1 << 1,	 /* bounds only, no name */
};

struct symtab_strings {
	enum symbol_source source;
	int fd;		    /* borrowed; -1: data holds them */
	uint64_t off;	    /* in the file */
	uint64_t len;
	const char *data;   /* the image's until symtab_finish, then NULL or copied */
};

struct symtab_bounds { /* of a function without a name */
	uint32_t pc;
	uint32_t len;
};

struct symtab {
	size_t max; /* of entries, at most SYMTAB_MAX, which 0 means */
	VEC(struct symtab_entry) entries;
	struct symtab_strings tables[SYMTAB_TABLE_MAX];
	unsigned table_cnt;
	uint32_t named_cnt;  /* after symtab_finish; without the PLT's */
	uint32_t bounds_cnt; /* functions that have only bounds */
	uint64_t refused_cnt;/* symbols that point outside */
	uint64_t over_cnt;   /* or are over max */
};

/*
 * Adds the functions of a symbol table, ".symtab" or ".dynsym".  im is borrowed
 * until symtab_finish, its sections only where fd is -1; fd, of the same file,
 * until symtab_release, or -1 where im is no file.  -ENOENT when there is no
 * such table, -EINVAL a damaged one.
 */
int symtab_add(struct symtab *t, struct image *im, int fd, const char *table,
	       const struct symtab_text *text, enum symbol_source source);

/* Adds the entries of .plt, .plt.sec and .plt.got, by what they jump to (x86-64). */
int symtab_add_plt(struct symtab *t, struct image *im, int fd, const struct symtab_text *text);

/* Go's table; fd is of the file that it is in, as above.  Everywhere else's names come first. */
int symtab_add_go(struct symtab *t, const struct gopcln *g, int fd, const struct symtab_text *text);

/* Bounds of functions: they end symbols without a size, and stand where no symbol is. */
void symtab_add_bounds(struct symtab *t, const struct symtab_bounds *bounds, size_t cnt);

void symtab_finish(struct symtab *t);

/* The function that holds pc, or NULL.  Borrowed until symtab_release. */
const struct symtab_entry *symtab_find(const struct symtab *t, uint32_t pc);

enum symbol_source symtab_source(const struct symtab *t, const struct symtab_entry *e);

/* The symbol as it is in the table; "" when it can no longer be read, and for bounds. */
void symtab_name(const struct symtab *t, const struct symtab_entry *e, struct buf *ret_name);

/* Memory that it takes. */
uint64_t symtab_bytes(const struct symtab *t);

/* Fine on an all-zero one. */
void symtab_release(struct symtab *t);

#endif /* SYMTAB_H */
