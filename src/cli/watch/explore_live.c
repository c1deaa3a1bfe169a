/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/watch/explore_live.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fmt.h"
#include "base/hash.h"
#include "base/stop.h"
#include "base/path_limit.h"
#include "cli/opts/file_rights.h"
#include "cli/opts/names_opts.h"
#include "cli/watch/followed_set.h"
#include "explore/timelines.h"
#include "paths/paths.h"
#include "report/explore/explore_out.h"

#define STACKS_NS (3 * NS_PER_SEC)	/* of a longer search: stacks are read for so long */
#define STACKS_SHARE 4			/* of a shorter one: one part in so many */
#define POOL_NS (3 * NS_PER_SEC)	/* requests are followed with nothing on for so long */
/* A look without enough slow requests after so long is not worth its tracepoints. */
#define LOOK_NS (8 * NS_PER_SEC)
#define WHOLE_NS (POOL_NS - 100 * NS_PER_MS)	/* shorter rounds were ended for their cost */

/*
 * A request on a serving socket, for a count while it is followed: paths/ does it right
 * when the round is over.  Events of two CPUs are not in order then.
 */
struct conn {
	uint64_t read_ns, sent_ns;	/* first read, last send of the request; 0: none */
	bool counted, slow;
};

struct live {
	const struct explore_live_opts *opts;
	struct explore *explore;
	struct explore_space *space;
	struct arena *arena;
	struct paths *paths;		/* of this round */
	struct timelines timelines;
	struct followed_set followed;
	struct hmap conn_of;		/* by socket: idx + 1 */
	VEC(struct conn) conns;
	uint64_t seen_cnt, seen_slow_cnt; /* of this round */
	bool has_port;
	uint16_t port;			/* that the search is about */
	uint64_t other_cnt, begin_ns;
	uint64_t round_ns;		/* when the present round was asked for */
	VEC(struct point_place) places;
	VEC(bool) slow;
};

static void paths_begin(struct live *l)
{
	l->paths = followed_paths(&l->followed);
	hmap_clear(&l->conn_of);
	vec_clear(&l->conns);
	l->seen_cnt = l->seen_slow_cnt = 0;
}

static void put_port(void *ctx, uint16_t port)
{
	struct live *l = ctx;

	followed_port(&l->followed, l->paths, port);
}

static void put_process(void *ctx, uint32_t tgid, const char *comm, bool switches)
{
	struct live *l = ctx;

	(void)comm;
	if (switches)
		followed_switches(&l->followed, l->paths, tgid);
}

/* The request as far as it was sent; it may be slower than that. */
static void conn_count(struct live *l, struct conn *c)
{
	bool slow;

	if (!c->read_ns || c->sent_ns <= c->read_ns)
		return;
	slow = explore_is_slow(l->explore, c->sent_ns - c->read_ns);
	l->seen_cnt += !c->counted;
	l->seen_slow_cnt += slow && !c->slow;
	c->counted = true;
	c->slow |= slow;
}

static void count(struct live *l, const struct path_event *e)
{
	bool serves = e->sock.lport ? followed_serves(&l->followed, e->sock.lport)
				    : e->sock.bound & PATH_OWN_NAME;
	struct conn *c;
	uint64_t *at;

	if (!serves || (l->has_port && e->sock.lport != l->port))
		return;
	at = hmap_slot(&l->conn_of, e->sock.cookie);
	if (!*at) {
		(void)vec_add(&l->conns);
		*at = l->conns.cnt;
	}
	c = &l->conns.items[*at - 1];
	if (e->kind == PATH_SEND) {
		c->sent_ns = e->ns > c->sent_ns ? e->ns : c->sent_ns;
	} else if (!c->read_ns || c->sent_ns > c->read_ns) {
		conn_count(l, c);
		*c = (struct conn){.read_ns = e->ns};
	}
}

static void put_event(void *ctx, const struct path_event *e)
{
	struct live *l = ctx;

	if (e->kind == PATH_POINT) {
		timelines_hit(&l->timelines, e);
		return;
	}
	if (e->kind == PATH_SEND || e->kind == PATH_RECV)
		count(l, e);
	paths_add(l->paths, e);
}

/* Requests on the port in which most time went: what it is about from now on. */
static void port_choose(struct live *l)
{
	CLEANUP(hmap_release) struct hmap ns = {0};
	uint64_t top = 0;

	if (l->has_port)
		return;
	VEC_FOREACH(&l->timelines.items, t) {
		uint64_t *sum = hmap_slot(&ns, (uint64_t)t->port + 1);

		*sum += t->ns;
		if (*sum > top) {
			top = *sum;
			l->port = t->port;
			l->has_port = true;
		}
	}
}

static void others_drop(struct live *l)
{
	size_t out = 0;

	VEC_FOREACH(&l->timelines.items, t) {
		if (t->port == l->port)
			l->timelines.items.items[out++] = *t;
		else
			l->other_cnt++;
	}
	l->timelines.items.cnt = out;
}

static const char *top_words(const struct live *l, uint32_t top)
{
	switch (top) {
	case EXPLORE_NONE:
		return "too few to tell";
	case PART_BEGIN:
		return "before any of them";
	case PART_ASK:
		return "an answer that was asked for";
	case PART_QUEUE:
		return "the queue for a worker";
	default:
		return l->space->graph.fns[top].name;
	}
}

static void progress(struct live *l)
{
	struct explore_result r;
	const struct explore_round *last;
	const struct look *look;
	char t[FMT_MAX], share[FMT_MAX];

	if (!l->opts->progress)
		return;
	explore_result(l->explore, l->arena, &r);
	if (!r.round_cnt)
		return;
	last = &r.rounds[r.round_cnt - 1];
	look = &last->look;
	fprintf(stderr, "%s: round %u, %u functions enabled, %u requests, %u slow: %s",
		fmt_ns(t, clock_mono_ns() - l->begin_ns), r.round_cnt, last->on_cnt - last->hot_cnt,
		look->request_cnt, look->slow_cnt, top_words(l, last->top));
	if (last->top != EXPLORE_NONE)
		fprintf(stderr, " (%s)", fmt_share(share, look->points.items[0].share));
	fputc('\n', stderr);
}

static void slice_end(void *ctx)
{
	struct live *l = ctx;

	paths_finish(l->paths);
	timelines_make(&l->timelines, paths_result(l->paths));
	port_choose(l);
	others_drop(l);
	explore_take(l->explore, &l->timelines,
		     clock_mono_ns() - l->round_ns >= WHOLE_NS);
	progress(l);
	if (!explore_goes_on(l->explore))
		timelines_clear(&l->timelines);
	paths_free(l->paths);
	paths_begin(l);
}

static bool next_round(void *ctx, struct path_round *ret)
{
	struct live *l = ctx;
	uint32_t fns[EXPLORE_ON_MAX], cnt;

	if (!explore_next(l->explore, fns, &cnt))
		return false;
	l->round_ns = clock_mono_ns();
	vec_clear(&l->places);
	vec_clear(&l->slow);
	for (uint32_t i = 0; i < cnt; i++) {
		const struct explore_place *p = &l->space->places[fns[i]];
		const struct explore_file *f = &l->space->files[p->file];

		vec_push(&l->places, ((struct point_place){
			.fd = point_file_fd(f->file), .file_off = p->site.file_off,
			.point = fns[i], .is_program = f->is_program}));
		vec_push(&l->slow, p->site.slow);
	}
	*ret = (struct path_round){.places = l->places.items, .slow = l->slow.items, .cnt = cnt,
				   .max_ns = cnt ? LOOK_NS : POOL_NS};
	return true;
}

/* Also of functions that are on later: the price is by the place alone. */
static void put_price(void *ctx, const struct point_price *price)
{
	struct live *l = ctx;

	vec_clear(&l->timelines.hit_ns);
	for (size_t i = 0; i < l->space->graph.fn_cnt; i++)
		vec_push(&l->timelines.hit_ns, l->space->places[i].site.slow ? price->slow_ns
									      : price->fast_ns);
}

static void put_hot(void *ctx, uint32_t point, double hits_s)
{
	struct live *l = ctx;

	(void)hits_s;
	explore_hot(l->explore, point);
}

static bool enough(void *ctx)
{
	struct live *l = ctx;

	VEC_FOREACH(&l->conns, c)
		conn_count(l, c);
	return explore_enough(l->explore, l->seen_cnt, l->seen_slow_cnt);
}

static void live_release(struct live *l)
{
	paths_free(l->paths);
	timelines_release(&l->timelines);
	followed_release(&l->followed);
	hmap_release(&l->conn_of);
	vec_release(&l->conns);
	vec_release(&l->places);
	vec_release(&l->slow);
}

static int look(struct live *l, uint64_t left_ns, struct explore_live *ret, struct err *err)
{
	const struct explore_live_opts *o = l->opts;
	CLEANUP(path_limit_close) struct path_limit *writes =
		file_rights_writes(o->cmd, o->cmd_opts, NULL);
	const struct paths_watch_opts watch = {
		.select = o->select, .duration_ns = left_ns, .max_cost_ppm = o->max_cost_ppm,
		.writes = writes, .keep = file_rights_of_outputs(o->cmd, o->cmd_opts)};
	const struct paths_sink sink = {
		.ctx = l, .port = put_port, .process = put_process, .event = put_event,
		.slice_end = slice_end, .round = next_round,
		.price = put_price, .hot = put_hot, .enough = enough};

	return paths_watch(&watch, &sink, &ret->watched, err);
}

int explore_live(const struct explore_live_opts *opts, struct arena *arena,
		 struct explore_live *ret, struct err *err)
{
	CLEANUP(live_release) struct live l = {.opts = opts, .space = &ret->space, .arena = arena,
					       .begin_ns = clock_mono_ns()};
	struct symbols_opts symbols = names_opts_symbols(NULL);
	struct explore_space_opts first = {.select = opts->select, .symbols = &symbols,
					   .max_cost_ppm = opts->max_cost_ppm};
	uint64_t gone;
	int code = 0;

	first.duration_ns = opts->duration_ns / STACKS_SHARE < STACKS_NS
				    ? opts->duration_ns / STACKS_SHARE : STACKS_NS;
	if (opts->seen)
		explore_space_of(opts->seen, arena, &ret->space);
	else
		code = explore_space_watch(&first, arena, &ret->space, err);
	if (code < 0)
		return code;
	gone = clock_mono_ns() - l.begin_ns;
	l.explore = ret->explore = explore_new(&ret->space.graph);
	paths_begin(&l);
	if (!stop_requested())
		code = look(&l, opts->duration_ns > gone ? opts->duration_ns - gone : 1, ret, err);
	ret->took_ns = clock_mono_ns() - l.begin_ns;
	ret->port = l.port;
	ret->other_cnt = l.other_cnt;
	explore_result(l.explore, arena, &ret->result);
	if (code == 0 && !ret->result.request_cnt)
		code = err_set(err, -ENODATA, "no request came and was answered while it was "
			       "followed: nothing to explore");
	return code;
}

void explore_live_release(struct explore_live *l)
{
	explore_free(l->explore);
	explore_space_release(&l->space);
}

/* " (3: no function begins there)"; "" where none was refused. */
static const char *refusals(const struct explore_space *s, struct arena *arena)
{
	const char *all = "";

	for (int why = POINT_OK + 1; why < POINT_REFUSAL_CNT; why++)
		if (s->refused_cnt[why])
			all = arena_printf(arena, "%s%s%u: %s", all, *all ? ", " : "",
					   s->refused_cnt[why],
					   point_refusal_words((enum point_refusal)why));
	return *all ? arena_printf(arena, " (%s)", all) : "";
}

void explore_live_view(const struct explore_live *l, uint32_t max_cost_ppm, struct arena *arena,
		       struct explore_view *ret)
{
	const struct paths_watched *w = &l->watched;
	char asked[PATHS_ADDR_MAX] = "";

	if (l->result.asked.family)
		paths_addr(asked, &l->result.asked);
	*ret = (struct explore_view){
		.graph = &l->space.graph, .r = &l->result, .selection = w->selection,
		.port = l->port, .asked = arena_strdup(arena, asked), .other_cnt = l->other_cnt,
		.took_ns = l->took_ns, .stacks_ns = l->space.watched_ns,
		.sample_cnt = l->space.sample_cnt, .followed_ns = w->followed_ns,
		.lost_cnt = w->lost_cnt, .cost_share = w->cost_share,
		.cost_may = max_cost_ppm / 1e6, .hit_cnt = w->hit_cnt,
		.fast_ns = w->price.fast_ns, .slow_ns = w->price.slow_ns,
		.function_cnt = l->space.function_cnt,
		.seen_cnt = (uint32_t)l->space.graph.fn_cnt,
		.refused_cnt = (uint32_t)l->space.graph.fn_cnt - l->space.refused_cnt[POINT_OK],
		.refusals = refusals(&l->space, arena), .differ_bytes = w->differ.byte_cnt,
		.compared_cnt = w->differ.read_cnt, .uncompared_cnt = w->differ.unread_cnt,
		.left_out_cnt = w->left_out_cnt};
}
