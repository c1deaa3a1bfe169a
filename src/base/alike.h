/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALIKE_H
#define ALIKE_H
/*
 * Names of threads alike: the same, but for a number at the end ("pool-1-thread-7").
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How long a name is without the number at its end; whole where it is nothing else. */
size_t name_stem_len(const char *name);

bool named_alike(const char *a, const char *b);

/* The same number for names alike, another one for all others. */
uint64_t name_alike_key(const char *name);

#endif /* ALIKE_H */
