/* SPDX-License-Identifier: Apache-2.0 */
#include "report/answer/answer_brief.h"

#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "model/model.h"
#include "report/answer.h"
#include "report/facts.h"
#include "verdict/context/tail.h"
#include "verdict/verdict.h"
#include "waits/waits.h"

/*
 * Tried in this order until the text is short enough.  The last is: with texts of 60
 * bytes, each at most six in JSON, its 20 or so texts take under 8000.
 */
static const struct brief_limits {
	size_t text, evidence, refute, chain, others, stalls, unseen;
} limits[] = {
	{400, 8, 4, 8, 4, 3, 6},
	{200, 6, 2, 5, 3, 2, 3},
	{100, 4, 1, 3, 1, 1, 1},
	{60, 2, 0, 1, 0, 0, 0},
};

struct brief {
	struct json j;
	const struct answer *a;
	const struct brief_limits *max;
};

/* ---- the parts */

/* Cut between characters; the mark says so. */
static void put_text(struct brief *b, const char *key, const char *text)
{
	size_t len = text ? strlen(text) : 0;

	if (key)
		json_key(&b->j, key);
	if (len > b->max->text) {
		CLEANUP(buf_release) struct buf cut = {0};

		len = b->max->text;
		while (len && ((unsigned char)text[len] & 0xc0) == 0x80)
			len--;
		buf_add(&cut, text, len);
		buf_adds(&cut, "…");
		json_str(&b->j, buf_str(&cut));
		return;
	}
	json_str(&b->j, text ? text : "");
}

static void put_id(struct brief *b, const char *key, uint32_t id)
{
	if (id)
		json_ku64(&b->j, key, id);
	else
		json_knull(&b->j, key);
}

static void put_party(struct brief *b, const struct party *who)
{
	put_id(b, "pid", who->pid);
	put_id(b, "tid", who->tid);
	put_text(b, "comm", who->comm);
}

static void put_figure(struct brief *b, const struct figure *n)
{
	int decimals = n->form == FIGURE_SHARE || n->form == FIGURE_SHARE_DEC ? 4 : 2;

	json_obj(&b->j);
	json_kstr(&b->j, "key", n->key);
	json_kf64_dec(&b->j, "value", n->value, decimals);
	json_kstr(&b->j, "unit", figure_unit(n));
	json_obj_end(&b->j);
}

static void put_evidence(struct brief *b, const struct finding *f, size_t i)
{
	const struct figures *numbers = f->figures ? &f->figures[i] : &(struct figures){0};

	json_obj(&b->j);
	put_text(b, "text", f->evidence[i]);
	json_karr(&b->j, "numbers");
	for (size_t k = 0; k < numbers->cnt && k < BRIEF_NUMBERS_MAX; k++)
		put_figure(b, &numbers->items[k]);
	json_arr_end(&b->j);
	json_obj_end(&b->j);
}

static void put_texts(struct brief *b, const char *key, const char **list, size_t cnt, size_t max)
{
	json_karr(&b->j, key);
	for (size_t i = 0; i < cnt && i < max; i++)
		put_text(b, NULL, list[i]);
	json_arr_end(&b->j);
}

static void put_finding(struct brief *b, const struct finding *f)
{
	json_kstr(&b->j, "class", finding_name(f->cls));
	json_kstr(&b->j, "title", finding_title(f->cls));
	json_kstr(&b->j, "confidence", confidence_name(f->conf));
	json_kf64_dec(&b->j, "share", f->share, 4);
	json_kstr(&b->j, "of", f->of_tail ? "tail" : "mean");
	put_text(b, "summary", f->summary);
	put_text(b, "resource", f->resource);
	json_kobj(&b->j, "culprit");
	put_party(b, &f->culprit);
	json_obj_end(&b->j);
}

static void put_verdict(struct brief *b, const struct finding *f)
{
	json_kobj(&b->j, "verdict");
	put_finding(b, f);
	put_text(b, "next_step", f->next_step);
	put_texts(b, "confidence_reasons", f->doubts, f->doubt_cnt, b->max->evidence);
	json_obj_end(&b->j);
	json_karr(&b->j, "evidence");
	for (size_t i = 0; i < f->evidence_cnt && i < b->max->evidence; i++)
		put_evidence(b, f, i);
	json_arr_end(&b->j);
	put_texts(b, "refute", f->refute, f->refute_cnt, b->max->refute);
}

static void put_chain(struct brief *b, const struct finding *f)
{
	json_karr(&b->j, "chain");
	for (size_t i = 0; i < f->chain_len && i < b->max->chain; i++) {
		const struct step *s = &f->chain[i];

		json_obj(&b->j);
		put_party(b, &s->who);
		put_text(b, "role", s->role);
		put_text(b, "step", s->doing);
		put_text(b, "function", s->fn_cnt && s->fns[0].name_cnt ? s->fns[0].names[0] : "");
		json_kf64_dec(&b->j, "share", s->share, 4);
		json_ku64(&b->j, "alike", s->like_cnt);
		json_ku64(&b->j, "per_request_ns", s->per_request_ns);
		json_obj_end(&b->j);
	}
	json_arr_end(&b->j);
}

static void put_others(struct brief *b, const struct verdict *v)
{
	json_karr(&b->j, "others");
	for (size_t i = 1; i < v->finding_cnt && i <= b->max->others; i++) {
		json_obj(&b->j);
		put_finding(b, &v->findings[i]);
		json_obj_end(&b->j);
	}
	json_arr_end(&b->j);
}

static void put_stalls(struct brief *b, const struct tail *t)
{
	json_karr(&b->j, "stalls");
	for (size_t i = 0; t && i < t->stall_cnt && i < b->max->stalls; i++) {
		const struct stall_finding *s = &t->stalls[i];

		json_obj(&b->j);
		json_kstr(&b->j, "class", finding_name(s->f.cls));
		put_text(b, "what", s->what);
		put_text(b, "function", s->function);
		json_ku64(&b->j, "cnt", s->cnt);
		json_ku64(&b->j, "median_ns", s->median_ns);
		json_ku64(&b->j, "max_ns", s->max_ns);
		json_ku64(&b->j, "every_ns", s->every_ns);
		json_obj_end(&b->j);
	}
	json_arr_end(&b->j);
}

static void put_window(struct brief *b)
{
	const struct waits_result *w = b->a->waits;
	const struct tail *t = b->a->verdict->tail;

	json_kobj(&b->j, "window");
	json_ku64(&b->j, "length_ns", facts_window_ns(b->a));
	json_kstr(&b->j, "demand", facts_demand_noun(b->a));
	json_ku64(&b->j, "demand_ns", w->demand_ns);
	json_ku64(&b->j, "requests", w->total.turns);
	json_ku64(&b->j, "p50_ns", w->total.p50_ns);
	json_ku64(&b->j, "p99_ns", w->total.p99_ns);
	json_ku64(&b->j, "max_ns", w->total.answer_max_ns);
	json_ku64(&b->j, "slow_cnt", t ? t->slow_cnt : 0);
	json_ku64(&b->j, "lost", facts_lost_cnt(b->a));
	put_text(b, "host", b->a->model->hostname);
	json_obj_end(&b->j);
}

static void brief_write(struct brief *b, struct buf *out)
{
	const struct verdict *v = b->a->verdict;

	json_init(&b->j, out, JSON_COMPACT);
	json_obj(&b->j);
	json_kstr(&b->j, "schema", "heldup/why-brief/1");
	put_text(b, "subject", v->subject);
	put_verdict(b, &v->findings[0]);
	put_chain(b, &v->findings[0]);
	put_others(b, v);
	put_stalls(b, v->tail);
	put_window(b);
	put_texts(b, "unseen", v->unseen, v->unseen_cnt, b->max->unseen);
	json_obj_end(&b->j);
	json_finish(&b->j);
}

void answer_brief(const struct answer *a, struct buf *out)
{
	size_t begin = out->len;

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		struct brief b = {.a = a, .max = &limits[i]};

		buf_truncate(out, begin);
		brief_write(&b, out);
		if (out->len - begin <= BRIEF_MAX)
			return;
	}
}
