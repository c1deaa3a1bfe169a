/* SPDX-License-Identifier: Apache-2.0 */
#include "report/answer/answer_tail.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fmt.h"
#include "base/json.h"
#include "model/model.h"
#include "report/answer.h"
#include "report/answer/json_parts.h"
#include "report/lines/pen.h"
#include "verdict/context/tail.h"
#include "waits/tail.h"

enum { STALLS_SHOWN = 2, MOMENTS_MAX = 100 };

static bool is_shown(const struct answer *a)
{
	return a->verdict->tail && a->verdict->tail->stall_cnt > 0;
}


static void put_stall(struct pen *p, const struct stall_finding *s, int verbose)
{
	CLEANUP(buf_release) struct buf line = { 0 };
	char t[FMT_MAX];

	if (s->heads) /* described in full by the first finding */
		return;
	buf_printf(&line, "%s: %s (%s of the slow requests' time, %s confidence)",
		   finding_title(s->f.cls), s->f.summary, fmt_share(t, s->share),
		   confidence_name(s->f.conf));
	pen_to(p, 2);
	pen_text(p, PEN_DIM, "· ");
	pen_wrap(p, s->f.conf == CONF_LOW ? PEN_DOUBT : PEN_PLAIN, 4, verbose ? 0 : 3,
		 buf_str(&line));
	pen_nl(p);
	for (size_t i = 0; verbose && i < s->f.evidence_cnt; i++) {
		pen_to(p, 4);
		pen_wrap(p, PEN_DIM, 4, 0, s->f.evidence[i]);
		pen_nl(p);
	}
}

void answer_tail_text(struct pen *p, const struct answer *a, int verbose)
{
	const struct verdict *v = a->verdict;
	CLEANUP(buf_release) struct buf line = { 0 };
	char n[FMT_MAX], t[FMT_MAX], u[FMT_MAX];

	if (!is_shown(a))
		return;
	pen_nl(p);
	pen_text(p, PEN_HEAD, "TAIL");
	pen_text(p, PEN_DIM, "  what holds up the slow requests");
	pen_nl(p);
	buf_printf(&line, "%s of %s requests took %s or more", fmt_count(n, v->tail->slow_cnt),
		   fmt_count(t, v->tail->requests), fmt_ns(u, v->tail->slow_ns));
	buf_printf(&line, "; p50 %s", fmt_ns(t, v->tail->p50_ns));
	buf_printf(&line, ", p99 %s", fmt_ns(t, v->tail->p99_ns));
	buf_printf(&line, ", p99.9 %s", fmt_ns(t, v->tail->p999_ns));
	pen_to(p, 2);
	pen_text(p, PEN_DIM, "· ");
	pen_wrap(p, PEN_PLAIN, 4, 2, buf_str(&line));
	pen_nl(p);
	for (size_t i = 0; i < v->tail->stall_cnt && (verbose || i < STALLS_SHOWN); i++)
		put_stall(p, &v->tail->stalls[i], verbose);
}

static void json_lengths(struct json *j, const struct stall_finding *s)
{
	json_ku64(j, "cnt", s->cnt);
	json_ku64(j, "min_ns", s->min_ns);
	json_ku64(j, "max_ns", s->max_ns);
	json_ku64(j, "median_ns", s->median_ns);
	if (s->every_ns)
		json_ku64(j, "every_ns", s->every_ns);
	else
		json_knull(j, "every_ns");
	json_kbool(j, "regular", s->regular);
	json_ku64(j, "requests", s->req_cnt);
	json_kf64_dec(j, "share", s->share, 4);
	json_kf64_dec(j, "time_share", s->time_share, 4);
	json_karr(j, "affects");
	for (unsigned q = 0; q < TAIL_QUANTILES; q++) {
		if (s->affects >> q & 1)
			json_str(j, tail_quantile_name(q));
	}
	json_arr_end(j);
}

static void json_moments(struct json *j, const struct model *m, const struct stall_finding *s)
{
	json_karr(j, "at");
	for (uint32_t i = 0; i < s->cnt && i < MOMENTS_MAX; i++) {
		json_obj(j);
		json_ku64(j, "begin_ns", s->stalls[i].begin_ns - m->begin_ns);
		json_ku64(j, "length_ns", s->stalls[i].len_ns);
		json_ku64(j, "requests", s->stalls[i].req_cnt);
		json_obj_end(j);
	}
	json_arr_end(j);
}

void answer_tail_json(struct json *j, const struct answer *a)
{
	const struct tail *t = a->verdict->tail;

	if (!t) {
		json_knull(j, "tail");
		return;
	}
	json_kobj(j, "tail");
	json_ku64(j, "requests", t->requests);
	json_ku64(j, "p50_ns", t->p50_ns);
	json_ku64(j, "p99_ns", t->p99_ns);
	json_ku64(j, "p999_ns", t->p999_ns);
	json_ku64(j, "slow_ns", t->slow_ns);
	json_ku64(j, "slow_cnt", t->slow_cnt);
	json_karr(j, "stalls");
	for (size_t i = 0; i < t->stall_cnt; i++) {
		const struct stall_finding *s = &t->stalls[i];

		json_obj(j);
		json_lengths(j, s);
		json_finding_parts(j, &s->f);
		json_kstr(j, "function", s->function);
		json_kbool(j, "of_mean", s->of_mean);
		json_moments(j, a->model, s);
		json_obj_end(j);
	}
	json_arr_end(j);
	json_obj_end(j);
}
