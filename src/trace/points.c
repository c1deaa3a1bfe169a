/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/points.h"

#include <string.h>

void points_release(struct points *p)
{
	vec_release(&p->items);
	hmap_release(&p->by_name);
	memset(p->near, 0, sizeof(p->near));
}

uint64_t point_hash(const char *service, const char *name)
{
	return hash_pair(hash_bytes(service, strlen(service)), hash_bytes(name, strlen(name)));
}

uint32_t points_add(struct points *p, const struct strtab *strings, uint32_t service,
		    uint32_t name)
{
	uint64_t both = (uint64_t)service << 32 | name, *slot;
	struct point_near *near = &p->near[(service * 31 + name) % POINTS_NEAR];

	if (near->idx && near->name == both)
		return near->idx - 1;
	slot = hmap_slot(&p->by_name, both);
	if (!*slot) {
		struct point *added = vec_add(&p->items);

		added->service = service;
		added->name = name;
		added->hash = point_hash(strtab_str(strings, service), strtab_str(strings, name));
		*slot = p->items.cnt;
	}
	*near = (struct point_near){both, (uint32_t)*slot, 0};
	return (uint32_t)(*slot - 1);
}

int points_cmp(const struct points *p, const struct strtab *strings, uint32_t a, uint32_t b)
{
	const struct point *x = &p->items.items[a], *y = &p->items.items[b];
	int diff = strcmp(strtab_str(strings, x->service), strtab_str(strings, y->service));

	return diff ? diff : strcmp(strtab_str(strings, x->name), strtab_str(strings, y->name));
}
