/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/keep/status.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"

#define OLD_NS (30 * NS_PER_SEC) /* a service of which nothing came for so long */
#define FINDINGS_LOOKED_AT 1000

static void add_service(void *ctx, const struct db_service *s)
{
	struct status *st = ctx;

	vec_push(&st->services, *s);
}

static void add_finding(void *ctx, const struct db_finding *f)
{
	struct status *st = ctx;

	vec_push(&st->findings, *f);
}

static void add_fact(void *ctx, const char *name, uint64_t value)
{
	struct status *st = ctx;
	struct status_fact *f = vec_add(&st->facts);

	snprintf(f->name, sizeof(f->name), "%s", name);
	f->value = value;
}

int status_read(struct db *db, bool runs, struct status *st)
{
	struct db_filter filter = {.max_cnt = FINDINGS_LOOKED_AT};
	int rc = db_services(db, add_service, st);

	st->now_ns = clock_real_ns();
	st->runs = runs;
	if (rc == 0)
		rc = db_findings(db, &filter, add_finding, st);
	if (rc == 0)
		rc = request_rows_read(db, &st->requests);
	return rc == 0 ? db_facts(db, add_fact, st) : rc;
}

void status_release(struct status *st)
{
	vec_release(&st->services);
	vec_release(&st->findings);
	vec_release(&st->facts);
	request_rows_release(&st->requests);
}

uint64_t status_fact(const struct status *st, const char *name)
{
	VEC_FOREACH(&st->facts, f)
		if (strcmp(f->name, name) == 0)
			return f->value;
	return 0;
}

const struct db_finding *status_open(const struct status *st, const char *service)
{
	VEC_FOREACH(&st->findings, f)
		if (!f->end_ns && strcmp(f->service, service) == 0)
			return f;
	return NULL;
}

const char *status_state(const struct status *st, const struct db_service *s)
{
	if (!st->runs || s->seen_ns + OLD_NS < st->now_ns)
		return "not watched";
	if (status_open(st, s->name))
		return "held up";
	return s->pid ? "sound" : "not running";
}

static void service_json(const struct status *st, const struct db_service *s, struct json *j)
{
	const struct db_finding *f = status_open(st, s->name);

	json_obj(j);
	json_kstr(j, "name", s->name);
	json_kstr(j, "what", s->what);
	json_kstr(j, "state", status_state(st, s));
	json_ku64(j, "pid", s->pid);
	json_ku64(j, "seen_ns", s->seen_ns);
	json_ku64(j, "answers", s->answer_cnt);
	json_ku64(j, "p50_ns", s->p50_ns);
	json_ku64(j, "p99_ns", s->p99_ns);
	json_ku64(j, "open", s->open_cnt);
	json_key(j, "finding");
	if (f)
		json_u64(j, f->id);
	else
		json_null(j);
	json_obj_end(j);
}

static void text_or_null(struct json *j, const char *key, const char *text)
{
	json_kstr(j, key, *text ? text : NULL);
}

void status_finding_json(const struct db_finding *f, struct json *j)
{
	json_ku64(j, "id", f->id);
	json_kstr(j, "service", f->service);
	json_kstr(j, "rule", f->rule);
	json_kstr(j, "reason", f->reason);
	json_ku64(j, "begin_ns", f->begin_ns);
	json_ku64(j, "last_ns", f->last_ns);
	json_key(j, "end_ns");
	if (f->end_ns)
		json_u64(j, f->end_ns);
	else
		json_null(j);
	json_ku64(j, "again", f->again_cnt);
	json_ku64(j, "capture_bytes", f->capture_bytes);
	json_ku64(j, "capture_from_ns", f->capture_from_ns);
	json_ku64(j, "capture_until_ns", f->capture_until_ns);
	json_ku64(j, "judged_from_ns", f->judged_from_ns);
	json_ku64(j, "judged_until_ns", f->judged_until_ns);
	json_kobj(j, "verdict");
	text_or_null(j, "class", f->cls);
	text_or_null(j, "title", f->title);
	text_or_null(j, "confidence", f->confidence);
	text_or_null(j, "summary", f->summary);
	json_obj_end(j);
	text_or_null(j, "note", f->note);
}

static void finding_json(void *ctx, const struct db_finding *f)
{
	struct json *j = ctx;

	json_obj(j);
	status_finding_json(f, j);
	json_obj_end(j);
}

void status_json(const struct status *st, struct json *j)
{
	json_kstr(j, "schema", "heldup/status/1");
	json_kbool(j, "runs", st->runs);
	json_karr(j, "services");
	VEC_FOREACH(&st->services, s)
		service_json(st, s, j);
	json_arr_end(j);
	json_karr(j, "findings");
	for (size_t i = 0; i < st->findings.cnt && i < STATUS_FINDINGS; i++)
		finding_json(j, &st->findings.items[i]);
	json_arr_end(j);
	json_key(j, "requests");
	request_rows_json(&st->requests, j);
	json_kobj(j, "self");
	VEC_FOREACH(&st->facts, f)
		json_ku64(j, f->name, f->value);
	json_obj_end(j);
}

int status_log_json(struct db *db, const struct db_filter *filter, struct json *j)
{
	int rc;

	json_kstr(j, "schema", "heldup/log/1");
	json_karr(j, "findings");
	rc = db_findings(db, filter, finding_json, j);
	json_arr_end(j);
	return rc;
}

/* ---- OpenMetrics */

static double held_up(const struct status *st, const struct db_service *s)
{
	return status_open(st, s->name) != NULL;
}

static double running(const struct status *st, const struct db_service *s)
{
	(void)st;
	return s->pid != 0;
}

static double answers(const struct status *st, const struct db_service *s)
{
	(void)st;
	return (double)s->answer_cnt;
}

static double p50(const struct status *st, const struct db_service *s)
{
	(void)st;
	return (double)s->p50_ns / 1e9;
}

static double p99(const struct status *st, const struct db_service *s)
{
	(void)st;
	return (double)s->p99_ns / 1e9;
}

static double open_requests(const struct status *st, const struct db_service *s)
{
	(void)st;
	return (double)s->open_cnt;
}

void status_metrics(const struct status *st, struct buf *out)
{
	static const struct {
		const char *name, *help;
		double (*value)(const struct status *st, const struct db_service *s);
	} gauges[] = {
		{"held_up", "1 while a finding of the service lasts", held_up},
		{"running", "1 while a process of the service lives", running},
		{"answers_per_second", "Requests answered in the last second", answers},
		{"answer_seconds_p50", "Median time of an answer, five seconds", p50},
		{"answer_seconds_p99", "99th percentile of it", p99},
		{"open_requests", "Requests open or not read", open_requests},
	};

	for (size_t i = 0; i < sizeof(gauges) / sizeof(*gauges); i++) {
		buf_printf(out, "# TYPE heldup_service_%s gauge\n# HELP heldup_service_%s %s\n",
			   gauges[i].name, gauges[i].name, gauges[i].help);
		VEC_FOREACH(&st->services, s) {
			buf_printf(out, "heldup_service_%s{service=\"", gauges[i].name);
			metrics_label(out, s->name);
			buf_printf(out, "\"} %.9g\n", gauges[i].value(st, s));
		}
	}
	request_rows_metrics(&st->requests, out);
	VEC_FOREACH(&st->facts, f)
		buf_printf(out, "# TYPE heldup_self_%s gauge\nheldup_self_%s %llu\n", f->name,
			   f->name, (unsigned long long)f->value);
	buf_adds(out, "# EOF\n");
}
