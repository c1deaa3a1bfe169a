/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "report/answer.h"
#include "report/answer/json_parts.h"
#include "report/page/page.h"
#include "report/stacks/stacks_out.h"
#include "report/answer/timeline.h"
#include "stacks/stacks.h"
#include "verdict/verdict.h"

/* Keeps a page of 5,000 threads under 5 MB. */
static const struct row_limits page_limits = {
	.threads = 5000, .resources = 500, .edges = 1000, .causes = 200, .locks = 200,
	.ends = 500, .takers = 200,
};

enum { WHY_NODES_MAX = 30000 }; /* of each flame graph: the answer comes first */

static void page_data(const struct answer *a, struct buf *out)
{
	struct json j;

	json_init(&j, out, JSON_SHOWN);
	json_obj(&j);
	json_answer_parts(&j, a, &page_limits);
	timeline_json(&j, a);
	if (a->stacks)
		flame_json(&(struct stacks_view){
			.r = a->stacks, .idle = a->idle_stacks,
			.modes = (1u << STACKS_MODE_CNT) - 1,
			.nodes_max = WHY_NODES_MAX, .arena = a->arena }, &j);
	json_obj_end(&j);
	json_finish(&j);
}

void answer_html(const struct answer *a, struct buf *out)
{
	static const struct text_opts plain = { .columns = 100 };
	CLEANUP(buf_release) struct buf title = { 0 };
	CLEANUP(buf_release) struct buf text = { 0 };
	CLEANUP(buf_release) struct buf data = { 0 };

	buf_printf(&title, "%s: %s", finding_title(a->verdict->findings[0].cls),
		   a->verdict->subject ? a->verdict->subject : "");
	answer_text(a, &plain, &text);
	page_data(a, &data);
	page_write(&(struct page){
		.title = buf_str(&title), .text = buf_str(&text), .data = buf_str(&data),
		.css = { embed_page_css, embed_flame_css },
		.js = { embed_flame_js, embed_page_js } }, out);
}
