/* SPDX-License-Identifier: Apache-2.0 */
#include "spans_take.h"

/* One graph in both forms. */
TEST(spans_xtrace_forms)
{
	static const char *const rows[] = {
		"[{'id':'33B884245CFB54F1','reports':["
		"{'Agent':'FsShell','ProcessName':'sh','TaskID':'33B884245CFB54F1',"
		"'ParentEventID':[],'EventID':'15','Label':'Start 7','Host':'h',"
		"'HRT':1000000,'Timestamp':2000,'ThreadID':1,'Cycles':1},"
		"{'Agent':'Shell','ProcessName':'sh',"
		"'ParentEventID':['15'],'EventID':'-2','Host':'h',"
		"'HRT':1700000,'Timestamp':2000,'Source':'Shell.java:434','Bytes':64},"
		"{'Agent':'Shell','ProcessName':'sh','ParentEventID':['-2','15'],'EventID':'3',"
		"'Host':'g','Timestamp':2001,'Source':'Shell.java:435'}]}]",
		"[{'id':'33B884245CFB54F1','reports':["
		"{'Agent':['sh'],'Edge':['0000000000000000'],"
		"'X-Trace':['1933B884245CFB54F1000000000000000F'],"
		"'Label':['Start 7'],'Host':['h'],'HRT':['1000000'],'Timestamp':['2000'],"
		"'ThreadID':['1']},\n"
		"{'Agent':['sh'],'Edge':['000000000000000F'],"
		"'X-Trace':['1933B884245CFB54F1FFFFFFFFFFFFFFFE'],"
		"'Host':['h'],'HRT':['1700000'],'Timestamp':['2000'],'Source':['Shell.java:434'],"
		"'Bytes':['64'],'Tag':['a','b']},\n"
		"{'Class':['a.b.sh'],'Edge':['FFFFFFFFFFFFFFFE','000000000000000F'],"
		"'X-Trace':['1933B884245CFB54F10000000000000003'],'Host':['g'],"
		"'Timestamp':['2001'],'Source':['Shell.java:435']}]}]",
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct taken t = {0};

		ROW(i);
		take_json(&t, rows[i]);
		EQ_S(t.err.msg, "");
		EQ_U(t.stats.format, i ? SPANS_XTRACE_OLD : SPANS_XTRACE);
		EQ_U(t.cnt, 3);
		EQ_U(t.stats.bad_cnt, 0);
		EQ_U(t.stats.point_cnt, 3);
		EQ_U(t.traces[0].lo, 0x33b884245cfb54f1);
		EQ_U(t.spans[0].id, 15);
		EQ_U(t.spans[1].id, UINT64_MAX - 1);
		EQ_U(t.spans[2].id, 3);
		EQ_I(t.spans[0].begin_ns, 2000000000);
		EQ_I(t.spans[1].begin_ns, 2000700000);
		EQ_I(t.spans[2].begin_ns, 2001000000);
		EQ_I(t.spans[1].end_ns, 2000700000);
		EQ_U(t.spans[0].ref_cnt, 0);
		EQ_U(t.spans[1].ref_cnt, 1);
		EQ_U(t.refs.items[0].kind, SPAN_REF_AFTER);
		EQ_U(t.refs.items[0].span, 15);
		EQ_U(t.refs.items[0].trace.lo, 0x33b884245cfb54f1);
		EQ_U(t.spans[2].ref_cnt, 2);
		EQ_U(t.refs.items[1].span, UINT64_MAX - 1);
		for (size_t k = 0; k < 3; k++)
			EQ_S(strtab_str(&t.strings, t.spans[k].service), "sh");
		EQ_S(strtab_str(&t.strings, t.spans[0].name), "Start #");
		EQ_S(strtab_str(&t.strings, t.spans[1].name), "Shell.java:434");
		OK(taken_num(&t, 1, "Bytes") == 64);
		taken_release(&t);
	}
}

TEST(spans_xtrace_bad_events)
{
	struct taken t = {0};

	take_json(&t, "[{'id':'1','reports':[{'EventID':'1','Host':'h'},{'HRT':5},[],"
		      "{'EventID':'2','HRT':'soon'},{'EventID':'3','HRT':7}]}]");
	EQ_S(t.err.msg, "");
	EQ_U(t.cnt, 1);
	EQ_I(t.spans[0].begin_ns, 7);
	EQ_U(t.stats.bad_cnt, 4);
	EQ_S(t.stats.bad[0].why, "HRT or Timestamp: expected one, found none");
	EQ_S(t.stats.bad[1].why, "EventID: expected one, found none");
	EQ_S(t.stats.bad[2].why, "event: expected an object, found an array");
	EQ_S(t.stats.bad[3].why, "HRT or Timestamp: expected one, found none");
	taken_release(&t);
}
