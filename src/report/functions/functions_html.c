/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "functions/functions.h"
#include "report/functions/functions_out.h"
#include "report/page/page.h"
#include "report/lines/pen.h"

void functions_html(const struct functions_view *v, struct buf *out)
{
	CLEANUP(buf_release) struct buf title = {0};
	CLEANUP(buf_release) struct buf text = {0};
	CLEANUP(buf_release) struct buf data = {0};
	struct pen pen = {.out = &text, .columns = 120};
	struct json j;

	buf_printf(&title, "functions of %s", v->r->m->selection);
	functions_text(v, &pen);
	json_init(&j, &data, JSON_SHOWN);
	functions_object(v, &j);
	json_finish(&j);
	page_write(&(struct page){
		.title = buf_str(&title), .text = buf_str(&text), .data = buf_str(&data),
		.css = {embed_page_css}, .js = {embed_functions_js}}, out);
}
