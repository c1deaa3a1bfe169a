/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "spans_take.h"

#define AT(us) "'timestamp':'2020-06-23T14:32:34." us "'"
#define WHO "'project':'nova','service':'api'"
#define EVENT(name, id, parent, us, info) \
	"{'name':'" name "','trace_id':'" id "','parent_id':'" parent "','base_id':'ba5e'," \
	WHO "," AT(us) ",'info':{'host':'h'" info "}}"
#define RPC_START \
	EVENT("rpc-start", "5a1f-01", "ba5e", "000100", \
	      ",'function':{'name':'m.f','args':'()'},'tracepoint_id':'f.py:10:m.f','pid':7")
#define RPC_STOP EVENT("rpc-stop", "5a1f-01", "ba5e", "000900", ",'etype':'E','message':'m'")
#define NOTE \
	EVENT("waiters", "5a1f-02", "5a1f-01", "000200", ",'tracepoint_id':'f.py:12','value':3")

/* The two events of a span in any order, with anything or nothing between them. */
TEST(spans_osprofiler_redis)
{
	static const char *const rows[] = {
		RPC_START NOTE RPC_STOP,
		RPC_STOP "\n" NOTE "\r\n" RPC_START,
		"[" NOTE "," RPC_STOP ",\n" RPC_START "]",
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct taken t = {0};
		size_t rpc = 0, note = 1;

		ROW(i);
		take_json(&t, rows[i]);
		EQ_S(t.err.msg, "");
		EQ_U(t.stats.format, SPANS_OSPROFILER_REDIS);
		EQ_U(t.cnt, 2);
		EQ_U(t.stats.bad_cnt, 0);
		if (t.spans[0].flags & SPANF_POINT)
			rpc = 1, note = 0;
		EQ_U(t.traces[0].lo, 0xba5e);
		EQ_U(t.spans[rpc].id, 0x5a1f01);
		EQ_U(t.spans[rpc].parent, 0);
		EQ_U(t.spans[rpc].flags, SPANF_ERROR);
		EQ_I(t.spans[rpc].begin_ns, 1592922754000100000);
		EQ_I(t.spans[rpc].end_ns, 1592922754000900000);
		EQ_S(strtab_str(&t.strings, t.spans[rpc].service), "nova-api");
		EQ_S(strtab_str(&t.strings, t.spans[rpc].host), "h");
		EQ_S(strtab_str(&t.strings, t.spans[rpc].name), "f.py:10:m.f");
		EQ_S(taken_text(&t, rpc, "function.name"), "m.f");
		EQ_U(t.spans[rpc].attr_cnt, 2);
		EQ_U(t.spans[note].parent, 0x5a1f01);
		EQ_S(strtab_str(&t.strings, t.spans[note].name), "f.py:12:waiters");
		OK(taken_num(&t, note, "value") == 3);
		taken_release(&t);
	}
}

/* Work that a note begins is a part of the trace, and so is the wait for it. */
TEST(spans_osprofiler_async)
{
	struct taken t = {0};

	take_json(&t,
		  RPC_START EVENT("spawn", "5a1f-03", "5a1f-01", "000150", ",'child_id':'c41d'")
		  "{'name':'work-start','trace_id':'5a1f-04','parent_id':'c41d','base_id':'c41d',"
		  WHO "," AT("000160") ",'info':{'host':'h'}}"
		  "{'name':'work-stop','trace_id':'5a1f-04','parent_id':'c41d','base_id':'c41d',"
		  WHO "," AT("000500") ",'info':{'host':'h'}}"
		  EVENT("wait", "5a1f-05", "5a1f-01", "000510", ",'wait_for':'c41d'") RPC_STOP);
	EQ_S(t.err.msg, "");
	EQ_U(t.cnt, 4);
	for (size_t i = 0; i < t.cnt; i++) {
		const struct span *s = &t.spans[i];

		EQ_U(t.traces[i].lo, 0xba5e);
		EQ_U(s->ref_cnt, s->id == 0x5a1f04 || s->id == 0x5a1f05);
		if (!s->ref_cnt)
			continue;
		EQ_U(t.refs.items[s->ref_idx].kind,
		     s->id == 0x5a1f04 ? SPAN_REF_FOLLOWS : SPAN_REF_AFTER);
		EQ_U(t.refs.items[s->ref_idx].span, s->id == 0x5a1f04 ? 0x5a1f03 : 0x5a1f04);
		EQ_U(t.refs.items[s->ref_idx].trace.lo, 0xba5e);
		EQ_U(s->parent, s->id == 0x5a1f04 ? 0 : 0x5a1f01);
	}
	taken_release(&t);
}

TEST(spans_osprofiler_halves)
{
	struct taken t = {0};

	take_json(&t, RPC_START RPC_START
		  EVENT("db-stop", "5a1f-06", "5a1f-01", "000300", "")
		  "{'base_id':'ba5e','trace_id':'1'} {'name':'x','trace_id':'9','base_id':'ba5e',"
		  "'timestamp':'soon','info':{}} 7");
	EQ_S(t.err.msg, "");
	EQ_U(t.cnt, 1);
	OK(t.spans[0].flags & SPANF_OPEN);
	EQ_U(t.stats.open_cnt, 1);
	EQ_U(t.stats.bad_cnt, 5);
	EQ_S(t.stats.bad[0].why, "expected the span's other end, found the same again");
	EQ_S(t.stats.bad[1].why, "event: expected one, found none");
	EQ_S(t.stats.bad[2].why, "begin: expected a date and time, found another value");
	EQ_S(t.stats.bad[3].why, "event: expected an object, found a number");
	EQ_S(t.stats.bad[4].why, "expected the span's begin, found its end only");
	taken_release(&t);
}

/* Without the events as they were sent, a node has its milliseconds. */
TEST(spans_osprofiler_report)
{
	struct taken t = {0};

	take_json(&t, "{'info':{'name':'total'},'stats':{},'children':[{'trace_id':'5a1f-01',"
		      "'parent_id':'ba5e','info':{'name':'rpc','project':'nova',"
		      "'service':'nova-api','started':3,'finished':8,'exception':'Oops'},"
		      "'children':["
		      "{'trace_id':'5a1f-02','parent_id':'5a1f-01','info':{'name':'db','started':4,"
		      "'meta.raw_payload.db-start':"
		      EVENT("db-start", "5a1f-02", "5a1f-01", "000300", ",'n':5") "},"
		      "'children':[]},{'trace_id':'x'},9]}]}");
	EQ_S(t.err.msg, "");
	EQ_U(t.stats.format, SPANS_OSPROFILER);
	EQ_U(t.cnt, 2);
	EQ_U(t.stats.bad_cnt, 2);
	EQ_S(t.stats.bad[0].why, "begin: expected one, found none");
	EQ_S(t.stats.bad[1].why, "node: expected an object, found a number");
	EQ_U(t.spans[0].id, 0x5a1f02);
	EQ_U(t.spans[0].parent, 0x5a1f01);
	OK(t.spans[0].flags & SPANF_OPEN);
	OK(taken_num(&t, 0, "n") == 5);
	EQ_U(t.spans[1].parent, 0);
	EQ_U(t.spans[1].flags, SPANF_ERROR);
	EQ_I(t.spans[1].begin_ns, 3000000);
	EQ_I(t.spans[1].end_ns, 8000000);
	EQ_S(strtab_str(&t.strings, t.spans[1].service), "nova-api");
	EQ_S(strtab_str(&t.strings, t.spans[1].name), "rpc");
	EQ_U(t.traces[1].lo, 0xba5e);
	taken_release(&t);
}
