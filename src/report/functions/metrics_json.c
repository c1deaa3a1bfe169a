/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "base/json.h"
#include "model/model.h"
#include "report/functions/metrics_out.h"
#include "waits/metrics/metrics.h"

static void put_id(struct json *j, const char *key, uint32_t id)
{
	if (id)
		json_ku64(j, key, id);
	else
		json_knull(j, key);
}

static void put_row(struct json *j, const struct metric_row *row)
{
	json_obj(j);
	json_kstr(j, "metric", row->def->name);
	json_kstr(j, "unit", row->def->unit);
	put_id(j, "pid", row->pid);
	put_id(j, "tid", row->tid);
	json_kstr(j, "comm", row->comm);
	json_kstr(j, "resource", row->resource);
	json_key(j, "resource_id");
	if (row->resource_id) { /* a string: 64 bits do not fit every reader's numbers */
		char id[20];

		snprintf(id, sizeof(id), "%016llx", (unsigned long long)row->resource_id);
		json_str(j, id);
	} else {
		json_null(j);
	}
	if (row->through[0])
		json_kstr(j, "through", row->through);
	json_kf64_dec(j, "value", row->value, 9);
	json_obj_end(j);
}

void metrics_json(const struct metrics_result *r, const struct model *m, struct buf *out)
{
	uint64_t real_ns = m->meta.real_ns + (r->end_ns - m->meta.h.ts_ns);
	struct json j;

	json_init(&j, out, JSON_COMPACT);
	json_obj(&j);
	json_kstr(&j, "schema", "heldup/metrics/1");
	json_ku64(&j, "time_ns", real_ns);
	json_ku64(&j, "begin_ns", r->begin_ns);
	json_ku64(&j, "end_ns", r->end_ns);
	json_ku64(&j, "length_ns", r->end_ns - r->begin_ns);
	json_ku64(&j, "lost", r->lost_cnt);
	json_karr(&j, "rows");
	for (size_t i = 0; i < r->row_cnt; i++)
		put_row(&j, &r->rows[i]);
	json_arr_end(&j);
	json_obj_end(&j);
	json_finish(&j);
}
