/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: spans_dump FILE: each span that is read, as a line of JSON, then a line of
 * counts.  What tests/spans holds against other programs' reading of the same.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/json.h"
#include "spans/spans.h"

struct dump {
	struct strtab strings;
	struct buf out;
	struct json json;
};

static void hex(struct json *j, const char *key, const uint64_t *parts, int cnt)
{
	char text[40];
	int len = 0;

	for (int i = 0; i < cnt; i++)
		len += snprintf(text + len, sizeof(text) - (size_t)len, "%016" PRIx64, parts[i]);
	json_kstr(j, key, text);
}

static void attr(struct dump *d, const struct attr *a)
{
	struct json *j = &d->json;

	json_arr(j);
	json_str(j, strtab_str(&d->strings, a->key));
	if (a->type == ATTR_STR)
		json_str(j, strtab_str(&d->strings, (uint32_t)a->str));
	else if (a->type == ATTR_BOOL)
		json_bool(j, a->num != 0);
	else
		json_f64(j, a->num);
	json_arr_end(j);
}

static int take(void *ctx, const struct trace_id *trace, const struct span *s,
		const struct attr *attrs, const struct span_ref *refs)
{
	struct dump *d = ctx;
	struct json *j = &d->json;

	json_obj(j);
	hex(j, "trace", (const uint64_t[]){trace->hi, trace->lo}, 2);
	hex(j, "id", &s->id, 1);
	hex(j, "parent", &s->parent, 1);
	json_ki64(j, "begin", s->begin_ns);
	json_ki64(j, "end", s->end_ns);
	json_kstr(j, "service", strtab_str(&d->strings, s->service));
	json_kstr(j, "name", strtab_str(&d->strings, s->name));
	json_kstr(j, "host", strtab_str(&d->strings, s->host));
	json_ku64(j, "kind", s->kind);
	json_ku64(j, "flags", s->flags);
	json_karr(j, "attrs");
	for (uint32_t i = 0; i < s->attr_cnt; i++)
		attr(d, &attrs[i]);
	json_arr_end(j);
	json_karr(j, "refs");
	for (uint32_t i = 0; i < s->ref_cnt; i++) {
		json_obj(j);
		hex(j, "trace", (const uint64_t[]){refs[i].trace.hi, refs[i].trace.lo}, 2);
		hex(j, "span", &refs[i].span, 1);
		json_obj_end(j);
	}
	json_arr_end(j);
	json_obj_end(j);
	json_finish(j);
	return 0;
}

static void counts(struct dump *d, const struct spans_stats *st)
{
	struct json *j = &d->json;

	json_obj(j);
	json_kstr(j, "format", spans_format_name(st->format));
	json_kstr(j, "packed", st->packed_as);
	json_ku64(j, "spans", st->span_cnt);
	json_ku64(j, "points", st->point_cnt);
	json_ku64(j, "bad", st->bad_cnt);
	json_ku64(j, "passed", st->attr_passed_cnt);
	json_ku64(j, "dropped", st->attr_dropped_cnt + st->ref_dropped_cnt + st->point_dropped_cnt);
	json_kbool(j, "cut", st->cut);
	json_kstr(j, "why", st->bad_cnt ? st->bad[0].why : st->cut ? st->cut_at.why : NULL);
	json_obj_end(j);
	json_finish(j);
}

int main(int argc, char **argv)
{
	struct dump d = {0};
	struct span_sink sink = {.ctx = &d, .span = take};
	struct spans_stats st;
	struct err err = {0};
	int rc;

	if (argc != 2) {
		fprintf(stderr, "usage: spans_dump FILE\n");
		return 2;
	}
	json_init(&d.json, &d.out, JSON_COMPACT);
	json_to_file(&d.json, stdout);
	rc = spans_read(argv[1], NULL, &d.strings, &sink, &st, &err);
	if (rc < 0)
		fprintf(stderr, "spans_dump: %s\n", err.msg);
	else
		counts(&d, &st);
	strtab_release(&d.strings);
	buf_release(&d.out);
	return rc < 0;
}
