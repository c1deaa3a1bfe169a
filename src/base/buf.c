/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bug.h"

void buf_release(struct buf *b)
{
	free(b->data);
	*b = (struct buf){0};
}

void buf_clear(struct buf *b)
{
	b->len = 0;
	if (b->data)
		b->data[0] = '\0';
}

void buf_reserve(struct buf *b, size_t extra)
{
	size_t cap = b->cap ? b->cap : 64;

	BUG_ON(extra >= SIZE_MAX / 2 - b->len);
	if (b->cap > b->len + extra)
		return;
	while (cap <= b->len + extra)
		cap *= 2;
	b->data = xrealloc(b->data, cap);
	b->cap = cap;
	b->data[b->len] = '\0';
}

void buf_add(struct buf *b, const void *data, size_t len)
{
	buf_reserve(b, len);
	if (len)
		memcpy(b->data + b->len, data, len);
	b->len += len;
	b->data[b->len] = '\0';
}

void buf_adds(struct buf *b, const char *str)
{
	buf_add(b, str, strlen(str));
}

void buf_addch(struct buf *b, char c)
{
	buf_add(b, &c, 1);
}

void buf_addn(struct buf *b, char c, size_t cnt)
{
	buf_reserve(b, cnt);
	memset(b->data + b->len, c, cnt);
	b->len += cnt;
	b->data[b->len] = '\0';
}

void buf_vprintf(struct buf *b, const char *fmt, va_list ap)
{
	va_list again;
	int len;

	va_copy(again, ap);
	len = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	BUG_ON(len < 0);
	buf_reserve(b, (size_t)len);
	vsnprintf(b->data + b->len, (size_t)len + 1, fmt, ap);
	b->len += (size_t)len;
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	buf_vprintf(b, fmt, ap);
	va_end(ap);
}

void buf_truncate(struct buf *b, size_t len)
{
	BUG_ON(len > b->len);
	b->len = len;
	if (b->data)
		b->data[len] = '\0';
}

const char *buf_str(const struct buf *b)
{
	return b->data ? b->data : "";
}

char *buf_detach(struct buf *b)
{
	char *str = b->data ? b->data : xstrdup("");

	*b = (struct buf){0};
	return str;
}
