/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A page: a fixed frame, styles and scripts, and the data as JSON inside it,
 * from which the scripts draw everything.  Names from the watched processes
 * reach the page in two ways only: through html_escape, and through the JSON
 * writer, which writes '<' as \u003c so that nothing can end the script element.
 */
#include "report/page/page.h"

#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/bug.h"
#include "base/cleanup.h"
#include "report/lines/pen.h"

static void html_escape(struct buf *out, const char *str)
{
	CLEANUP(buf_release) struct buf clean = { 0 };

	for (const char *nl; (nl = strchr(str, '\n')); str = nl + 1) {
		CLEANUP(buf_release) struct buf line = { 0 };

		buf_add(&line, str, (size_t)(nl - str));
		pen_clean(&clean, buf_str(&line), false);
		buf_addch(&clean, '\n');
	}
	pen_clean(&clean, str, false);
	for (const char *s = buf_str(&clean); *s; s++) {
		switch (*s) {
		case '<':
			buf_adds(out, "&lt;");
			break;
		case '>':
			buf_adds(out, "&gt;");
			break;
		case '&':
			buf_adds(out, "&amp;");
			break;
		case '"':
			buf_adds(out, "&quot;");
			break;
		case '\'':
			buf_adds(out, "&#39;");
			break;
		default:
			buf_addch(out, *s);
		}
	}
}

/* Copies the frame up to the mark and returns what follows it. */
static const char *copy_to(struct buf *out, const char *frame, const char *mark)
{
	const char *at = strstr(frame, mark);

	if (!at)
		BUG("page.html lacks a mark");
	buf_add(out, frame, (size_t)(at - frame));
	return at + strlen(mark);
}

void page_write(const struct page *page, struct buf *out)
{
	const char *frame = embed_page_html;

	frame = copy_to(out, frame, "{{title}}");
	html_escape(out, page->title);
	frame = copy_to(out, frame, "{{css}}");
	for (int i = 0; i < PAGE_PARTS && page->css[i]; i++)
		buf_adds(out, page->css[i]);
	frame = copy_to(out, frame, "{{text}}");
	html_escape(out, page->text);
	frame = copy_to(out, frame, "{{data}}");
	buf_adds(out, page->data);
	frame = copy_to(out, frame, "{{js}}");
	buf_adds(out, embed_parts_js);
	for (int i = 0; i < PAGE_PARTS && page->js[i]; i++)
		buf_adds(out, page->js[i]);
	buf_adds(out, frame);
}
