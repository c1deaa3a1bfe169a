/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "report/page/page.h"
#include "report/lines/pen.h"
#include "report/requests/requests_json.h"
#include "report/requests/requests_out.h"

void requests_html(const struct requests_view *v, struct buf *out)
{
	CLEANUP(buf_release) struct buf title = {0};
	CLEANUP(buf_release) struct buf text = {0};
	CLEANUP(buf_release) struct buf data = {0};
	struct pen pen = {.out = &text, .columns = 120};
	struct json j;

	buf_printf(&title, "requests of %s", v->in->files[0].path);
	requests_text(v, &pen);
	json_init(&j, &data, JSON_SHOWN);
	requests_page_object(v, &j);
	json_finish(&j);
	page_write(&(struct page){
		.title = buf_str(&title), .text = buf_str(&text), .data = buf_str(&data),
		.css = {embed_page_css, embed_requests_css}, .js = {embed_requests_js}}, out);
}
