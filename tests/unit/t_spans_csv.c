/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "base/buf.h"
#include "spans_take.h"

TEST(spans_csv_nezha)
{
	static const char text[] =
		"TraceID,SpanID,ParentID,PodName,OperationName,StartTimeUnixNano,EndTimeUnixNano,"
		"Duration\n"
		"e58bcd245dd957fb40c41ab287f857e9,0a158a32f7231a45,root,"
		"ts-gateway-service-6f6cfc45b-h5m2n,/*,1674986309307000000,"
		"1674986309647134905,340134\n"
		"e58bcd245dd957fb40c41ab287f857e9,8de4cc6f9efe7078,0a158a32f7231a45,"
		"ts-gateway-service-6f6cfc45b-h5m2n,FilteringWebHandler.handle,1674986309307763900,"
		"1674986309646940114,339176\n";
	struct taken t = {0};

	EQ_I(take_text(&t, text), 0);
	EQ_U(t.stats.format, SPANS_CSV);
	EQ_U(t.cnt, 2);
	EQ_U(t.stats.bad_cnt, 0);
	EQ_U(t.traces[0].hi, 0xe58bcd245dd957fb);
	EQ_U(t.traces[0].lo, 0x40c41ab287f857e9);
	EQ_U(t.spans[0].parent, 0);
	EQ_U(t.spans[1].parent, 0x0a158a32f7231a45);
	EQ_I(t.spans[0].begin_ns, 1674986309307000000);
	EQ_I(t.spans[1].end_ns, 1674986309646940114);
	EQ_S(strtab_str(&t.strings, t.spans[1].service), "ts-gateway-service");
	EQ_S(strtab_str(&t.strings, t.spans[1].host), "ts-gateway-service-6f6cfc45b-h5m2n");
	EQ_S(strtab_str(&t.strings, t.spans[1].name), "FilteringWebHandler.handle");
	EQ_U(t.spans[1].attr_cnt, 0);
	taken_release(&t);
}

/* Times as in the columns' names or by their size; quoting; what columns may be called. */
TEST(spans_csv_columns)
{
	static const struct {
		const char *text;
		int64_t begin_ns, end_ns;
	} rows[] = {
		{"trace_id,span_id,parent_id,service,name,start_us,end_us\n"
		 "1,2,,s,o,1600000000000001,1600000000000003\n",
		 1600000000000001000, 1600000000000003000},
		{"name;service;start;duration;span-id;Trace ID\no;s;1600000000001;5;2;1\n",
		 1600000000001000000, 1600000000006000000},
		{"service\toperation\tbegin_s\tduration_ms\tspan id\ttrace id\r\n"
		 "s\to\t1600000000.25\t1.5\t2\t1\r\n",
		 1600000000250000000, 1600000000251500000},
		{"start,end,traceID,spanID,service,operation\n"
		 "2019-01-15T20:57:28.830750,2019-01-15 21:57:28.830751+01:00,1,2,\"s\",\"o\"\n",
		 1547585848830750000, 1547585848830751000},
		{"\xef\xbb\xbf" "timestamp,trace_id,span_id,operation_name,duration_ns,service\n"
		 "1600000000,1,2,o,7,s", 1600000000000000000, 1600000000000000007},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct taken t = {0};

		ROW(i);
		take_text(&t, rows[i].text);
		EQ_S(t.err.msg, "");
		EQ_U(t.cnt, 1);
		EQ_U(t.traces[0].lo, 1);
		EQ_U(t.spans[0].id, 2);
		EQ_I(t.spans[0].begin_ns, rows[i].begin_ns);
		EQ_I(t.spans[0].end_ns, rows[i].end_ns);
		EQ_S(strtab_str(&t.strings, t.spans[0].service), "s");
		EQ_S(strtab_str(&t.strings, t.spans[0].name), "o");
		taken_release(&t);
	}
}

TEST(spans_csv_quoting_and_attrs)
{
	static const char text[] = "trace,span,service,operation,start_ns,tenant,\"queue,len\","
				   "note\n1,2,\"a \"\"b\"\"\",\"x,\ny\",5,acme,12,\n"
				   "1,3,s,o,6,\"\",\"-1.5e3\",true\n";
	struct taken t = {0};

	EQ_I(take_text(&t, text), 0);
	EQ_U(t.cnt, 2);
	EQ_S(strtab_str(&t.strings, t.spans[0].service), "a \"b\"");
	EQ_S(strtab_str(&t.strings, t.spans[0].name), "x,\ny");
	OK(t.spans[0].flags & SPANF_OPEN);
	EQ_U(t.stats.open_cnt, 2);
	EQ_U(t.spans[0].attr_cnt, 2);
	EQ_S(taken_text(&t, 0, "tenant"), "acme");
	OK(taken_num(&t, 0, "queue,len") == 12);
	EQ_U(t.spans[1].attr_cnt, 2);
	OK(taken_num(&t, 1, "queue,len") == -1500);
	OK(taken_num(&t, 1, "note") == 1);
	taken_release(&t);
}

/* Each costs its record and says where and why. */
TEST(spans_csv_bad_records)
{
	static const struct {
		const char *record, *why;
	} rows[] = {
		{",2,,s,o,5,6", "expected the id of a trace, found none"},
		{"1,,,s,o,5,6", "expected the id of a span, found none"},
		{"1,2,,s,o,soon,6", "expected the time of the begin, found 'soon'"},
		{"1,2,,s,o,-5,6", "expected a time since 1970, found an earlier one"},
		{"1,2,,s,o,99999999999999999999,6",
		 "expected the time of the begin, found '99999999999999999999'"},
		{"1,2,,s,o,0000-01-01 00:00:00,6",
		 "expected the time of the begin, found '0000-01-01 00:00:00'"},
		{"1,2,,s,o,nan,6", "expected the time of the begin, found 'nan'"},
		{"1,2,,\"s,o,5,6",
		 "expected a quote's end within 1 MiB, found none"},
		{"1", "expected the time of the begin, found ''"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct taken t = {0};
		char text[300];

		ROW(i);
		snprintf(text, sizeof(text),
			 "trace_id,span_id,parent_id,service,name,start_ns,end_ns\n"
			 "%s\n"
			 "1,3,,s,o,5,6\n", rows[i].record);
		EQ_I(take_text(&t, text), 0);
		EQ_U(t.cnt, 1);
		EQ_U(t.spans[0].id, 3);
		EQ_U(t.stats.bad_cnt, 1);
		EQ_S(t.stats.bad[0].why, rows[i].why);
		EQ_U(t.stats.bad[0].off, 56);
		taken_release(&t);
	}
}

/* A line that is far too long is one bad record, and the next is read. */
/* Without a line's end the last record may be one that somebody still writes. */
TEST(spans_csv_unended_record)
{
	static const struct {
		const char *record;
		const char *why;	/* NULL: it is whole */
	} rows[] = {
		{"1,2,,s,o,5,6", NULL},
		{"1,2,,s,o,5", "expected the rest of the record, found the end"},
		{"1,2,,s,o,5\n", NULL},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct taken t = {0};
		char text[300];

		ROW(i);
		snprintf(text, sizeof(text),
			 "trace_id,span_id,parent_id,service,name,start_ns,end_ns\n"
			 "1,3,,s,o,5,6\n%s", rows[i].record);
		EQ_I(take_text(&t, text), 0);
		EQ_U(t.cnt, rows[i].why ? 1 : 2);
		EQ_U(t.stats.bad_cnt, rows[i].why != NULL);
		if (rows[i].why)
			EQ_S(t.stats.bad[0].why, rows[i].why);
		taken_release(&t);
	}
}

TEST(spans_csv_long_record)
{
	struct taken t = {0};
	struct buf b = {0};

	buf_adds(&b, "trace_id,span_id,service,name,start_ns\n1,2,s,");
	buf_addn(&b, 'x', 3 << 20);
	buf_adds(&b, ",5\n1,3,s,o,5\n");
	EQ_I(take_bytes(&t, b.data, b.len), 0);
	EQ_U(t.cnt, 1);
	EQ_U(t.spans[0].id, 3);
	EQ_U(t.stats.bad_cnt, 1);
	EQ_S(t.stats.bad[0].why, "expected a record of at most 1 MiB, found a longer one");
	buf_release(&b);
	taken_release(&t);
}

TEST(spans_csv_backwards)
{
	struct taken t = {0};

	EQ_I(take_text(&t, "trace_id,span_id,service,name,start_ns,end_ns\n1,2,s,o,9,5\n"), 0);
	EQ_U(t.cnt, 1);
	EQ_U(t.stats.backwards_cnt, 1);
	OK(t.spans[0].flags & SPANF_OPEN);
	EQ_I(t.spans[0].end_ns, 9);
	taken_release(&t);
}

TEST(spans_pod_service)
{
	static const struct {
		const char *pod, *service;
	} rows[] = {
		{"ts-order-service-5b67c48447-mv5hb", "ts-order-service"},
		{"ts-food-service-f5756978c-k8vqf", "ts-food-service"},
		{"mysql-0", "mysql"},
		{"node-exporter-x8k2p", "node-exporter"},
		{"ts-travel2-service", "ts-travel2-service"},
		{"frontend", "frontend"},
		{"-0", "-0"},
		{"", ""},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		ROW(i);
		EQ_U(pod_service_len(rows[i].pod, strlen(rows[i].pod)), strlen(rows[i].service));
	}
}
