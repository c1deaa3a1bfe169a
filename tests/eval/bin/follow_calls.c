/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follows processes and prints each call to another server with the request that it is
 * of, for tests/eval/paths, which knows the truth:
 *
 *	build/tests/follow_calls PID[,PID] SECONDS
 *	{"remote":"127.0.0.1:8001","local_port":41234,"start_ns":1,"end_ns":2,"rule":"thread",
 *	 "request":{"remote":"127.0.0.1:50000","local_port":8000,"arrival_ns":1},
 *	 "same_thread":...}
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/stop.h"
#include "collect/paths/paths_watch.h"
#include "collect/select.h"
#include "paths/paths.h"

enum { PIDS_MAX = 256 };

static void put_port(void *ctx, uint16_t port)
{
	paths_serves(ctx, port);
}

static void put_process(void *ctx, uint32_t tgid, const char *comm, bool switches)
{
	(void)comm;
	if (switches)
		paths_switches(ctx, tgid);
}

static void put_event(void *ctx, const struct path_event *e)
{
	paths_add(ctx, e);
}

static void slice_end(void *ctx)
{
	(void)ctx;
}

static void print_request(const char *key, const struct paths_result *r, uint32_t idx)
{
	const struct paths_request *q = &r->requests[idx == PATHS_NONE ? 0 : idx];
	char addr[PATHS_ADDR_MAX];

	if (idx == PATHS_NONE || !q->arrival_ns)
		printf(",\"%s\":null", key);
	else
		printf(",\"%s\":{\"remote\":\"%s\",\"local_port\":%u,\"arrival_ns\":%" PRIu64 "}",
		       key, paths_addr(addr, &q->at), q->at.lport, q->arrival_ns);
}

static void print_calls(const struct paths_result *r)
{
	for (size_t i = 0; i < r->call_cnt; i++) {
		const struct paths_call *c = &r->calls[i];
		char addr[PATHS_ADDR_MAX];

		printf("{\"remote\":\"%s\",\"local_port\":%u,\"start_ns\":%" PRIu64,
		       paths_addr(addr, &c->at), c->at.lport, c->start_ns);
		if (c->end_ns)
			printf(",\"end_ns\":%" PRIu64, c->end_ns);
		printf(",\"rule\":\"%s\"", call_rules[c->rule].name);
		print_request("request", r, c->request);
		print_request("same_thread", r, c->same_thread);
		printf("}\n");
	}
}

int main(int argc, char **argv)
{
	int32_t pids[PIDS_MAX];
	struct select_opts select = {.pids.items = pids};
	struct paths_watch_opts opts = {.select = &select, .unfiltered = true};
	struct paths *p = paths_new();
	const struct paths_sink sink = {.ctx = p, .port = put_port, .process = put_process,
					.event = put_event, .slice_end = slice_end};
	struct paths_watched watched;
	struct err err = {0};

	if (argc != 3) {
		fprintf(stderr, "use: follow_calls PID[,PID] SECONDS\n");
		return 2;
	}
	for (char *at = argv[1]; *at && select.pids.cnt < PIDS_MAX; at += *at == ',')
		pids[select.pids.cnt++] = (int32_t)strtol(at, &at, 10);
	stop_init();
	opts.duration_ns = (uint64_t)(strtod(argv[2], NULL) * (double)NS_PER_SEC);
	if (paths_watch(&opts, &sink, &watched, &err) < 0) {
		fprintf(stderr, "follow_calls: %s\n", err.msg);
		return 1;
	}
	paths_finish(p);
	print_calls(paths_result(p));
	fprintf(stderr, "%" PRIu64 " events, %" PRIu64 " lost, cost %.2f %%\n", watched.event_cnt,
		watched.lost_cnt, 100 * watched.cost_share);
	paths_free(p);
	return 0;
}
