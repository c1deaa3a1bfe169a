/* SPDX-License-Identifier: Apache-2.0 */
/* V8's table from instructions to positions in the source, and from these to lines. */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/search.h"
#include "symbols/runtimes/v8.h"

enum {
	SOURCE_MAX = 4 << 20,	    /* bytes of a source; lines of longer ones are not known */
	SOURCE_PIECE = 64 << 10,
	TABLE_AT = 32, TABLE_AT_WRAPPED = 24, /* of an array of instructions: its table */
	BYTES_LEN = 8, BYTES_AT = 16,	      /* of an array of bytes */
	STRING_ONE_BYTE = 8, STRING_SHAPE = 7, STRING_THIN = 5,
};

/* Seven bits a byte, the lowest first; its own lowest is the sign. */
static bool number(const uint8_t *table, size_t len, size_t *at, int64_t *ret)
{
	uint64_t value = 0;

	for (unsigned shift = 0; *at < len && shift < 63; shift += 7) {
		uint8_t byte = table[(*at)++];

		value |= (uint64_t)(byte & 127) << shift;
		if (byte & 128)
			continue;
		*ret = (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
		return true;
	}
	return false;
}

int64_t v8_position(const uint8_t *table, size_t len, int64_t at)
{
	int64_t code = 0, pos = 0, best = -1, step, more;
	size_t i = 0;

	while (number(table, len, &i, &step) && number(table, len, &i, &more)) {
		/* below 0: of an expression, not of a statement */
		code += step < 0 ? -(step + 1) : step;
		pos += more;
		if (code > INT32_MAX || pos < 0 || pos > INT32_MAX || (at >= 0 && code > at))
			break;
		best = (pos >> 1 & 0x3fffffff) - 1;
		if (at < 0)
			break;
	}
	return best;
}

/* The text of a string that lies in one piece. */
static int text_of(struct runtime_proc *r, uint64_t string, uint64_t *ret_at, uint32_t *ret_len,
		   uint32_t *ret_size)
{
	const struct v8 *v = r->own;
	uint32_t type;
	int rc = v8_type(r, string, &type);

	if (rc == 0 && (type & STRING_SHAPE) == STRING_THIN) {
		rc = v8_word(r, string, v->at[V8_THIN_ACTUAL], &string);
		if (rc == 0)
			rc = v8_type(r, string, &type);
	}
	if (rc < 0)
		return rc;
	if (type & STRING_SHAPE || type >= 128)
		return -EBADMSG;
	*ret_at = string - 1 + (uint64_t)v->at[V8_STRING_CHARS];
	*ret_size = type & STRING_ONE_BYTE ? 1 : 2;
	return runtime_read_u32(r, string - 1 + (uint64_t)v->at[V8_STRING_LEN], ret_len);
}

static int lines_read(struct runtime_proc *r, uint64_t source, struct v8_source *ret)
{
	CLEANUP_FREE uint8_t *piece = xmalloc(SOURCE_PIECE);
	uint64_t at;
	uint32_t len, size;
	int rc = text_of(r, source, &at, &len, &size);

	if (rc < 0 || len > SOURCE_MAX / size)
		return rc < 0 ? rc : -E2BIG;
	for (uint32_t done = 0; done < len;) {
		uint32_t cnt = len - done < SOURCE_PIECE / size ? len - done : SOURCE_PIECE / size;

		rc = runtime_read(r, at + (uint64_t)done * size, piece, (size_t)cnt * size);
		if (rc < 0)
			return rc;
		for (uint32_t i = 0; i < cnt; i++)
			if (piece[i * size] == '\n' && (size == 1 || !piece[i * size + 1]))
				vec_push(&ret->lines, done + i + 1);
		done += cnt;
	}
	return 0;
}

static const struct v8_source *source_of(struct runtime_proc *r, uint64_t source)
{
	struct v8 *v = r->own;
	struct v8_source *s;

	for (size_t i = 0; i < V8_SOURCES; i++)
		if (v->sources[i].addr == source)
			return &v->sources[i];
	s = &v->sources[v->source_turn++ % V8_SOURCES];
	vec_clear(&s->lines);
	s->addr = 0;
	if (lines_read(r, source, s) < 0)
		return NULL;
	s->addr = source;
	return s;
}

uint32_t v8_line(struct runtime_proc *r, uint64_t bytecodes, uint64_t source, int64_t at)
{
	const struct v8 *v = r->own;
	bool wrapped = v->at[V8_BYTECODES_WRAPPER] != V8_NONE;
	CLEANUP_FREE uint8_t *table = NULL;
	const struct v8_source *s;
	uint64_t bytes, len;
	int64_t pos;
	uint32_t type;

	if (v8_type(r, bytecodes, &type) < 0 || (int32_t)type != v->at[V8_TYPE_BYTECODES] ||
	    v8_word(r, bytecodes, wrapped ? TABLE_AT_WRAPPED : TABLE_AT, &bytes) < 0 ||
	    v8_type(r, bytes, &type) < 0 ||
	    ((int32_t)type != v->at[V8_TYPE_BYTES] &&
	     (int32_t)type != v->at[V8_TYPE_TRUSTED_BYTES]) ||
	    v8_word(r, bytes, BYTES_LEN, &len) < 0)
		return 0;
	len >>= 32; /* a small integer */
	if (!len || len > RUNTIME_LINES_MAX)
		return 0;
	table = xmalloc(len);
	if (runtime_read(r, bytes - 1 + BYTES_AT, table, len) < 0)
		return 0;
	pos = v8_position(table, len, at);
	s = pos >= 0 ? source_of(r, source) : NULL;
	if (!s)
		return 0;
	return (uint32_t)SORTED_PREFIX(s->lines.items, s->lines.cnt, it, *it <= pos) + 1;
}
