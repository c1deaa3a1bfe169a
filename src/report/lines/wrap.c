/* SPDX-License-Identifier: Apache-2.0 */
#include "report/lines/wrap.h"

#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"

enum { HANG = 2, ROW_MAX = 400 };

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

/* ---- rows of one table */

struct gaps {		/* of a line, or of all lines of a block */
	bool at[ROW_MAX + 1];	/* the two columns before this one are blank */
	unsigned least, most;	/* width */
};

static void gaps_of(const char *line, struct gaps *ret)
{
	unsigned col = 0, blanks = 0;

	memset(ret, 0, sizeof(*ret));
	while (*line && col < ROW_MAX) {
		size_t colour = colour_len(line);

		if (!colour) {
			ret->at[col++] = blanks >= HANG;
			blanks = *line == ' ' ? blanks + 1 : 0;
		}
		line += colour ? colour : char_len(line);
	}
	ret->least = ret->most = col;
}

/* The first column from which on all lines of the block fit and have something; 0: none. */
static unsigned fold_at(const struct gaps *g, unsigned columns)
{
	for (unsigned col = g->most - columns; col < g->least; col++)
		if (g->at[col])
			return col;
	return 0;
}

static bool gaps_join(struct gaps *block, const struct gaps *line, unsigned columns)
{
	struct gaps both = {.least = line->least < block->least ? line->least : block->least,
			    .most = line->most > block->most ? line->most : block->most};

	for (unsigned col = 0; col < both.least; col++)
		both.at[col] = block->at[col] && line->at[col];
	if (!fold_at(&both, columns))
		return false;
	*block = both;
	return true;
}

static const char *line_take(const char *text, struct buf *line)
{
	size_t len = strcspn(text, "\n");

	buf_clear(line);
	buf_add(line, text, len);
	return text + len + (text[len] == '\n');
}

/*
 * Folds a row: text before the column on a line or more, the rest below it, ending
 * with the block.
 */
static void fold_row(const char *line, unsigned col, unsigned columns, unsigned most,
		     struct buf *out)
{
	CLEANUP(buf_release) struct buf first = {0};
	const char *rest = line;

	for (unsigned at = 0; at < col;) {
		size_t colour = colour_len(rest);

		at += !colour;
		rest += colour ? colour : char_len(rest);
	}
	buf_add(&first, line, (size_t)(rest - line));
	while (first.len && first.data[first.len - 1] == ' ')
		buf_truncate(&first, first.len - 1);
	if (width_of(buf_str(&first)) > columns)
		wrap_one(buf_str(&first), columns, out);
	else
		buf_adds(out, buf_str(&first));
	buf_adds(out, first.len ? "\n" : "");
	buf_addn(out, ' ', columns - (most - col));
	buf_adds(out, rest);
}

/*
 * Two lines or more that can be parted at the same column are rows of a table, and keep
 * what stands under what.  Returns where the text goes on; text: they are none.
 */
static const char *fold_rows(const char *text, unsigned columns, struct buf *out)
{
	CLEANUP(buf_release) struct buf line = {0};
	struct gaps block, gaps;
	const char *end = line_take(text, &line), *next;
	unsigned cnt = 1;

	gaps_of(buf_str(&line), &block);
	while (*end) {
		next = line_take(end, &line);
		gaps_of(buf_str(&line), &gaps);
		if (gaps.most <= columns || !gaps_join(&block, &gaps, columns))
			break;
		end = next;
		cnt++;
	}
	if (cnt < 2)
		return text;
	while (text < end) {
		text = line_take(text, &line);
		fold_row(buf_str(&line), fold_at(&block, columns), columns, block.most, out);
		buf_addch(out, '\n');
	}
	return text;
}

void wrap_lines(const char *text, unsigned columns, struct buf *out)
{
	CLEANUP(buf_release) struct buf line = {0};

	while (*text) {
		const char *next = line_take(text, &line);

		if (width_of(buf_str(&line)) <= columns) {
			buf_add(out, text, (size_t)(next - text));
			text = next;
			continue;
		}
		next = fold_rows(text, columns, out);
		if (next == text) {
			next = line_take(text, &line);
			wrap_one(buf_str(&line), columns, out);
			if (next[-1] == '\n')
				buf_addch(out, '\n');
		}
		text = next;
	}
}
