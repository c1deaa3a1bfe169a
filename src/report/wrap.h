/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WRAP_H
#define WRAP_H
/*
 * The last step before a narrow terminal: no line is wider than it.  Renderers
 * fit their lines to pen.columns where they can; rows of tables and what is the
 * same at any width are wrapped here, at blanks where there are some, with the rest
 * further in.  Columns of a table that is wrapped no longer line up, so blanks
 * between them are squeezed to two.
 */

struct buf;

/* Width is counted in code points; escape sequences for colour have none. */
void wrap_lines(const char *text, unsigned columns, struct buf *out);

#endif /* WRAP_H */
