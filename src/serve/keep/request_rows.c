/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/keep/request_rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/cmp.h"
#include "base/json.h"

static void add_row(void *ctx, const struct db_request *r)
{
	struct request_rows *rows = ctx;

	vec_push(&rows->rows, *r);
}

int request_rows_read(struct db *db, struct request_rows *r)
{
	return db_requests(db, add_row, r);
}

/* ---- since a time */

struct summing {
	struct request_rows *rows;
	VEC(struct live_sums) sums;	/* of each row */
	VEC(struct live_edges) edges;
	uint64_t first_ns;		/* the first of them */
	uint64_t minutes_from_ns;	/* since then there are minutes; before it hours count */
};

static size_t row_of(const struct summing *s, uint64_t hash)
{
	size_t i = 0;

	while (i < s->rows->rows.cnt && s->rows->rows.items[i].hash != hash)
		i++;
	return i;
}

static void add_type(void *ctx, const struct db_request *r)
{
	struct summing *s = ctx;

	if (r->seconds != REQUEST_WINDOW)
		return;
	vec_push(&s->rows->rows, *r);
	s->rows->rows.items[s->rows->rows.cnt - 1].seconds = 0;
	(void)vec_add(&s->sums);
	(void)vec_add(&s->edges);
}

static void add_edge(void *ctx, uint64_t hash, uint64_t edge, const char *name)
{
	struct summing *s = ctx;
	size_t at = row_of(s, hash);

	if (at < s->rows->rows.cnt)
		live_edges_name(&s->edges.items[at], edge, name);
}

static void add_sums(void *ctx, const struct db_request_sums *row)
{
	struct summing *s = ctx;
	size_t at = row_of(s, row->hash);
	struct live_sums sums;

	if (at == s->rows->rows.cnt || row->sums_len != sizeof(sums) ||
	    (row->seconds == 3600) != (row->begin_ns < s->minutes_from_ns))
		return;
	if (row->begin_ns < s->first_ns)
		s->first_ns = row->begin_ns;
	memcpy(&sums, row->sums, sizeof(sums));
	if (sums.edge_cnt <= LIVE_EDGES_GIVEN)
		live_sums_add(&s->sums.items[at], &sums);
}

static int by_requests(const void *a, const void *b)
{
	const struct db_request *x = a, *y = b;

	CMP(y->view.cnt, x->view.cnt);
	CMP(x->hash, y->hash);
	return 0;
}

int request_rows_since(struct db *db, uint64_t since_ns, uint64_t now_ns,
		       struct request_rows *r)
{
	const uint64_t hour_ns = 3600 * NS_PER_SEC;
	struct summing s = {.rows = r, .first_ns = now_ns};
	int rc = db_requests(db, add_type, &s);

	/* minutes are kept for two hours: from the last whole hour in them on they are all there */
	s.minutes_from_ns = since_ns + hour_ns < now_ns ? now_ns - now_ns % hour_ns - hour_ns : 0;
	since_ns -= since_ns % (s.minutes_from_ns ? hour_ns : 60 * NS_PER_SEC);
	if (rc == 0)
		rc = db_request_edges(db, add_edge, &s);
	if (rc == 0)
		rc = db_request_sums(db, 0, since_ns, add_sums, &s);
	for (size_t i = 0; i < r->rows.cnt; i++) {
		r->rows.items[i].covered_ns = now_ns - s.first_ns;
		live_sums_view(&s.sums.items[i], &s.edges.items[i], &r->rows.items[i].view);
	}
	vec_sort(&r->rows, by_requests);
	vec_release(&s.sums);
	vec_release(&s.edges);
	return rc;
}

void request_rows_release(struct request_rows *r)
{
	vec_release(&r->rows);
}

double request_rate(const struct db_request *r)
{
	return r->covered_ns ? (double)r->view.cnt / ((double)r->covered_ns / 1e9) : 0;
}

static void share_json(struct json *j, const char *key, const struct live_share *s)
{
	json_key(j, key);
	if (!*s->name) {
		json_null(j);
		return;
	}
	json_obj(j);
	json_kstr(j, "edge", s->name);
	json_kf64_dec(j, "share", s->share, 4);
	json_ku64(j, "mean_ns", s->mean_ns);
	json_obj_end(j);
}

static void window_json(struct json *j, const struct db_request *r)
{
	json_obj(j);
	json_ku64(j, "window_ns", r->seconds * NS_PER_SEC);
	json_ku64(j, "covered_ns", r->covered_ns);
	json_ku64(j, "requests", r->view.cnt);
	json_ku64(j, "failed", r->view.failed_cnt);
	json_ku64(j, "mean_ns", r->view.mean_ns);
	json_ku64(j, "p50_ns", r->view.p50_ns);
	json_ku64(j, "p99_ns", r->view.p99_ns);
	share_json(j, "time", &r->view.time);
	share_json(j, "variance", &r->view.variance);
	json_obj_end(j);
}

void request_rows_json(const struct request_rows *r, struct json *j)
{
	const struct db_request *last = NULL;
	char id[20];

	json_arr(j);
	VEC_FOREACH(&r->rows, row) {
		if (!last || last->hash != row->hash) {
			if (last) {
				json_arr_end(j);
				json_obj_end(j);
			}
			snprintf(id, sizeof(id), "%016" PRIx64, row->hash);
			json_obj(j);
			json_kstr(j, "id", id);
			json_kstr(j, "service", row->service);
			json_kstr(j, "name", row->name);
			json_ku64(j, "seen_ns", row->seen_ns);
			json_karr(j, "windows");
		}
		window_json(j, row);
		last = row;
	}
	if (last) {
		json_arr_end(j);
		json_obj_end(j);
	}
	json_arr_end(j);
}

void metrics_label(struct buf *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			buf_addch(out, '\\');
		buf_addch(out, (unsigned char)*text < ' ' ? '?' : *text);
	}
}

static double failed(const struct db_request *r)
{
	return r->view.cnt ? (double)r->view.failed_cnt / (double)r->view.cnt : 0;
}

static double p50(const struct db_request *r)
{
	return (double)r->view.p50_ns / 1e9;
}

static double p99(const struct db_request *r)
{
	return (double)r->view.p99_ns / 1e9;
}

void request_rows_metrics(const struct request_rows *r, struct buf *out)
{
	static const struct {
		const char *name, *help;
		double (*value)(const struct db_request *r);
	} gauges[] = {
		{"per_second", "Requests of the type, five minutes", request_rate},
		{"failed_share", "Those that failed, as a part of 1", failed},
		{"seconds_p50", "Median of their latency", p50},
		{"seconds_p99", "99th percentile of it", p99},
	};

	for (size_t i = 0; i < sizeof(gauges) / sizeof(*gauges); i++) {
		buf_printf(out, "# TYPE heldup_requests_%s gauge\n# HELP heldup_requests_%s %s\n",
			   gauges[i].name, gauges[i].name, gauges[i].help);
		VEC_FOREACH(&r->rows, row) {
			if (row->seconds != REQUEST_WINDOW)
				continue;
			buf_printf(out, "heldup_requests_%s{service=\"", gauges[i].name);
			metrics_label(out, row->service);
			buf_adds(out, "\",request=\"");
			metrics_label(out, row->name);
			buf_printf(out, "\"} %.9g\n", gauges[i].value(row));
		}
	}
}

static void minute_json(void *ctx, const struct db_request_sums *m)
{
	struct json *j = ctx;

	if (m->seconds != 60)
		return;
	json_obj(j);
	json_ku64(j, "minute_ns", m->begin_ns);
	json_ku64(j, "answers", m->cnt);
	json_ku64(j, "failed", m->failed_cnt);
	json_ku64(j, "p50_ns", m->p50_ns);
	json_ku64(j, "p99_ns", m->p99_ns);
	json_obj_end(j);
}

int request_series_json(struct db *db, uint64_t hash, uint64_t since_ns, struct json *j)
{
	int rc;

	json_arr(j);
	rc = db_request_sums(db, hash, since_ns, minute_json, j);
	json_arr_end(j);
	return rc;
}
