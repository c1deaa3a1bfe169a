/* SPDX-License-Identifier: Apache-2.0 */
#include "reads/chains.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/search.h"

static bool in_ranges(const struct read_chains *w, uint64_t addr, uint64_t len)
{
	size_t at = SORTED_PREFIX(w->ranges, w->range_cnt, it, it->end <= addr);

	return at < w->range_cnt && w->ranges[at].start <= addr &&
	       len <= w->ranges[at].end - addr;
}

struct follow {
	const struct chain_mem *mem;
	const struct read_chains *what;
};

static int get(const struct follow *f, uint64_t addr, void *out, size_t len)
{
	if (!in_ranges(f->what, addr, len))
		return -EFAULT;
	return f->mem->read(f->mem->ctx, addr, out, len);
}

/* The first element's address; 0: the list is empty. */
static int first_of(const struct follow *f, uint64_t anchor, uint64_t *ret)
{
	const struct chain_shape *s = &f->what->shape;

	for (uint32_t i = 0; i < s->step_cnt && anchor; i++) {
		int rc = get(f, anchor + s->steps[i], &anchor, sizeof(anchor));

		if (rc < 0)
			return rc;
	}
	*ret = anchor;
	return 0;
}

/* Brent: one that stands at a power of two is met again where there is a circle. */
struct circle {
	uint64_t mark;
	uint32_t next;
};

static bool is_circle(struct circle *c, uint32_t cnt, uint64_t addr)
{
	if (cnt && addr == c->mark)
		return true;
	if (cnt == c->next) {
		c->mark = addr;
		c->next = cnt ? 2 * cnt : 1;
	}
	return false;
}

/* Puts out the bytes beside the list, with zeros behind: how many elements they take. */
static int head_of(const struct follow *f, uint64_t anchor, char *out, size_t cap)
{
	const struct chain_shape *s = &f->what->shape;
	int rc;

	if (!s->head_len)
		return 0;
	if (cap < sizeof(anchor) + s->elem_len)
		return -E2BIG;
	anchor += s->head_off;
	memset(out, 0, sizeof(anchor) + s->elem_len);
	memcpy(out, &anchor, sizeof(anchor));
	rc = get(f, anchor, out + sizeof(anchor), s->head_len);
	return rc < 0 ? rc : 1;
}

/* One element; of an array's last what lies behind its end is zero. */
static int elem_of(const struct follow *f, uint64_t addr, uint64_t until, char *out)
{
	const struct chain_shape *s = &f->what->shape;
	size_t len = s->elem_len - s->ref_len;
	uint64_t ref;
	int rc;

	memcpy(out, &addr, sizeof(addr));
	out += sizeof(addr);
	memset(out, 0, s->elem_len);
	rc = get(f, addr, out, s->stride && until - addr < len ? until - addr : len);
	if (rc < 0 || !s->ref_len)
		return rc;
	memcpy(&ref, out + s->ref_off, sizeof(ref));
	return ref ? get(f, ref, out + len, s->ref_len) : 0;
}

long chain_follow(const struct chain_mem *mem, const struct read_chains *what,
		  const struct chain_item *item, char *out, size_t cap)
{
	const struct chain_shape *s = &what->shape;
	struct follow f = {.mem = mem, .what = what};
	int rc, head = head_of(&f, item->anchor, out, cap);
	size_t one = sizeof(uint64_t) + s->elem_len, used = head > 0 ? one : 0;
	struct circle circle = {0};
	uint64_t addr;
	uint32_t cnt = 0;

	if (head < 0)
		return head;
	rc = first_of(&f, item->anchor, &addr);
	addr -= addr > s->back ? s->back : 0;
	while (rc == 0 && addr && (!s->stride || addr < item->until)) {
		if (cnt >= CHAIN_LEN_MAX || cap - used < one)
			return -E2BIG;
		if (is_circle(&circle, cnt, addr))
			return -ELOOP;
		rc = elem_of(&f, addr, item->until, out + used);
		if (s->stride)
			addr += s->stride;
		else
			memcpy(&addr, out + used + sizeof(addr) + s->next_off, sizeof(addr));
		used += one;
		cnt++;
	}
	return rc < 0 ? rc : (long)cnt + head;
}
