/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bug.h"

uint64_t hash_u64(uint64_t key)
{
	/* the finaliser of MurmurHash3 */
	key ^= key >> 33;
	key *= UINT64_C(0xff51afd7ed558ccd);
	key ^= key >> 33;
	key *= UINT64_C(0xc4ceb9fe1a85ec53);
	key ^= key >> 33;
	return key;
}

uint64_t hash_pair(uint64_t a, uint64_t b)
{
	return hash_u64(a ^ hash_u64(b + UINT64_C(0x9e3779b97f4a7c15)));
}

uint64_t hash_bytes(const void *data, size_t len)
{
	const unsigned char *at = data;
	uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
	return hash_u64(hash);
}

void hmap_release(struct hmap *m)
{
	free(m->entries);
	free(m->used);
	*m = (struct hmap){0};
}

void hmap_clear(struct hmap *m)
{
	if (m->cap)
		memset(m->used, 0, m->cap);
	m->cnt = 0;
}

/* Slot of key, or the free slot where it would go. One slot is always free. */
static size_t hmap_place(const struct hmap *m, uint64_t key)
{
	size_t i = hash_u64(key) & (m->cap - 1);

	while (m->used[i] && m->entries[i].key != key)
		i = (i + 1) & (m->cap - 1);
	return i;
}

static void hmap_grow(struct hmap *m)
{
	struct hmap old = *m;

	m->cap = old.cap ? old.cap * 2 : 16;
	m->entries = xcalloc(m->cap, sizeof(*m->entries));
	m->used = xcalloc(m->cap, 1);
	for (size_t i = 0; i < old.cap; i++) {
		size_t to;

		if (!old.used[i])
			continue;
		to = hmap_place(m, old.entries[i].key);
		m->entries[to] = old.entries[i];
		m->used[to] = 1;
	}
	free(old.entries);
	free(old.used);
}

uint64_t *hmap_find(const struct hmap *m, uint64_t key)
{
	size_t i;

	if (!m->cnt)
		return NULL;
	i = hmap_place(m, key);
	return m->used[i] ? &m->entries[i].value : NULL;
}

bool hmap_get(const struct hmap *m, uint64_t key, uint64_t *ret_value)
{
	const uint64_t *value = hmap_find(m, key);

	if (value && ret_value)
		*ret_value = *value;
	return value != NULL;
}

uint64_t *hmap_slot(struct hmap *m, uint64_t key)
{
	size_t i;

	if ((m->cnt + 1) * 4 > m->cap * 3)
		hmap_grow(m);
	i = hmap_place(m, key);
	if (!m->used[i]) {
		m->used[i] = 1;
		m->entries[i] = (struct hmap_entry){.key = key};
		m->cnt++;
	}
	return &m->entries[i].value;
}

void hmap_put(struct hmap *m, uint64_t key, uint64_t value)
{
	*hmap_slot(m, key) = value;
}

/*
 * The hole is filled by the next entry of the run that may move there, which
 * leaves a new hole: no tombstones, so lookups stay short after many deletes.
 */
bool hmap_del(struct hmap *m, uint64_t key)
{
	size_t mask = m->cap - 1, hole, i;

	if (!m->cnt)
		return false;
	hole = hmap_place(m, key);
	if (!m->used[hole])
		return false;
	for (i = (hole + 1) & mask; m->used[i]; i = (i + 1) & mask) {
		size_t home = hash_u64(m->entries[i].key) & mask;

		if (((i - home) & mask) < ((i - hole) & mask))
			continue;
		m->entries[hole] = m->entries[i];
		hole = i;
	}
	m->used[hole] = 0;
	m->cnt--;
	return true;
}

bool hmap_next(const struct hmap *m, size_t *pos, struct hmap_entry *ret_entry)
{
	for (; *pos < m->cap; (*pos)++) {
		if (!m->used[*pos])
			continue;
		*ret_entry = m->entries[(*pos)++];
		return true;
	}
	return false;
}

void strtab_release(struct strtab *t)
{
	arena_release(&t->arena);
	free(t->strings);
	free(t->slots);
	*t = (struct strtab){.max_cnt = t->max_cnt};
}

/* Callers never see the order of slots, so this hash may be quicker than hash_bytes. */
static uint64_t text_hash(const char *str, size_t len)
{
	const uint64_t mul = UINT64_C(0x9e3779b97f4a7c15);
	uint64_t hash = len, word;

	for (; len >= sizeof(word); str += sizeof(word), len -= sizeof(word)) {
		memcpy(&word, str, sizeof(word));
		hash = (hash ^ word) * mul;
		hash ^= hash >> 32;
	}
	word = 0;
	if (len & 4)
		memcpy(&word, str + len - 4, 4);
	for (size_t i = 0; i < (len & 3); i++)
		word = word << 8 | (unsigned char)str[i];
	return hash_u64(hash ^ word);
}

/* Slot of the string, or the free slot where it would go. */
static struct strtab_slot *strtab_place(const struct strtab *t, const char *str, size_t len,
					uint32_t hash)
{
	size_t i = hash & (t->slot_cap - 1);

	for (; t->slots[i].id; i = (i + 1) & (t->slot_cap - 1)) {
		const char *have;

		if (t->slots[i].hash != hash)
			continue;
		have = t->strings[t->slots[i].id - 1];
		if (strncmp(have, str, len) == 0 && have[len] == '\0')
			break;
	}
	return &t->slots[i];
}

/* All strings differ, so each goes to the next free place. */
static void strtab_grow(struct strtab *t)
{
	size_t old_cap = t->slot_cap, cap = old_cap ? old_cap * 2 : 64;
	struct strtab_slot *old = t->slots;

	t->slots = xcalloc(cap, sizeof(*t->slots));
	t->slot_cap = cap;
	/* the load is at most one half, so half of the slots is room enough */
	t->strings = xreallocarray(t->strings, cap / 2, sizeof(*t->strings));
	for (size_t from = 0; from < old_cap; from++) {
		size_t to = old[from].hash & (cap - 1);

		if (!old[from].id)
			continue;
		while (t->slots[to].id)
			to = (to + 1) & (cap - 1);
		t->slots[to] = old[from];
	}
	free(old);
}

uint32_t strtab_addn(struct strtab *t, const char *str, size_t len)
{
	uint32_t max = t->max_cnt ? t->max_cnt : STRTAB_DEFAULT_MAX;
	struct strtab_slot *slot;
	uint32_t hash;

	len = strnlen(str, len);
	if (!len)
		return 0;
	if ((size_t)t->cnt + 1 > t->slot_cap / 2)
		strtab_grow(t);
	hash = (uint32_t)text_hash(str, len);
	slot = strtab_place(t, str, len, hash);
	if (slot->id)
		return slot->id;
	if (t->cnt >= max) {
		t->refused_cnt++;
		return 0;
	}
	t->strings[t->cnt] = arena_strndup(&t->arena, str, len);
	*slot = (struct strtab_slot){.id = ++t->cnt, .hash = hash};
	return t->cnt;
}

uint32_t strtab_add(struct strtab *t, const char *str)
{
	return strtab_addn(t, str, strlen(str));
}

const char *strtab_str(const struct strtab *t, uint32_t id)
{
	return id && id <= t->cnt ? t->strings[id - 1] : "";
}
