/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdarg.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fmt.h"
#include "base/hash.h"
#include "report/explore/explore_out.h"
#include "report/explore/traced_out.h"
#include "report/forest/forest_out.h"
#include "report/lines/pen.h"
#include "traced/drive.h"

enum { LOCATED_SHOWN = 3, KEYS_SHOWN = 3, DECISIONS_SHOWN = 30 };

static const struct {
	const char *name, *words;
} ends[] = {
	[DRIVE_SURE] = {"found", "found"},
	[DRIVE_NO_AGENT] = {"no_agent", "no program asked which tracepoints are on: does it run "
				        "with heldup's library, and this address?"},
	[DRIVE_NO_REQUEST] = {"no_request", "too few requests of this type came whole to tell"},
	[DRIVE_LOST] = {"lost", "cannot tell: too many spans are missing, and what is missing "
			        "looks like a tracepoint that requests do not come to"},
	[DRIVE_OLD] = {"old", "cannot tell: most requests have another switch state than was "
			      "asked for"},
	[DRIVE_CALM] = {"calm", "nothing: their times hardly vary, and none of their paths is "
			        "slower than the rest"},
	[DRIVE_OPEN] = {"open", "not known yet: the time was over, or a stop was asked for; give "
				"a longer time with -d"},
};

const char *traced_end_name(unsigned doubt)
{
	return ends[doubt].name;
}

__attribute__((format(printf, 3, 4)))
static void line(struct pen *p, const char *head, const char *fmt, ...)
{
	CLEANUP(buf_release) struct buf text = {0};
	va_list ap;

	va_start(ap, fmt);
	buf_vprintf(&text, fmt, ap);
	va_end(ap);
	pen_text(p, PEN_HEAD, head);
	pen_to(p, EXPLORE_INDENT);
	pen_wrap(p, PEN_PLAIN, EXPLORE_INDENT, 0, buf_str(&text));
	pen_nl(p);
}

static void requests_line(const struct traced_view *v, struct pen *p)
{
	const struct drive_counts *c = &v->r->counts;
	char t[FMT_MAX], l[FMT_MAX];

	line(p, "REQUESTS", "%s %s, %s of them with all tracepoints on to learn which there are",
	     fmt_count(t, c->trace_cnt), v->type, fmt_count(l, c->learnt_cnt));
	if (c->old_cnt)
		line(p, "", "%s left out: under a switch state from before",
		     fmt_count(t, c->old_cnt));
	if (c->incomplete_cnt)
		line(p, "", "%s left out: spans of them are missing",
		     fmt_count(t, c->incomplete_cnt));
	if (c->foreign_cnt)
		line(p, "", "%s left out: of nobody who was asked for them",
		     fmt_count(t, c->foreign_cnt));
}

static void located_line(const struct traced_view *v, struct pen *p, uint32_t i)
{
	const struct control_located *l = &v->r->located[i];
	CLEANUP(buf_release) struct buf where = {0};
	uint32_t owner = drive_owner(l);
	char share[FMT_MAX];

	if (owner != FOREST_NONE)
		forest_point_words(v->forest, owner, &where);
	if (owner == FOREST_NONE || l->from.point != l->to.point) {
		buf_adds(&where, owner == FOREST_NONE ? "" : ", between ");
		forest_edge_words(v->forest, &l->from, &l->to, p->ascii, &where);
	}
	line(p, i ? "AND" : "HELD UP BY", "%s: %s of %s", buf_str(&where),
	     fmt_share(share, l->score < 1 ? l->score : 1),
	     l->excess_ns > 0 ? "the time that they take longer than the rest"
			      : "what their times vary by");
}

static void keys_lines(const struct traced_view *v, struct pen *p)
{
	const struct control_located *l = v->r->located;
	const struct forest_node *n = &v->r->forest->trees[l->tree].nodes[l->node];

	for (uint32_t i = 0; i < n->key_cnt && i < KEYS_SHOWN; i++) {
		const struct forest_key *k = &n->keys[i];
		CLEANUP(buf_release) struct buf point = {0};

		forest_point_words(v->forest, k->point, &point);
		line(p, i ? "" : "KEYS", "%s of %s explains it: %s %.2f in %" PRIu64 " requests",
		     strtab_str(v->forest->strings, k->key), buf_str(&point),
		     k->numeric ? "r" : "eta\xc2\xb2", k->strength, k->cnt);
	}
}

static void decision_line(const struct traced_view *v, const struct forest_decision *d,
			  struct pen *p, const char *head)
{
	CLEANUP(buf_release) struct buf text = {0};

	buf_printf(&text, "%u %s", d->round, forest_decision_words(d->kind));
	if (d->point != FOREST_NONE) {
		buf_addch(&text, ' ');
		forest_sided_words(v->forest, d->point, d->sides, &text);
	}
	line(p, head, "%s: %s", buf_str(&text), d->why ? d->why : "");
}

static void tried_lines(const struct traced_view *v, struct pen *p)
{
	const struct forest *f = v->r->forest;
	uint32_t shown = 0, more = 0;

	for (uint32_t i = 0; f && i < f->decision_cnt; i++) {
		if (f->decisions[i].kind == DECIDE_WAIT)
			continue;
		if (shown == DECISIONS_SHOWN) {
			more++;
			continue;
		}
		decision_line(v, &f->decisions[i], p, shown++ ? "" : "TRIED");
	}
	if (more)
		line(p, "", "and %u decisions more (--forest keeps all)", more);
}

static void cost_lines(const struct traced_view *v, struct pen *p)
{
	const struct drive_result *r = v->r;
	char took[FMT_MAX], cost[FMT_MAX], may[FMT_MAX], rec[FMT_MAX], share[FMT_MAX];

	line(p, "COST", "%s of the CPU time of the programs (at most %s); %s in all, %u rounds; "
	     "%s spans; %s of the requests traced",
	     fmt_share(cost, r->cost_share), v->max_cost > 0 ? fmt_share(may, v->max_cost) : "any",
	     fmt_ns(took, v->took_ns), r->round_cnt, fmt_count(rec, v->agents->recorded_cnt),
	     fmt_share(share, r->share));
	if (r->point_cnt)
		line(p, "", "at most %u of %u tracepoints were on while it searched, %.1f on "
		     "average; %u of these always: begins, forks and joins of requests",
		     r->most_on_cnt, r->point_cnt, r->mean_on, r->always_cnt);
	if (v->agents->dropped_cnt || v->spans->late_cnt || v->spans->dropped_cnt ||
	    v->refused_span_cnt)
		line(p, "", "%" PRIu64 " spans were dropped by programs, %" PRIu64 " refused, %"
		     PRIu64 " over a limit, %" PRIu64 " came too late", v->agents->dropped_cnt,
		     v->refused_span_cnt, v->spans->dropped_cnt, v->spans->late_cnt);
	if (v->agents->over_cnt)
		line(p, "", "%" PRIu64 " questions of programs over the limit of %d",
		     v->agents->over_cnt, BOARD_AGENTS_MAX);
}

static void after_line(const struct traced_view *v, struct pen *p)
{
	const struct board_summary *a = v->agents;
	char t[FMT_MAX];

	if (a->off_cnt == a->agent_cnt)
		line(p, "AFTER", "all tracepoints are off in %u program%s, %s after the end",
		     a->agent_cnt, a->agent_cnt == 1 ? "" : "s", fmt_ns(t, v->off_ns));
	else
		line(p, "AFTER", "%u of %u programs said that all are off; %u asked nothing any "
		     "more: what was on there went off by itself", a->off_cnt, a->agent_cnt,
		     a->silent_cnt);
}

void traced_text(const struct traced_view *v, struct pen *pen)
{
	requests_line(v, pen);
	if (v->r->doubt == DRIVE_SURE) {
		for (uint32_t i = 0; i < v->r->located_cnt && i < LOCATED_SHOWN; i++)
			located_line(v, pen, i);
		keys_lines(v, pen);
	} else {
		line(pen, "HELD UP BY", "%s", ends[v->r->doubt].words);
	}
	pen_nl(pen);
	tried_lines(v, pen);
	cost_lines(v, pen);
	after_line(v, pen);
}
