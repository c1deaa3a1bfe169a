/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CELLS_H
#define CELLS_H
/*
 * A screen before it is one: lines of text in pieces, each with a look.
 * Written by render.h, shown by screen.h, printed by --batch, read by tests.
 *
 *	struct cells c = {0};  cells_begin, cells_line, cells_put ...  cells_release
 *
 * Widths are terminal columns in the locale of LC_CTYPE.  What the locale
 * cannot show becomes '?': names come from strangers and may hold anything.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/vec.h"

enum cell_look {
	LOOK_PLAIN = 0,
	LOOK_BOLD,
	LOOK_DIM,
	LOOK_BAR,	/* title and key lines: reverse */
	LOOK_WARN,
	LOOK_GROUP,	/* LOOK_GROUP + enum view_group; last */
};

struct cell_piece {
	size_t off, len;	/* in text */
	uint8_t look;
};

struct cell_line {
	struct buf text;
	uint32_t width;		/* columns used */
	uint8_t selected;
	VEC(struct cell_piece) pieces;
};

struct cells {
	uint32_t width;		/* columns a line may use; longer is cut */
	VEC(struct cell_line) lines;
	size_t cnt;		/* lines in use; the others keep their memory */
	uint8_t fold;		/* cells_say goes on in a further line */
};

enum cell_flags {
	CELL_RIGHT = 1 << 0,	/* align right */
	CELL_TAIL = 1 << 1,	/* where it does not fit, keep the end of a path */
	CELL_FILL = 1 << 2,	/* to the end of the line */
};

void cells_release(struct cells *c);

/* Empties it. */
void cells_begin(struct cells *c, uint32_t width);

/* Starts the next line and returns it, borrowed until the next. */
struct cell_line *cells_line(struct cells *c);

/* Adds text to the newest line in exactly width columns, 0: as many as it needs. */
void cells_put(struct cells *c, enum cell_look look, unsigned flags, uint32_t width,
	       const char *text);
void cells_printf(struct cells *c, enum cell_look look, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* The same; with c->fold what does not fit goes on in a further line, two columns in. */
void cells_say(struct cells *c, enum cell_look look, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* The lines as text, trailing blanks cut. */
void cells_text(const struct cells *c, struct buf *out);

/* Columns that text takes. */
uint32_t cells_width(const char *text);

#endif /* CELLS_H */
