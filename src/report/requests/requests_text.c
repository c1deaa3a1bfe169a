/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was read, the problems in a sentence each, then for each request type
 * its latency, its paths and, of the group that matters most, the edges, the
 * keys and one request drawn.  Under two screens: the rest is in the page and
 * in the JSON.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/cmp.h"
#include "base/fmt.h"
#include "base/hash.h"
#include "report/lines/pen.h"
#include "report/requests/requests_text.h"
#include "report/forest/waterfall.h"

enum {
	EDGES_TOP = 5,
	OWNERS_TOP = 3,
	KEYS_TOP = 3,
	GROUPS_TOP = 4,
	PROBLEMS_TOP = 5,
	CLOCKS_TOP = 2,
	BAD_TOP = 3,		/* files */
	TYPES_TOP = 8,		/* in a line each */
	DETAIL_TOP = 1,		/* with edges, keys and a waterfall */
	WATERFALL_ROWS = 14,
};

/* From the right: share of variance with its bounds, share of time, mean. */
enum { COL_VARIANCE = 22, COL_TIME = 30, COL_MEAN = 40 };

void requests_put_head(struct pen *p, const char *title, const char *more)
{
	pen_nl(p);
	pen_text(p, PEN_HEAD, title);
	if (*more)
		pen_text(p, PEN_DIM, "  ");
	if (*more && p->columns > p->col)
		pen_cut(p, PEN_DIM, p->columns - p->col, more);
	pen_nl(p);
}

void requests_put_line(struct pen *p, enum pen_style style, const char *text)
{
	pen_to(p, 2);
	pen_wrap(p, style, 4, 0, text);
	pen_nl(p);
}

/* "p50 9.1 ms, p95 20 ms, p99 31 ms, CV 0.42" */
static void requests_latency_words(const struct latency *l, struct buf *out)
{
	char a[FMT_MAX], b[FMT_MAX], c[FMT_MAX];

	if (l->cnt == 1) {
		buf_adds(out, fmt_ns(a, (uint64_t)l->mean_ns));
		return;
	}
	buf_printf(out, "p50 %s, p95 %s, p99 %s, CV %.2f", fmt_ns(a, (uint64_t)l->p50_ns),
		   fmt_ns(b, (uint64_t)l->p95_ns), fmt_ns(c, (uint64_t)l->p99_ns), l->cv);
}

/* ---- what was read */

static void formats_words(const struct requests_input *in, struct buf *out)
{
	bool seen[SPANS_FORMAT_CNT] = {false};

	for (size_t i = 0; i < in->file_cnt; i++) {
		enum spans_format f = in->files[i].stats.format;

		if (seen[f] || in->files[i].unread)
			continue;
		buf_printf(out, "%s%s", out->len ? ", " : "", spans_format_name(f));
		seen[f] = true;
	}
}

static void live_words(const struct requests_input *in, struct buf *out)
{
	const struct requests_live *l = in->live;
	char a[FMT_MAX], b[FMT_MAX], c[FMT_MAX];
	uint64_t cnt;

	buf_printf(out, "%s: followed for %s", in->files[0].path, fmt_ns(a, l->followed_ns));
	if (l->slice_cnt > 1)
		buf_printf(out, " of %s, in %u slices (--max-cost)", fmt_ns(b, l->watched_ns),
			   l->slice_cnt);
	cnt = in->trace_cnt - l->shared_trace_cnt;
	buf_printf(out, ", %s request%s", fmt_count(c, cnt), cnt == 1 ? "" : "s");
	if (l->shared_trace_cnt)
		buf_printf(out, " and %s times several at once",
			   fmt_count(c, l->shared_trace_cnt));
}

void requests_input_words(const struct requests_input *in,
			  struct buf *out)
{
	CLEANUP(buf_release) struct buf formats = {0};
	uint64_t span_cnt = 0, byte_cnt = 0;
	char a[FMT_MAX], b[FMT_MAX], c[FMT_MAX];

	if (in->live) {
		live_words(in, out);
		return;
	}
	for (size_t i = 0; i < in->file_cnt; i++) {
		span_cnt += in->files[i].stats.span_cnt;
		byte_cnt += in->files[i].stats.plain_bytes;
	}
	formats_words(in, &formats);
	if (in->file_cnt == 1)
		buf_printf(out, "%s: ", in->files[0].path);
	else
		buf_printf(out, "%zu files: ", in->file_cnt);
	buf_printf(out, "%s, %s, %s spans, %s request%s", buf_str(&formats),
		   fmt_bytes(a, byte_cnt), fmt_count(b, span_cnt),
		   fmt_count(c, in->trace_cnt), in->trace_cnt == 1 ? "" : "s");
	if (in->stopped)
		buf_adds(out, " (stopped: a part of what there is)");
}

/* Writes where it ended, and its first bad span; true when there is anything to say. */
static bool put_bad(struct pen *p, const struct requests_file *f, bool shown)
{
	CLEANUP(buf_release) struct buf b = {0};
	const struct spans_stats *s = &f->stats;
	bool cut = s->cut && !s->stopped;

	if (cut && shown) {
		buf_printf(&b, "%s: nothing could be read from offset %llu on: %s", f->path,
			   (unsigned long long)s->cut_at.off, s->cut_at.why);
		requests_put_line(p, PEN_DOUBT, buf_str(&b));
	}
	if (s->bad_shown_cnt && shown) {
		buf_clear(&b);
		buf_printf(&b, "%s: first bad one at offset %llu: %s", f->path,
			   (unsigned long long)s->bad[0].off, s->bad[0].why);
		requests_put_line(p, PEN_DIM, buf_str(&b));
	}
	return cut || s->bad_shown_cnt;
}

static uint64_t clock_off_ns(const struct skew_host *h)
{
	return h->offset_ns < 0 ? -(uint64_t)h->offset_ns : (uint64_t)h->offset_ns;
}

/* The furthest off first, of equals those named first. */
static int clock_cmp(const void *a, const void *b)
{
	const struct skew_host *x = *(const struct skew_host *const *)a;
	const struct skew_host *y = *(const struct skew_host *const *)b;

	CMP(clock_off_ns(y), clock_off_ns(x));
	CMP(x, y);
	return 0;
}

static void put_clocks(const struct requests_view *v, struct pen *p)
{
	CLEANUP(buf_release) struct buf b = {0};
	const struct skew_result *c = &v->in->clocks;
	const struct skew_host **sorted = ARENA_ARRAY(v->arena, const struct skew_host *,
						      c->host_cnt + 1);
	char t[FMT_MAX];

	for (uint32_t i = 0; i < c->host_cnt; i++)
		sorted[i] = &c->hosts[i];
	qsort(sorted, c->host_cnt, sizeof(*sorted), clock_cmp);
	for (uint32_t i = 0; i < c->host_cnt && i < CLOCKS_TOP; i++) {
		buf_clear(&b);
		requests_clock_words(v, sorted[i], &b);
		requests_put_line(p, PEN_DOUBT, buf_str(&b));
	}
	if (c->host_cnt > CLOCKS_TOP) {
		pen_fmt(p, PEN_DIM, "  … %u more such, off by %s or less, corrected too",
			c->host_cnt - CLOCKS_TOP, fmt_ns(t, clock_off_ns(sorted[CLOCKS_TOP])));
		pen_nl(p);
	}
	for (uint32_t i = 0; i < c->unsettled_cnt && i < CLOCKS_TOP; i++) {
		buf_clear(&b);
		requests_unsettled_words(v, &c->unsettled[i], &b);
		requests_put_line(p, PEN_DOUBT, buf_str(&b));
	}
	if (c->unsettled_cnt > CLOCKS_TOP) {
		pen_fmt(p, PEN_DIM, "  … %u more pairs of hosts like that",
			c->unsettled_cnt - CLOCKS_TOP);
		pen_nl(p);
	}
}

/* Exchanges that are no single request, and calls that hang on them. */
static void put_shared(const struct requests_live *l, struct pen *p)
{
	CLEANUP(buf_release) struct buf b = {0};
	char n[FMT_MAX];

	buf_printf(&b, "%s times several requests shared a connection (HTTP/2, pipelining, a "
		   "stream) and are not separable: how many they are, where each begins and "
		   "ends and which calls are theirs is unknown", fmt_count(n, l->shared_cnt));
	if (l->shared_cnt)
		requests_put_line(p, PEN_DOUBT, buf_str(&b));
	buf_clear(&b);
	buf_printf(&b, "%s calls went over connections that carry several at once: of these the "
		   "request is unknown", fmt_count(n, l->shared_call_cnt));
	if (l->shared_call_cnt)
		requests_put_line(p, PEN_DOUBT, buf_str(&b));
	buf_clear(&b);
	buf_printf(&b, "%s requests are calls of another host's servers, by ports and sequence "
		   "numbers", fmt_count(n, l->joined_cnt));
	if (l->joined_cnt)
		requests_put_line(p, PEN_DIM, buf_str(&b));
}

/* For how many calls it is known which request made them, and what that cost. */
static void put_live(const struct requests_live *l, struct pen *p)
{
	CLEANUP(buf_release) struct buf b = {0};
	char n[FMT_MAX], known[FMT_MAX], likely[FMT_MAX], unknown[FMT_MAX], cost[FMT_MAX];
	double all = l->call_cnt ? (double)l->call_cnt : 1;

	if (l->call_cnt)
		buf_printf(&b, "%s calls to other servers: of %s the request is known, of %s "
			   "likely, of %s unknown; ", fmt_count(n, l->call_cnt),
			   fmt_share(known, (double)(l->call_cnt - l->unknown_cnt - l->likely_cnt) /
					    all),
			   fmt_share(likely, (double)l->likely_cnt / all),
			   fmt_share(unknown, (double)l->unknown_cnt / all));
	buf_printf(&b, "following took %s of the CPU time in use",
		   fmt_share(cost, l->cost_share));
	requests_put_line(p, PEN_DIM, buf_str(&b));
	put_shared(l, p);
	if (l->switches)
		requests_put_line(p, PEN_DOUBT, "a Go runtime switches between tasks on one "
				  "thread: its threads do not tell requests apart");
}

/* Writes the faults of the data in one paragraph; then the first bad span of each file. */
static void put_notes(const struct requests_view *v, struct pen *p)
{
	CLEANUP(buf_release) struct buf b = {0};
	struct requests_note notes[REQUESTS_NOTES_MAX];
	size_t cnt = requests_notes(v, notes);
	unsigned bad_cnt = 0;
	char t[FMT_MAX];

	for (size_t i = 0; i < cnt; i++) {
		const char *words = notes[i].words, *blank = strchr(words, ' ');
		size_t noun = (size_t)(blank - words);

		/* "1 span not understood" */
		buf_printf(&b, "%s%s %.*s%s", i ? ", " : "", fmt_count(t, notes[i].cnt),
			   (int)(noun - (notes[i].cnt == 1)), words, blank);
	}
	if (cnt)
		requests_put_line(p, PEN_DIM, buf_str(&b));
	put_clocks(v, p);
	for (size_t i = 0; i < v->in->file_cnt; i++)
		bad_cnt += put_bad(p, &v->in->files[i], bad_cnt < BAD_TOP);
	if (bad_cnt > BAD_TOP) {
		pen_fmt(p, PEN_DIM, "  … %u more files with bad ones", bad_cnt - BAD_TOP);
		pen_nl(p);
	}
}

/* ---- problems */

static bool is_decided(const struct requests_view *v, uint32_t type)
{
	const struct request_type *t = &v->r->types[type];

	for (uint32_t i = 0; i < t->group_cnt; i++)
		if (t->groups[i].decided)
			return true;
	return false;
}

/* That all is well is said only where there is something to say it of. */
static void put_no_problem(const struct requests_view *v, struct pen *p)
{
	CLEANUP(buf_release) struct buf b = {0};

	for (uint32_t i = 0; i < v->r->type_cnt; i++) {
		if (!requests_type_shown(v, i) || !is_decided(v, i))
			continue;
		requests_put_line(p, PEN_GOOD, "nothing: no path is variable or slow beyond the "
				  "thresholds, or too few requests took it to say so");
		return;
	}
	buf_printf(&b, "too few requests to say: no path was taken by %u of them (--min-requests)",
		   v->r->opts.min_cnt);
	requests_put_line(p, PEN_DOUBT, buf_str(&b));
}

static void put_problems(const struct requests_view *v, struct pen *p)
{
	uint32_t shown = 0, all = 0;

	requests_put_head(p, "HELD UP", "");
	for (uint32_t i = 0; i < v->r->problem_cnt; i++) {
		CLEANUP(buf_release) struct buf b = {0};
		const struct request_problem *pr = &v->r->problems[i];

		if (!requests_type_shown(v, pr->type))
			continue;
		if (++all > PROBLEMS_TOP)
			continue;
		pen_fmt(p, PEN_BOLD, "%3u ", ++shown);
		requests_problem_words(v, pr, &b);
		pen_wrap(p, shown == 1 ? PEN_BAD : PEN_PLAIN, 4, 3, buf_str(&b));
		pen_nl(p);
	}
	if (!all)
		put_no_problem(v, p);
	if (all > shown) {
		pen_fmt(p, PEN_DIM, "    … %u more: see --html or --json", all - shown);
		pen_nl(p);
	}
}

/* ---- a group */

struct figures {
	double mean_ns, time_share, share, low, high;
};

static void put_figures(struct pen *p, const struct figures *f, bool with_variance)
{
	char t[FMT_MAX];
	unsigned columns = p->columns;

	pen_right(p, PEN_PLAIN, columns - COL_TIME, fmt_ns(t, (uint64_t)f->mean_ns));
	pen_right(p, PEN_PLAIN, columns - COL_VARIANCE, fmt_share(t, f->time_share));
	if (with_variance)
		pen_right(p, PEN_BOLD, columns - COL_VARIANCE + 9,
			  (snprintf(t, sizeof(t), "%.0f %%", fmt_percent(f->share)), t));
	if (with_variance && isfinite(f->low) && isfinite(f->high))
		pen_right(p, PEN_DIM, columns,
			  (snprintf(t, sizeof(t), "%.0f..%.0f %%", fmt_percent(f->low),
				    fmt_percent(f->high)), t));
	pen_nl(p);
}

static void put_edge(const struct requests_view *v, struct pen *p,
		     const struct request_edge *e, bool first, bool with_variance)
{
	const struct figures f = {e->latency.mean_ns, e->time_share, e->share, e->share_low,
				  e->share_high};
	CLEANUP(buf_release) struct buf name = {0};
	unsigned width = p->columns - COL_MEAN - 4;

	pen_to(p, 4);
	requests_edge_words(v, &e->key, width, &name);
	pen_cut(p, first ? PEN_BOLD : PEN_PLAIN, width, buf_str(&name));
	put_figures(p, &f, with_variance);
}

/* Names the owner of many edges, where no edge stands out. */
static void put_owners(const struct requests_view *v, struct pen *p,
		       const struct request_group *g)
{
	if (!requests_by_owner(g))
		return;
	pen_text(p, PEN_DIM, "    on all edges on which it ran");
	pen_nl(p);
	for (uint32_t i = 0; i < g->owner_cnt && i < OWNERS_TOP; i++) {
		const struct request_owner *o = &g->owners[i];
		const struct figures f = {o->mean_ns, o->time_share, o->share, o->share_low,
					  o->share_high};
		CLEANUP(buf_release) struct buf name = {0};

		pen_to(p, 4);
		requests_point_words(v, o->point, &name);
		pen_cut(p, i ? PEN_PLAIN : PEN_BOLD, p->columns - COL_MEAN - 4, buf_str(&name));
		put_figures(p, &f, true);
	}
}

static void put_edge_heads(struct pen *p, bool with_variance)
{
	pen_to(p, 4);
	pen_text(p, PEN_DIM, "between");
	pen_right(p, PEN_DIM, p->columns - COL_TIME, "mean");
	pen_right(p, PEN_DIM, p->columns - COL_VARIANCE, "time");
	if (with_variance) {
		pen_right(p, PEN_DIM, p->columns - COL_VARIANCE + 9, "variance");
		pen_right(p, PEN_DIM, p->columns, "95 % sure");
	}
	pen_nl(p);
}

/* Sorts edges by time where too few requests make the variance meaningless. */
static void put_edges(const struct requests_view *v, struct pen *p,
		      const struct request_group *g, bool by_time)
{
	uint32_t top = v->top ? (uint32_t)v->top : EDGES_TOP, shown = 0;
	const uint32_t *order = by_time || !g->decided ? g->by_time : g->by_share;

	if (!g->edge_cnt)
		return;
	put_edge_heads(p, g->decided);
	for (; shown < g->edge_cnt && shown < top; shown++)
		put_edge(v, p, &g->edges[order[shown]], !shown, g->decided);
	if (shown < g->edge_cnt) {
		pen_fmt(p, PEN_DIM, "    … %u more edges", g->edge_cnt - shown);
		pen_nl(p);
	}
}

static void put_key(const struct requests_view *v, struct pen *p,
		    const struct request_group *g, const struct request_key *k)
{
	CLEANUP(buf_release) struct buf b = {0};

	pen_to(p, 4);
	pen_text(p, PEN_BOLD, strtab_str(v->strings, k->key));
	if (k->point != REQUEST_POINT_NONE) {
		buf_adds(&b, " of ");
		requests_point_words(v, k->point, &b);
	}
	if (k->edge != REQUEST_ALL && k->edge < g->edge_cnt) {
		buf_adds(&b, ", with ");
		requests_edge_words(v, &g->edges[k->edge].key, 60, &b);
	}
	buf_adds(&b, ": ");
	requests_key_words(v, k, &b);
	buf_adds(&b, "; ");
	requests_key_values_words(v, k, &b);
	pen_wrap(p, PEN_PLAIN, 6, 2, buf_str(&b));
	pen_nl(p);
}

static bool is_explained_by(const struct request_group *g, const struct request_key *k)
{
	for (uint32_t i = 0; i < g->key_cnt; i++)
		if (g->keys[i].explains && g->keys[i].point == k->point && g->keys[i].key == k->key)
			return true;
	return false;
}

void requests_put_keys(const struct requests_view *v, struct pen *p,
		       const struct request_group *g, const struct request_group *told,
		       const char *title)
{
	uint32_t shown = 0;

	for (uint32_t i = 0; i < g->key_cnt && shown < KEYS_TOP; i++) {
		if (!g->keys[i].explains || (told && is_explained_by(told, &g->keys[i])))
			continue;
		if (!shown++) {
			pen_text(p, PEN_DIM, title);
			pen_nl(p);
		}
		put_key(v, p, g, &g->keys[i]);
	}
}

static void copy_words(const char *what, const struct request_copy *c, struct buf *out)
{
	char id[TRACE_ID_TEXT], t[FMT_MAX];

	if (c->id.hi || c->id.lo)
		buf_printf(out, "%s%s%s (%s)", out->len ? ", " : "", what,
			   trace_id_text(&c->id, id), fmt_ns(t, (uint64_t)c->total_ns));
}

static void put_copies(struct pen *p, const struct request_group *g)
{
	CLEANUP(buf_release) struct buf b = {0};

	copy_words(g->latency.cnt > 1 ? "typical " : "", &g->typical, &b);
	if (trace_id_cmp(&g->fast.id, &g->typical.id) != 0)
		copy_words("fast ", &g->fast, &b);
	if (trace_id_cmp(&g->slow.id, &g->typical.id) != 0)
		copy_words("slow ", &g->slow, &b);
	pen_text(p, PEN_DIM, "  traces  ");
	pen_wrap(p, PEN_PLAIN, 10, 2, buf_str(&b));
	pen_nl(p);
}

void requests_put_waterfall(const struct requests_view *v, struct pen *p,
			    const struct trace *t, uint32_t max_rows, const char *what)
{
	const struct waterfall_env env = {.strings = v->strings, .points = v->points,
					  .arena = v->arena};
	struct waterfall w;
	char id[TRACE_ID_TEXT], ns[FMT_MAX];

	if (!t || waterfall_make(t, &env, &w) < 0)
		return;
	pen_fmt(p, PEN_DIM, "  %s request %s, %s; %s: the critical path, with its time", what,
		trace_id_text(&w.id, id), fmt_ns(ns, (uint64_t)w.total_ns),
		p->ascii ? "#" : "█");
	pen_nl(p);
	waterfall_text(&w, max_rows, p);
}

static void group_title(const struct requests_view *v, const struct request_type *t,
			uint32_t group, const struct request_group *g, struct buf *out)
{
	char n[FMT_MAX], s[FMT_MAX];

	fmt_count(n, g->latency.cnt);
	if (group == REQUEST_ALL)
		buf_printf(out, "all %s requests: ", n);
	else
		buf_printf(out, "path %u of %u, %s request%s (%s): ", group + 1, t->group_cnt, n,
			   g->latency.cnt == 1 ? "" : "s", fmt_share(s, g->type_share));
	requests_latency_words(&g->latency, out);
	if (g->failed_cnt)
		buf_printf(out, "; %s failed", fmt_count(n, g->failed_cnt));
	if (g->path_cnt > 1)
		buf_printf(out, "; %u exact paths in one", g->path_cnt);
	requests_what_words(v, g, out);
}

/* pr: the problem that this is shown for, or NULL. */
static void put_group(const struct requests_view *v, struct pen *p, const struct request_type *t,
		      uint32_t group, const struct request_problem *pr)
{
	const struct request_group *g = group == REQUEST_ALL ? t->all : &t->groups[group];
	CLEANUP(buf_release) struct buf b = {0};

	group_title(v, t, group, g, &b);
	pen_to(p, 2);
	pen_wrap(p, PEN_BOLD, 4, 2, buf_str(&b));
	pen_nl(p);
	put_edges(v, p, g, pr && pr->kind == PROBLEM_SLOW);
	put_owners(v, p, g);
	requests_put_keys(v, p, g, NULL, "  explained by");
	put_copies(p, g);
}

/* ---- a type */

static void put_levels(const struct request_type *t, struct pen *p)
{
	CLEANUP(buf_release) struct buf b = {0};
	char s[FMT_MAX];

	if (t->group_cnt < 2 && t->levels[0].group_cnt < 2)
		return;
	for (uint32_t i = 0; i < t->level_cnt; i++) {
		const struct request_level *l = &t->levels[i];

		if (l->group_cnt < 2 || (i && l->group_cnt == t->levels[i - 1].group_cnt))
			continue;
		buf_printf(&b, "%s%s %u%s (%s)", b.len ? ", " : "", request_level_name(l->level),
			   l->group_cnt, l->merged ? "+" : "", fmt_share(s, l->between_share));
	}
	pen_text(p, PEN_DIM, "  paths and the variance between them: ");
	pen_wrap(p, PEN_DIM, 4, 2, buf_str(&b));
	pen_nl(p);
}

static void put_group_row(const struct requests_view *v, struct pen *p, uint32_t number,
			  const struct request_group *g)
{
	CLEANUP(buf_release) struct buf name = {0};
	char t[FMT_MAX];

	pen_right(p, PEN_PLAIN, 6, (snprintf(t, sizeof(t), "%u", number + 1), t));
	pen_right(p, PEN_PLAIN, 16, fmt_count(t, g->latency.cnt));
	pen_right(p, PEN_PLAIN, 26, fmt_ns(t, (uint64_t)g->latency.p50_ns));
	pen_right(p, PEN_PLAIN, 36, fmt_ns(t, (uint64_t)g->latency.p95_ns));
	pen_right(p, PEN_PLAIN, 43, (snprintf(t, sizeof(t), "%.2f", g->latency.cv), t));
	pen_right(p, PEN_PLAIN, 53, fmt_share(t, g->variance_share));
	pen_to(p, 55);
	if (requests_by_owner(g))
		requests_point_words(v, g->owners[0].point, &name);
	else if (g->edge_cnt)
		requests_edge_words(v, &g->edges[g->by_share[0]].key, p->columns - 55, &name);
	pen_cut(p, g->decided ? PEN_PLAIN : PEN_DIM, p->columns - 55, buf_str(&name));
	pen_nl(p);
}

static void put_groups(const struct requests_view *v, struct pen *p, const struct request_type *t)
{
	uint32_t top = v->top ? (uint32_t)v->top : GROUPS_TOP;

	if (t->group_cnt < 2 || p->columns < 70)
		return;
	pen_right(p, PEN_DIM, 6, "path");
	pen_right(p, PEN_DIM, 16, "requests");
	pen_right(p, PEN_DIM, 26, "p50");
	pen_right(p, PEN_DIM, 36, "p95");
	pen_right(p, PEN_DIM, 43, "CV");
	pen_right(p, PEN_DIM, 53, "variance");
	pen_to(p, 55);
	pen_text(p, PEN_DIM, "most of it");
	pen_nl(p);
	for (uint32_t i = 0; i < t->group_cnt && i < top; i++)
		put_group_row(v, p, i, &t->groups[i]);
	if (t->group_cnt > top) {
		pen_fmt(p, PEN_DIM, "       … %u more", t->group_cnt - top);
		pen_nl(p);
	}
}

static const struct request_problem *first_problem(const struct requests_view *v, uint32_t type)
{
	for (uint32_t i = 0; i < v->r->problem_cnt; i++)
		if (v->r->problems[i].type == type && v->r->problems[i].kind != PROBLEM_PATHS)
			return &v->r->problems[i];
	return NULL;
}

static void type_head(const struct requests_view *v, const struct request_type *t,
		      struct pen *p)
{
	CLEANUP(buf_release) struct buf b = {0};
	char n[FMT_MAX];

	buf_printf(&b, "%s request%s, ", fmt_count(n, t->all->latency.cnt),
		   t->all->latency.cnt == 1 ? "" : "s");
	if (t->all->failed_cnt)
		buf_printf(&b, "%s failed, ", fmt_count(n, t->all->failed_cnt));
	if (t->all->message_cnt)
		buf_printf(&b, "%s begun by messages, ", fmt_count(n, t->all->message_cnt));
	requests_latency_words(&t->all->latency, &b);
	pen_nl(p);
	pen_cut(p, PEN_HEAD, p->columns / 2, strtab_str(v->strings, t->name));
	pen_text(p, PEN_DIM, "  ");
	pen_wrap(p, PEN_PLAIN, 2, 2, buf_str(&b));
	pen_nl(p);
}

/* The group that the first problem is about, else that of most requests. */
static void put_type(const struct requests_view *v, struct pen *p, uint32_t type, bool drawn)
{
	const struct request_type *t = &v->r->types[type];
	const struct request_problem *pr = first_problem(v, type);
	uint32_t group = pr ? pr->group : t->group_cnt ? 0 : REQUEST_ALL;
	const struct request_group *g = group == REQUEST_ALL ? t->all : &t->groups[group];
	const struct request_copy *c = pr && g->slow.trace ? &g->slow : &g->typical;

	type_head(v, t, p);
	put_levels(t, p);
	put_groups(v, p, t);
	/* what decides on the path is the same on all of it */
	if (g != t->all)
		requests_put_keys(v, p, t->all, g, "  explained over all paths by");
	put_group(v, p, t, group, pr);
	if (drawn)
		requests_put_waterfall(v, p, c->trace, WATERFALL_ROWS,
				       c == &g->slow ? "slow" : "typical");
}

/* In a line, below the heads if it is the first. */
static void type_row(const struct requests_view *v, const struct request_type *t, bool first,
		     struct pen *p)
{
	const struct latency *l = &t->all->latency;
	unsigned end = p->columns;
	char s[FMT_MAX];

	if (first) {
		requests_put_head(p, "OTHER TYPES", "--type shows one of them");
		pen_right(p, PEN_DIM, end - 40, "requests");
		pen_right(p, PEN_DIM, end - 28, "p50");
		pen_right(p, PEN_DIM, end - 17, "p95");
		pen_right(p, PEN_DIM, end - 7, "p99");
		pen_right(p, PEN_DIM, end, "CV");
		pen_nl(p);
	}
	pen_to(p, 2);
	pen_cut(p, PEN_PLAIN, end - 52, strtab_str(v->strings, t->name));
	pen_right(p, PEN_PLAIN, end - 40, fmt_count(s, l->cnt));
	pen_right(p, PEN_PLAIN, end - 28, fmt_ns(s, (uint64_t)l->p50_ns));
	pen_right(p, PEN_PLAIN, end - 17, fmt_ns(s, (uint64_t)l->p95_ns));
	pen_right(p, PEN_PLAIN, end - 7, fmt_ns(s, (uint64_t)l->p99_ns));
	pen_right(p, PEN_PLAIN, end, (snprintf(s, sizeof(s), "%.2f", l->cv), s));
	pen_nl(p);
}

/* Types with problems first, in the problems' order. */
static uint32_t *types_in_order(const struct requests_view *v)
{
	uint32_t *order = ARENA_ARRAY(v->arena, uint32_t, v->r->type_cnt + 1), cnt = 0;
	bool *placed = ARENA_ARRAY(v->arena, bool, v->r->type_cnt + 1);

	for (uint32_t i = 0; i < v->r->problem_cnt; i++) {
		uint32_t type = v->r->problems[i].type;

		if (!placed[type])
			order[cnt++] = type;
		placed[type] = true;
	}
	for (uint32_t i = 0; i < v->r->type_cnt; i++)
		if (!placed[i])
			order[cnt++] = i;
	return order;
}

static void put_types(const struct requests_view *v, struct pen *p)
{
	const uint32_t *order = types_in_order(v);
	uint32_t shown = 0, omitted = 0;

	for (uint32_t i = 0; i < v->r->type_cnt; i++) {
		if (!requests_type_shown(v, order[i]))
			continue;
		if (shown < DETAIL_TOP || v->type_shown)
			put_type(v, p, order[i], shown == 0);
		else if (shown < TYPES_TOP)
			type_row(v, &v->r->types[order[i]], shown == DETAIL_TOP, p);
		else
			omitted++;
		shown++;
	}
	if (omitted) {
		pen_fmt(p, PEN_DIM, "  … %u more types: see --type, --html or --json", omitted);
		pen_nl(p);
	}
}

void requests_text(const struct requests_view *v, struct pen *p)
{
	CLEANUP(buf_release) struct buf b = {0};

	if (p->columns < PEN_COLUMNS_MIN + 40)
		p->columns = PEN_COLUMNS_MIN + 40;
	if (v->blames && !v->explain)
		requests_put_blame(v, p);
	requests_input_words(v->in, &b);
	pen_wrap(p, PEN_BOLD, 2, 3, buf_str(&b));
	pen_nl(p);
	if (v->in->live)
		put_live(v->in->live, p);
	put_notes(v, p);
	if (v->diff)
		requests_put_against(v, p);
	if (v->explain) {
		requests_put_explain(v, p);
		return;
	}
	if (v->diff) {
		requests_put_rank(v, p);
		requests_put_diff(v, p);
		return;
	}
	put_problems(v, p);
	requests_put_rank(v, p);
	put_types(v, p);
}
