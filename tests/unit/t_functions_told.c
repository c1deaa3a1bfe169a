/* SPDX-License-Identifier: Apache-2.0 */
/* What the report of heldup functions says that it left out. */
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "functions/units/feature_kinds.h"
#include "report/functions/functions_out.h"
#include "report/lines/pen.h"
#include "scene.h"

/* One of the kinds, mmap, is noise. */
enum { KINDS = 511, FOLDED = KINDS - 1 - (DIMS_CALLS_MAX - 1) };

TEST(functions_tell_calls_of_kinds_over_the_limit)
{
	CLEANUP(arena_release) struct arena arena = {0};
	CLEANUP(buf_release) struct buf text = {0}, data = {0};
	struct functions_view v = {0};
	struct pen pen = {.out = &text, .columns = 100};
	struct json j;
	struct scene c;
	char folded[64];

	begin(&c);
	for (unsigned i = 0; i < 5; i++)
		request(&c, 2, 1);
	v.r = judge_scene(&c, &arena, NULL);
	OK(!v.r->folded_cnt && !(v.r->thin & THIN_MANY_CALLS));
	synth_free(c.s);

	begin(&c);
	for (unsigned nr = 1; nr <= KINDS; nr++)
		call(&c, nr, 0.01, NULL);
	v.r = judge_scene(&c, &arena, NULL);
	EQ_U(v.r->folded_cnt, FOLDED);
	functions_text(&v, &pen);
	HAS(buf_str(&text), "more kinds of calls than are kept apart");
	HAS(buf_str(&text), "7 calls of kinds over that limit were left out");
	json_init(&j, &data, JSON_COMPACT);
	functions_object(&v, &j);
	json_finish(&j);
	snprintf(folded, sizeof(folded), "\"calls_over_kinds\":%d", FOLDED);
	HAS(buf_str(&data), folded);
	HAS(buf_str(&data), "\"many-calls\"");
	synth_free(c.s);
}
