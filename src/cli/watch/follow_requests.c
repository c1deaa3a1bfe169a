/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/watch/follow_requests.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fmt.h"
#include "base/hash.h"
#include "base/stop.h"
#include "base/path_limit.h"
#include "cli/opts/file_rights.h"
#include "cli/watch/followed_set.h"
#include "collect/paths/paths_watch.h"
#include "paths/path_traces.h"
#include "paths/paths.h"

struct live {
	struct paths *paths;	/* of this slice */
	struct strtab *strings;
	const struct trace_files_sink *sink;
	struct hmap comms;	/* string ids by process */
	struct followed_set followed;
	int64_t offset_ns;
	uint64_t duration_ns;
	uint64_t next_s;	/* of the watch: the progress line is written again; 0: none yet */
	int code;		/* of the sink */
	struct path_traces_cnt cnt;
	struct requests_live out;
};

static void slice_begin(struct live *l)
{
	l->paths = followed_paths(&l->followed);
}

static void put_port(void *ctx, uint16_t port)
{
	struct live *l = ctx;

	followed_port(&l->followed, l->paths, port);
}

static void put_process(void *ctx, uint32_t tgid, const char *comm, bool switches)
{
	struct live *l = ctx;

	hmap_put(&l->comms, tgid, strtab_add(l->strings, *comm ? comm : "process that ended"));
	if (!switches)
		return;
	l->out.switches = true;
	followed_switches(&l->followed, l->paths, tgid);
}

static void put_event(void *ctx, const struct path_event *e)
{
	struct live *l = ctx;

	paths_add(l->paths, e);
}

static const char *comm_of(void *ctx, uint32_t tgid)
{
	const struct live *l = ctx;
	uint64_t id = 0;

	hmap_get(&l->comms, tgid, &id);
	return strtab_str(l->strings, (uint32_t)id);
}

static int put_trace(void *ctx, const struct trace *t)
{
	struct live *l = ctx;

	return l->sink->trace(l->sink->ctx, t);
}

static void slice_end(void *ctx)
{
	struct live *l = ctx;
	const struct path_traces_opts how = {.strings = l->strings, .comm = comm_of,
					     .trace = put_trace, .ctx = l,
					     .offset_ns = l->offset_ns};
	const struct paths_result *r;

	paths_finish(l->paths);
	r = paths_result(l->paths);
	for (int rule = 0; rule < PATH_RULE_CNT; rule++) {
		l->out.call_cnt += r->known_cnt[rule];
		l->out.unknown_cnt += rule == PATH_RULE_NONE ? r->known_cnt[rule] : 0;
		l->out.likely_cnt += call_rules[rule].likely ? r->known_cnt[rule] : 0;
		l->out.refused_cnt += r->refused_cnt[rule];
	}
	l->out.shared_cnt += r->shared_cnt;
	l->out.shared_call_cnt += r->shared_call_cnt;
	l->out.setup_cnt += r->setup_cnt;
	l->out.bad_cnt += r->bad_cnt;
	followed_shares(&l->followed, l->paths);
	if (l->code == 0)
		l->code = path_traces(l->paths, &how, &l->cnt);
	paths_free(l->paths);
	slice_begin(l);
}

/* A line on a terminal, once a second. */
static void step(void *ctx, uint64_t watched_ns, uint64_t event_cnt)
{
	struct live *l = ctx;
	uint64_t second = watched_ns / NS_PER_SEC;
	char events[FMT_MAX], requests[FMT_MAX];

	if (l->next_s && second < l->next_s)
		return;
	l->next_s = second + 1;
	fprintf(stderr, "\r\033[Kfollowing: %" PRIu64, second);
	if (l->duration_ns)
		fprintf(stderr, " of %.0f", (double)l->duration_ns / 1e9);
	fprintf(stderr, " s, %s events, %s requests analysed (Ctrl-C: answer from these)",
		fmt_count(events, event_cnt), fmt_count(requests, l->cnt.trace_cnt));
	fflush(stderr);
}

/* Whether anything was seen at all decides what a person can do about it. */
static int nothing(const struct live *l, const struct paths_watched *w, struct err *err)
{
	if (l->cnt.cut_cnt)
		return err_set(err, -ENODATA, "%s: no request began and ended while it was "
			       "followed: give a longer time with -d", w->selection);
	return err_set(err, -ENODATA, "%s: no request came on a connection while it was followed",
		       w->selection);
}

static void result_fill(struct live *l, const struct paths_watched *w, struct arena *arena,
			struct requests_input *ret)
{
	struct requests_file *file = ARENA_NEW(arena, struct requests_file);
	struct requests_live *out = ARENA_NEW(arena, struct requests_live);

	file->path = arena_strdup(arena, w->selection);
	file->stats.span_cnt = l->cnt.span_cnt;
	*out = l->out;
	out->followed_ns = w->followed_ns;
	out->watched_ns = w->end_ns - w->begin_ns;
	out->slice_cnt = w->slice_cnt;
	out->event_cnt = w->event_cnt;
	out->lost_cnt = w->lost_cnt;
	out->bad_cnt += w->bad_cnt;
	out->cut_cnt = l->cnt.cut_cnt;
	out->shared_trace_cnt = l->cnt.shared_cnt;
	out->cost_share = w->cost_share;
	*ret = (struct requests_input){.files = file, .file_cnt = 1, .live = out,
				       .trace_cnt = l->cnt.trace_cnt};
}

static void live_release(struct live *l)
{
	paths_free(l->paths);
	hmap_release(&l->comms);
	followed_release(&l->followed);
}

int follow_requests_read(const struct follow_requests_opts *opts, struct strtab *strings,
		       const struct trace_files_sink *sink, struct arena *arena,
		       struct requests_input *ret, struct err *err)
{
	CLEANUP(live_release) struct live l = {.strings = strings, .sink = sink};
	CLEANUP(path_limit_close) struct path_limit *writes =
		file_rights_writes(opts->cmd, opts->cmd_opts, NULL);
	const struct paths_watch_opts watch = {
		.select = opts->select, .duration_ns = opts->duration_ns,
		.max_cost_ppm = opts->max_cost_ppm, .writes = writes,
		.keep = file_rights_of_outputs(opts->cmd, opts->cmd_opts)};
	struct paths_sink to = {.ctx = &l, .port = put_port, .process = put_process,
				      .event = put_event, .slice_end = slice_end};
	struct paths_watched watched = {0};
	int code;

	if (isatty(STDERR_FILENO))
		to.step = step;
	l.duration_ns = opts->duration_ns;
	l.offset_ns = (int64_t)(clock_real_ns() - clock_mono_ns());
	slice_begin(&l);
	code = paths_watch(&watch, &to, &watched, err);
	if (l.next_s) {
		fputs("\r\033[K", stderr);
		fflush(stderr);
	}
	if (code == 0)
		code = l.code;
	if (code == 0 && !l.cnt.trace_cnt)
		code = nothing(&l, &watched, err);
	if (code == 0)
		result_fill(&l, &watched, arena, ret);
	return code;
}
