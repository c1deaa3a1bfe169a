/* SPDX-License-Identifier: Apache-2.0 */
/* The first line: which one service is to blame (requests/service_blame.h). */
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fmt.h"
#include "base/hash.h"
#include "base/json.h"
#include "report/requests_json.h"
#include "report/requests_text.h"
#include "requests/edge_rank.h"
#include "requests/service_blame.h"

enum { SERVICES_JSON_MAX = 20 };

/* Of all request time: what all requests together lose less by is not worth looking for. */
static const double WORTH_PART = 0.01;

static const struct service_blame *first_of(const struct requests_view *v)
{
	const struct service_blames *b = v->blames;

	return b && b->cnt && b->over_ns > WORTH_PART * b->total_ns ? &b->items[0] : NULL;
}

/* "61 % of what requests take longer than usual, 24 % of their time; first in ..." */
static void why_words(const struct requests_view *v, const struct service_blame *b,
		      struct buf *out)
{
	const struct edge_rank_row *row = &v->rank->rows[b->row];
	struct edge_key key = requests_rank_key(row);
	char s[FMT_MAX], t[FMT_MAX];

	buf_printf(out, "%s of what requests take longer than %s, %s of their time; ",
		   fmt_share(s, b->share), v->diff ? "the good ones" : "usual",
		   fmt_share(t, b->time_share));
	requests_edge_words(v, &key, 0, out);
	buf_printf(out, " takes %s, usually %s", fmt_ns(s, (uint64_t)row->mean_ns),
		   fmt_ns(t, (uint64_t)row->usual_ns));
}

static const char *name_of(const struct requests_view *v, const struct service_blame *b)
{
	const char *name = strtab_str(v->strings, b->service);

	return *name ? name : "(no name)";
}

static void blame_words(const struct requests_view *v, struct buf *out)
{
	const struct service_blame *b = first_of(v);

	if (b) {
		buf_printf(out, "%s: ", name_of(v, b));
		why_words(v, b, out);
	} else {
		buf_printf(out, "none: requests hardly take longer than %s",
			   v->diff ? "the good ones" : "usual");
	}
}

void requests_put_blame(const struct requests_view *v, struct pen *p)
{
	CLEANUP(buf_release) struct buf b = {0};

	blame_words(v, &b);
	pen_text(p, PEN_HEAD, "SERVICE TO BLAME");
	pen_text(p, PEN_DIM, "  ");
	pen_wrap(p, first_of(v) ? PEN_BAD : PEN_PLAIN, 2, 3, buf_str(&b));
	pen_nl(p);
}

static void json_service(const struct requests_view *v, struct json *j,
			 const struct service_blame *b)
{
	json_kstr(j, "service", strtab_str(v->strings, b->service));
	json_kf64_dec(j, "share", b->share, 5);
	json_kf64_dec(j, "time_share", b->time_share, 5);
	json_kf64_dec(j, "slower", b->slower, 4);
	json_kf64_dec(j, "score", b->score, 0);
}

void requests_json_blame(const struct requests_view *v, struct json *j)
{
	CLEANUP(buf_release) struct buf words = {0};
	const struct service_blame *first = first_of(v);

	if (v->blames)
		blame_words(v, &words);
	if (first) {
		json_kobj(j, "service_to_blame");
		json_service(v, j, first);
		json_kstr(j, "words", buf_str(&words));
		json_obj_end(j);
	} else {
		json_knull(j, "service_to_blame");
	}
	json_karr(j, "services_to_blame");
	for (uint32_t i = 0; first && i < v->blames->cnt && i < SERVICES_JSON_MAX; i++) {
		json_obj(j);
		json_service(v, j, &v->blames->items[i]);
		json_obj_end(j);
	}
	json_arr_end(j);
}
