/* SPDX-License-Identifier: Apache-2.0 */
/* Each finding has all of its parts: src/verdict/findings/findings.h says how to add one. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "report/answer.h"
#include "report/answer/answer_brief.h"
#include "unit.h"
#include "verdict/findings/findings.h"

TEST(finding_defs_are_one_for_each_class)
{
	unsigned cnt[FIND_CNT] = {0};

	for (size_t i = 0; i < findings_cnt; i++) {
		ROW(i);
		OK(findings_in_order[i]->cls < FIND_CNT);
		cnt[findings_in_order[i]->cls]++;
	}
	for (unsigned cls = 0; cls < FIND_CNT; cls++) {
		ROW(cls);
		EQ_U(cnt[cls], 1);
	}
}

/* Demand is moved to these by another: disk-own, clients of the loop, the queue. */
static bool is_given(unsigned cls)
{
	return cls == FIND_DISK_NEIGHBOUR || cls == FIND_DISK_LIMIT;
}

TEST(finding_defs_have_all_parts)
{
	for (unsigned cls = 0; cls < FIND_CNT; cls++) {
		const struct finding_def *def = finding_def(cls);

		ROW(cls);
		OK(def->name && *def->name);
		OK(def->title && *def->title);
		OK(def->claims || def->weigh || def->find || is_given(cls));
		OK(def->explain || def->find);
		OK(def->next_step != NULL);
		OK(!def->moves_from || def->weigh);
		/* the candidates of an unknown verdict are what refutes it */
		OK(cls == FIND_UNKNOWN || !def->refuted_if != !def->refute);
	}
}

/* Nothing is left over: the last of the table claims what no other does. */
TEST(finding_defs_end_with_unknown)
{
	EQ_U(findings_in_order[findings_cnt - 1]->cls, FIND_UNKNOWN);
}

TEST(finding_defs_are_in_the_schemas)
{
	for (unsigned cls = 0; cls < FIND_CNT; cls++) {
		char quoted[64];

		ROW(cls);
		snprintf(quoted, sizeof(quoted), "\"%s\"", finding_name(cls));
		HAS(embed_why_schema_json, quoted);
		HAS(embed_why_brief_schema_json, quoted);
	}
}

static void loads_read(struct buf *all)
{
	CLEANUP_CLOSEDIR DIR *dir = opendir("tests/load");
	const struct dirent *e;

	while (dir && (e = readdir(dir))) {
		char path[300];

		if (!strstr(e->d_name, ".c"))
			continue;
		snprintf(path, sizeof(path), "tests/load/%s", e->d_name);
		file_read(path, 1 << 20, all, NULL);
	}
}

/* tests/load: a program provokes it and says so in its ready line; hung is an unknown one. */
TEST(finding_defs_have_a_load_program)
{
	CLEANUP(buf_release) struct buf loads = {0};

	loads_read(&loads);
	if (!loads.len)
		SKIP("not run from the top of the source");
	for (unsigned cls = 0; cls < FIND_CNT; cls++) {
		ROW(cls);
		if (cls != FIND_UNKNOWN)
			HAS(buf_str(&loads), finding_name(cls));
	}
}
