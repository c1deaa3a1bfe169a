/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "base/buf.h"
#include "spans_take.h"

#define SPAN(id) "{'traceID':'a','spanID':'" id "','operationName':'o','startTime':5," \
		 "'duration':2,'processID':'p1'}"
#define PROCESSES "'processes':{'p1':{'serviceName':'s','tags':[{'key':'hostname'," \
		  "'type':'string','value':'h'},{'key':'zone','value':'z'}]}}"

/* The same two spans in the forms in which people have them. */
TEST(spans_jaeger_shapes)
{
	static const char *const rows[] = {
		"{'data':[{'traceID':'a','spans':[" SPAN("1") "," SPAN("2") "]," PROCESSES
		"}],'total':0}",
		"{'data':[{" PROCESSES ",'spans':[" SPAN("1") "," SPAN("2") "],'traceID':'a'}]}",
		"{'traceID':'a','spans':[" SPAN("1") "," SPAN("2") "]," PROCESSES "}",
		"[{'traceID':'a','spans':[" SPAN("1") "]," PROCESSES "},{'traceID':'a','spans':["
		SPAN("2") "]," PROCESSES "}]",
		"{'traceID':'a','spans':[" SPAN("1") "]," PROCESSES "}\r\n\r\n"
		"{'traceID':'a','spans':[" SPAN("2") "]," PROCESSES "}\r\n",
		"\xef\xbb\xbf{'trace':{'traceID':'a','spans':[" SPAN("1") "," SPAN("2") "],"
		PROCESSES "}}",
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct taken t = {0};

		ROW(i);
		take_json(&t, rows[i]);
		EQ_S(t.err.msg, "");
		EQ_U(t.cnt, 2);
		for (size_t k = 0; k < 2; k++) {
			EQ_U(t.traces[k].lo, 0xa);
			EQ_U(t.spans[k].id, k + 1);
			EQ_I(t.spans[k].begin_ns, 5000);
			EQ_I(t.spans[k].end_ns, 7000);
			EQ_S(strtab_str(&t.strings, t.spans[k].service), "s");
			EQ_S(strtab_str(&t.strings, t.spans[k].host), "h");
			EQ_S(taken_text(&t, k, "zone"), "z");
		}
		taken_release(&t);
	}
}

/* As Elasticsearch has them: a span a line, its process inside. */
TEST(spans_jaeger_storage)
{
	struct taken t = {0};

	take_json(&t, "{'_index':'x','_source':{'traceID':'ab','spanID':'1',"
		      "'process':{'serviceName':'s','tags':[]},'operationName':'o',"
		      "'startTime':'7','duration':1,'references':[]}}\n"
		      "{'traceID':'ab','spanID':'2','parentSpanID':'1','startTime':8,"
		      "'process':{'serviceName':'s'},'operationName':'q'}\n");
	EQ_S(t.err.msg, "");
	EQ_U(t.cnt, 2);
	EQ_S(strtab_str(&t.strings, t.spans[1].service), "s");
	EQ_I(t.spans[0].begin_ns, 7000);
	EQ_U(t.spans[1].parent, 1);
	OK(t.spans[1].flags & SPANF_OPEN);
	EQ_U(t.stats.no_service_cnt, 0);
	taken_release(&t);
}

TEST(spans_jaeger_refs_tags_logs)
{
	struct taken t = {0};

	take_json(&t,
		  "{'traceID':'a','spans':[{'logs':[{'timestamp':6,'fields':[{'key':'event',"
		  "'value':'got lock 17'},{'key':'waiters','type':'int64','value':'3'}]},"
		  "{'fields':[],'timestamp':7},{'fields':[]}],"
		  "'spanID':'1','operationName':'o','startTime':5,'duration':9,'references':["
		  "{'refType':'FOLLOWS_FROM','traceID':'a','spanID':'7'},"
		  "{'refType':'CHILD_OF','traceID':'b','spanID':'8'},"
		  "{'refType':'CHILD_OF','spanID':'9'},"
		  "{'refType':'CHILD_OF','traceID':'a','spanID':'10'},{'refType':'CHILD_OF'}],"
		  "'tags':[{'value':'client','key':'span.kind'},{'key':'error','type':'bool',"
		  "'value':true},{'key':'n','value':'-4.5'},{'key':'deep','value':{'x':1}},"
		  "{'key':'long',"
		  "'value':'0123456789012345678901234567890123456789012345678901234567"
		  "8901234'},5],'processID':'p1'}]," PROCESSES "}");
	EQ_S(t.err.msg, "");
	EQ_U(t.cnt, 3);
	EQ_U(t.stats.point_cnt, 2);
	EQ_U(t.stats.point_dropped_cnt, 1);
	EQ_U(t.stats.bad_cnt, 0);
	EQ_U(t.stats.attr_passed_cnt, 2);
	EQ_U(t.stats.ref_dropped_cnt, 1);
	EQ_U(t.spans[0].parent, 9);
	EQ_U(t.spans[0].kind, SPAN_CLIENT);
	EQ_U(t.spans[0].flags, SPANF_ERROR);
	EQ_U(t.spans[0].ref_cnt, 3);
	EQ_U(t.refs.items[0].kind, SPAN_REF_FOLLOWS);
	EQ_U(t.refs.items[0].trace.lo, 0xa);
	EQ_U(t.refs.items[1].kind, SPAN_REF_LINK);
	EQ_U(t.refs.items[1].trace.lo, 0xb);
	EQ_U(t.refs.items[2].span, 0x10);
	OK(taken_num(&t, 0, "n") == -4.5);
	EQ_U(t.spans[1].flags, SPANF_POINT);
	EQ_U(t.spans[1].parent, 1);
	EQ_I(t.spans[1].begin_ns, 6000);
	EQ_S(strtab_str(&t.strings, t.spans[1].name), "got lock #");
	EQ_S(strtab_str(&t.strings, t.spans[1].service), "s");
	OK(taken_num(&t, 1, "waiters") == 3);
	EQ_S(strtab_str(&t.strings, t.spans[2].name), "log");
	OK(t.spans[1].id != t.spans[2].id);
	taken_release(&t);
}

/* The bad one costs itself: before and behind it stands a good one. */
TEST(spans_jaeger_bad_spans)
{
	static const struct {
		const char *span, *why;
	} rows[] = {
		{"{'spanID':'','startTime':5}", "spanID: expected one, found none"},
		{"{'spanID':'5'}", "startTime: expected one, found none"},
		{"{'spanID':'5','startTime':{}}",
		 "startTime: expected a number, found an object"},
		{"{'spanID':'5','startTime':NaN}",
		 "startTime: expected an integer of 64 bits, found another number"},
		{"{'spanID':'5','startTime':9223372036854775807}",
		 "startTime: expected a time before the year 2262, found another value"},
		{"{'spanID':'5','startTime':-6216721920000000}",
		 "expected a time since 1970, found an earlier one"},
		{"{'spanID':'5','startTime':'5','startTime':'soon'}",
		 "startTime: expected an integer of 64 bits, found another string"},
		{"[]", "span: expected an object, found an array"},
		{"null", "span: expected an object, found null"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct taken t = {0};
		char text[900];

		ROW(i);
		snprintf(text, sizeof(text), "{'traceID':'a','spans':[" SPAN("1") ",%s," SPAN("2")
			 "]," PROCESSES "}", rows[i].span);
		take_json(&t, text);
		EQ_S(t.err.msg, "");
		EQ_U(t.cnt, 2);
		EQ_U(t.stats.bad_cnt, 1);
		EQ_S(t.stats.bad[0].why, rows[i].why);
		taken_release(&t);
	}
}

/* Absurd values cost themselves, not the span and not the file. */
TEST(spans_jaeger_absurd)
{
	enum { LEVELS = 100000, LONG = 5 << 20 };
	static const char head[] = "{'traceID':'a','spans':[{'spanID':'1','startTime':5,"
				   "'tags':[{'key':'k','value':";
	static const char middle[] = "}],'operationName':'";
	static const char tail[] = "'},{'spanID':'2','startTime':5,'operationName':'o'}]}";
	struct taken t = {0};
	struct buf b = {0};

	buf_adds(&b, head);
	buf_addn(&b, '[', LEVELS);
	buf_addn(&b, ']', LEVELS);
	buf_adds(&b, middle);
	buf_addn(&b, 'x', LONG);
	buf_adds(&b, tail);
	EQ_I(take_json(&t, b.data), 0);
	EQ_U(t.cnt, 2);
	EQ_U(t.stats.bad_cnt, 0);
	EQ_U(t.stats.cut, 0);
	EQ_S(strtab_str(&t.strings, t.spans[0].name), "");
	EQ_S(strtab_str(&t.strings, t.spans[1].name), "o");
	buf_release(&b);
	taken_release(&t);
}

TEST(spans_jaeger_durations)
{
	struct taken t = {0};

	take_json(&t, "{'traceID':'a','spans':["
		      "{'spanID':'1','startTime':'5','duration':'2'},"
		      "{'spanID':'2','startTime':5,'duration':-2},"
		      "{'spanID':'3','startTime':5,'duration':9223372036854775}]}");
	EQ_U(t.cnt, 3);
	EQ_I(t.spans[0].end_ns, 7000);
	EQ_U(t.stats.backwards_cnt, 1);
	EQ_I(t.spans[1].end_ns, 5000);
	OK(t.spans[1].flags & SPANF_OPEN);
	EQ_I(t.spans[2].end_ns, INT64_MAX);
	EQ_U(t.stats.no_service_cnt, 3);
	taken_release(&t);
}

TEST(spans_jaeger_damage)
{
	struct taken t = {0};

	/* cut off: what was whole is kept */
	take_json(&t, "{'traceID':'a','spans':[" SPAN("1") ",{'spanID':'2','st");
	EQ_U(t.cnt, 1);
	OK(t.stats.cut);
	EQ_S(t.stats.cut_at.why, "expected the string's closing quote, found the end of the input");
	EQ_U(t.stats.no_service_cnt, 1);
	taken_release(&t);

	/* a damaged line costs that line */
	t = (struct taken){0};
	take_json(&t, "{'traceID':'a','spans':[" SPAN("1") "]," PROCESSES "}\n"
		      "{'traceID':'a','spans':[" SPAN("2") "!," PROCESSES "}\n"
		      "{'traceID':'a','spans':[" SPAN("3") "]," PROCESSES "}\n");
	EQ_U(t.cnt, 3);
	EQ_U(t.stats.cut, 0);
	EQ_U(t.stats.bad_cnt, 1);
	EQ_S(t.stats.bad[0].why, "expected ',' or ']', found '!'");
	taken_release(&t);

	/* nothing at all: an error with file, offset and what was expected */
	t = (struct taken){0};
	EQ_I(take_json(&t, "{'traceID':'a','spans':[}"), -EBADMSG);
	EQ_S(t.err.msg, "test: offset 24: expected a value, found '}'");
	taken_release(&t);
}
