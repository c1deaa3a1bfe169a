/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From an address in code made at run time to the methods there.  A code heap is
 * cut into segments; a byte for each says how far back its piece of code begins.
 * A compiled method says which methods were inlined at each of its calls.
 */
#include <errno.h>
#include <string.h>

#include "symbols/runtimes/hotspot.h"

#define BACK_MAX 65536 /* steps back to the beginning of a piece of code */
#define SEGMENT_FREE 255
#define SHIFT_MAX 24
#define FRAME_WORDS_MAX 65536
#define PCS_MAX (1u << 20)
#define SCOPE_LEN 16   /* three numbers of at most five bytes, and one more */
#define SITE_CHECK_NS UINT64_C(1000000000)
#define NO_ZERO_MAJOR 20

static int heap_read(struct runtime_proc *r, uint64_t heap, struct hotspot_heap *ret)
{
	const uint64_t *at = ((struct hotspot *)r->own)->at;
	uint64_t memory = heap + at[HS_HEAP_MEMORY], segmap = heap + at[HS_HEAP_SEGMAP];

	if (hotspot_u64(r, memory + at[HS_SPACE_LOW], &ret->low) < 0 ||
	    hotspot_u64(r, memory + at[HS_SPACE_HIGH], &ret->high) < 0 ||
	    hotspot_u64(r, segmap + at[HS_SPACE_LOW], &ret->segmap) < 0 ||
	    hotspot_u32(r, heap + at[HS_HEAP_SHIFT], &ret->shift) < 0)
		return -EFAULT;
	return ret->low && ret->low < ret->high && ret->shift <= SHIFT_MAX ? 0 : -EBADMSG;
}

int hotspot_heaps_read(struct runtime_proc *r)
{
	struct hotspot *h = r->own;
	uint64_t array, data, heap;
	uint32_t cnt;
	int rc = 0;

	if (hotspot_u64(r, h->at[HS_HEAPS], &array) < 0 || !array ||
	    hotspot_u32(r, array + h->at[HS_ARRAY_LEN], &cnt) < 0 ||
	    hotspot_u64(r, array + h->at[HS_ARRAY_DATA], &data) < 0)
		return -EFAULT;
	if (!cnt || cnt > HOTSPOT_HEAPS_MAX)
		return -EBADMSG;
	for (uint32_t i = 0; i < cnt && rc == 0; i++) {
		rc = hotspot_u64(r, data + i * sizeof(heap), &heap);
		if (rc == 0)
			rc = heap_read(r, heap, &h->heaps[i]);
	}
	if (rc == 0)
		h->heap_cnt = cnt;
	return rc;
}

/* ---- pieces of code */

struct blob {
	uint64_t addr, len;
	uint64_t code;
	uint32_t frame_words, id;
	char name[16];
};

static const struct hotspot_heap *heap_of(const struct hotspot *h, uint64_t pc)
{
	for (size_t i = 0; i < h->heap_cnt; i++)
		if (pc >= h->heaps[i].low && pc < h->heaps[i].high)
			return &h->heaps[i];
	return NULL;
}

static int blob_begin(struct runtime_proc *r, uint64_t pc, uint64_t *ret)
{
	const struct hotspot *h = r->own;
	const struct hotspot_heap *heap = heap_of(h, pc);
	uint64_t segment;
	uint8_t back;

	if (!heap)
		return -ENOENT;
	segment = (pc - heap->low) >> heap->shift;
	for (unsigned i = 0; i < BACK_MAX; i++) {
		int rc = hotspot_get(r, heap->segmap + segment, &back, 1);

		if (rc < 0)
			return rc;
		if (!back) {
			*ret = heap->low + (segment << heap->shift) + h->at[HS_HEAP_BLOCK_LEN];
			return 0;
		}
		if (back == SEGMENT_FREE || back > segment)
			return -ENOENT;
		segment -= back;
	}
	return -ELOOP;
}

static int blob_read(struct runtime_proc *r, uint64_t pc, struct blob *ret)
{
	const uint64_t *at = ((struct hotspot *)r->own)->at;
	uint64_t name;
	uint32_t len;
	int rc = blob_begin(r, pc, &ret->addr);

	if (rc < 0)
		return rc;
	if (hotspot_u64(r, ret->addr + at[HS_BLOB_NAME], &name) < 0 ||
	    hotspot_u32(r, ret->addr + at[HS_BLOB_LEN], &len) < 0 ||
	    hotspot_u32(r, ret->addr + at[HS_BLOB_FRAME_WORDS], &ret->frame_words) < 0 ||
	    hotspot_u64(r, ret->addr + at[HS_BLOB_CODE], &ret->code) < 0 ||
	    hotspot_u32(r, ret->addr + at[HS_NM_ID], &ret->id) < 0 ||
	    hotspot_get(r, name, ret->name, sizeof(ret->name)) < 0)
		return -EFAULT;
	ret->name[sizeof(ret->name) - 1] = '\0';
	ret->len = len;
	if (pc < ret->addr || pc - ret->addr >= len)
		return -ENOENT;
	if ((int32_t)ret->frame_words < 0)
		ret->frame_words = 0;
	return ret->frame_words <= FRAME_WORDS_MAX ? 0 : -EBADMSG;
}

/* ---- methods at a place */

static void call_add(struct hotspot *h, uint64_t method, uint64_t bci)
{
	vec_push(&h->calls, ((struct hotspot_call){.method = method, .at = bci}));
}

/* Finds where the scopes of pc begin, among those of the method; -ENOENT: nowhere. */
static int scope_find(struct runtime_proc *r, const struct blob *b, uint64_t pc, uint32_t *ret)
{
	const uint64_t *at = ((struct hotspot *)r->own)->at;
	uint32_t first, end, lo = 0, hi, off;
	int32_t want = (int32_t)(pc - b->code);

	if (hotspot_u32(r, b->addr + at[HS_NM_PCS], &first) < 0 ||
	    hotspot_u32(r, b->addr + at[HS_NM_PCS_END], &end) < 0)
		return -EFAULT;
	if (first >= end || end > b->len || !at[HS_PC_LEN] || pc < b->code)
		return -EBADMSG;
	hi = (uint32_t)((end - first) / at[HS_PC_LEN]);
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		uint64_t entry = b->addr + first + mid * at[HS_PC_LEN];

		if (hotspot_u32(r, entry + at[HS_PC_AT], &off) < 0)
			return -EFAULT;
		if ((int32_t)off == want)
			return hotspot_u32(r, entry + at[HS_PC_SCOPE], ret);
		if ((int32_t)off < want)
			lo = mid + 1;
		else
			hi = mid;
	}
	return -ENOENT;
}

/* A scope and those that it was inlined into: each lies before the one that leads to it. */
static int scopes_read(struct runtime_proc *r, const struct blob *b, uint32_t scope)
{
	struct hotspot *h = r->own;
	uint32_t metadata, sender, index, bci;
	uint64_t data, method;

	if (hotspot_u64(r, b->addr + h->at[HS_NM_SCOPES], &data) < 0 ||
	    hotspot_u32(r, b->addr + h->at[HS_NM_METADATA], &metadata) < 0)
		return -EFAULT;
	for (unsigned i = 0; i < HOTSPOT_INLINED_MAX; i++) {
		uint8_t bytes[SCOPE_LEN];
		const uint8_t *at = bytes;
		bool no_zero = h->major >= NO_ZERO_MAJOR;

		if (hotspot_get(r, data + scope, bytes, sizeof(bytes)) < 0)
			return -EFAULT;
		sender = hotspot_unsigned5(&at, bytes + sizeof(bytes), no_zero);
		index = hotspot_unsigned5(&at, bytes + sizeof(bytes), no_zero);
		bci = hotspot_unsigned5(&at, bytes + sizeof(bytes), no_zero);
		if (!index || (uint64_t)metadata + index * sizeof(method) > b->len ||
		    hotspot_u64(r, b->addr + metadata + (index - 1) * sizeof(method), &method) < 0)
			return -EBADMSG;
		call_add(h, method, bci ? bci - 1 : 0);
		if (!sender)
			return 0;
		if (sender >= scope)
			return -EBADMSG;
		scope = sender;
	}
	return -ELOOP;
}

/* The methods of a compiled one: *ret_orig is set where the place was replaced to deoptimise. */
static int compiled(struct runtime_proc *r, const struct blob *b, uint64_t pc,
		    struct hotspot_site *ret)
{
	const uint64_t *at = ((struct hotspot *)r->own)->at;
	uint64_t deopt;
	uint32_t scope;
	int rc;

	if (hotspot_u64(r, b->addr + at[HS_NM_DEOPT], &deopt) < 0)
		return -EFAULT;
	if (pc == deopt)
		return hotspot_u32(r, b->addr + at[HS_NM_ORIG_PC], &ret->orig_pc);
	rc = scope_find(r, b, pc, &scope);
	return rc < 0 ? rc : scopes_read(r, b, scope);
}

static int site_fill(struct runtime_proc *r, const struct blob *b, uint64_t pc,
		     struct hotspot_site *ret)
{
	struct hotspot *h = r->own;
	uint64_t method;
	int rc = 0;

	ret->frame_len = b->frame_words * 8;
	ret->call_at = h->calls.cnt;
	ret->kind = HOTSPOT_STUB;
	if (pc == h->call_stub_return) {
		ret->kind = HOTSPOT_ENTRY;
	} else if (strcmp(b->name, "Interpreter") == 0) {
		ret->kind = HOTSPOT_INTERPRETED;
	} else if (strcmp(b->name, "nmethod") == 0) {
		ret->kind = HOTSPOT_COMPILED;
		rc = compiled(r, b, pc, ret);
	} else if (strcmp(b->name, "native nmethod") == 0) {
		ret->kind = HOTSPOT_COMPILED;
		rc = hotspot_u64(r, b->addr + h->at[HS_NM_METHOD], &method);
		if (rc == 0)
			call_add(h, method, 0);
	}
	ret->call_cnt = h->calls.cnt - ret->call_at;
	return rc;
}

static void sites_forget(struct hotspot *h)
{
	vec_clear(&h->sites);
	vec_clear(&h->calls);
	hmap_clear(&h->by_pc);
}

const struct hotspot_site *hotspot_site(struct runtime_proc *r, uint64_t pc, uint64_t now)
{
	struct hotspot *h = r->own;
	struct hotspot_site fresh = {.checked_ns = now}, *known = NULL;
	struct blob b;
	uint64_t at;

	if (hmap_get(&h->by_pc, pc, &at)) {
		known = &h->sites.items[at - 1];
		if (now - known->checked_ns < SITE_CHECK_NS)
			return known;
	}
	if (blob_read(r, pc, &b) < 0)
		return NULL;
	fresh.cookie = hash_pair(hash_pair(b.addr, b.len), hash_pair(b.code, b.id));
	if (known && known->cookie == fresh.cookie) {
		known->checked_ns = now;
		return known;
	}
	if (h->sites.cnt >= HOTSPOT_SITES_MAX || h->calls.cnt >= HOTSPOT_CALLS_MAX)
		sites_forget(h);
	if (site_fill(r, &b, pc, &fresh) < 0)
		return NULL;
	vec_push(&h->sites, fresh);
	hmap_put(&h->by_pc, pc, h->sites.cnt);
	return vec_last(&h->sites);
}
