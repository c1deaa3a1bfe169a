/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes are records of bpf/paths, made short: whatever threads and connections do,
 * no rule may crash, and no call may be given to a request that it does not fit in.
 */
#include "fuzz.h"

#include <stdlib.h>

#include "base/hash.h"
#include "paths/path_traces.h"
#include "paths/paths.h"
#include "trace/trace.h"

enum { RECORD = 8, RECORDS_MAX = 20000 };

/* A record: kind, thread, connection or word, waker, call, three of time. */
static struct path_event event_of(const uint8_t *d, uint64_t *ns)
{
	struct path_event e = {.kind = d[0] % (PATH_KIND_CNT + 1), .tid = 1 + d[1] % 8};

	*ns += 1 + d[5] + ((uint64_t)d[6] << 8);
	e.ns = d[7] & 0x80 ? *ns / 2 : *ns;
	e.tgid = d[7] & 1 ? 200 : 100;
	if (e.kind == PATH_WAIT) {
		e.call = d[4] & 1 ? 202 : d[4] & 2 ? 232 : d[4];
		e.other = d[3] % 9;
		e.wait = (struct path_wait){.off_ns = e.ns - (e.ns > 50 ? 50 : e.ns),
					    .wake_ns = d[7] & 4 ? e.ns : e.ns / 2,
					    .word = d[2], .waker_word = d[2],
					    .waker_call = d[7] & 8 ? 202 : PATH_NO_CALL};
	} else {
		e.sock = (struct path_sock){.cookie = d[2] % 32, .bytes = d[4], .family = 2,
					    .lport = d[2] % 4 ? 40000 + d[2] : 80,
					    .rport = d[2] % 3 ? 80 : 40000 + d[3]};
	}
	return e;
}

static const char *comm_of(void *ctx, uint32_t tgid)
{
	(void)ctx;
	return tgid == 100 ? "a" : "b";
}

static int take(void *ctx, const struct trace *t)
{
	*(uint64_t *)ctx += t->span_cnt;
	for (uint32_t i = 0; i < t->span_cnt; i++) {
		if (!t->spans[i].id || t->spans[i].end_ns < t->spans[i].begin_ns)
			abort();
	}
	return 0;
}

static void check(const struct paths_result *r)
{
	for (size_t i = 0; i < r->call_cnt; i++) {
		const struct paths_call *c = &r->calls[i];

		if (c->request == PATHS_NONE)
			continue;
		if (c->start_ns < r->requests[c->request].arrival_ns ||
		    c->answer_ns > r->requests[c->request].reply_ns)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct paths *p = paths_new();
	struct strtab strings = {0};
	uint64_t spans = 0, ns = 1000;
	struct path_traces_cnt cnt = {0};
	const struct path_traces_opts how = {.strings = &strings, .comm = comm_of, .trace = take,
					     .ctx = &spans};

	paths_serves(p, 80);
	for (size_t i = 0; i + RECORD <= size && i < (size_t)RECORDS_MAX * RECORD; i += RECORD) {
		const struct path_event e = event_of(data + i, &ns);

		paths_add(p, &e);
	}
	paths_finish(p);
	check(paths_result(p));
	path_traces(p, &how, &cnt);
	if (spans != cnt.span_cnt)
		abort();
	paths_free(p);
	strtab_release(&strings);
	return 0;
}
