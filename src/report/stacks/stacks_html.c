/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"
#include "base/cleanup.h"
#include "model/model.h"
#include "report/page/page.h"
#include "report/lines/pen.h"
#include "report/stacks/stacks_out.h"
#include "stacks/stacks.h"

void stacks_html(const struct stacks_view *v, struct buf *out)
{
	CLEANUP(buf_release) struct buf title = {0};
	CLEANUP(buf_release) struct buf text = {0};
	CLEANUP(buf_release) struct buf data = {0};
	struct pen pen = {.out = &text, .columns = 100};

	buf_printf(&title, "stacks of %s", v->r->m->selection);
	stacks_text(v, &pen);
	stacks_page_data(v, &data);
	page_write(&(struct page){
		.title = buf_str(&title), .text = buf_str(&text), .data = buf_str(&data),
		.css = {embed_page_css, embed_flame_css},
		.js = {embed_flame_js, embed_stacks_js}}, out);
}
