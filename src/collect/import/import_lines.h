/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IMPORT_LINES_H
#define IMPORT_LINES_H
/*
 * The lines of a text file, or of one packed by gzip, of any size: only one
 * buffer of it is in memory.
 *
 *	lines_reader_new, lines_peek, lines_next until 0, lines_reader_free
 */
#include "collect/import/import_text.h"

struct err;
struct lines_reader;

enum { LINE_MAX_BYTES = 1 << 18 };

/* Takes fd over; first: what was read of it already. */
struct lines_reader *lines_reader_new(int fd, const void *first, size_t first_len);
void lines_reader_free(struct lines_reader *r); /* NULL is fine */

/* The beginning of the text, as much as one read gives; stays to be read by lines_next. */
struct text lines_peek(struct lines_reader *r);

/*
 * 1 and the next line, without its end, until the next call; 0 at the end;
 * -errno.  Of a line over LINE_MAX_BYTES only that much is given.
 */
int lines_next(struct lines_reader *r, struct text *ret_line);

uint64_t lines_number(const struct lines_reader *r); /* of the last line, from 1 */
bool lines_ended_early(const struct lines_reader *r); /* the gzip stream is cut or damaged */

#endif /* IMPORT_LINES_H */
