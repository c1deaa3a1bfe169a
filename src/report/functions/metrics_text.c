/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "model/model.h"
#include "report/functions/metrics_out.h"
#include "report/lines/pen.h"
#include "report/lines/table.h"
#include "waits/metrics/metrics.h"

static const struct column columns[] = {
	{.head = "METRIC", .max = 24}, {.head = "VALUE", .right = 1}, {.head = "UNIT"},
	{.head = "PID", .right = 1},   {.head = "TID", .right = 1},   {.head = "COMM", .max = 16},
	{.head = "RESOURCE"},
};

static void value_cell(struct table *t, const struct metric_row *row)
{
	if (strcmp(row->def->unit, "s/s") == 0)
		table_cell(t, row->value < 0.0005 ? "%.6f" : "%.3f", row->value);
	else
		table_cell(t, row->value < 10 ? "%.1f" : "%.0f", row->value);
}

static void id_cell(struct table *t, uint32_t id)
{
	if (id)
		table_cell(t, "%u", id);
	else
		table_cell(t, "-");
}

static void row_cells(struct table *t, const struct metric_row *row)
{
	table_cell(t, "%s", row->def->name);
	value_cell(t, row);
	table_cell(t, "%s", row->def->unit);
	id_cell(t, row->pid);
	id_cell(t, row->tid);
	table_cell(t, "%s", row->comm);
	if (row->through[0])
		table_cell(t, "%s in %s", row->resource, row->through);
	else
		table_cell(t, "%s", row->resource);
}

/* Wall clock of the tick's end and its length. */
static void title_of(const struct metrics_result *r, const struct model *m, char *out, size_t len)
{
	uint64_t real_ns = m->meta.real_ns + (r->end_ns - m->meta.h.ts_ns);
	time_t at = (time_t)(real_ns / NS_PER_SEC);
	struct tm tm;
	size_t used = 0;

	if (m->meta.real_ns && localtime_r(&at, &tm))
		used = strftime(out, len, "%H:%M:%S  ", &tm);
	snprintf(out + used, len - used, "%.2f s", (double)(r->end_ns - r->begin_ns) / 1e9);
}

void metrics_text(const struct metrics_result *r, const struct model *m, size_t max_rows,
		  struct pen *pen)
{
	struct table t;
	size_t omitted_cnt = 0, same_cnt = 0;
	char title[64];

	title_of(r, m, title, sizeof(title));
	table_init(&t, columns, sizeof(columns) / sizeof(*columns));
	for (size_t i = 0; i < r->row_cnt; i++) {
		same_cnt = i && r->rows[i].order == r->rows[i - 1].order ? same_cnt + 1 : 1;
		if (max_rows && same_cnt > max_rows)
			omitted_cnt++;
		else
			row_cells(&t, &r->rows[i]);
	}
	table_print(&t, pen, title, omitted_cnt);
	table_release(&t);
}
