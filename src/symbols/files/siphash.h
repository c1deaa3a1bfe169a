/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIPHASH_H
#define SIPHASH_H
/*
 * SipHash-2-4: a checksum that nobody can foresee who has not the key.
 */
#include <stddef.h>
#include <stdint.h>

uint64_t siphash(const uint8_t key[16], const void *data, size_t len);

#endif /* SIPHASH_H */
