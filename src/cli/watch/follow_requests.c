/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/watch/follow_requests.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fmt.h"
#include "base/hash.h"
#include "base/stop.h"
#include "base/path_limit.h"
#include "base/buf.h"
#include "base/vec.h"
#include "cli/files/path_file.h"
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
	VEC(uint32_t) hosts;	/* string ids, by number: of files */
	struct followed_set followed;
	int64_t offset_ns;
	uint64_t duration_ns;
	uint64_t next_s;	/* of the watch: the progress line is written again; 0: none yet */
	int code;		/* of the sink */
	struct buf *record;	/* NULL: none */
	struct path_traces_cnt cnt;
	struct requests_live out;
};

static uint32_t host_of(void *ctx, uint32_t tgid);

static void slice_begin(struct live *l)
{
	l->paths = followed_paths(&l->followed);
}

static void put_port(void *ctx, uint16_t port)
{
	struct live *l = ctx;

	if (l->record)
		path_file_port(l->record, port);
	followed_port(&l->followed, l->paths, port);
}

static void put_process(void *ctx, uint32_t tgid, const char *comm, bool switches)
{
	struct live *l = ctx;

	if (l->record)
		path_file_process(l->record, tgid, comm, switches);
	hmap_put(&l->comms, tgid, strtab_add(l->strings, *comm ? comm : "process that ended"));
	if (!switches)
		return;
	l->out.switches = true;
	followed_switches(&l->followed, l->paths, tgid);
}

static void put_event(void *ctx, const struct path_event *e)
{
	struct live *l = ctx;

	if (l->record && !path_file_event(l->record, e))
		l->out.unrecorded_cnt++;
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
					     .host = l->hosts.cnt > 1 ? host_of : NULL,
					     .offset_ns = l->offset_ns};
	const struct paths_result *r;

	if (l->record)
		path_file_slice_end(l->record);
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
	l->out.joined_cnt += r->joined_cnt;
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

/* All that was seen until now becomes the answer's input. */
static int live_end(struct live *l, const struct paths_watched *w, struct arena *arena,
		    struct requests_input *ret, struct err *err)
{
	if (l->code < 0)
		return l->code;
	if (!l->cnt.trace_cnt)
		return nothing(l, w, err);
	result_fill(l, w, arena, ret);
	return 0;
}

static void record_begin(struct live *l)
{
	struct path_file_head head = {.offset_ns = l->offset_ns};

	gethostname(head.host, sizeof(head.host) - 1);
	path_file_begin(l->record, &head);
}

static void live_release(struct live *l)
{
	paths_free(l->paths);
	hmap_release(&l->comms);
	vec_release(&l->hosts);
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
	l.record = opts->record;
	if (l.record)
		record_begin(&l);
	slice_begin(&l);
	code = paths_watch(&watch, &to, &watched, err);
	if (l.next_s) {
		fputs("\r\033[K", stderr);
		fflush(stderr);
	}
	if (code == 0 && l.record)
		path_file_end(l.record, &watched);
	return code < 0 ? code : live_end(&l, &watched, arena, ret, err);
}

/* ---- from files */

struct host {			/* of a file */
	struct live *l;
	uint32_t idx;
	int64_t offset_ns;
	uint64_t last_ns;	/* of its events so far, since 1970 */
};

static void host_port(void *ctx, uint16_t port)
{
	const struct host *h = ctx;

	paths_serves_on(h->l->paths, h->idx, port);
}

static void host_process(void *ctx, uint32_t tgid, const char *comm, bool switches)
{
	const struct host *h = ctx;

	put_process(h->l, paths_on_host(h->idx, tgid), comm, switches);
}

/* Ids and times that no other host has. */
static void host_event(void *ctx, const struct path_event *e)
{
	struct host *h = ctx;
	struct path_event to = *e;
	uint64_t mark = (uint64_t)h->idx << 56, offset_ns = (uint64_t)h->offset_ns;

	to.ns += offset_ns;
	to.tid = paths_on_host(h->idx, e->tid);
	to.tgid = paths_on_host(h->idx, e->tgid);
	if (e->kind == PATH_WAIT) {
		to.other = e->other ? paths_on_host(h->idx, e->other) : 0;
		to.wait.off_ns += offset_ns;
		to.wait.wake_ns += e->wait.wake_ns ? offset_ns : 0;
	} else if (e->kind == PATH_SEND || e->kind == PATH_RECV || e->kind == PATH_CONNECT) {
		to.sock.cookie ^= mark;
		to.sock.pair[0] ^= e->sock.family == AF_UNIX ? mark : 0;
		to.sock.pair[1] ^= e->sock.family == AF_UNIX ? mark : 0;
	}
	h->last_ns = to.ns > h->last_ns ? to.ns : h->last_ns;
	paths_add(h->l->paths, &to);
}

static void host_slice_end(void *ctx)
{
	const struct host *h = ctx;

	paths_gap(h->l->paths, h->idx, h->last_ns);
}

static uint32_t host_of(void *ctx, uint32_t tgid)
{
	const struct live *l = ctx;

	return l->hosts.items[tgid >> PATHS_HOST_SHIFT];
}

/* Adds a file to all of them: times that the longest one has, sums of the rest. */
static void watched_add(struct paths_watched *all, const struct paths_watched *w, const char *host)
{
	size_t len = strlen(all->selection);

	snprintf(all->selection + len, sizeof(all->selection) - len, "%s%s: %s", len ? "; " : "",
		 host, w->selection);
	if (w->end_ns - w->begin_ns > all->end_ns)
		all->end_ns = w->end_ns - w->begin_ns;
	if (w->followed_ns > all->followed_ns)
		all->followed_ns = w->followed_ns;
	if (w->cost_share > all->cost_share)
		all->cost_share = w->cost_share;
	if (w->slice_cnt > all->slice_cnt)
		all->slice_cnt = w->slice_cnt;
	all->event_cnt += w->event_cnt;
	all->lost_cnt += w->lost_cnt;
	all->bad_cnt += w->bad_cnt;
}

static int file_play(struct live *l, const char *path, uint32_t idx, uint32_t cnt,
		     struct paths_watched *all, struct err *err)
{
	struct host host = {.l = l, .idx = idx};
	const struct paths_sink alone = {.ctx = l, .port = put_port, .process = put_process,
					 .event = put_event, .slice_end = slice_end};
	const struct paths_sink beside = {.ctx = &host, .port = host_port,
					  .process = host_process, .event = host_event,
					  .slice_end = host_slice_end};
	CLEANUP(buf_release) struct buf bytes = {0};
	struct path_file_head head;
	struct paths_watched w;
	int code = path_file_read(path, &bytes, &head, err);

	if (code < 0)
		return code;
	host.offset_ns = head.offset_ns;
	l->offset_ns = cnt > 1 ? 0 : head.offset_ns;
	vec_push(&l->hosts, strtab_add(l->strings, head.host));
	code = path_file_play(bytes.data, bytes.len, cnt > 1 ? &beside : &alone, &w, err);
	if (code < 0)
		return err_prefix(err, "%s", path);
	if (cnt > 1)
		watched_add(all, &w, head.host);
	else
		*all = w;
	return 0;
}

int follow_requests_files(char **paths, size_t cnt, struct strtab *strings,
			  const struct trace_files_sink *sink, struct arena *arena,
			  struct requests_input *ret, struct err *err)
{
	CLEANUP(live_release) struct live l = {.strings = strings, .sink = sink};
	struct paths_watched watched = {0};
	int code = 0;

	if (cnt > PATHS_HOSTS_MAX)
		return err_set(err, -E2BIG, "%zu files: at most %d are joined", cnt,
			       PATHS_HOSTS_MAX);
	slice_begin(&l);
	for (size_t i = 0; i < cnt && code == 0; i++)
		code = file_play(&l, paths[i], (uint32_t)i, (uint32_t)cnt, &watched, err);
	if (code < 0)
		return code;
	if (cnt > 1)
		slice_end(&l);
	return live_end(&l, &watched, arena, ret, err);
}
