/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HASH_H
#define HASH_H
/*
 * Two tables: struct hmap maps u64 to u64 (ids, indexes), struct strtab gives
 * each distinct string a small number.  Not for ordered walks, not for big
 * values: keep those in a vec and map to the index.
 *
 *	struct hmap m = {0};  hmap_put, hmap_get, hmap_del ...  hmap_release
 *
 * All-zero is valid for both.  Out of memory aborts.  A hmap may grow on each
 * put: a pointer from hmap_slot is good until the next put or delete.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

struct hmap_entry {
	uint64_t key;
	uint64_t value;
};

struct hmap {
	struct hmap_entry *entries;
	uint8_t *used;
	size_t cnt;
	size_t cap; /* a power of two, or 0 */
};

void hmap_release(struct hmap *m);
void hmap_clear(struct hmap *m);

/* true and *ret_value (which may be NULL) when key is there. */
bool hmap_get(const struct hmap *m, uint64_t key, uint64_t *ret_value);

/* Adds or replaces. */
void hmap_put(struct hmap *m, uint64_t key, uint64_t value);

/* The value's place, added as 0 when key is new. */
uint64_t *hmap_slot(struct hmap *m, uint64_t key) __attribute__((returns_nonnull));

/* The value's place until the next put or delete; NULL when key is not there. */
uint64_t *hmap_find(const struct hmap *m, uint64_t key);

/* true when key was there. */
bool hmap_del(struct hmap *m, uint64_t key);

/* Walk: start with *pos = 0; false at the end.  No put or delete meanwhile. */
bool hmap_next(const struct hmap *m, size_t *pos, struct hmap_entry *ret_entry);

/* A 64-bit mix in which each input bit changes about half of the output. */
uint64_t hash_u64(uint64_t key);
uint64_t hash_pair(uint64_t a, uint64_t b); /* not as (b, a) */
uint64_t hash_bytes(const void *data, size_t len);

enum { STRTAB_DEFAULT_MAX = 1 << 20 };

struct strtab_slot {
	uint32_t id;   /* 0: free */
	uint32_t hash; /* so that nearly all others are recognised without a look at them */
};

struct strtab {
	struct arena arena;
	const char **strings; /* by id - 1 */
	struct strtab_slot *slots; /* open addressing */
	size_t slot_cap;
	uint32_t cnt;
	uint32_t max_cnt;     /* 0 means STRTAB_DEFAULT_MAX */
	uint64_t refused_cnt; /* strings over the limit, all given id 0 */
};

void strtab_release(struct strtab *t);

/* The number of the string, from 1; 0 for "" and, counted, for one over the limit. */
uint32_t strtab_add(struct strtab *t, const char *str);
uint32_t strtab_addn(struct strtab *t, const char *str, size_t len);

/* Borrowed until strtab_release; "" for 0 and for a number never given out. */
const char *strtab_str(const struct strtab *t, uint32_t id) __attribute__((returns_nonnull));

#endif /* HASH_H */
