/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/watch/followed_set.h"

#include "paths/paths.h"

void followed_port(struct followed_set *f, struct paths *p, uint16_t port)
{
	hmap_put(&f->ports, port, 1);
	paths_serves(p, port);
}

void followed_switches(struct followed_set *f, struct paths *p, uint32_t tgid)
{
	hmap_put(&f->switching, tgid, 1);
	paths_switches(p, tgid);
}

void followed_shares(struct followed_set *f, const struct paths *p)
{
	const struct paths_result *r = paths_result(p);

	for (size_t i = 0; i < r->shared_conn_cnt && f->sharing.cnt < FOLLOWED_SHARING_MAX; i++)
		hmap_put(&f->sharing, r->shared_conns[i], 1);
}

bool followed_serves(const struct followed_set *f, uint16_t port)
{
	return hmap_get(&f->ports, port, NULL);
}

struct paths *followed_paths(const struct followed_set *f)
{
	struct paths *p = paths_new();
	struct hmap_entry e;

	for (size_t pos = 0; hmap_next(&f->ports, &pos, &e);)
		paths_serves(p, (uint16_t)e.key);
	for (size_t pos = 0; hmap_next(&f->switching, &pos, &e);)
		paths_switches(p, (uint32_t)e.key);
	for (size_t pos = 0; hmap_next(&f->sharing, &pos, &e);)
		paths_shares(p, e.key);
	return p;
}

void followed_release(struct followed_set *f)
{
	hmap_release(&f->ports);
	hmap_release(&f->switching);
	hmap_release(&f->sharing);
}
