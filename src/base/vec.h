/* SPDX-License-Identifier: Apache-2.0 */
#ifndef VEC_H
#define VEC_H
/*
 * A typed growing array.
 *
 *	VEC(struct thing) things = {0};
 *	vec_push(&things, t);  things.items[i], things.cnt;  vec_release(&things);
 *
 * An all-zero vec is valid.  Pushing moves the items: keep indexes, not
 * pointers.  Out of memory aborts.
 */
#include <stddef.h>
#include <stdlib.h>

#include "base/bug.h"

#define VEC(type)            \
	struct {             \
		type *items; \
		size_t cnt;  \
		size_t cap;  \
	}

/* Used by the macros: items with room for need, *cap updated. */
void *vec_grow_items(void *items, size_t *cap, size_t need, size_t item_size)
	__attribute__((returns_nonnull));

#define vec_reserve(v, need)                                                           \
	((v)->cap >= (size_t)(need)                                                    \
		 ? (void)0                                                             \
		 : (void)((v)->items = vec_grow_items((v)->items, &(v)->cap, (need),   \
						      sizeof(*(v)->items))))

#define vec_push(v, item)                         \
	do {                                      \
		vec_reserve((v), (v)->cnt + 1);   \
		(v)->items[(v)->cnt++] = (item);  \
	} while (0)

/* A pointer to a new zeroed item at the end, valid until the next push. */
#define vec_add(v)                                                             \
	({                                                                     \
		vec_reserve((v), (v)->cnt + 1);                                \
		__builtin_memset(&(v)->items[(v)->cnt], 0, sizeof(*(v)->items)); \
		&(v)->items[(v)->cnt++];                                       \
	})

#define vec_pop(v)                       \
	({                               \
		BUG_ON((v)->cnt == 0);   \
		(v)->items[--(v)->cnt];  \
	})

#define vec_last(v)                            \
	({                                     \
		BUG_ON((v)->cnt == 0);         \
		&(v)->items[(v)->cnt - 1];     \
	})

#define vec_clear(v) ((void)((v)->cnt = 0))

#define vec_release(v)                \
	do {                          \
		free((v)->items);     \
		(v)->items = NULL;    \
		(v)->cnt = 0;         \
		(v)->cap = 0;         \
	} while (0)

#define vec_sort(v, cmp)                                                          \
	do {                                                                      \
		if ((v)->cnt > 1)                                                 \
			qsort((v)->items, (v)->cnt, sizeof(*(v)->items), (cmp));  \
	} while (0)

#define VEC_FOREACH(v, item) \
	for (__auto_type item = (v)->items; item < (v)->items + (v)->cnt; item++)

#endif /* VEC_H */
