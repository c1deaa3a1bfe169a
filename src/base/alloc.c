/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"

/* malloc(0) may return NULL, which would look like a failure: ask for one byte. */
static size_t at_least_one(size_t size)
{
	return size ? size : 1;
}

void *xmalloc(size_t size)
{
	void *ptr = malloc(at_least_one(size));

	if (!ptr)
		BUG("out of memory");
	return ptr;
}

void *xcalloc(size_t cnt, size_t size)
{
	void *ptr = calloc(at_least_one(cnt), at_least_one(size));

	if (!ptr)
		BUG("out of memory");
	return ptr;
}

void *xrealloc(void *ptr, size_t size)
{
	void *fresh = realloc(ptr, at_least_one(size));

	if (!fresh)
		BUG("out of memory");
	return fresh;
}

void *xreallocarray(void *ptr, size_t cnt, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(cnt, size, &bytes))
		BUG("array size overflows");
	return xrealloc(ptr, bytes);
}

char *xstrndup(const char *str, size_t max_len)
{
	size_t len = strnlen(str, max_len);
	char *copy = xmalloc(len + 1);

	memcpy(copy, str, len);
	copy[len] = '\0';
	return copy;
}

char *xstrdup(const char *str)
{
	return xstrndup(str, strlen(str));
}

char *xasprintf(const char *fmt, ...)
{
	char *str = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&str, fmt, ap) < 0)
		BUG("out of memory");
	va_end(ap);
	return str;
}

void *alloc_big(size_t size)
{
	return malloc(size ? size : 1);
}
