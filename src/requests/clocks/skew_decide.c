/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each pair of hosts is judged by itself; the offsets of those judged to
 * disagree are spread from the host with the most spans along the pairs with
 * the most bounds.  Where a pair on that way has pieces, which of them holds is
 * asked for each trace: by its first span on the clock that tells them apart.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cmp.h"
#include "requests/clocks/skew_int.h"

static int name_cmp(const void *a, const void *b, void *ctx)
{
	const struct skew *s = ctx;
	const struct skew_host_sum *x = &s->hosts.items[*(const uint32_t *)a];
	const struct skew_host_sum *y = &s->hosts.items[*(const uint32_t *)b];
	int diff = strcmp(strtab_str(s->strings, (uint32_t)x->clock),
			  strtab_str(s->strings, (uint32_t)y->clock));

	if (diff)
		return diff;
	CMP(x->clock >> 32, y->clock >> 32);	/* a host before the service of its name */
	return 0;
}

/* Hosts that are in no pair are nobody's business, however many a file names. */
static void places_give(struct skew *s)
{
	for (size_t i = 0; i < s->hosts.cnt; i++)
		s->hosts.items[i].place = TREE_NONE;
	s->order = ARENA_ARRAY(&s->arena, uint32_t, 2 * s->pairs.cnt + 1);
	for (size_t i = 0; i < s->pairs.cnt; i++) {
		uint32_t ends[] = {s->pairs.items[i].a, s->pairs.items[i].b};

		for (int e = 0; e < 2; e++) {
			struct skew_host_sum *host = &s->hosts.items[ends[e]];

			if (host->place == TREE_NONE)
				s->order[s->place_cnt++] = ends[e];
			host->place = 0;
		}
	}
	qsort_r(s->order, s->place_cnt, sizeof(*s->order), name_cmp, s);
	for (uint32_t i = 0; i < s->place_cnt; i++)
		s->hosts.items[s->order[i]].place = i;
}

/* The same seen from the other host. */
static void sample_turn(struct clock_sample *s)
{
	struct bound bound = bound_of(1, 0, s->low, s->high);
	int64_t at = s->at[0];
	bool hard = s->hard_low;

	s->at[0] = s->at[1];
	s->at[1] = at;
	s->hard_low = s->hard_high;
	s->hard_high = hard;
	s->low = bound.low;
	s->high = bound.high;
}

/* From numbers, which depend on what came first, to places, which do not. */
static void pair_turn(struct skew *s, struct skew_pair *pair)
{
	uint32_t a = s->hosts.items[pair->a].place, b = s->hosts.items[pair->b].place;

	pair->a = a < b ? a : b;
	pair->b = a < b ? b : a;
	if (a > b) {
		VEC_FOREACH(&pair->samples, sample)
			sample_turn(sample);
	}
}

static int pair_cmp(const void *a, const void *b)
{
	const struct skew_pair *x = a, *y = b;

	CMP(x->a, y->a);
	CMP(x->b, y->b);
	return 0;
}

static const struct skew_host_sum *host_at(const struct skew *s, uint32_t place)
{
	return &s->hosts.items[s->order[place]];
}

static bool is_moved(const struct clock_fit *fit)
{
	for (uint32_t i = 0; i < fit->cnt; i++) {
		if (fit->pieces[i].offset_ns || fit->pieces[i].drift != 0)
			return true;
	}
	return false;
}

static bool fit_varies(const struct clock_fit *fit)
{
	return fit && (fit->cnt > 1 || fit->pieces[0].drift != 0);
}

/* The piece with the most bounds stands for all where one number is wanted. */
static struct offset offset_of(const struct skew_pair *pair, const struct clock_fit *fit)
{
	const struct clock_piece *most = &fit->pieces[0];
	struct offset ret = {.a = pair->a, .b = pair->b};

	for (uint32_t i = 0; i < fit->cnt; i++) {
		const struct clock_piece *piece = &fit->pieces[i];

		if (piece->cnt > most->cnt)
			most = piece;
		ret.cnt += piece->cnt;
		ret.broken_before += piece->broken_before;
		ret.broken_after += piece->broken_after;
	}
	ret.offset_ns = most->offset_ns;
	ret.sure_ns = most->sure_ns;
	return ret;
}

/*
 * Tick of the coarser of begins and ends: some runtimes begin spans by one clock,
 * end by another.
 */
static int64_t tick_of(const struct skew_host_sum *host)
{
	int tick = 0;

	if (host->span_cnt < CLOCK_SAMPLES_MIN)
		return TREE_TICK_NS;
	for (int end = 0; end < 2; end++)
		for (int i = tick + 1; i < SKEW_TICKS; i++)
			if ((host->span_cnt - host->whole_cnt[end][i]) * 100 <=
			    host->span_cnt * CLOCK_SHARE_PCT)
				tick = i;
	return skew_ticks[tick];
}

static void ticks_set(struct skew_pair *pair, int64_t tick_ns)
{
	VEC_FOREACH(&pair->samples, sample)
		sample->tick_ns = tick_ns;
}

/*
 * Where nothing is wrong by a coarse tick, by the one that the clocks show: the latter alone proves
 * little, since some servers end their spans just after their clients, so one offset must mend
 * nearly all.  Whether ret was changed.
 */
static bool fine_judge(const struct skew *s, struct skew_pair *pair, struct clock_fit *ret)
{
	int64_t a = tick_of(host_at(s, pair->a)), b = tick_of(host_at(s, pair->b));
	struct clock_fit fine;

	if (a >= TREE_TICK_NS || b >= TREE_TICK_NS)
		return false;
	ticks_set(pair, a > b ? a : b);
	clock_fit_one(pair->samples.items, pair->samples.cnt, &fine);
	ticks_set(pair, TREE_TICK_NS);
	if (!is_moved(&fine) || !clock_fit_is_sound(&fine))
		return false;
	*ret = fine;
	return true;
}

static void pair_judge(struct skew *s, size_t idx, bool pieces)
{
	struct skew_pair *pair = &s->pairs.items[idx];
	struct clock_fit fit;

	if (pieces)
		clock_fit_pieces(pair->samples.items, pair->samples.cnt, &fit);
	else
		clock_fit_one(pair->samples.items, pair->samples.cnt, &fit);
	pair->poor = clock_fit_is_poor(&fit);
	pair->odd = clock_fit_is_odd(&fit);
	if (!pieces && !pair->poor && !is_moved(&fit) && fine_judge(s, pair, &fit))
		pair->odd = false;
	if (pair->poor || is_moved(&fit))
		pair->fit = arena_dup(&s->arena, &fit, sizeof(fit));
	s->offsets[idx] = offset_of(pair, &fit);
}

/* Pieces take time: first where something is impossible, then where it is only odd. */
static void pairs_judge(struct skew *s)
{
	uint32_t fits = 0;

	s->offsets = ARENA_ARRAY(&s->arena, struct offset, s->pairs.cnt + 1);
	for (size_t i = 0; i < s->pairs.cnt; i++)
		pair_turn(s, &s->pairs.items[i]);
	vec_sort(&s->pairs, pair_cmp);
	for (size_t i = 0; i < s->pairs.cnt; i++) {
		skew_samples_cut(&s->pairs.items[i]);
		ticks_set(&s->pairs.items[i], TREE_TICK_NS);
		pair_judge(s, i, false);
	}
	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < s->pairs.cnt && fits < SKEW_FITS_MAX; i++) {
			struct skew_pair *pair = &s->pairs.items[i];

			if (pair->tried || !(round ? pair->odd : pair->poor))
				continue;
			pair->tried = true;
			pair_judge(s, i, true);
			fits++;
		}
	}
}

/* From the host with the most spans of those not yet reached; false when all are. */
static bool spread_next(struct skew *s, uint32_t *ret_start)
{
	uint32_t best = TREE_NONE;

	for (uint32_t i = 0; i < s->place_cnt; i++) {
		if (!s->found.known[i] && (best == TREE_NONE || host_at(s, i)->span_cnt >
								host_at(s, best)->span_cnt))
			best = i;
	}
	if (best == TREE_NONE)
		return false;
	offsets_spread(&s->found, s->offsets, s->pairs.cnt, best);
	*ret_start = best;
	return true;
}

/* The host before it on the way to the start; TREE_NONE at the start. */
static uint32_t before(const struct skew *s, uint32_t place)
{
	const struct skew_pair *pair;

	if (!s->found.via[place])
		return TREE_NONE;
	pair = &s->pairs.items[s->found.via[place] - 1];
	return pair->a == place ? pair->b : pair->a;
}

/* Ways are chains of at most SKEW_PAIRS_MAX pairs. */
static bool way_varies(const struct skew *s, uint32_t place)
{
	for (; s->found.via[place]; place = before(s, place)) {
		if (fit_varies(s->pairs.items[s->found.via[place] - 1].fit))
			return true;
	}
	return false;
}

static void host_put(struct skew *s, const struct skew_host *row)
{
	if (s->result.host_cnt < SKEW_ROWS_MAX)
		s->rows[s->result.host_cnt++] = *row;
	else
		s->result.untold_cnt++;
}

static int64_t sure_or_not(int64_t sure_ns)
{
	return sure_ns == OFFSET_NO_HIGH ? -1 : sure_ns;
}

/* How a host that was moved is known to be off: by the pair with the most bounds that says so. */
static void put_constant(struct skew *s, uint32_t place)
{
	const struct offset *best = NULL;
	struct skew_host row = {
		.host = (uint32_t)host_at(s, place)->clock,
		.reference = s->result.reference,
		.offset_ns = s->found.ns[place],
		.from_ns = INT64_MIN,
		.to_ns = INT64_MAX,
	};

	for (size_t i = 0; i < s->pairs.cnt; i++) {
		const struct offset *o = &s->offsets[i];

		if ((o->a == place || o->b == place) &&
		    (!best || !best->offset_ns || (o->offset_ns && o->cnt > best->cnt)))
			best = o;
	}
	if (!row.offset_ns || !best)
		return;
	row.against = (uint32_t)host_at(s, best->a == place ? best->b : best->a)->clock;
	row.sure_ns = sure_or_not(best->sure_ns);
	row.bound_cnt = best->cnt;
	row.broken_before = best->broken_before;
	row.broken_after = best->broken_after;
	host_put(s, &row);
}

/* One row for each piece of the nearest pair on the way that has pieces. */
static void put_varying(struct skew *s, uint32_t place)
{
	uint32_t at = place, from;
	const struct skew_pair *pair;
	int64_t more = 0;

	for (;; at = from) {
		pair = &s->pairs.items[s->found.via[at] - 1];
		from = before(s, at);
		if (fit_varies(pair->fit))
			break;
		more += pair->a == at ? -s->offsets[s->found.via[at] - 1].offset_ns
				      : s->offsets[s->found.via[at] - 1].offset_ns;
	}
	for (uint32_t i = 0; i < pair->fit->cnt; i++) {
		const struct clock_piece *piece = &pair->fit->pieces[i];
		bool last = i + 1 == pair->fit->cnt;
		struct skew_host row = {
			.host = (uint32_t)host_at(s, place)->clock,
			.against = (uint32_t)host_at(s, from)->clock,
			.reference = (uint32_t)host_at(s, from)->clock,
			.offset_ns = more + (pair->a == at ? -piece->offset_ns : piece->offset_ns),
			.from_ns = i ? piece->from : INT64_MIN,
			.to_ns = last ? INT64_MAX : piece[1].from,
			.by_own = (pair->fit->axis ? pair->b : pair->a) == at,
			.at_ns = piece->at,
			.drift = pair->a == at ? -piece->drift : piece->drift,
			.sure_ns = sure_or_not(piece->sure_ns),
			.bound_cnt = piece->cnt,
			.broken_before = piece->broken_before,
			.broken_after = piece->broken_after,
		};

		if (row.offset_ns || row.drift != 0)
			host_put(s, &row);
	}
}

static void put_unsettled(struct skew *s)
{
	struct skew_unsettled *rows =
		ARENA_ARRAY(&s->arena, struct skew_unsettled, SKEW_UNSETTLED_MAX);

	s->result.unsettled = rows;
	for (size_t i = 0; i < s->pairs.cnt; i++) {
		const struct skew_pair *pair = &s->pairs.items[i];
		struct skew_unsettled row = {
			.host = (uint32_t)host_at(s, pair->b)->clock,
			.against = (uint32_t)host_at(s, pair->a)->clock,
		};

		if (!pair->fit || !pair->poor)
			continue;
		for (uint32_t p = 0; p < pair->fit->cnt; p++) {
			row.bound_cnt += pair->fit->pieces[p].cnt;
			row.impossible_cnt += pair->fit->pieces[p].impossible_after;
		}
		if (s->result.unsettled_cnt < SKEW_UNSETTLED_MAX)
			rows[s->result.unsettled_cnt++] = row;
	}
}

static void result_make(struct skew *s)
{
	s->rows = ARENA_ARRAY(&s->arena, struct skew_host, SKEW_ROWS_MAX);
	s->result.hosts = s->rows;
	for (uint32_t i = 0; i < s->place_cnt; i++) {
		s->varies[i] = way_varies(s, i);
		if (s->varies[i])
			put_varying(s, i);
		else
			put_constant(s, i);
	}
	put_unsettled(s);
}

const struct skew_result *skew_finish(struct skew *s)
{
	uint32_t reference, start;

	s->result.unseen_cnt = s->unseen_cnt;
	if (!s->pairs.cnt)
		return &s->result;
	arena_clear(&s->arena);
	places_give(s);
	s->found = (struct offsets){
		.ns = ARENA_ARRAY(&s->arena, int64_t, s->place_cnt),
		.unsure = ARENA_ARRAY(&s->arena, int64_t, s->place_cnt),
		.known = ARENA_ARRAY(&s->arena, bool, s->place_cnt),
		.via = ARENA_ARRAY(&s->arena, uint32_t, s->place_cnt),
	};
	s->varies = ARENA_ARRAY(&s->arena, bool, s->place_cnt);
	pairs_judge(s);
	spread_next(s, &reference);
	while (spread_next(s, &start))
		;
	s->result.reference = (uint32_t)host_at(s, reference)->clock;
	result_make(s);
	return &s->result;
}

/* Time of the first span on that clock. */
static bool time_on(const struct skew *s, const struct trace *trace, uint32_t place, int64_t *ret)
{
	uint64_t clock = host_at(s, place)->clock;
	bool any = false;

	for (uint32_t i = 0; i < trace->span_cnt; i++) {
		const struct span *span = &trace->spans[i];

		if (skew_clock(span) == clock && (!any || clock_time(span->begin_ns) < *ret)) {
			*ret = clock_time(span->begin_ns);
			any = true;
		}
	}
	return any;
}

/* Time of the first span of all: the piece is a guess then, but the same for all hosts. */
static int64_t time_of(const struct trace *trace)
{
	int64_t ret = trace->spans[0].begin_ns;

	for (uint32_t i = 1; i < trace->span_cnt; i++) {
		if (trace->spans[i].begin_ns < ret)
			ret = trace->spans[i].begin_ns;
	}
	return clock_time(ret);
}

static int64_t moved(int64_t at, int64_t by)
{
	int64_t sum;

	if (__builtin_add_overflow(at, by, &sum))
		return by < 0 ? INT64_MIN : INT64_MAX;
	return sum;
}

static void pair_ask(const struct skew *s, struct skew_pair *pair, const struct trace *trace)
{
	const struct clock_fit *fit = pair->fit;
	uint32_t places[] = {pair->a, pair->b};
	const struct clock_piece *piece;
	int64_t at;

	if (pair->asked_at == s->trace_cnt)
		return;
	pair->asked_at = s->trace_cnt;
	pair->offset_ns = pair->sure_ns = 0;
	if (!fit)
		return;
	if (time_on(s, trace, places[fit->axis], &at)) {
		piece = clock_fit_at(fit, fit->axis, at);
	} else if (time_on(s, trace, places[!fit->axis], &at)) {
		piece = clock_fit_at(fit, !fit->axis, at);
		at = moved(at, fit->axis ? -piece->offset_ns : piece->offset_ns);
	} else {
		at = time_of(trace);
		piece = clock_fit_at(fit, fit->axis, at);
	}
	pair->offset_ns = clock_piece_offset(piece, at);
	pair->sure_ns = piece->sure_ns == OFFSET_NO_HIGH ? 0 : piece->sure_ns;
}

/* As offsets_spread adds them up. */
static int64_t varying_at(struct skew *s, uint32_t place, const struct trace *trace)
{
	int64_t sum = 0, sure = 0;

	for (; s->found.via[place]; place = before(s, place)) {
		struct skew_pair *pair = &s->pairs.items[s->found.via[place] - 1];

		pair_ask(s, pair, trace);
		sum += pair->a == place ? -pair->offset_ns : pair->offset_ns;
		sure += pair->sure_ns;
	}
	return sum > sure || -sum > sure ? sum : 0;
}

/* TREE_NONE: nothing is known of it. */
static uint32_t place_of(const struct skew *s, const struct span *span)
{
	const uint64_t *host = hmap_find(&s->host_of, skew_clock(span));

	return host ? s->hosts.items[*host - 1].place : TREE_NONE;
}

static int64_t span_offset(struct skew *s, const struct span *span, const struct trace *trace)
{
	uint32_t place = place_of(s, span);

	if (place == TREE_NONE)
		return 0;
	return s->varies[place] ? varying_at(s, place, trace) : s->found.ns[place];
}

void skew_mend(struct skew *s, const struct trace *trace, struct arena *arena, struct trace *ret)
{
	struct span *spans;
	bool any = false;

	*ret = *trace;
	s->trace_cnt++;
	for (uint32_t i = 0; s->result.host_cnt && !any && i < trace->span_cnt; i++)
		any = span_offset(s, &trace->spans[i], trace) != 0;
	if (!any)
		return;
	spans = arena_dup(arena, trace->spans, trace->span_cnt * sizeof(*spans));
	for (uint32_t i = 0; i < trace->span_cnt; i++) {
		int64_t by = span_offset(s, &trace->spans[i], trace);

		spans[i].begin_ns = moved(spans[i].begin_ns, by);
		spans[i].end_ns = moved(spans[i].end_ns, by);
	}
	ret->spans = spans;
}
