/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BUF_H
#define BUF_H
/*
 * A growing byte string that is always NUL terminated.
 *
 *	struct buf b = {0};  buf_add* ...  buf_str  ...  buf_release
 *
 * An all-zero buf is valid.  Out of memory aborts.
 */
#include <stdarg.h>
#include <stddef.h>

struct buf {
	char *data; /* NULL while nothing was ever added: read by buf_str */
	size_t len;
	size_t cap;
};

void buf_release(struct buf *b);

/* Empties it and keeps the memory. */
void buf_clear(struct buf *b);

/* Makes room for extra more bytes and the NUL. */
void buf_reserve(struct buf *b, size_t extra);

void buf_add(struct buf *b, const void *data, size_t len);
void buf_adds(struct buf *b, const char *str);
void buf_addch(struct buf *b, char c);
void buf_addn(struct buf *b, char c, size_t cnt);
void buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buf_vprintf(struct buf *b, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));

/* Cuts to len, which is at most the present length. */
void buf_truncate(struct buf *b, size_t len);

/* Borrowed until the next change; "" when empty. */
const char *buf_str(const struct buf *b) __attribute__((returns_nonnull));

/* The string becomes the caller's (free); the buf is empty again. */
char *buf_detach(struct buf *b) __attribute__((returns_nonnull));

#endif /* BUF_H */
