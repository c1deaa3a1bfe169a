/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alike.h"

#include <string.h>

#include "base/hash.h"

size_t name_stem_len(const char *name)
{
	size_t len = strlen(name), n = len;

	while (n && name[n - 1] >= '0' && name[n - 1] <= '9')
		n--;
	return n ? n : len;
}

bool named_alike(const char *a, const char *b)
{
	size_t len = name_stem_len(a);

	return len == name_stem_len(b) && !a[len] == !b[len] && memcmp(a, b, len) == 0;
}

uint64_t name_alike_key(const char *name)
{
	size_t len = name_stem_len(name);

	return hash_pair(hash_bytes(name, len), !name[len]);
}
