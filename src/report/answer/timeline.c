/* SPDX-License-Identifier: Apache-2.0 */
#include "report/answer/timeline.h"

#include <string.h>

#include "base/arena.h"
#include "base/json.h"
#include "model/model.h"
#include "report/answer.h"
#include "report/facts.h"

struct column_sum {
	double ns[ST_CNT];
};

struct sheet {			/* one thread's columns */
	uint64_t begin_ns, end_ns;
	struct column_sum columns[TIMELINE_COLUMNS];
};

static uint64_t column_begin(const struct sheet *s, unsigned col)
{
	return s->begin_ns +
	       (uint64_t)((double)(s->end_ns - s->begin_ns) * col / TIMELINE_COLUMNS);
}

/* Spreads weight (1: the time itself) of state over the columns of from..to. */
static void sheet_add(struct sheet *s, unsigned state, uint64_t from, uint64_t to, double weight)
{
	uint64_t span = s->end_ns - s->begin_ns;
	unsigned col;

	if (from < s->begin_ns)
		from = s->begin_ns;
	if (to > s->end_ns)
		to = s->end_ns;
	if (from >= to)
		return;
	col = (unsigned)((double)(from - s->begin_ns) / (double)span * TIMELINE_COLUMNS);
	if (col && column_begin(s, col) > from)
		col--;
	for (; col < TIMELINE_COLUMNS && column_begin(s, col) < to; col++) {
		uint64_t lo = column_begin(s, col), hi = column_begin(s, col + 1);

		if (lo < from)
			lo = from;
		if (hi > to)
			hi = to;
		if (lo < hi)
			s->columns[col].ns[state] += (double)(hi - lo) * weight;
	}
}

static uint64_t clamp(uint64_t value, uint64_t lo, uint64_t hi)
{
	return value < lo ? lo : value > hi ? hi : value;
}

/* The sums of ticks, spread evenly over each tick, up to until. */
static void add_slices(struct sheet *s, const struct model *m, const struct thread *t,
		       uint64_t until)
{
	for (uint32_t i = 0; i < t->slice_len; i++) {
		const struct slice *sl = &m->slices[t->first_slice + i];
		uint64_t from = sl->begin_ns > t->begin_ns ? sl->begin_ns : t->begin_ns;
		uint64_t sum = 0, to;

		for (unsigned st = 0; st < ST_CNT; st++)
			sum += sl->ns[st];
		if (!sum || from >= until)
			continue;
		to = from + sum;
		for (unsigned st = 0; st < ST_CNT; st++) {
			if (sl->ns[st])
				sheet_add(s, st, from, to < until ? to : until,
					  (double)sl->ns[st] / (double)sum);
		}
	}
}

/* Exact intervals from from on; what lies between two waits is running. */
static void add_waits(struct sheet *s, const struct model *m, const struct thread *t,
		      uint64_t from)
{
	uint64_t at = from;

	for (uint32_t i = 0; i < t->wait_len; i++) {
		const struct wait *w = &m->waits[t->first_wait + i];
		uint64_t off = clamp(w->off_ns, at, t->end_ns);
		uint64_t end = clamp(w->end_ns, off, t->end_ns);
		uint64_t wake = clamp(w->wake_ns, off, end);

		if (w->flags & WAITF_PREEMPTED)
			wake = off;
		else if (w->flags & (WAITF_PENDING | WAITF_EXITED))
			wake = end;
		sheet_add(s, ST_RUN, at, off, 1);
		sheet_add(s, ST_WAIT + w->cls, off, wake, 1);
		sheet_add(s, ST_RUNQ, wake, end, 1);
		at = end;
	}
	sheet_add(s, ST_RUN, at, t->end_ns, 1);
}

static void sheet_fill(struct sheet *s, const struct model *m, const struct thread *t)
{
	/* of a sample only the ticks tell when */
	bool all = m->kept_ns == m->end_ns - m->waits_begin_ns && t->wait_len;
	uint64_t exact = all ? m->waits_begin_ns : t->end_ns;

	memset(s->columns, 0, sizeof(s->columns));
	exact = clamp(exact, t->begin_ns, t->end_ns);
	add_slices(s, m, t, exact);
	if (all)
		add_waits(s, m, t, exact);
}

/* Shares of one column in TIMELINE_PARTS; 0: it holds none of the thread's life. */
static unsigned column_parts(const struct column_sum *c, double column_ns, uint8_t parts[ST_CNT])
{
	unsigned sum = 0;

	for (unsigned st = 0; st < ST_CNT; st++) {
		double share = column_ns > 0 ? c->ns[st] / column_ns : 0;

		parts[st] = (uint8_t)(share >= 1 ? TIMELINE_PARTS : share * TIMELINE_PARTS + 0.5);
		sum += parts[st];
	}
	return sum;
}

static void json_run(struct json *j, unsigned len, const uint8_t parts[ST_CNT])
{
	json_arr(j);
	json_u64(j, len);
	for (unsigned st = 0; st < ST_CNT; st++) {
		if (!parts[st])
			continue;
		json_u64(j, st);
		json_u64(j, parts[st]);
	}
	json_arr_end(j);
}

/* Writes the runs of a row; returns how many. */
static unsigned json_runs(struct json *j, const struct sheet *s)
{
	double column_ns = (double)(s->end_ns - s->begin_ns) / TIMELINE_COLUMNS;
	uint8_t run[ST_CNT], parts[ST_CNT];
	unsigned len = 0, run_cnt = 0;

	for (unsigned col = 0; col < TIMELINE_COLUMNS; col++) {
		column_parts(&s->columns[col], column_ns, parts);
		if (len && memcmp(run, parts, sizeof(run)) != 0) {
			json_run(j, len, run);
			run_cnt++;
			len = 0;
		}
		memcpy(run, parts, sizeof(run));
		len++;
	}
	json_run(j, len, run);
	return run_cnt + 1;
}

void timeline_json(struct json *j, const struct answer *a)
{
	const struct model *m = a->model;
	struct arena arena = { 0 };
	struct sheet *sheet = ARENA_NEW(&arena, struct sheet);
	size_t cnt = 0, row = 0;
	const uint32_t *order = facts_busy_threads(a, &arena, &cnt);
	unsigned runs = 0;

	sheet->begin_ns = m->begin_ns;
	sheet->end_ns = m->end_ns;
	json_kobj(j, "timeline");
	json_ku64(j, "columns", TIMELINE_COLUMNS);
	json_ku64(j, "parts", TIMELINE_PARTS);
	json_karr(j, "states");
	for (unsigned st = 0; st < ST_CNT; st++)
		json_str(j, state_name(st));
	json_arr_end(j);
	json_karr(j, "rows");
	for (; m->end_ns > m->begin_ns && row < cnt && row < TIMELINE_ROWS_MAX &&
	       runs < TIMELINE_RUNS_MAX; row++) {
		sheet_fill(sheet, m, &m->threads[order[row]]);
		json_arr(j);
		json_u64(j, row);
		json_arr(j);
		runs += json_runs(j, sheet);
		json_arr_end(j);
		json_arr_end(j);
	}
	json_arr_end(j);
	json_ku64(j, "hidden", cnt - row);
	json_obj_end(j);
	arena_release(&arena);
}
