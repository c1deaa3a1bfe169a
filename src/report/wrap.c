/* SPDX-License-Identifier: Apache-2.0 */
#include "report/wrap.h"

#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"

enum { HANG = 2 };

/* "\033[...m" at s; 0 where none stands there. */
static size_t colour_len(const char *s)
{
	size_t len;

	if (s[0] != '\033' || s[1] != '[')
		return 0;
	len = 2 + strspn(s + 2, "0123456789;");
	return s[len] == 'm' ? len + 1 : 0;
}

static size_t char_len(const char *s)
{
	size_t len = 1;

	while (((unsigned char)s[len] & 0xc0) == 0x80)
		len++;
	return len;
}

static unsigned width_of(const char *s)
{
	unsigned width = 0;

	while (*s) {
		size_t colour = colour_len(s);

		s += colour ? colour : char_len(s);
		width += !colour;
	}
	return width;
}

/* Blanks within the line, but not before it, become two at most. */
static void squeeze(const char *line, unsigned columns, struct buf *out)
{
	size_t indent = strspn(line, " ");
	bool begun = false;

	buf_addn(out, ' ', indent < columns / 4 ? indent : columns / 4);
	for (const char *s = line + indent; *s; begun = true) {
		size_t blanks = strspn(s, " ");

		if (!blanks) {
			buf_addch(out, *s++);
			continue;
		}
		s += blanks;
		if (begun && *s)
			buf_addn(out, ' ', blanks > HANG ? HANG : blanks);
	}
}

/*
 * How many bytes go on a line of width columns; *ret_next is where the rest begins.  A row
 * is broken between two cells rather than within one, where that leaves half of the line.
 */
static size_t fitting(const char *s, unsigned width, size_t *ret_next)
{
	size_t at = 0, last = 0, gap = 0;
	unsigned col = 0;

	while (s[at]) {
		size_t colour = colour_len(s + at);

		if (!colour && col == width)
			break;
		if (s[at] == ' ' && (at == 0 || s[at - 1] != ' '))
			last = at;
		if (s[at] == ' ' && s[at + 1] == ' ' && last == at && 2 * col > width)
			gap = at;
		at += colour ? colour : char_len(s + at);
		col += !colour;
	}
	if (s[at] == ' ' || !s[at])
		last = at;
	if (s[at] && gap && last != at)
		last = gap;
	if (!last)
		last = at;
	*ret_next = last + strspn(s + last, " ");
	return last;
}

static void wrap_one(const char *line, unsigned columns, struct buf *out)
{
	CLEANUP(buf_release) struct buf squeezed = {0};
	unsigned indent, hang;
	const char *s;
	size_t next, len;

	squeeze(line, columns, &squeezed);
	s = buf_str(&squeezed);
	indent = (unsigned)strspn(s, " ");
	hang = indent + HANG;
	s += indent;
	buf_addn(out, ' ', indent);
	len = fitting(s, columns - indent, &next);
	buf_add(out, s, len);
	for (s += next; *s; s += next) {
		buf_addch(out, '\n');
		buf_addn(out, ' ', hang);
		len = fitting(s, columns - hang, &next);
		buf_add(out, s, len);
	}
}

void wrap_lines(const char *text, unsigned columns, struct buf *out)
{
	CLEANUP(buf_release) struct buf line = {0};

	while (*text) {
		size_t len = strcspn(text, "\n");

		buf_clear(&line);
		buf_add(&line, text, len);
		if (width_of(buf_str(&line)) > columns)
			wrap_one(buf_str(&line), columns, out);
		else
			buf_add(out, text, len);
		text += len;
		if (*text == '\n') {
			buf_addch(out, '\n');
			text++;
		}
	}
}
