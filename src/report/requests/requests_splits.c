/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that part slow requests from quick ones (requests/call_splits.h). */
#include <math.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fmt.h"
#include "base/hash.h"
#include "base/json.h"
#include "report/requests/requests_json.h"
#include "report/requests/requests_text.h"
#include "requests/call_splits.h"

enum { SPLITS_TOP = 3, SPLITS_JSON_MAX = 100 };

/* With good requests to compare with, the report names what changed instead. */
static bool is_shown(const struct requests_view *v, const struct call_split *s)
{
	return !v->diff && requests_type_shown(v, s->type);
}

const struct call_split *requests_first_split(const struct requests_view *v)
{
	for (uint32_t i = 0; i < v->r->splits.cnt; i++)
		if (is_shown(v, &v->r->splits.items[i]))
			return &v->r->splits.items[i];
	return NULL;
}

void requests_split_words(const struct requests_view *v, const struct call_split *s,
			  struct buf *out)
{
	const struct request_type *type = &v->r->types[s->type];
	bool few = s->share <= 0.5;
	double more = few ? s->delta_ns : -s->delta_ns;
	char share[FMT_MAX], t[FMT_MAX];

	requests_point_words(v, s->parent, out);
	buf_adds(out, " calls ");
	requests_point_words(v, s->point, out);
	if (s->times > 1)
		buf_printf(out, " %u times or more", s->times);
	if (s->alias_cnt)
		buf_printf(out, " (and makes %u more call%s)", s->alias_cnt,
			   s->alias_cnt == 1 ? "" : "s");
	buf_printf(out, " in %s of the requests", fmt_share(share, s->share));
	if (s->parent != type->point)
		buf_printf(out, " (%s)", strtab_str(v->strings, type->name));
	buf_printf(out, ": %s take %s %s; ", few ? "these" : "the others",
		   fmt_ns(t, (uint64_t)fabs(more)), more < 0 ? "less" : "more");
	buf_printf(out, "%s of the variance lies between them and the rest",
		   fmt_share(share, s->variance_share));
}

void requests_put_splits(const struct requests_view *v, struct pen *p)
{
	uint32_t top = v->top ? (uint32_t)v->top : SPLITS_TOP, shown = 0, all = 0;

	if (!requests_first_split(v))
		return;
	requests_put_head(p, "CALLS THAT DIFFER", "between slow requests and quick ones");
	for (uint32_t i = 0; i < v->r->splits.cnt; i++) {
		CLEANUP(buf_release) struct buf b = {0};

		if (!is_shown(v, &v->r->splits.items[i]) || ++all > top)
			continue;
		requests_split_words(v, &v->r->splits.items[i], &b);
		requests_put_line(p, shown++ ? PEN_PLAIN : PEN_BOLD, buf_str(&b));
	}
	if (all > shown) {
		pen_fmt(p, PEN_DIM, "  … %u more: see --html or --json", all - shown);
		pen_nl(p);
	}
}

static void json_split(const struct requests_view *v, struct json *j, const struct call_split *s)
{
	CLEANUP(buf_release) struct buf words = {0};
	CLEANUP(buf_release) struct buf caller = {0};
	CLEANUP(buf_release) struct buf called = {0};

	requests_split_words(v, s, &words);
	requests_point_words(v, s->parent, &caller);
	requests_point_words(v, s->point, &called);
	json_obj(j);
	json_kstr(j, "words", buf_str(&words));
	json_kstr(j, "caller", buf_str(&caller));
	json_kstr(j, "called", buf_str(&called));
	json_ku64(j, "times", s->times);
	json_ku64(j, "more_calls", s->alias_cnt);
	json_kstr(j, "type", strtab_str(v->strings, v->r->types[s->type].name));
	json_kf64_dec(j, "request_share", s->share, 5);
	json_kf64_dec(j, "variance_share", s->variance_share, 5);
	json_ki64(j, "delta_ns", llround(s->delta_ns));
	json_ki64(j, "cost_ns", llround(s->cost_ns));
	json_obj_end(j);
}

void requests_json_splits(const struct requests_view *v, struct json *j)
{
	json_karr(j, "structure_varies");
	for (uint32_t i = 0; i < v->r->splits.cnt && i < SPLITS_JSON_MAX; i++)
		if (is_shown(v, &v->r->splits.items[i]))
			json_split(v, j, &v->r->splits.items[i]);
	json_arr_end(j);
}
