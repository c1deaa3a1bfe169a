/* SPDX-License-Identifier: Apache-2.0 */
#include "report/export/trace_export.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/vec.h"
#include "trace/trace.h"

enum { ID_TEXT = 33 };

struct services {		/* of one trace: string ids */
	VEC(uint32_t) items;
};

static const char *trace_text(const struct trace_id *id, char out[ID_TEXT])
{
	snprintf(out, ID_TEXT, "%016" PRIx64 "%016" PRIx64, id->hi, id->lo);
	return out;
}

static const char *span_text(uint64_t id, char out[ID_TEXT])
{
	snprintf(out, ID_TEXT, "%016" PRIx64, id);
	return out;
}

static void services_find(const struct trace *t, struct services *s)
{
	for (uint32_t i = 0; i < t->span_cnt; i++) {
		bool seen = false;

		VEC_FOREACH(&s->items, known)
			seen |= *known == t->spans[i].service;
		if (!seen)
			vec_push(&s->items, t->spans[i].service);
	}
}

/* ---- OTLP */

static void otlp_text(struct json *j, const char *key, const char *text)
{
	json_obj(j);
	json_kstr(j, "key", key);
	json_kobj(j, "value");
	json_kstr(j, "stringValue", text);
	json_obj_end(j);
	json_obj_end(j);
}

static void otlp_attr(struct json *j, const struct strtab *strings, const struct attr *a)
{
	if (a->type == ATTR_STR) {
		otlp_text(j, strtab_str(strings, a->key), strtab_str(strings, (uint32_t)a->str));
		return;
	}
	json_obj(j);
	json_kstr(j, "key", strtab_str(strings, a->key));
	json_kobj(j, "value");
	if (a->type == ATTR_BOOL)
		json_kbool(j, "boolValue", a->num != 0);
	else
		json_kf64(j, "doubleValue", a->num);
	json_obj_end(j);
	json_obj_end(j);
}

/* 64-bit numbers are texts in OTLP's JSON. */
static void otlp_ns(struct json *j, const char *key, int64_t ns)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, ns);
	json_kstr(j, key, text);
}

static void otlp_links(struct json *j, const struct trace *t, const struct span *s)
{
	char id[ID_TEXT];

	json_karr(j, "links");
	for (uint32_t i = 0; i < s->ref_cnt; i++) {
		const struct span_ref *r = &t->refs[s->ref_idx + i];

		json_obj(j);
		json_kstr(j, "traceId", trace_text(&r->trace, id));
		json_kstr(j, "spanId", span_text(r->span, id));
		json_obj_end(j);
	}
	json_arr_end(j);
}

static void otlp_span(const struct trace_export *x, struct json *j, const struct trace *t,
		      const struct span *s)
{
	char id[ID_TEXT];

	json_obj(j);
	json_kstr(j, "traceId", trace_text(&t->id, id));
	json_kstr(j, "spanId", span_text(s->id, id));
	if (s->parent)
		json_kstr(j, "parentSpanId", span_text(s->parent, id));
	json_kstr(j, "name", strtab_str(x->strings, s->name));
	json_ku64(j, "kind", s->kind);
	otlp_ns(j, "startTimeUnixNano", s->begin_ns);
	otlp_ns(j, "endTimeUnixNano", s->end_ns);
	json_karr(j, "attributes");
	for (uint32_t i = 0; i < s->attr_cnt; i++)
		otlp_attr(j, x->strings, &t->attrs[s->attr_idx + i]);
	json_arr_end(j);
	if (s->ref_cnt)
		otlp_links(j, t, s);
	json_obj_end(j);
}

static void otlp_trace(struct trace_export *x, const struct trace *t, const struct services *all)
{
	struct json j;

	json_init(&j, &x->out, JSON_COMPACT);
	json_obj(&j);
	json_karr(&j, "resourceSpans");
	VEC_FOREACH(&all->items, service) {
		json_obj(&j);
		json_kobj(&j, "resource");
		json_karr(&j, "attributes");
		otlp_text(&j, "service.name", strtab_str(x->strings, *service));
		json_arr_end(&j);
		json_obj_end(&j);
		json_karr(&j, "scopeSpans");
		json_obj(&j);
		json_kobj(&j, "scope");
		json_kstr(&j, "name", "heldup");
		json_obj_end(&j);
		json_karr(&j, "spans");
		for (uint32_t i = 0; i < t->span_cnt; i++) {
			if (t->spans[i].service == *service)
				otlp_span(x, &j, t, &t->spans[i]);
		}
		json_arr_end(&j);
		json_obj_end(&j);
		json_arr_end(&j);
		json_obj_end(&j);
	}
	json_arr_end(&j);
	json_obj_end(&j);
	json_finish(&j);
}

/* ---- Jaeger */

static void jaeger_attr(struct json *j, const struct strtab *strings, const struct attr *a)
{
	json_obj(j);
	json_kstr(j, "key", strtab_str(strings, a->key));
	json_kstr(j, "type", a->type == ATTR_STR ? "string" : a->type == ATTR_BOOL ? "bool"
										   : "float64");
	if (a->type == ATTR_STR)
		json_kstr(j, "value", strtab_str(strings, (uint32_t)a->str));
	else if (a->type == ATTR_BOOL)
		json_kbool(j, "value", a->num != 0);
	else
		json_kf64(j, "value", a->num);
	json_obj_end(j);
}

static void jaeger_kind(struct json *j, uint8_t kind)
{
	if (kind != SPAN_SERVER && kind != SPAN_CLIENT)
		return;
	json_obj(j);
	json_kstr(j, "key", "span.kind");
	json_kstr(j, "type", "string");
	json_kstr(j, "value", kind == SPAN_SERVER ? "server" : "client");
	json_obj_end(j);
}

static void jaeger_refs(struct json *j, const struct trace *t, const struct span *s)
{
	char id[ID_TEXT];

	json_karr(j, "references");
	if (s->parent) {
		json_obj(j);
		json_kstr(j, "refType", "CHILD_OF");
		json_kstr(j, "traceID", trace_text(&t->id, id));
		json_kstr(j, "spanID", span_text(s->parent, id));
		json_obj_end(j);
	}
	json_arr_end(j);
}

static void jaeger_span(const struct trace_export *x, struct json *j, const struct trace *t,
			const struct span *s)
{
	char id[ID_TEXT];

	json_obj(j);
	json_kstr(j, "traceID", trace_text(&t->id, id));
	json_kstr(j, "spanID", span_text(s->id, id));
	json_kstr(j, "operationName", strtab_str(x->strings, s->name));
	jaeger_refs(j, t, s);
	json_ki64(j, "startTime", s->begin_ns / 1000);
	json_ki64(j, "duration", s->end_ns / 1000 - s->begin_ns / 1000);
	json_karr(j, "tags");
	jaeger_kind(j, s->kind);
	for (uint32_t i = 0; i < s->attr_cnt; i++)
		jaeger_attr(j, x->strings, &t->attrs[s->attr_idx + i]);
	json_arr_end(j);
	json_karr(j, "logs");
	json_arr_end(j);
	snprintf(id, sizeof(id), "p%u", s->service);
	json_kstr(j, "processID", id);
	json_obj_end(j);
}

static void jaeger_trace(struct trace_export *x, const struct trace *t,
			 const struct services *all)
{
	char id[ID_TEXT];
	struct json j;

	buf_adds(&x->out, x->trace_cnt ? "," : "{\"data\":[\n");
	json_init(&j, &x->out, JSON_COMPACT);
	json_obj(&j);
	json_kstr(&j, "traceID", trace_text(&t->id, id));
	json_karr(&j, "spans");
	for (uint32_t i = 0; i < t->span_cnt; i++)
		jaeger_span(x, &j, t, &t->spans[i]);
	json_arr_end(&j);
	json_kobj(&j, "processes");
	VEC_FOREACH(&all->items, service) {
		snprintf(id, sizeof(id), "p%u", *service);
		json_kobj(&j, id);
		json_kstr(&j, "serviceName", strtab_str(x->strings, *service));
		json_karr(&j, "tags");
		json_arr_end(&j);
		json_obj_end(&j);
	}
	json_obj_end(&j);
	json_obj_end(&j);
	json_finish(&j);
}

void trace_export_add(struct trace_export *x, const struct trace *t)
{
	struct services all = {0};

	if (x->out.len > TRACE_EXPORT_MAX) {
		x->left_cnt++;
		return;
	}
	services_find(t, &all);
	if (x->format == TRACE_EXPORT_OTLP)
		otlp_trace(x, t, &all);
	else
		jaeger_trace(x, t, &all);
	x->trace_cnt++;
	vec_release(&all.items);
}

void trace_export_end(struct trace_export *x)
{
	if (x->format == TRACE_EXPORT_JAEGER)
		buf_adds(&x->out, x->trace_cnt ? "]}\n" : "{\"data\":[]}\n");
}
