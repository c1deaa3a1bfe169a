/* SPDX-License-Identifier: Apache-2.0 */
#include "report/answer/answer_diff.h"

#include <stdio.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fmt.h"
#include "base/json.h"
#include "model/model.h"
#include "report/answer.h"
#include "report/answer/change.h"
#include "report/facts.h"
#include "report/lines/pen.h"
#include "report/lines/table.h"
#include "verdict/verdict.h"
#include "waits/waits.h"

enum { SHOWN = 12 };

static double rate(const struct answer *a)
{
	double seconds = (double)facts_window_ns(a) / 1e9;

	return seconds > 0 ? (double)a->waits->total.turns / seconds : 0;
}

static void put_side(const char *name, const struct answer_side *s, struct pen *p)
{
	const struct verdict *v = s->answer->verdict;
	const struct finding *f = &v->findings[0];
	CLEANUP(buf_release) struct buf line = {0};

	pen_fmt(p, PEN_BOLD, "%s  ", name);
	buf_printf(&line, "%s%s%s: %.1f s of %s", s->of, s->answer->when ? ", " : "",
		   s->answer->when ? s->answer->when : "", v->seconds,
		   v->subject ? v->subject : "");
	pen_wrap(p, PEN_DIM, 3, 2, buf_str(&line));
	pen_nl(p);
	buf_clear(&line);
	buf_printf(&line, "%s (%s): %s", finding_title(f->cls), confidence_name(f->conf),
		   f->summary ? f->summary : "");
	pen_to(p, 3);
	pen_wrap(p, PEN_PLAIN, 3, 2, buf_str(&line));
	pen_nl(p);
}

static void put_requests(const struct answer *a, const struct answer *b, struct pen *p)
{
	static const struct column columns[] = {{"", 0, 0}, {"requests/s", 1, 0}, {"p50", 1, 0},
						{"p99", 1, 0}, {"max", 1, 0}};
	const struct answer *both[] = {a, b};
	struct table t;

	table_init(&t, columns, sizeof(columns) / sizeof(*columns));
	for (int i = 0; i < 2; i++) {
		const struct wreq *q = &both[i]->waits->total;
		char p50[FMT_MAX], p99[FMT_MAX], max[FMT_MAX];

		table_cell(&t, "%c", 'A' + i);
		table_cell(&t, "%.3g", rate(both[i]));
		table_cell(&t, "%s", q->turns ? fmt_ns(p50, q->p50_ns) : "");
		table_cell(&t, "%s", q->turns ? fmt_ns(p99, q->p99_ns) : "");
		table_cell(&t, "%s", q->turns ? fmt_ns(max, q->answer_max_ns) : "");
	}
	table_print(&t, p, "REQUESTS", 0);
	table_release(&t);
}

static void put_changes(const struct verdict *v, int verbose, struct pen *p)
{
	pen_nl(p);
	pen_text(p, PEN_HEAD, "B, AND WHAT IT WAS IN A");
	pen_nl(p);
	if (!v->change_cnt) {
		pen_text(p, PEN_PLAIN, "  the same: requests, waits and functions");
		pen_nl(p);
	}
	for (size_t i = 0; i < v->change_cnt && (verbose || i < SHOWN); i++) {
		CLEANUP(buf_release) struct buf line = {0};

		change_text(&v->changes[i], &line);
		pen_to(p, 2);
		pen_text(p, PEN_DIM, "· ");
		pen_wrap(p, PEN_PLAIN, 4, 2, buf_str(&line));
		pen_nl(p);
	}
	if (!verbose && v->change_cnt > SHOWN) {
		pen_fmt(p, PEN_DIM, "  … %zu more with -v", v->change_cnt - SHOWN);
		pen_nl(p);
	}
}

void answer_diff_text(const struct answer_side *a, const struct answer_side *b, int verbose,
		      struct pen *p)
{
	put_side("A", a, p);
	put_side("B", b, p);
	put_requests(a->answer, b->answer, p);
	put_changes(b->answer->verdict, verbose, p);
}

static void side_json(struct json *j, const char *key, const struct answer_side *s)
{
	const struct answer *a = s->answer;
	const struct finding *f = &a->verdict->findings[0];
	const struct wreq *q = &a->waits->total;

	json_kobj(j, key);
	json_kstr(j, "of", s->of);
	json_ku64(j, "begin_ns", a->model->meta.real_ns);
	json_ku64(j, "length_ns", facts_window_ns(a));
	json_ku64(j, "requests", q->turns);
	json_ku64(j, "p50_ns", q->p50_ns);
	json_ku64(j, "p99_ns", q->p99_ns);
	json_ku64(j, "max_ns", q->answer_max_ns);
	json_kobj(j, "verdict");
	json_kstr(j, "class", finding_name(f->cls));
	json_kstr(j, "title", finding_title(f->cls));
	json_kstr(j, "confidence", confidence_name(f->conf));
	json_kstr(j, "summary", f->summary ? f->summary : "");
	json_obj_end(j);
	json_obj_end(j);
}

void answer_diff_json(const struct answer_side *a, const struct answer_side *b,
		      struct buf *out)
{
	struct json j;

	json_init(&j, out, JSON_PRETTY);
	json_obj(&j);
	json_kstr(&j, "schema", "heldup/diff/1");
	side_json(&j, "a", a);
	side_json(&j, "b", b);
	changes_json(&j, b->answer->verdict);
	json_obj_end(&j);
	json_finish(&j);
}
