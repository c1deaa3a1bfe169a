/* SPDX-License-Identifier: Apache-2.0 */
#include "functions/units/feature_kinds.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/cmp.h"
#include "model/calls/calls.h"
#include "model/model.h"

enum call_class call_class_of(const char *name)
{
	static const struct { const char *name; enum call_class cls; } rows[] = {
		{"epoll_wait", CALL_SET}, {"epoll_pwait", CALL_SET}, {"epoll_pwait2", CALL_SET},
		{"epoll_wait_old", CALL_SET}, {"poll", CALL_SET}, {"ppoll", CALL_SET},
		{"select", CALL_SET}, {"_newselect", CALL_SET}, {"pselect6", CALL_SET},
		{"io_getevents", CALL_SET}, {"io_pgetevents", CALL_SET},
		{"io_uring_enter", CALL_SET},
		{"accept", CALL_ACCEPT}, {"accept4", CALL_ACCEPT},
		{"read", CALL_READ}, {"readv", CALL_READ}, {"recv", CALL_READ},
		{"recvfrom", CALL_READ}, {"recvmsg", CALL_READ}, {"recvmmsg", CALL_READ},
		{"msgrcv", CALL_READ}, {"mq_timedreceive", CALL_READ}, {"semop", CALL_READ},
		{"semtimedop", CALL_READ},
		{"futex", CALL_FUTEX}, {"futex_wait", CALL_FUTEX}, {"futex_waitv", CALL_FUTEX},
		{"nanosleep", CALL_SLEEP}, {"clock_nanosleep", CALL_SLEEP},
		{"pause", CALL_REST}, {"rt_sigsuspend", CALL_REST}, {"sigsuspend", CALL_REST},
		{"rt_sigtimedwait", CALL_REST}, {"wait4", CALL_REST}, {"waitid", CALL_REST},
		{"waitpid", CALL_REST}, {"exit", CALL_END}, {"exit_group", CALL_END},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (strcmp(rows[i].name, name) == 0)
			return rows[i].cls;
	return CALL_PLAIN;
}

struct seen_nr { uint64_t cnt; uint16_t nr; const char *name; };

/* By name, so that numbers of another machine give the same dimensions. */
static int cmp_name(const void *pa, const void *pb)
{
	const struct seen_nr *a = pa, *b = pb;
	int by_name = strcmp(a->name, b->name);

	CMP(by_name, 0);
	CMP(a->nr, b->nr);
	return 0;
}

static int cmp_cnt(const void *pa, const void *pb)
{
	const struct seen_nr *a = pa, *b = pb;

	CMP(b->cnt, a->cnt);
	return cmp_name(pa, pb);
}

void dims_make(struct dims *d, const struct model *m, struct arena *arena)
{
	const struct model_calls *c = m->calls;
	CLEANUP_FREE struct seen_nr *seen = xcalloc(c->nr_cnt + 1, sizeof(*seen));
	const char **names = ARENA_ARRAY(arena, const char *, c->nr_cnt + 1);
	uint32_t cnt = 0;

	*d = (struct dims){.cnt = 1};
	d->nr_of[DIM_OWN] = UINT16_MAX;
	d->of_nr = ARENA_ARRAY(arena, uint16_t, c->nr_cnt + 1);
	for (uint32_t nr = 0; nr < c->nr_cnt; nr++) {
		names[nr] = model_call_name(m, nr);
		seen[nr].nr = (uint16_t)nr;
		seen[nr].name = names[nr];
		d->of_nr[nr] = DIM_NONE;
	}
	d->noise = norm_noise(names, c->nr_cnt, arena);
	for (size_t i = 0; i < c->cnt; i++)
		seen[c->calls[i].nr].cnt++;
	for (uint32_t nr = 0; nr < c->nr_cnt; nr++)
		if (seen[nr].cnt && !d->noise[nr])
			seen[cnt++] = seen[nr];
	qsort(seen, cnt, sizeof(*seen), cmp_cnt);
	for (uint32_t i = DIMS_CALLS_MAX - 1; i < cnt; i++)
		d->folded_cnt += seen[i].cnt;
	cnt = cnt < DIMS_CALLS_MAX - 1 ? cnt : DIMS_CALLS_MAX - 1;
	qsort(seen, cnt, sizeof(*seen), cmp_name);
	for (uint32_t i = 0; i < cnt; i++) {
		d->of_nr[seen[i].nr] = (uint16_t)d->cnt;
		d->cls[d->cnt] = (uint8_t)call_class_of(seen[i].name);
		d->nr_of[d->cnt++] = seen[i].nr;
	}
}
