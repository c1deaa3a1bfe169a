/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEN_H
#define PEN_H
/*
 * Writes lines for a terminal: styles, columns, wrapping.  Every string goes
 * through pen_clean first: names come from the watched processes, and an
 * escape sequence in one must not reach the terminal.
 *
 *	struct pen p = { .out = &buf, .colour = 1, .columns = 80 };
 *	pen_text(&p, PEN_BOLD, "title");  pen_nl(&p);
 *
 * Width is counted in code points.  Owns nothing.
 */
#include <stdbool.h>
#include <stddef.h>

struct buf;

enum pen_style { PEN_PLAIN, PEN_BOLD, PEN_DIM, PEN_BAD, PEN_GOOD, PEN_DOUBT, PEN_HEAD, PEN_KEY };

struct pen {
	struct buf *out;
	bool colour;
	bool ascii;	  /* the terminal does not take UTF-8 */
	unsigned columns; /* at least PEN_COLUMNS_MIN is used */
	unsigned col;	  /* of the line being written */
	unsigned line_cnt;
};

enum { PEN_COLUMNS_MIN = 40, PEN_NARROW = 60 };

void pen_text(struct pen *p, enum pen_style style, const char *str);
void pen_fmt(struct pen *p, enum pen_style style, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Spaces up to the column; nothing when it is passed. */
void pen_to(struct pen *p, unsigned col);

/* So that str, cut where it must be, ends at the column. */
void pen_right(struct pen *p, enum pen_style style, unsigned end_col, const char *str);

/* As pen_text, at most width columns; a longer one ends in an ellipsis. */
void pen_cut(struct pen *p, enum pen_style style, unsigned width, const char *str);
/* The same, with the ellipsis in its middle: for names whose end tells where. */
void pen_cut_middle(struct pen *p, enum pen_style style, unsigned width, const char *str);

/*
 * The last cell of a row: cut at the end of the line.  On a screen under PEN_NARROW, where
 * little might be left of it, it then goes below the row, from indent on three lines at most.
 */
void pen_last(struct pen *p, enum pen_style style, unsigned indent, const char *str);

/*
 * From the present column to the end of the line, further lines from indent;
 * at most max_lines (0: any number), the last then ends in an ellipsis.  On a screen
 * under PEN_NARROW three times as many.
 */
void pen_wrap(struct pen *p, enum pen_style style, unsigned indent, unsigned max_lines,
	      const char *str);

void pen_nl(struct pen *p);

/* Appends str with control, bidi and broken bytes shown as \xNN; ascii: others as '?'. */
void pen_clean(struct buf *out, const char *str, bool ascii);

/* Code points in clean text. */
unsigned pen_width(const char *str);

#endif /* PEN_H */
