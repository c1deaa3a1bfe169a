/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "report/forest/forest_out.h"
#include "report/page/page.h"
#include "report/lines/pen.h"

void forest_html(const struct forest_view *v, struct buf *out)
{
	CLEANUP(buf_release) struct buf title = {0};
	CLEANUP(buf_release) struct buf text = {0};
	CLEANUP(buf_release) struct buf data = {0};
	struct pen pen = {.out = &text, .columns = 140};
	struct json j;

	buf_printf(&title, "hypothesis forest %s", v->path);
	forest_text(v, &pen);
	json_init(&j, &data, JSON_SHOWN);
	forest_object(v, &j);
	json_finish(&j);
	page_write(&(struct page){
		.title = buf_str(&title), .text = buf_str(&text), .data = buf_str(&data),
		.css = {embed_page_css, embed_forest_css}, .js = {embed_forest_js}}, out);
}
