/* SPDX-License-Identifier: Apache-2.0 */
#include "ui/cells.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
#include <wctype.h>

struct glyph {
	size_t bytes;
	uint32_t width;
	int shown;	/* 0: put '?' */
};

/* The next character of s, which is not empty. */
static struct glyph glyph_at(const char *s)
{
	mbstate_t st = {0};
	wchar_t wc;
	size_t n = mbrtowc(&wc, s, strnlen(s, MB_CUR_MAX), &st);
	int w;

	if (n == (size_t)-1 || n == (size_t)-2 || n == 0)
		return (struct glyph){1, 1, 0};
	w = iswprint((wint_t)wc) ? wcwidth(wc) : -1;
	if (w <= 0)
		return (struct glyph){n, 1, 0};
	return (struct glyph){n, (uint32_t)w, 1};
}

uint32_t cells_width(const char *text)
{
	uint32_t width = 0;

	for (struct glyph g; *text; text += g.bytes) {
		g = glyph_at(text);
		width += g.width;
	}
	return width;
}

void cells_release(struct cells *c)
{
	VEC_FOREACH(&c->lines, line) {
		buf_release(&line->text);
		vec_release(&line->pieces);
	}
	vec_release(&c->lines);
	c->cnt = 0;
}

void cells_begin(struct cells *c, uint32_t width)
{
	c->width = width;
	c->cnt = 0;
}

struct cell_line *cells_line(struct cells *c)
{
	struct cell_line *line;

	if (c->cnt == c->lines.cnt)
		vec_add(&c->lines);
	line = &c->lines.items[c->cnt++];
	buf_clear(&line->text);
	vec_clear(&line->pieces);
	line->width = 0;
	line->selected = 0;
	return line;
}

/* Adds glyphs while they fit into room columns; returns the columns used. */
static uint32_t add_glyphs(struct buf *out, const char *s, uint32_t room)
{
	uint32_t used = 0;

	for (struct glyph g; *s; s += g.bytes) {
		g = glyph_at(s);
		if (used + g.width > room)
			break;
		used += g.width;
		if (g.shown)
			buf_add(out, s, g.bytes);
		else
			buf_addch(out, '?');
	}
	return used;
}

/* text is wider than room: its end after a mark, or its beginning and a mark. */
static uint32_t add_cut(struct buf *out, const char *text, uint32_t room, int tail)
{
	uint32_t over = cells_width(text), used;

	if (room == 0)
		return 0;
	if (!tail) {
		used = add_glyphs(out, text, room - 1);
		buf_addch(out, '~');
		return used + 1;
	}
	buf_addch(out, '~');
	for (struct glyph g; *text && over > room - 1; text += g.bytes) {
		g = glyph_at(text);
		over -= g.width;
	}
	return 1 + add_glyphs(out, text, room - 1);
}

void cells_put(struct cells *c, enum cell_look look, unsigned flags, uint32_t width,
	       const char *text)
{
	struct cell_line *line = &c->lines.items[c->cnt - 1];
	struct cell_piece piece = {.off = line->text.len, .look = (uint8_t)look};
	uint32_t left = c->width > line->width ? c->width - line->width : 0;
	uint32_t wants = cells_width(text), used;

	if (flags & CELL_FILL || width > left)
		width = left;
	if (width == 0)
		width = wants < left ? wants : left;
	if (flags & CELL_RIGHT && wants < width)
		buf_addn(&line->text, ' ', width - wants);
	if (wants > width)
		used = add_cut(&line->text, text, width, flags & CELL_TAIL && *text == '/');
	else
		used = add_glyphs(&line->text, text, width);
	if (!(flags & CELL_RIGHT) || wants > width)
		buf_addn(&line->text, ' ', width - used);
	line->width += width;
	piece.len = line->text.len - piece.off;
	if (piece.len)
		vec_push(&line->pieces, piece);
}

void cells_printf(struct cells *c, enum cell_look look, const char *fmt, ...)
{
	struct buf b = {0};
	va_list ap;

	va_start(ap, fmt);
	buf_vprintf(&b, fmt, ap);
	va_end(ap);
	cells_put(c, look, 0, 0, buf_str(&b));
	buf_release(&b);
}

/* Word by word, each with the blanks before it. */
static void put_folded(struct cells *c, enum cell_look look, const char *text)
{
	struct buf word = {0};

	while (*text) {
		size_t blanks = strspn(text, " "), len = blanks + strcspn(text + blanks, " ");
		uint32_t used = c->lines.items[c->cnt - 1].width;

		buf_clear(&word);
		buf_add(&word, text, len);
		if (used > 2 && used + cells_width(buf_str(&word)) > c->width && text[blanks]) {
			cells_put(c, LOOK_PLAIN, CELL_FILL, 0, "");
			cells_line(c);
			buf_clear(&word);
			buf_adds(&word, "  ");
			buf_add(&word, text + blanks, len - blanks);
		}
		cells_put(c, look, 0, 0, buf_str(&word));
		text += len;
	}
	buf_release(&word);
}

void cells_say(struct cells *c, enum cell_look look, const char *fmt, ...)
{
	struct buf b = {0};
	va_list ap;

	va_start(ap, fmt);
	buf_vprintf(&b, fmt, ap);
	va_end(ap);
	if (c->fold)
		put_folded(c, look, buf_str(&b));
	else
		cells_put(c, look, 0, 0, buf_str(&b));
	buf_release(&b);
}

void cells_text(const struct cells *c, struct buf *out)
{
	for (size_t i = 0; i < c->cnt; i++) {
		const struct cell_line *line = &c->lines.items[i];
		size_t len = line->text.len;

		while (len > 0 && line->text.data[len - 1] == ' ')
			len--;
		buf_add(out, buf_str(&line->text), len);
		buf_addch(out, '\n');
	}
}
