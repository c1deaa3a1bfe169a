/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bug.h"

enum {
	ARENA_ALIGN = 16,
	ARENA_CHUNK_MIN = 4096,
	ARENA_CHUNK_MAX = 1 << 20,
};

struct arena_chunk {
	struct arena_chunk *next;
	size_t cap;
	size_t used;
	size_t pad; /* keeps data aligned to ARENA_ALIGN */
	char data[];
};

_Static_assert(sizeof(struct arena_chunk) % ARENA_ALIGN == 0, "chunk data must be aligned");

/* Each chunk is twice the last, so that the number of mallocs stays logarithmic. */
static struct arena_chunk *arena_grow(struct arena *a, size_t need)
{
	size_t cap = a->head ? a->head->cap * 2 : ARENA_CHUNK_MIN;
	struct arena_chunk *chunk;

	if (cap > ARENA_CHUNK_MAX)
		cap = ARENA_CHUNK_MAX;
	if (cap < need)
		cap = need;
	chunk = xmalloc(sizeof(*chunk) + cap);
	chunk->cap = cap;
	chunk->used = 0;
	chunk->next = a->head;
	a->head = chunk;
	a->held_bytes += sizeof(*chunk) + cap;
	return chunk;
}

void *arena_alloc(struct arena *a, size_t size)
{
	struct arena_chunk *chunk = a->head;
	void *ptr;

	BUG_ON(size > SIZE_MAX / 2);
	size = (size + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
	if (!chunk || chunk->cap - chunk->used < size)
		chunk = arena_grow(a, size);
	ptr = chunk->data + chunk->used;
	chunk->used += size;
	a->used_bytes += size;
	return memset(ptr, 0, size);
}

void *arena_alloc_array(struct arena *a, size_t cnt, size_t size)
{
	size_t bytes;

	BUG_ON(__builtin_mul_overflow(cnt, size, &bytes));
	return arena_alloc(a, bytes);
}

void *arena_dup(struct arena *a, const void *data, size_t size)
{
	void *copy = arena_alloc(a, size);

	if (size)
		memcpy(copy, data, size);
	return copy;
}

char *arena_strndup(struct arena *a, const char *str, size_t max_len)
{
	size_t len = strnlen(str, max_len);
	char *copy = arena_alloc(a, len + 1);

	memcpy(copy, str, len);
	return copy;
}

char *arena_strdup(struct arena *a, const char *str)
{
	return arena_strndup(a, str, strlen(str));
}

char *arena_vprintf(struct arena *a, const char *fmt, va_list ap)
{
	va_list again;
	char *str;
	int len;

	va_copy(again, ap);
	len = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	BUG_ON(len < 0);
	str = arena_alloc(a, (size_t)len + 1);
	vsnprintf(str, (size_t)len + 1, fmt, ap);
	return str;
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
	va_list ap;
	char *str;

	va_start(ap, fmt);
	str = arena_vprintf(a, fmt, ap);
	va_end(ap);
	return str;
}

void arena_release(struct arena *a)
{
	struct arena_chunk *chunk = a->head;

	while (chunk) {
		struct arena_chunk *next = chunk->next;

		free(chunk);
		chunk = next;
	}
	*a = (struct arena){0};
}

/* The newest chunk is the largest one of the ordinary ones: keep that. */
void arena_clear(struct arena *a)
{
	struct arena_chunk *keep = a->head;

	if (!keep)
		return;
	a->head = keep->next;
	arena_release(a);
	keep->next = NULL;
	keep->used = 0;
	a->head = keep;
	a->held_bytes = sizeof(*keep) + keep->cap;
}
