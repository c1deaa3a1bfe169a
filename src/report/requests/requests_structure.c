/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that are not made any more, and new ones; and those that got slower beside the
 * critical path (requests/diff/changes.h).
 */
#include <math.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fmt.h"
#include "base/hash.h"
#include "base/json.h"
#include "report/requests/requests_json.h"
#include "report/requests/requests_text.h"
#include "requests/diff/changes.h"

enum { STRUCTURE_TOP = 3, STRUCTURE_JSON_MAX = 100, ASIDE_TOP = 3, ASIDE_JSON_MAX = 100 };

static bool is_shown(const struct requests_view *v, const struct structure_change *s)
{
	return requests_type_shown(v, v->diff->types[s->type].bad_type);
}

const struct structure_change *requests_first_structure(const struct requests_view *v)
{
	for (uint32_t i = 0; v->diff && i < v->diff->structure_cnt; i++)
		if (is_shown(v, &v->diff->structure[i]))
			return &v->diff->structure[i];
	return NULL;
}

void requests_structure_words(const struct requests_view *v, const struct structure_change *s,
			      struct buf *out)
{
	const struct request_type *type =
		&v->diff->bad->types[v->diff->types[s->type].bad_type];
	char is[FMT_MAX], was[FMT_MAX], t[FMT_MAX];

	requests_point_words(v, s->parent, out);
	buf_adds(out, " calls ");
	requests_point_words(v, s->point, out);
	buf_printf(out, " in %s of the requests, before in %s",
		   fmt_share(is, s->bad_share), fmt_share(was, s->good_share));
	if (s->parent != type->point)
		buf_printf(out, " (%s)", strtab_str(v->strings, type->name));
	buf_printf(out, ": %s take %s %s than the good ones",
		   s->kind == STRUCTURE_NEW ? "these" : "those without",
		   fmt_ns(t, (uint64_t)fabs(s->delta_ns)), s->delta_ns < 0 ? "less" : "more");
}

void requests_put_structure(const struct requests_view *v, struct pen *p)
{
	uint32_t top = v->top ? (uint32_t)v->top : STRUCTURE_TOP, shown = 0, all = 0;

	if (!requests_first_structure(v))
		return;
	requests_put_head(p, "CALLS LEFT OUT, AND NEW ONES", "against the good requests");
	for (uint32_t i = 0; i < v->diff->structure_cnt; i++) {
		CLEANUP(buf_release) struct buf b = {0};

		if (!is_shown(v, &v->diff->structure[i]) || ++all > top)
			continue;
		requests_structure_words(v, &v->diff->structure[i], &b);
		requests_put_line(p, shown++ ? PEN_PLAIN : PEN_BOLD, buf_str(&b));
	}
	if (all > shown) {
		pen_fmt(p, PEN_DIM, "  … %u more: see --html or --json", all - shown);
		pen_nl(p);
	}
}

static void json_point(const struct requests_view *v, struct json *j, const char *key,
		       uint32_t point)
{
	CLEANUP(buf_release) struct buf words = {0};

	requests_point_words(v, point, &words);
	json_kstr(j, key, buf_str(&words));
}

void requests_json_structure(const struct requests_view *v, struct json *j)
{
	json_karr(j, "structure_changed");
	for (uint32_t i = 0; v->diff && i < v->diff->structure_cnt && i < STRUCTURE_JSON_MAX; i++) {
		CLEANUP(buf_release) struct buf words = {0};
		const struct structure_change *s = &v->diff->structure[i];
		uint32_t type = v->diff->types[s->type].bad_type;

		if (!is_shown(v, s))
			continue;
		requests_structure_words(v, s, &words);
		json_obj(j);
		json_kstr(j, "words", buf_str(&words));
		json_kstr(j, "kind", s->kind == STRUCTURE_NEW ? "new" : "less");
		json_point(v, j, "caller", s->parent);
		json_point(v, j, "called", s->point);
		json_kstr(j, "type", strtab_str(v->strings, v->diff->bad->types[type].name));
		json_kf64_dec(j, "good_share", s->good_share, 5);
		json_kf64_dec(j, "bad_share", s->bad_share, 5);
		json_ki64(j, "delta_ns", llround(s->delta_ns));
		json_ki64(j, "cost_ns", llround(s->cost_ns));
		json_obj_end(j);
	}
	json_arr_end(j);
}

/* ---- beside the path */

static bool aside_is_shown(const struct requests_view *v, const struct aside_change *c)
{
	return requests_type_shown(v, v->diff->types[c->type].bad_type);
}

static const struct request_type *type_of(const struct requests_view *v,
					  const struct aside_change *c)
{
	return &v->diff->bad->types[v->diff->types[c->type].bad_type];
}

static void aside_words(const struct requests_view *v, const struct aside_change *c,
			struct buf *out)
{
	char is[FMT_MAX], was[FMT_MAX];

	requests_point_words(v, c->point, out);
	buf_printf(out, " takes %s, before %s, called by ", fmt_ns(is, (uint64_t)c->bad_ns),
		   fmt_ns(was, (uint64_t)c->good_ns));
	requests_point_words(v, c->parent, out);
	if (c->parent != type_of(v, c)->point)
		buf_printf(out, " (%s)", strtab_str(v->strings, type_of(v, c)->name));
}

void requests_put_aside(const struct requests_view *v, struct pen *p)
{
	uint32_t top = v->top ? (uint32_t)v->top : ASIDE_TOP, shown = 0, all = 0;

	for (uint32_t i = 0; v->diff && i < v->diff->aside_cnt; i++) {
		CLEANUP(buf_release) struct buf b = {0};

		if (!aside_is_shown(v, &v->diff->aside[i]) || ++all > top)
			continue;
		if (!shown++)
			requests_put_head(p, "SLOWER BESIDE THE CRITICAL PATH",
					  "no request waits for it yet");
		aside_words(v, &v->diff->aside[i], &b);
		requests_put_line(p, PEN_PLAIN, buf_str(&b));
	}
	if (all > shown) {
		pen_fmt(p, PEN_DIM, "  … %u more: see --json", all - shown);
		pen_nl(p);
	}
}

void requests_json_aside(const struct requests_view *v, struct json *j)
{
	json_karr(j, "slower_aside");
	for (uint32_t i = 0; v->diff && i < v->diff->aside_cnt && i < ASIDE_JSON_MAX; i++) {
		CLEANUP(buf_release) struct buf text = {0};
		const struct aside_change *c = &v->diff->aside[i];

		if (!aside_is_shown(v, c))
			continue;
		aside_words(v, c, &text);
		json_obj(j);
		json_kstr(j, "words", buf_str(&text));
		json_point(v, j, "caller", c->parent);
		json_point(v, j, "called", c->point);
		json_kstr(j, "type", strtab_str(v->strings, type_of(v, c)->name));
		json_ki64(j, "good_ns", llround(c->good_ns));
		json_ki64(j, "bad_ns", llround(c->bad_ns));
		json_obj_end(j);
	}
	json_arr_end(j);
}
