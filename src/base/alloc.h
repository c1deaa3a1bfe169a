/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALLOC_H
#define ALLOC_H
/*
 * Allocation that cannot fail: out of memory prints one line and aborts.
 * A size that comes from input is checked against a named limit first.
 * Everything returned is the caller's, given back with free().
 */
#include <stddef.h>

void *xmalloc(size_t size) __attribute__((malloc, returns_nonnull));
void *xcalloc(size_t cnt, size_t size) __attribute__((malloc, returns_nonnull));
void *xrealloc(void *ptr, size_t size) __attribute__((returns_nonnull));
void *xreallocarray(void *ptr, size_t cnt, size_t size) __attribute__((returns_nonnull));
char *xstrdup(const char *str) __attribute__((malloc, returns_nonnull));
char *xstrndup(const char *str, size_t max_len) __attribute__((malloc, returns_nonnull));
char *xasprintf(const char *fmt, ...) __attribute__((returns_nonnull, format(printf, 1, 2)));

/* For a big size, as of a file's section: NULL when memory is short. */
void *alloc_big(size_t size) __attribute__((malloc));

#endif /* ALLOC_H */
