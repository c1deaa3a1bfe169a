/* SPDX-License-Identifier: Apache-2.0 */
#include "report/lines/pen.h"

#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/utf8.h"

static void add_ascii(struct buf *out, uint32_t cp)
{
	switch (cp) {
	case 0xb7: case 0x2022: case 0x25cf:
		buf_addch(out, '*');
		break;
	case 0xd7:
		buf_addch(out, 'x');
		break;
	case 0xb5: case 0x3bc:
		buf_addch(out, 'u');
		break;
	case 0x2013: case 0x2014: case 0x2500:
		buf_addch(out, '-');
		break;
	case 0x2018: case 0x2019:
		buf_addch(out, '\'');
		break;
	case 0x2192:
		buf_adds(out, "->");
		break;
	case 0x2026:
		buf_addch(out, '~');
		break;
	case 0x2502:
		buf_addch(out, '|');
		break;
	case 0x25a0:
		buf_addch(out, '#');
		break;
	default:
		buf_addch(out, '?');
	}
}

void pen_clean(struct buf *out, const char *str, bool ascii)
{
	const char *s = str ? str : "";

	while (*s) {
		uint32_t cp = 0;
		size_t len = utf8_decode(s, strnlen(s, 4), &cp);

		if (!len || utf8_is_unsafe(cp)) {
			for (size_t i = 0; i < (len ? len : 1); i++)
				buf_printf(out, "\\x%02x", (unsigned char)s[i]);
		} else if (cp < 0x80 || !ascii) {
			buf_add(out, s, len);
		} else {
			add_ascii(out, cp);
		}
		s += len ? len : 1;
	}
}

unsigned pen_width(const char *str)
{
	unsigned width = 0;

	for (; *str; str++)
		width += ((unsigned char)*str & 0xc0) != 0x80;
	return width;
}

static const char *const sgr[] = {
	[PEN_PLAIN] = "",	 [PEN_BOLD] = "\033[1m",    [PEN_DIM] = "\033[2m",
	[PEN_BAD] = "\033[1;31m", [PEN_GOOD] = "\033[1;32m", [PEN_DOUBT] = "\033[1;33m",
	[PEN_HEAD] = "\033[1;36m", [PEN_KEY] = "\033[36m",
};

/* str is clean, len bytes of it are written. */
static void put(struct pen *p, enum pen_style style, const char *str, size_t len)
{
	bool styled = p->colour && style != PEN_PLAIN && len;

	if (styled)
		buf_adds(p->out, sgr[style]);
	buf_add(p->out, str, len);
	if (styled)
		buf_adds(p->out, "\033[0m");
	for (size_t i = 0; i < len; i++)
		p->col += ((unsigned char)str[i] & 0xc0) != 0x80;
}

/* Bytes of the first width code points. */
static size_t prefix(const char *str, unsigned width)
{
	size_t i = 0;

	for (; str[i]; i++) {
		if (((unsigned char)str[i] & 0xc0) != 0x80 && width-- == 0)
			break;
	}
	return i;
}

void pen_text(struct pen *p, enum pen_style style, const char *str)
{
	CLEANUP(buf_release) struct buf clean = { 0 };

	pen_clean(&clean, str, p->ascii);
	put(p, style, buf_str(&clean), clean.len);
}

void pen_fmt(struct pen *p, enum pen_style style, const char *fmt, ...)
{
	CLEANUP(buf_release) struct buf raw = { 0 };
	va_list ap;

	va_start(ap, fmt);
	buf_vprintf(&raw, fmt, ap);
	va_end(ap);
	pen_text(p, style, buf_str(&raw));
}

void pen_to(struct pen *p, unsigned col)
{
	if (col > p->col) {
		buf_addn(p->out, ' ', col - p->col);
		p->col = col;
	}
}

void pen_cut(struct pen *p, enum pen_style style, unsigned width, const char *str)
{
	CLEANUP(buf_release) struct buf clean = { 0 };

	if (!width)
		return;
	pen_clean(&clean, str, p->ascii);
	if (pen_width(buf_str(&clean)) <= width) {
		put(p, style, buf_str(&clean), clean.len);
		return;
	}
	buf_truncate(&clean, prefix(buf_str(&clean), width - 1));
	buf_adds(&clean, p->ascii ? "~" : "…");
	put(p, style, buf_str(&clean), clean.len);
}

void pen_cut_middle(struct pen *p, enum pen_style style, unsigned width, const char *str)
{
	CLEANUP(buf_release) struct buf clean = { 0 }, cut = { 0 };
	unsigned wide, tail = width / 2;
	const char *at;

	pen_clean(&clean, str, p->ascii);
	at = buf_str(&clean);
	wide = pen_width(at);
	if (wide <= width || width < 8) {
		pen_cut(p, style, width, str);
		return;
	}
	buf_add(&cut, at, prefix(at, width - 1 - tail));
	buf_adds(&cut, p->ascii ? "~" : "…");
	buf_adds(&cut, at + prefix(at, wide - tail));
	put(p, style, buf_str(&cut), cut.len);
}

void pen_right(struct pen *p, enum pen_style style, unsigned end_col, const char *str)
{
	unsigned width = pen_width(str);

	if (end_col > p->col + width)
		pen_to(p, end_col - width);
	pen_text(p, style, str);
}

/* How many bytes of str go on a line of width columns, cut at a blank where there is one. */
static size_t line_len(const char *str, unsigned width)
{
	size_t len = prefix(str, width), at;

	if (!str[len])
		return len;
	if (str[len] == ' ')
		return len;
	for (at = len; at > len / 3 && str[at] != ' '; at--)
		;
	return at > len / 3 ? at : len;
}

void pen_wrap(struct pen *p, enum pen_style style, unsigned indent, unsigned max_lines,
	      const char *str)
{
	CLEANUP(buf_release) struct buf clean = { 0 };
	unsigned columns = p->columns > PEN_COLUMNS_MIN ? p->columns : PEN_COLUMNS_MIN;
	const char *s;

	if (p->columns < PEN_NARROW) /* the same words take as many more lines */
		max_lines *= 3;
	pen_clean(&clean, str, p->ascii);
	s = buf_str(&clean);
	for (unsigned line = 1;; line++) {
		unsigned width = columns > p->col + 10 ? columns - p->col : 10;
		size_t len;

		if (line == max_lines) {
			pen_cut(p, style, width, s);
			break;
		}
		len = line_len(s, width);
		put(p, style, s, len);
		s += len;
		while (*s == ' ')
			s++;
		if (!*s)
			break;
		pen_nl(p);
		pen_to(p, indent);
	}
}

void pen_last(struct pen *p, enum pen_style style, unsigned indent, const char *str)
{
	if (p->columns >= PEN_NARROW || p->col + pen_width(str) <= p->columns) {
		pen_cut(p, style, p->columns > p->col ? p->columns - p->col : 20, str);
		return;
	}
	if (p->col > indent)
		pen_nl(p);
	pen_to(p, indent);
	pen_wrap(p, style, indent + 2, 3, str);
}

void pen_nl(struct pen *p)
{
	while (p->out->len && buf_str(p->out)[p->out->len - 1] == ' ')
		buf_truncate(p->out, p->out->len - 1);
	buf_addch(p->out, '\n');
	p->col = 0;
	p->line_cnt++;
}
