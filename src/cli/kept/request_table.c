/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kept/request_table.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fmt.h"
#include "report/lines/pen.h"
#include "report/lines/table.h"
#include "serve/keep/db.h"
#include "serve/keep/request_rows.h"
#include "serve/serve.h"

static void add_cells(struct table *t, const struct db_request *r)
{
	const struct live_view *v = &r->view;
	char text[FMT_MAX];

	table_cell(t, "%s", r->service);
	table_cell(t, "%s", r->name);
	table_cell(t, "%s", fmt_count(text, (uint64_t)(request_rate(r) + 0.5)));
	table_cell(t, "%s", v->failed_cnt ? fmt_share(text, (double)v->failed_cnt / (double)v->cnt)
					  : "");
	table_cell(t, "%s", fmt_ns(text, v->p50_ns));
	table_cell(t, "%s", fmt_ns(text, v->p99_ns));
	table_cell(t, "%s", v->time.name);
	table_cell(t, "%s", *v->time.name ? fmt_share(text, v->time.share) : "");
	table_cell(t, "%s", strcmp(v->variance.name, v->time.name) == 0 && *v->time.name
				    ? "there too" : v->variance.name);
	table_cell(t, "%s", *v->variance.name ? fmt_share(text, v->variance.share) : "");
}

uint32_t request_table_print(const struct request_rows *rows, uint64_t window_ns,
			     uint32_t max_cnt, const char *title, struct pen *pen)
{
	static const struct column columns[] = {
		{"service", 0, 20}, {"request", 0, 36},	  {"/s", 1, 0},	  {"failed", 1, 0},
		{"p50", 1, 0},	    {"p99", 1, 0},	  {"most time", 0, 44}, {"", 1, 0},
		{"most variance", 0, 44}, {"", 1, 0},
	};
	struct table t;
	uint32_t cnt = 0;

	table_init(&t, columns, sizeof(columns) / sizeof(*columns));
	VEC_FOREACH(&rows->rows, r) {
		if (r->seconds * NS_PER_SEC != window_ns || !r->view.cnt || cnt++ >= max_cnt)
			continue;
		add_cells(&t, r);
	}
	if (cnt)
		table_print(&t, pen, title, 0);
	table_release(&t);
	return cnt;
}

int request_table_since(const struct past_opts *o, const struct output_opts *output,
			struct err *err)
{
	CLEANUP(request_rows_release) struct request_rows rows = {0};
	CLEANUP(buf_release) struct buf out = {0};
	struct pen pen = output_pen(output, &out, 130);
	uint64_t now = clock_real_ns(), since = 0;
	char at[KEPT_TIME_LEN];
	struct db *db = NULL;
	int rc = kept_time_parse(o->since, now, &since, err);

	if (rc == 0)
		rc = kept_open(o->state, &db, err);
	if (rc < 0)
		return rc;
	rc = request_rows_since(db, since, now, &rows);
	db_close(db);
	if (rc < 0)
		return err_errno(err, rc, "read what is kept in '%s'", o->state);
	if (!serve_runs(o->state)) {
		pen_text(&pen, PEN_BAD, "heldup serve does not run: this is what was kept.");
		pen_nl(&pen);
	}
	if (!request_table_print(&rows, 0, UINT32_MAX, "Requests", &pen)) {
		pen_fmt(&pen, PEN_HEAD, "No requests: heldup serve took no spans since %s",
			kept_time(since, now, at));
		pen_nl(&pen);
	}
	output_print(output, &out);
	return 0;
}
