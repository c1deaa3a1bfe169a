/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "spans_take.h"

#define TRACE "'traceId':'5982fe77008310cc80f1da5e10147517','id':'67fae42571535f60',"
#define CLIENT                                                             \
	"{" TRACE "'parentId':'90394f6bcffb5d13','kind':'CLIENT','name':'get'," \
	"'timestamp':5,'duration':9,"                                       \
	"'localEndpoint':{'serviceName':'front','ipv4':'10.0.0.1'},"        \
	"'remoteEndpoint':{'serviceName':'back','port':9000},"              \
	"'annotations':[{'timestamp':6,'value':'retry 2'},{'value':'lost'}]," \
	"'tags':{'http.status_code':'200','http.path':'/x'}}"
#define SERVER                                                             \
	"{" TRACE "'shared':true,'kind':'SERVER','timestamp':7,'duration':3," \
	"'localEndpoint':{'serviceName':'back'},'tags':{'error':''},"       \
	"'parentId':null,'name':null}"

TEST(spans_zipkin_shapes)
{
	static const char *const rows[] = {
		"[" CLIENT "," SERVER "]",
		"[[" CLIENT "],[" SERVER "]]",
		CLIENT "\n" SERVER "\n",
		"[" CLIENT "]\n[" SERVER "]",
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct taken t = {0};

		ROW(i);
		take_json(&t, rows[i]);
		EQ_S(t.err.msg, "");
		EQ_U(t.stats.format, SPANS_ZIPKIN);
		EQ_U(t.stats.bad_cnt, 0);
		EQ_U(t.cnt, 3);
		EQ_U(t.traces[0].hi, 0x5982fe77008310cc);
		EQ_U(t.traces[2].lo, 0x80f1da5e10147517);
		EQ_U(t.spans[0].id, 0x67fae42571535f60);
		EQ_U(t.spans[0].parent, 0x90394f6bcffb5d13);
		EQ_U(t.spans[0].kind, SPAN_CLIENT);
		EQ_U(t.spans[0].flags, 0);
		EQ_I(t.spans[0].begin_ns, 5000);
		EQ_I(t.spans[0].end_ns, 14000);
		EQ_S(strtab_str(&t.strings, t.spans[0].service), "front");
		EQ_S(strtab_str(&t.strings, t.spans[0].host), "10.0.0.1");
		EQ_S(taken_text(&t, 0, "peer.service"), "back");
		EQ_S(taken_text(&t, 0, "http.path"), "/x");
		OK(taken_num(&t, 0, "http.status_code") == 200);
		EQ_U(t.spans[1].flags, SPANF_POINT);
		EQ_U(t.spans[1].parent, t.spans[0].id);
		EQ_S(strtab_str(&t.strings, t.spans[1].name), "retry #");
		EQ_U(t.stats.point_dropped_cnt, 1);
		EQ_U(t.spans[2].flags, SPANF_SHARED | SPANF_ERROR);
		EQ_U(t.spans[2].kind, SPAN_SERVER);
		EQ_U(t.spans[2].parent, 0);
		taken_release(&t);
	}
}

TEST(spans_zipkin_bad_spans)
{
	static const struct {
		const char *span, *why;
	} rows[] = {
		{"{'traceId':'1','timestamp':5}", "id: expected one, found none"},
		{"{'id':'1','timestamp':5}", "expected the id of a trace, found none"},
		{"{'traceId':'1','id':'2'}", "timestamp: expected one, found none"},
		{"{'traceId':'1','id':2,'timestamp':5}", "id: expected a string, found a number"},
		{"{'traceId':'1','id':'2','timestamp':'noon'}",
		 "timestamp: expected an integer of 64 bits, found another string"},
		{"7", "span: expected an object, found a number"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct taken t = {.opts = {.no_events = true}};
		char text[1200];

		ROW(i);
		snprintf(text, sizeof(text), "[" CLIENT ",%s," SERVER "]", rows[i].span);
		take_json(&t, text);
		EQ_S(t.err.msg, "");
		EQ_U(t.cnt, 2);
		EQ_U(t.stats.bad_cnt, 1);
		EQ_S(t.stats.bad[0].why, rows[i].why);
		EQ_U(t.stats.bad[0].off >= sizeof(CLIENT), 1);
		taken_release(&t);
	}
}
