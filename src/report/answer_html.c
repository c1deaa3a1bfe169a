/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page: a fixed frame, style and script (page.*), and the answer as JSON
 * inside it, from which the script draws everything.  Names from the watched
 * processes reach the page in two ways only: through html_escape, and through
 * the JSON writer, which writes '<' as \u003c so that nothing can end the
 * script element.
 */
#include <string.h>

#include "base/buf.h"
#include "base/bug.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "report/answer.h"
#include "report/json_parts.h"
#include "report/page.h"
#include "report/pen.h"
#include "report/timeline.h"
#include "verdict/verdict.h"

/* Keeps a page of 5,000 threads under 5 MB. */
static const struct row_limits page_limits = {
	.threads = 5000, .resources = 500, .edges = 1000, .causes = 200, .locks = 200,
	.ends = 500, .takers = 200,
};

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

static void page_data(const struct answer *a, struct buf *out)
{
	struct json j;

	json_init(&j, out, JSON_COMPACT);
	json_obj(&j);
	json_answer_parts(&j, a, &page_limits);
	timeline_json(&j, a);
	json_obj_end(&j);
	json_finish(&j);
}

void answer_html(const struct answer *a, struct buf *out)
{
	static const struct text_opts plain = { .columns = 100 };
	CLEANUP(buf_release) struct buf text = { 0 };
	const char *frame = embed_page_html;

	frame = copy_to(out, frame, "{{title}}");
	buf_printf(&text, "%s: %s", finding_title(a->verdict->findings[0].cls),
		   a->verdict->subject ? a->verdict->subject : "");
	html_escape(out, buf_str(&text));
	frame = copy_to(out, frame, "{{css}}");
	buf_adds(out, embed_page_css);
	frame = copy_to(out, frame, "{{text}}");
	buf_clear(&text);
	answer_text(a, &plain, &text);
	html_escape(out, buf_str(&text));
	frame = copy_to(out, frame, "{{data}}");
	page_data(a, out);
	frame = copy_to(out, frame, "{{js}}");
	buf_adds(out, embed_page_js);
	buf_adds(out, frame);
}
