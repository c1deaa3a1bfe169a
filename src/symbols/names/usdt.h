/* SPDX-License-Identifier: Apache-2.0 */
#ifndef USDT_H
#define USDT_H
/*
 * The static tracepoints that a program's authors put into it (USDT), from the
 * notes in .note.stapsdt, and the functions it exports.  Listing only.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct arena;
struct image;

enum {
	USDT_MAX = 65536,	/* locations of one file; more are counted */
	USDT_TEXT_MAX = 1024,	/* of a name; longer ones are refused */
	USDT_EXPORT_MAX = 1 << 20,
};

struct usdt_probe {
	const char *provider;
	const char *name;
	const char *args; /* "8@%rdi -4@-20(%rbp)": size@place for each argument */
	uint64_t vaddr;
	uint64_t semaphore; /* address of the count of who listens, 0 none */
};

struct usdt_list {
	VEC(struct usdt_probe) probes;
	uint64_t refused_cnt; /* damaged notes, or over a bound */
};

/* Appends the file's probes; their strings are in a.  Without any nothing is added. */
void usdt_read(struct image *im, struct arena *a, struct usdt_list *list);

/* The notes alone; base_vaddr: of .stapsdt.base, 0 none. */
void usdt_parse(const uint8_t *data, size_t len, uint64_t base_vaddr, struct arena *a,
		struct usdt_list *list);

void usdt_release(struct usdt_list *list);

struct usdt_export {
	const char *symbol; /* mangled */
	uint64_t vaddr;
	uint64_t len;
};

struct usdt_exports {
	VEC(struct usdt_export) items;
	uint64_t refused_cnt;
};

/* Appends the functions of .dynsym that others can call; names in a. */
void usdt_exports_read(struct image *im, struct arena *a, struct usdt_exports *list);

#endif /* USDT_H */
