/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WRAP_H
#define WRAP_H
/*
 * The last step before a narrow terminal: no line is wider than it.  Renderers
 * fit their lines to pen.columns where they can; rows of tables and what is the
 * same at any width are wrapped here.  Rows that follow each other and have a gap at
 * the same column are parted there, and what stood under each other still does.
 * Other lines are wrapped at blanks where there are some, with the rest further in, and
 * blanks in them are squeezed to two.
 */

struct buf;

/* Width is counted in code points; escape sequences for colour have none. */
void wrap_lines(const char *text, unsigned columns, struct buf *out);

#endif /* WRAP_H */
