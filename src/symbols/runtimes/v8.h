/* SPDX-License-Identifier: Apache-2.0 */
#ifndef V8_H
#define V8_H
/*
 * Inside symbols/runtimes: V8, which runs JavaScript, as Node.js has it.
 */
#include "base/vec.h"
#include "symbols/runtimes/runtimes_int.h"

/* Values that the program exports for debuggers; V8_NONE where it has none of that name. */
#define V8_NONE INT32_MIN
enum v8_value {
	V8_FP_CONTEXT, V8_FP_FUNCTION, V8_FP_BYTECODES, V8_FP_OFFSET,
	V8_FUNCTION_SHARED, V8_SHARED_NAME, V8_SHARED_SCRIPT,
	V8_SCRIPT_NAME, V8_SCRIPT_SOURCE,
	V8_STRING_LEN, V8_STRING_CHARS, V8_CONS_FIRST, V8_CONS_SECOND, V8_THIN_ACTUAL,
	V8_MAP_TYPE, V8_SCOPE_LOCALS, V8_SCOPE_VARS,
	V8_BYTECODES_DATA,
	V8_REQUIRED, /* those before must be there */
	V8_BYTECODES_WRAPPER = V8_REQUIRED, /* from V8 12 on */
	V8_TYPE_SHARED, V8_TYPE_SCRIPT, V8_TYPE_SCOPE, V8_TYPE_BYTECODES,
	V8_TYPE_BYTES, V8_TYPE_TRUSTED_BYTES,
	V8_VALUE_CNT
};

#define V8_SOURCES 8 /* of which the beginnings of lines are remembered */

struct v8_source {
	uint64_t addr;
	VEC(uint32_t) lines; /* where each but the first begins */
};

struct v8 {
	int32_t at[V8_VALUE_CNT];
	struct v8_source sources[V8_SOURCES];
	uint32_t source_turn;
};

/* An object by its pointer, whose lowest bits are 01. */
static inline bool v8_is_object(uint64_t ptr)
{
	return (ptr & 3) == 1;
}

/* ---- v8_read.c */

int v8_word(const struct runtime_proc *r, uint64_t object, int32_t off, uint64_t *ret);
int v8_type(const struct runtime_proc *r, uint64_t object, uint32_t *ret);

/* ---- v8_lines.c */

/*
 * The position in its source of an instruction, by a function's table of positions;
 * at below 0: where the function begins.  -1: the table has none.
 */
int64_t v8_position(const uint8_t *table, size_t len, int64_t at);

/* The line of that instruction, which lies at byte offset `at` of its instructions; 0 unknown. */
uint32_t v8_line(struct runtime_proc *r, uint64_t bytecodes, uint64_t source, int64_t at);

#endif /* V8_H */
