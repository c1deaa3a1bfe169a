/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data that was dropped, corrected or not as it should be, from the reader to the
 * analysis, each with its count: a report shows all that are not 0.
 */
#include <math.h>
#include <time.h>

#include "base/buf.h"
#include "base/fmt.h"
#include "base/hash.h"
#include "report/requests/requests_out.h"
#include "requests/edge_rank.h"

struct list {
	struct requests_note *notes;
	size_t cnt;
};

static void note(struct list *l, const char *what, const char *words, uint64_t cnt)
{
	if (cnt && l->cnt < REQUESTS_NOTES_MAX)
		l->notes[l->cnt++] = (struct requests_note){what, words, cnt};
}

static void notes_read(struct list *l, const struct requests_input *in)
{
	struct spans_stats s = {0};

	for (size_t i = 0; i < in->file_cnt; i++) {
		const struct spans_stats *f = &in->files[i].stats;

		s.bad_cnt += f->bad_cnt;
		s.attr_dropped_cnt += f->attr_dropped_cnt;
		s.attr_passed_cnt += f->attr_passed_cnt;
		s.ref_dropped_cnt += f->ref_dropped_cnt;
		s.point_dropped_cnt += f->point_dropped_cnt;
		s.name_dropped_cnt += f->name_dropped_cnt;
		s.backwards_cnt += f->backwards_cnt;
		s.open_cnt += f->open_cnt;
		s.no_service_cnt += f->no_service_cnt;
	}
	note(l, "bad_spans", "spans not understood", s.bad_cnt);
	note(l, "backwards_spans", "spans with an end before the begin", s.backwards_cnt);
	note(l, "open_spans", "spans without an end", s.open_cnt);
	note(l, "no_service_spans", "spans of a process the file does not describe",
	     s.no_service_cnt);
	note(l, "dropped_names", "names beyond the first million", s.name_dropped_cnt);
	note(l, "dropped_attributes", "attributes dropped", s.attr_dropped_cnt);
	note(l, "passed_attributes", "attributes passed over: long texts, lists and maps",
	     s.attr_passed_cnt);
	note(l, "dropped_references", "references dropped", s.ref_dropped_cnt);
	note(l, "dropped_points", "events dropped", s.point_dropped_cnt);
}

static void notes_live(struct list *l, const struct requests_live *live)
{
	note(l, "lost_events", "events lost", live->lost_cnt);
	note(l, "bad_events", "events not understood", live->bad_cnt);
	note(l, "cut_requests", "requests not seen from begin to end", live->cut_cnt);
	note(l, "refused_calls", "calls refused: not within the time of their request",
	     live->refused_cnt);
	note(l, "unrecorded_events", "events left out of the full file of --record",
	     live->unrecorded_cnt);
	note(l, "handshakes", "exchanges of TLS handshakes left out", live->setup_cnt);
}

static void notes_assembled(struct list *l, const struct assembler_stats *a)
{
	note(l, "repeated_spans", "spans read twice", a->duplicate_cnt);
	note(l, "cut_spans", "spans of requests over the bound", a->cut_span_cnt);
	note(l, "cut_traces", "requests that lost those", a->cut_trace_cnt);
	note(l, "cut_attributes", "attributes over the bound", a->cut_attr_cnt);
	note(l, "cut_references", "references over the bound", a->cut_ref_cnt);
}

static void notes_graph(struct list *l, const struct graph_stats *g,
			const struct stand_in_stats *rooted)
{
	note(l, "skewed_traces", "requests with clocks that disagree, corrected",
	     g->skew_trace_cnt);
	note(l, "skewed_spans", "spans moved by that", g->skew_span_cnt);
	note(l, "duplicate_spans", "spans there twice", g->duplicate_cnt);
	note(l, "same_id_spans", "spans with another's id", g->same_id_cnt);
	note(l, "negative_spans", "spans that end before they begin, taken for instants",
	     g->negative_cnt);
	note(l, "orphan_spans", "spans whose parent is missing",
	     g->orphan_cnt + rooted->orphan_cnt);
	note(l, "extra_roots", "roots beside the first",
	     g->extra_root_cnt + rooted->extra_root_cnt);
	note(l, "rootless_traces", "requests without a root",
	     g->rootless_cnt + rooted->rootless_cnt);
	note(l, "stand_in_roots", "requests with no root over all, given one", rooted->trace_cnt);
	note(l, "outside_spans", "spans reaching out of their parent, cut", g->outside_cnt);
	note(l, "async_spans", "spans nobody waits for", g->async_cnt);
	note(l, "cycles", "rings of parents or references, broken", g->cycle_cnt);
	note(l, "lost_references", "references to spans not there", g->ref_lost_cnt);
	note(l, "backward_references", "references against the clock", g->ref_backward_cnt);
	note(l, "raised_points", "instants moved after what they follow", g->raised_cnt);
	note(l, "cut_joins", "joins cut to those that ended last", g->join_cut_cnt);
}

static void notes_analysis(struct list *l, const struct requests_stats *s)
{
	note(l, "pathless_traces", "requests without a path", s->bad_cnt);
	note(l, "type_over_traces", "requests of types over the bound", s->type_over_cnt);
	note(l, "clipped_times", "times over the bound", s->clipped_cnt);
	note(l, "united_edges",
	     "edges of paths too long put together with others between the same tracepoints",
	     s->united_edge_cnt);
	note(l, "folded_edges", "edges folded into \"other\"", s->folded_edge_cnt);
	note(l, "merged_types", "types having more paths than are kept apart", s->merged_cnt);
	note(l, "id_keys", "keys left out: nearly each request has its own value", s->id_key_cnt);
	note(l, "refused_values", "values of keys over the bound", s->value_over_cnt);
	note(l, "refused_requests", "requests over 134 million of one path", s->moment_over_cnt);
	note(l, "uncounted_calls", "calls over the bound of those that are counted by type",
	     s->call_over_cnt);
	note(l, "uncopied_traces", "requests too big to be drawn", s->uncopied_cnt);
}

size_t requests_notes(const struct requests_view *v, struct requests_note *notes)
{
	struct list l = {.notes = notes};

	notes_read(&l, v->in);
	if (v->in->live)
		notes_live(&l, v->in->live);
	notes_assembled(&l, &v->in->assembled);
	note(&l, "folded_names", "names with ids in them, taken for one route (--no-fold)",
	     v->in->folded_cnt);
	note(&l, "detached_requests", "requests that messages of others began",
	     v->in->detached.part_cnt);
	notes_graph(&l, &v->r->graph_stats, &v->in->rooted);
	notes_analysis(&l, &v->r->stats);
	if (v->rank) {
		note(&l, "unranked_visits", "visits to edges over the bound of the ranking",
		     v->rank->dropped_cnt);
		note(&l, "rare_edges", "edges of slow requests with too few visits to rank",
		     v->rank->rare_cnt);
		note(&l, "unseen_visits",
		     "slow edges without the span that most requests have there: it is blamed",
		     v->rank->unseen_visit_cnt);
	}
	note(&l, "uncompared_clocks", "calls between hosts over the bound, clocks not compared",
	     v->in->clocks.unseen_cnt);
	note(&l, "untold_clocks", "clocks over the bound, corrected but not listed",
	     v->in->clocks.untold_cnt);
	note(&l, "refused_texts", "texts over the bound, taken for none",
	     v->strings->refused_cnt);
	return l.cnt;
}

/* "since 2026-11-22 10:02:03 UTC"; by whose clock only where it is the host's own. */
static void clock_time(struct buf *out, const char *word, int64_t ns)
{
	time_t second = (time_t)(ns / 1000000000);
	char text[32] = "?";
	struct tm tm;

	if (gmtime_r(&second, &tm))
		strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm);
	buf_printf(out, "%s %s", word, text);
}

static void clock_piece_words(const struct skew_host *h, struct buf *out)
{
	bool from = h->from_ns != INT64_MIN, to = h->to_ns != INT64_MAX;

	if (!from && !to)
		return;
	clock_time(out, from ? " from" : " until", from ? h->from_ns : h->to_ns);
	if (from && to)
		clock_time(out, " to", h->to_ns);
	buf_adds(out, h->by_own ? " UTC by itself" : " UTC");
}

static void clock_drift_words(const struct skew_host *h, struct buf *out)
{
	if (h->drift == 0)
		return;
	clock_time(out, " at", h->at_ns);
	buf_printf(out, ", %s by %.3g ppm", h->drift < 0 ? "gaining" : "losing",
		   fabs(h->drift) * 1e6);
}

void requests_clock_words(const struct requests_view *v, const struct skew_host *h,
			  struct buf *out)
{
	const char *against = strtab_str(v->strings, h->against);
	uint64_t off = h->offset_ns < 0 ? -(uint64_t)h->offset_ns : (uint64_t)h->offset_ns;
	char t[FMT_MAX];

	buf_printf(out, "clock of %s", strtab_str(v->strings, h->host));
	clock_piece_words(h, out);
	buf_printf(out, ": %s %s %s's", fmt_ns(t, off), h->offset_ns < 0 ? "ahead of" : "behind",
		   strtab_str(v->strings, h->reference));
	clock_drift_words(h, out);
	if (h->sure_ns >= 0)
		buf_printf(out, ", corrected to %s", fmt_ns(t, (uint64_t)h->sure_ns));
	else
		buf_adds(out, " at least, corrected by that");
	buf_printf(out, "; of %u calls between it and %s ", h->bound_cnt, against);
	buf_printf(out, "%u could not have been before, %u now", h->broken_before,
		   h->broken_after);
}

void requests_unsettled_words(const struct requests_view *v, const struct skew_unsettled *u,
			      struct buf *out)
{
	buf_printf(out, "clocks of %s and %s: of %u calls between them %u are impossible, ",
		   strtab_str(v->strings, u->against), strtab_str(v->strings, u->host),
		   u->bound_cnt, u->impossible_cnt);
	buf_adds(out, "and no offset mends most of them: times between these two are a guess");
}
