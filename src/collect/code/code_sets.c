/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sets of mappings, as the kernel side has them.  One that does not fit is cut
 * into parts, sets themselves, and a set that only lists them: of a process
 * that maps and unmaps code all the time a part or two are made anew.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "collect/code/code_int.h"

_Static_assert(MAPPINGS_MAX <= UNW_MAPS_MAX * UNW_PARTS_MAX, "all mappings fit");

static void use(struct code *c, uint32_t id)
{
	struct code_set *s;

	if (!id || id > c->sets.cnt)
		return;
	s = &c->sets.items[id - 1];
	s->used = true;
	for (uint32_t i = 0; i < s->part_cnt; i++)
		if (s->parts[i] && s->parts[i] <= c->sets.cnt)
			c->sets.items[s->parts[i] - 1].used = true;
}

/* Which sets do processes still use? */
static void sets_collect(struct code *c)
{
	uint32_t key, next, *pos = NULL, left = UNW_SET_MAX;
	struct unw_proc p;

	VEC_FOREACH(&c->sets, s)
		s->used = false;
	while (left-- && bpf_map_get_next_key(c->fds.procs, pos, &next) == 0) {
		if (bpf_map_lookup_elem(c->fds.procs, &next, &p) == 0)
			use(c, p.set);
		key = next;
		pos = &key;
	}
	VEC_FOREACH(&c->new_procs, e) /* of those that are still to go to the kernel side */
		use(c, e->proc.set);
	VEC_FOREACH(&c->making, id)
		use(c, *id);
}

uint32_t code_set_slot(struct code *c)
{
	if (c->sets.cnt < UNW_SET_MAX - 1) {
		(void)vec_add(&c->sets);
		return (uint32_t)c->sets.cnt;
	}
	for (int pass = 0; pass < 2; pass++) {
		VEC_FOREACH(&c->sets, s)
			if (!s->used)
				return (uint32_t)(s - c->sets.items) + 1;
		if (pass == 0)
			sets_collect(c);
	}
	return 0;
}

static int set_write(struct code *c, uint32_t id, const struct unw_set *set)
{
	CLEANUP_CLOSE int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "hu_set", sizeof(uint32_t),
					      sizeof(*set), 1, NULL);
	uint32_t zero = 0;

	if (fd < 0 || bpf_map_update_elem(fd, &zero, set, BPF_ANY) < 0)
		return -errno;
	code_batch_add(&c->new_sets, id, &fd);
	return 0;
}

/* The id of a set with this content, 0 when there is no room. */
static uint32_t set_id(struct code *c, const struct unw_set *set)
{
	uint64_t hash = hash_bytes(set, sizeof(*set));
	uint32_t id;
	int rc;

	VEC_FOREACH(&c->sets, s)
		if (s->hash == hash) {
			s->used = true;
			return (uint32_t)(s - c->sets.items) + 1;
		}
	id = code_set_slot(c);
	if (!id) {
		c->sets_full = true;
		return 0;
	}
	rc = set_write(c, id, set);
	if (rc < 0) {
		log_debug("mappings for the unwinder: %s", strerror(-rc));
		return 0;
	}
	if (!c->sets.items[id - 1].hash)
		c->stats.kernel_bytes += sizeof(*set);
	free(c->sets.items[id - 1].parts);
	c->sets.items[id - 1] = (struct code_set){.hash = hash, .used = true};
	return id;
}

/*
 * Modules of files that were opened in this scan, by their inode: a process may
 * map one file a thousand times.
 */
static const struct code_module *module_of(struct code *c, uint32_t tgid, const struct mapping *m,
					   struct hmap *opened)
{
	uint64_t dev = (uint64_t)m->dev_major << 52 | (uint64_t)m->dev_minor << 32, idx;
	uint64_t key = hash_u64(m->ino ^ dev);
	const struct code_module *mod;

	if (m->kind != MAPPING_FILE)
		return code_module(c, tgid, m);
	if (hmap_get(opened, key, &idx))
		return idx ? &c->modules.items[idx - 1] : NULL;
	mod = code_module(c, tgid, m);
	hmap_put(opened, key, mod ? (uint64_t)(mod - c->modules.items) + 1 : 0);
	return mod;
}

void code_maps_fill(struct code *c, uint32_t tgid, const struct mappings *maps, struct unw_map *ret)
{
	struct hmap opened = {0};

	VEC_FOREACH(&maps->items, m) {
		const struct code_module *mod = module_of(c, tgid, m, &opened);
		uint64_t pages = (m->end - m->start) / 4096;

		ret->start = m->start;
		ret->page_cnt = pages < UINT32_MAX ? (uint32_t)pages : UINT32_MAX;
		if (mod && code_base(mod, m, &ret->base))
			ret->module = mod->id;
		ret++;
	}
	hmap_release(&opened);
}

/* One set of cnt mappings, at most UNW_MAPS_MAX. */
static uint32_t set_of(struct code *c, const struct unw_map *maps, uint32_t cnt, bool cut)
{
	CLEANUP_FREE struct unw_set *set = xcalloc(1, sizeof(*set));

	set->cnt = cnt;
	set->cut = cut;
	memcpy(set->maps, maps, cnt * sizeof(*maps));
	for (uint32_t i = cnt; i < UNW_MAPS_MAX; i++)
		set->maps[i].start = INT64_MAX; /* sorts behind all others */
	return set_id(c, set);
}

static uint32_t set_of_parts(struct code *c, const struct unw_map *maps, uint32_t cnt, bool cut)
{
	CLEANUP_FREE struct unw_set *list = xcalloc(1, sizeof(*list));
	uint32_t id;

	list->cnt = cnt;
	list->cut = cut;
	vec_clear(&c->making);
	for (uint32_t at = 0; at < cnt; at += UNW_MAPS_MAX) {
		struct unw_part *part = &list->parts[list->part_cnt++];

		part->start = maps[at].start;
		part->set = set_of(c, maps + at, cnt - at < UNW_MAPS_MAX ? cnt - at : UNW_MAPS_MAX,
				   false);
		if (!part->set)
			break;
		vec_push(&c->making, part->set);
	}
	for (uint32_t i = list->part_cnt; i < UNW_PARTS_MAX; i++)
		list->parts[i].start = INT64_MAX;
	id = c->making.cnt == list->part_cnt ? set_id(c, list) : 0;
	if (id && !c->sets.items[id - 1].parts) {
		struct code_set *s = &c->sets.items[id - 1];

		s->part_cnt = list->part_cnt;
		s->parts = xcalloc(list->part_cnt, sizeof(*s->parts));
		for (uint32_t i = 0; i < list->part_cnt; i++)
			s->parts[i] = list->parts[i].set;
	}
	vec_clear(&c->making);
	return id;
}

uint32_t code_set_of(struct code *c, uint32_t tgid, const struct mappings *maps)
{
	uint32_t cnt = (uint32_t)maps->items.cnt;
	CLEANUP_FREE struct unw_map *all = xcalloc(cnt, sizeof(*all));

	code_maps_fill(c, tgid, maps, all);
	return cnt > UNW_MAPS_MAX ? set_of_parts(c, all, cnt, maps->cut_cnt)
				  : set_of(c, all, cnt, maps->cut_cnt);
}
