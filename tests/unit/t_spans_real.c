/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Real traces: how many spans there are, and each one against a reading of the
 * same file by Python's json and csv modules (tests/spans/compare).
 */
#include <stdio.h>
#include <sys/wait.h>

#include "spans_take.h"

#define DATA "../shared/data/traces/"

static void need_data(void)
{
	if (access(DATA, R_OK) != 0)
		SKIP("no " DATA);
}

static int dump_span(void *ctx, const struct trace_id *trace, const struct span *s,
		     const struct attr *attrs, const struct span_ref *refs)
{
	struct taken *t = ctx;
	FILE *out = (FILE *)(void *)t->spans;

	fprintf(out, "%016" PRIx64 "%016" PRIx64 "\t%" PRIx64 "\t%" PRIx64 "\t%" PRId64 "\t%" PRId64
		"\t%u\t%u\t%s\t%s\t%s\t", trace->hi, trace->lo, s->id, s->parent, s->begin_ns,
		s->end_ns, s->kind, s->flags, strtab_str(&t->strings, s->service),
		strtab_str(&t->strings, s->host), strtab_str(&t->strings, s->name));
	for (uint32_t i = 0; i < s->attr_cnt; i++) {
		fprintf(out, "%s=", strtab_str(&t->strings, attrs[i].key));
		if (attrs[i].type == ATTR_STR)
			fprintf(out, "%s|", strtab_str(&t->strings, (uint32_t)attrs[i].str));
		else
			fprintf(out, "%.17g|", attrs[i].num);
	}
	fputc('\t', out);
	for (uint32_t i = 0; i < s->ref_cnt; i++)
		fprintf(out, "%u:%" PRIx64 "|", refs[i].kind, refs[i].span);
	fputc('\n', out);
	return 0;
}

/* Reads it and has its spans compared; the stats are left in t. */
static void compare(struct taken *t, const char *path)
{
	struct span_sink sink = {.ctx = t, .span = dump_span};
	char dump[] = "/tmp/spans-XXXXXX", command[400];
	int fd = mkstemp(dump), rc;
	FILE *out = fdopen(fd, "w");

	OK(fd >= 0 && out);
	t->spans = (struct span *)(void *)out;
	rc = spans_read(path, NULL, &t->strings, &sink, &t->stats, &t->err);
	EQ_S(t->err.msg, "");
	EQ_I(rc, 0);
	OK(fclose(out) == 0);
	t->spans = NULL;
	snprintf(command, sizeof(command), "python3 tests/spans/compare '%s' %s >&2", path, dump);
	rc = system(command);
	unlink(dump);
	EQ_I(WEXITSTATUS(rc), 0);
}

TEST(spans_real_json)
{
	static const struct {
		const char *file;
		enum spans_format format;
		uint64_t span_cnt, bytes;
	} rows[] = {
		{"hotel-load150.jaeger.json.gz", SPANS_JAEGER, 4400, 2732422},
		{"media-load150.jaeger.json.gz", SPANS_JAEGER, 10800, 5186484},
		{"node-load150.jaeger.json.gz", SPANS_JAEGER, 2400, 1974055},
		{"hdfs-upload.xtrace.json.gz", SPANS_XTRACE_OLD, 2483, 1617751},
		{"hdfs-download.xtrace.json.gz", SPANS_XTRACE_OLD, 839, 511421},
		{"openstack-vm-create.osprofiler.json.gz", SPANS_OSPROFILER, 443, 1727072},
		{"golden/jaeger-ui-critical-path-1.json", SPANS_JAEGER, 3, 0},
		{"golden/jaeger-ui-critical-path-2.json", SPANS_JAEGER, 3, 0},
		{"golden/jaeger-ui-critical-path-4.json", SPANS_JAEGER, 3, 0},
		{"golden/jaeger-ui-critical-path-5.json", SPANS_JAEGER, 3, 0},
		{"golden/jaeger-ui-critical-path-6.json", SPANS_JAEGER, 3, 0},
		{"golden/jaeger-ui-critical-path-8.json", SPANS_JAEGER, 2, 0},
	};

	need_data();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct taken t = {0};
		char path[200];

		ROW(i);
		snprintf(path, sizeof(path), DATA "%s", rows[i].file);
		compare(&t, path);
		EQ_U(t.stats.format, rows[i].format);
		EQ_U(t.stats.span_cnt, rows[i].span_cnt);
		EQ_U(t.stats.bad_cnt, 0);
		EQ_U(t.stats.no_service_cnt, 0);
		EQ_U(t.stats.attr_dropped_cnt, 0);
		EQ_U(t.stats.cut, 0);
		if (rows[i].bytes)
			EQ_U(t.stats.plain_bytes, rows[i].bytes);
		taken_release(&t);
	}
}

/* Both days whole: 137 tables. */
TEST(spans_real_nezha)
{
	char dir[] = "/tmp/nezha-XXXXXX", command[300], line[300];
	uint64_t spans = 0, files = 0;
	FILE *list;

	need_data();
	OK(mkdtemp(dir));
	snprintf(command, sizeof(command),
		 "tar -C %s -xf " DATA "nezha-train-ticket/traces.tar.xz && "
		 "find %s -name '*.csv' | sort", dir, dir);
	list = popen(command, "r");
	OK(list);
	while (fgets(line, sizeof(line), list)) {
		struct taken t = {0};

		line[strcspn(line, "\n")] = 0;
		/* all are read, every 30th is compared: Python takes its time */
		if (files++ % 30 == 0) {
			compare(&t, line);
		} else {
			struct span_sink sink = {.ctx = &t, .span = take_span};

			EQ_I(spans_read(line, NULL, &t.strings, &sink, &t.stats, &t.err), 0);
		}
		EQ_U(t.stats.bad_cnt + t.stats.attr_dropped_cnt + t.stats.backwards_cnt, 0);
		spans += t.stats.span_cnt;
		taken_release(&t);
	}
	pclose(list);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	EQ_I(system(command), 0);
	EQ_U(files, 137);
	EQ_U(spans, 517503);
}
