/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HotSpot's memory, a page at a time: what belongs together lies side by side,
 * and a page takes hardly longer than eight bytes.
 */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "symbols/runtimes/hotspot.h"

static struct hotspot_page *page_of(struct hotspot *h, uint64_t at)
{
	return &h->pages[(at / HOTSPOT_PAGE_LEN) % HOTSPOT_PAGES];
}

int hotspot_get(struct runtime_proc *r, uint64_t addr, void *out, size_t len)
{
	struct hotspot *h = r->own;

	if (!h->pages)
		h->pages = xcalloc(HOTSPOT_PAGES, sizeof(*h->pages));
	while (len) {
		uint64_t off = addr % HOTSPOT_PAGE_LEN, at = addr - off;
		size_t part = len < HOTSPOT_PAGE_LEN - off ? len : (size_t)(HOTSPOT_PAGE_LEN - off);
		struct hotspot_page *p = page_of(h, at);
		int rc;

		if (!at)
			return -EFAULT;
		if (p->at != at) {
			p->at = 0;
			rc = runtime_read(r, at, p->bytes, sizeof(p->bytes));
			if (rc < 0)
				return rc;
			p->at = at;
		}
		memcpy(out, p->bytes + off, part);
		out = (char *)out + part;
		addr += part;
		len -= part;
	}
	return 0;
}

int hotspot_u64(struct runtime_proc *r, uint64_t addr, uint64_t *ret)
{
	return hotspot_get(r, addr, ret, sizeof(*ret));
}

int hotspot_u32(struct runtime_proc *r, uint64_t addr, uint32_t *ret)
{
	return hotspot_get(r, addr, ret, sizeof(*ret));
}

void hotspot_pages_drop(struct runtime_proc *r)
{
	struct hotspot *h = r->own;

	for (size_t i = 0; h->pages && i < HOTSPOT_PAGES; i++)
		h->pages[i].at = 0;
}
