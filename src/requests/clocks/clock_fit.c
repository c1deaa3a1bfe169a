/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The samples in order of time are cut into cells; the cheapest way to put
 * neighbouring cells together to pieces is found by dynamic programming, then
 * the borders are moved to where they break the fewest bounds.
 */
#include "requests/clocks/clock_fit.h"

#include <stdlib.h>

#include "base/cmp.h"
#include "requests/clocks/offset_solve.h"

struct line {
	int64_t at, offset_ns, sure_ns;
	double drift;
	uint32_t broken;
};

static int64_t drifted(double drift, int64_t from, int64_t at)
{
	return (int64_t)(drift * (double)(clock_time(at) - clock_time(from)));
}

static int64_t shifted(int64_t bound, int64_t by)
{
	return bound == OFFSET_NO_LOW || bound == OFFSET_NO_HIGH ? bound : bound - by;
}

static bool is_broken(const struct clock_sample *s, int64_t offset_ns)
{
	return shifted(s->low, offset_ns) > s->tick_ns ||
	       shifted(s->high, offset_ns) < -s->tick_ns;
}

static bool is_impossible(const struct clock_sample *s, int64_t offset_ns)
{
	return (s->hard_low && shifted(s->low, offset_ns) > s->tick_ns) ||
	       (s->hard_high && shifted(s->high, offset_ns) < -s->tick_ns);
}

static int64_t line_at(const struct line *line, int64_t at)
{
	return line->offset_ns + drifted(line->drift, line->at, at);
}

static struct line line_fit(const struct clock_sample *s, size_t cnt, int axis, double drift)
{
	struct bound bounds[CLOCK_SAMPLES_MAX];
	int64_t highs[CLOCK_SAMPLES_MAX];
	struct line line = {.at = s[cnt / 2].at[axis], .drift = drift};
	struct offset offset;

	for (size_t i = 0; i < cnt; i++) {
		int64_t by = drifted(drift, line.at, s[i].at[axis]);

		bounds[i] = (struct bound){shifted(s[i].low, by), shifted(s[i].high, by), 0, 1};
	}
	offset = offset_find(bounds, cnt, highs);
	line.offset_ns = offset.offset_ns;
	line.sure_ns = offset.sure_ns;
	for (size_t i = 0; i < cnt; i++)
		line.broken += is_broken(&s[i], line_at(&line, s[i].at[axis]));
	return line;
}

static int ns_cmp(const void *a, const void *b)
{
	CMP(*(const int64_t *)a, *(const int64_t *)b);
	return 0;
}

static int double_cmp(const void *a, const void *b)
{
	CMP(*(const double *)a, *(const double *)b);
	return 0;
}

static bool is_bounded(const struct clock_sample *s)
{
	return s->low != OFFSET_NO_LOW && s->high != OFFSET_NO_HIGH;
}

/*
 * The median of the slopes between the middles of bounds that are half the
 * samples apart; only of the narrower half of the bounds, whose middles say
 * more.  0 when there are too few, or none is that slow.
 */
static double drift_find(const struct clock_sample *s, size_t cnt, int axis)
{
	double slopes[CLOCK_SAMPLES_MAX];
	int64_t widths[CLOCK_SAMPLES_MAX];
	uint16_t tight[CLOCK_SAMPLES_MAX];
	size_t width_cnt = 0, tight_cnt = 0, slope_cnt = 0;

	for (size_t i = 0; i < cnt; i++) {
		if (is_bounded(&s[i]))
			widths[width_cnt++] = s[i].high - s[i].low;
	}
	if (width_cnt < CLOCK_SAMPLES_MIN)
		return 0;
	qsort(widths, width_cnt, sizeof(*widths), ns_cmp);
	for (size_t i = 0; i < cnt; i++) {
		if (is_bounded(&s[i]) && s[i].high - s[i].low <= widths[width_cnt / 2])
			tight[tight_cnt++] = (uint16_t)i;
	}
	for (size_t i = 0; i + tight_cnt / 2 < tight_cnt; i++) {
		const struct clock_sample *x = &s[tight[i]], *y = &s[tight[i + tight_cnt / 2]];
		double time = (double)(y->at[axis] - x->at[axis]);

		if (time > 0)
			slopes[slope_cnt++] = ((double)(y->low + y->high) / 2 -
					       (double)(x->low + x->high) / 2) / time;
	}
	if (!slope_cnt)
		return 0;
	qsort(slopes, slope_cnt, sizeof(*slopes), double_cmp);
	if (slopes[slope_cnt / 2] > CLOCK_DRIFT_MAX || slopes[slope_cnt / 2] < -CLOCK_DRIFT_MAX)
		return 0;
	return slopes[slope_cnt / 2];
}

/* Drift must mend half of what a piece must. */
static struct line line_best(const struct clock_sample *s, size_t cnt, int axis)
{
	struct line line = line_fit(s, cnt, axis, 0), other;
	double drift;

	if (line.broken <= CLOCK_PIECE_COST / 2)
		return line;
	drift = drift_find(s, cnt, axis);
	if (drift == 0)
		return line;
	other = line_fit(s, cnt, axis, drift);
	return other.broken + CLOCK_PIECE_COST / 2 < line.broken ? other : line;
}

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static bool over_share(uint32_t part, uint32_t cnt)
{
	return cnt >= CLOCK_SAMPLES_MIN && (uint64_t)part * 100 > (uint64_t)cnt * CLOCK_SHARE_PCT;
}

/* The clock is moved only where the evidence is not thin (skew.h). */
static void piece_make(const struct clock_sample *s, size_t cnt, int axis,
		       const struct line *line, struct clock_piece *ret)
{
	*ret = (struct clock_piece){
		.from = s[0].at[axis],
		.other_from = s[0].at[!axis],
		.other_to = s[0].at[!axis],
		.at = line->at,
		.offset_ns = line->offset_ns,
		.drift = line->drift,
		.sure_ns = line->sure_ns,
		.cnt = (uint32_t)cnt,
		.broken_after = line->broken,
	};
	for (size_t i = 0; i < cnt; i++) {
		ret->other_from = least(ret->other_from, s[i].at[!axis]);
		ret->other_to = -least(-ret->other_to, -s[i].at[!axis]);
		ret->broken_before += is_broken(&s[i], 0);
		ret->impossible_before += is_impossible(&s[i], 0);
		ret->impossible_after += is_impossible(&s[i], line_at(line, s[i].at[axis]));
	}
	if (cnt >= CLOCK_SAMPLES_MIN && ret->broken_after * 2 <= ret->broken_before &&
	    (over_share(ret->impossible_before, ret->cnt) ||
	     ret->broken_before * 2 > cnt))
		return;
	ret->offset_ns = 0;
	ret->drift = 0;
	ret->broken_after = ret->broken_before;
	ret->impossible_after = ret->impossible_before;
}

static int cmp_rest(const struct clock_sample *x, const struct clock_sample *y)
{
	CMP(x->hash, y->hash);
	CMP(x->low, y->low);
	CMP(x->high, y->high);
	return 0;
}

static int cmp_first(const void *a, const void *b)
{
	const struct clock_sample *x = a, *y = b;

	CMP(x->at[0], y->at[0]);
	return cmp_rest(x, y);
}

static int cmp_second(const void *a, const void *b)
{
	const struct clock_sample *x = a, *y = b;

	CMP(x->at[1], y->at[1]);
	return cmp_rest(x, y);
}

void clock_fit_one(struct clock_sample *samples, size_t cnt, struct clock_fit *ret)
{
	struct line line;

	qsort(samples, cnt, sizeof(*samples), cmp_first);
	line = line_fit(samples, cnt, 0, 0);
	ret->axis = 0;
	ret->cnt = 1;
	piece_make(samples, cnt, 0, &line, &ret->pieces[0]);
}

bool clock_fit_is_poor(const struct clock_fit *fit)
{
	uint32_t cnt = 0, impossible = 0;

	for (uint32_t i = 0; i < fit->cnt; i++) {
		cnt += fit->pieces[i].cnt;
		impossible += fit->pieces[i].impossible_after;
	}
	return over_share(impossible, cnt);
}

bool clock_fit_is_sound(const struct clock_fit *fit)
{
	uint32_t cnt = 0, broken = 0;

	for (uint32_t i = 0; i < fit->cnt; i++) {
		cnt += fit->pieces[i].cnt;
		broken += fit->pieces[i].broken_after;
	}
	return (uint64_t)broken * 100 <= (uint64_t)cnt * CLOCK_LEFT_PCT;
}

bool clock_fit_is_odd(const struct clock_fit *fit)
{
	uint32_t cnt = 0, broken = 0;

	for (uint32_t i = 0; i < fit->cnt; i++) {
		cnt += fit->pieces[i].cnt;
		broken += fit->pieces[i].broken_after;
	}
	return over_share(broken, cnt);
}

struct cutting {
	const struct clock_sample *samples;
	size_t cnt, cells;
	int axis;
	uint32_t cost[CLOCK_PIECES_MAX + 1];	/* of the cells before */
	uint8_t begin[CLOCK_PIECES_MAX + 1];	/* cell where the last piece of these begins */
	size_t edges[CLOCK_PIECES_MAX + 1];	/* samples where pieces begin, and the end */
	size_t piece_cnt;
	struct line lines[CLOCK_PIECES_MAX];
};

static size_t cell_at(const struct cutting *c, size_t cell)
{
	return cell * c->cnt / c->cells;
}

static void cut_best(struct cutting *c)
{
	size_t at = c->cells;

	c->cost[0] = 0;
	for (size_t to = 1; to <= c->cells; to++) {
		c->cost[to] = UINT32_MAX;
		for (size_t from = 0; from < to; from++) {
			size_t first = cell_at(c, from);
			struct line line = line_best(c->samples + first, cell_at(c, to) - first,
						     c->axis);
			uint32_t cost = c->cost[from] + CLOCK_PIECE_COST + line.broken +
					(line.drift != 0 ? CLOCK_PIECE_COST / 2 : 0);

			if (cost < c->cost[to]) {
				c->cost[to] = cost;
				c->begin[to] = (uint8_t)from;
			}
		}
	}
	for (; at; at = c->begin[at])
		c->piece_cnt++;
	at = c->cells;
	for (size_t i = c->piece_cnt + 1; i--; at = c->begin[at])
		c->edges[i] = cell_at(c, at);
}

static void lines_fit(struct cutting *c)
{
	for (size_t i = 0; i < c->piece_cnt; i++)
		c->lines[i] = line_best(c->samples + c->edges[i], c->edges[i + 1] - c->edges[i],
					c->axis);
}

/* Between two pieces: to where the fewest samples are off their lines; of equals, the first. */
static void edge_move(struct cutting *c, size_t edge)
{
	size_t from = c->edges[edge - 1] + CLOCK_SAMPLES_MIN;
	size_t to = c->edges[edge + 1] - CLOCK_SAMPLES_MIN, best = from;
	long broken = 0, fewest = 0;

	for (size_t i = from; i < to; i++) {
		const struct clock_sample *s = &c->samples[i];

		broken += is_broken(s, line_at(&c->lines[edge - 1], s->at[c->axis]));
		broken -= is_broken(s, line_at(&c->lines[edge], s->at[c->axis]));
		if (broken < fewest) {
			fewest = broken;
			best = i + 1;
		}
	}
	if (from < to)
		c->edges[edge] = best;
}

static int64_t middle(int64_t a, int64_t b)
{
	return a / 2 + b / 2;
}

static void pieces_put(const struct cutting *c, struct clock_fit *ret)
{
	ret->axis = (uint8_t)c->axis;
	ret->cnt = 0;
	for (size_t i = 0; i < c->piece_cnt; i++) {
		size_t from = c->edges[i];
		struct clock_piece *piece = &ret->pieces[ret->cnt++];

		piece_make(c->samples + from, c->edges[i + 1] - from, c->axis, &c->lines[i],
			   piece);
		if (from)	/* the step was between two samples */
			piece->from = middle(c->samples[from - 1].at[c->axis],
					     c->samples[from].at[c->axis]);
	}
}

/* Cost of the fit on clock `axis`. */
static uint32_t fit_on(struct clock_sample *samples, size_t cnt, int axis, struct clock_fit *ret)
{
	struct cutting c = {.samples = samples, .cnt = cnt, .axis = axis};

	c.cells = cnt / CLOCK_SAMPLES_MIN;
	qsort(samples, cnt, sizeof(*samples), axis ? cmp_second : cmp_first);
	cut_best(&c);
	lines_fit(&c);
	for (int round = 0; round < 2; round++) {	/* lines are better where edges are */
		for (size_t i = 1; i < c.piece_cnt; i++)
			edge_move(&c, i);
		lines_fit(&c);
	}
	pieces_put(&c, ret);
	return c.cost[c.cells];
}

void clock_fit_pieces(struct clock_sample *samples, size_t cnt, struct clock_fit *ret)
{
	struct clock_fit other;

	if (cnt < CLOCK_SAMPLES_MIN) {
		clock_fit_one(samples, cnt, ret);
		return;
	}
	/* Something is left broken: perhaps it was the other clock that was set back. */
	if (fit_on(samples, cnt, 0, ret) > ret->cnt * CLOCK_PIECE_COST &&
	    fit_on(samples, cnt, 1, &other) < fit_on(samples, cnt, 0, ret))
		*ret = other;
}

const struct clock_piece *clock_fit_at(const struct clock_fit *fit, int which, int64_t at)
{
	const struct clock_piece *best = &fit->pieces[0];
	uint64_t nearest = UINT64_MAX;

	for (uint32_t i = 0; i < fit->cnt; i++) {
		const struct clock_piece *piece = &fit->pieces[i];
		uint64_t off = at < piece->other_from ? (uint64_t)piece->other_from - (uint64_t)at
			     : at > piece->other_to ? (uint64_t)at - (uint64_t)piece->other_to : 0;

		if (which == fit->axis && piece->from <= at)
			best = piece;
		if (which != fit->axis && off < nearest) {
			nearest = off;
			best = piece;
		}
	}
	return best;
}

int64_t clock_piece_offset(const struct clock_piece *piece, int64_t at)
{
	return piece->offset_ns + drifted(piece->drift, piece->at, at);
}
