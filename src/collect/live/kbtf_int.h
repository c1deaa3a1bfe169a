/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KBTF_INT_H
#define KBTF_INT_H
/* The kernel's types as they lie in memory, for kbtf*.c alone. */
#include <linux/btf.h>

#include "base/hash.h"
#include "base/vec.h"
#include "collect/live/kbtf.h"

struct kbtf {
	void *mapped, *copied; /* one of them, or borrowed */
	const char *types, *strs;
	uint32_t types_len, strs_len;
	size_t len;
	VEC(uint32_t) offs; /* of types, by id - 1 */
	struct hmap traces; /* hash of NAME to id */
};

/* "" for an offset out of range. */
const char *kbtf_str(const struct kbtf *k, uint32_t off);

/* NULL for id 0 (void) and for one out of range. */
const struct btf_type *kbtf_type(const struct kbtf *k, uint32_t id);

/* Bytes behind the type itself; -1 for a kind that is not known. */
int64_t kbtf_tail_bytes(const struct btf_type *t);

#endif /* KBTF_INT_H */
