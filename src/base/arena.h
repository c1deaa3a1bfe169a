/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ARENA_H
#define ARENA_H
/*
 * Memory that is given back all at once: one analysis result or one request
 * lives in one arena.  Not for things that live and die one by one.
 *
 *	struct arena a = {0};  arena_alloc ...  arena_clear or arena_release
 *
 * An all-zero arena is valid.  Not for use by two threads at a time.
 */
#include <stdarg.h>
#include <stddef.h>

struct arena_chunk;

struct arena {
	struct arena_chunk *head;
	size_t used_bytes;	/* handed out, rounded up */
	size_t held_bytes;	/* taken from malloc */
};

/* Everything handed out becomes invalid; the arena can be used again. */
void arena_clear(struct arena *a);

/* As arena_clear; no memory is kept.  Fine on an all-zero arena. */
void arena_release(struct arena *a);

/* Zeroed and aligned to 16 bytes; valid until the arena is cleared.  Aborts when out of memory. */
void *arena_alloc(struct arena *a, size_t size)
	__attribute__((returns_nonnull, assume_aligned(16)));

/* As arena_alloc for an array; aborts when cnt * size overflows. */
void *arena_alloc_array(struct arena *a, size_t cnt, size_t size)
	__attribute__((returns_nonnull, assume_aligned(16)));

void *arena_dup(struct arena *a, const void *data, size_t size) __attribute__((returns_nonnull));
char *arena_strdup(struct arena *a, const char *str) __attribute__((returns_nonnull));
char *arena_strndup(struct arena *a, const char *str, size_t max_len)
	__attribute__((returns_nonnull));
char *arena_printf(struct arena *a, const char *fmt, ...)
	__attribute__((returns_nonnull, format(printf, 2, 3)));
char *arena_vprintf(struct arena *a, const char *fmt, va_list ap)
	__attribute__((returns_nonnull, format(printf, 2, 0)));

/* ARENA_NEW(a, struct x) and ARENA_ARRAY(a, struct x, cnt): zeroed and typed. */
#define ARENA_NEW(a, type) ((type *)arena_alloc((a), sizeof(type)))
#define ARENA_ARRAY(a, type, cnt) ((type *)arena_alloc_array((a), (cnt), sizeof(type)))

#endif /* ARENA_H */
