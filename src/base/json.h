/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JSON_H
#define JSON_H
/*
 * A streaming JSON writer.  Output is always valid: strings are escaped,
 * bytes that are not UTF-8 become U+FFFD, a number that JSON cannot hold
 * becomes null.  A call out of order (a value without its key, an end that
 * does not match) is a bug and aborts.
 *
 *	struct json j;
 *	json_init(&j, &out, JSON_PRETTY);
 *	json_obj(&j);
 *	json_kstr(&j, "name", name);
 *	json_karr(&j, "ids");  json_u64(&j, 7);  json_arr_end(&j);
 *	json_obj_end(&j);
 *	json_finish(&j);
 *
 * Owns nothing: the text goes to a buf of the caller's.  With json_to_file it
 * goes on to a FILE as it grows, so that a large report needs little memory.
 * At most JSON_DEPTH_MAX levels.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct buf;

enum { JSON_DEPTH_MAX = 64 };

enum json_flags {
	JSON_COMPACT = 0,
	JSON_SHOWN = 1 << 1,  /* for a page or viewer: control and bidi characters stay \uXXXX */
	JSON_PRETTY = 1 << 0, /* two spaces a level; an array of plain values on one line */
};

struct json_level {
	bool is_obj;
	bool has_items;
	bool has_nested; /* an item is itself an object or array */
};

struct json {
	struct buf *out;
	FILE *file;
	enum json_flags flags;
	unsigned depth;
	bool key_done; /* a key was written and its value is due */
	struct json_level levels[JSON_DEPTH_MAX];
};

void json_init(struct json *j, struct buf *out, enum json_flags flags);

/* From now on the text is moved to file whenever it is more than 64 KiB, and by json_finish. */
void json_to_file(struct json *j, FILE *file);

/* Ends the text with a newline; every level must be closed.  Another text may follow (NDJSON). */
void json_finish(struct json *j);

void json_obj(struct json *j);
void json_obj_end(struct json *j);
void json_arr(struct json *j);
void json_arr_end(struct json *j);
void json_key(struct json *j, const char *key);

void json_str(struct json *j, const char *str); /* NULL is written as null */
void json_strn(struct json *j, const char *str, size_t len);
void json_u64(struct json *j, uint64_t value);
void json_i64(struct json *j, int64_t value);
void json_f64(struct json *j, double value); /* shortest text that reads back the same */
void json_f64_dec(struct json *j, double value, int decimals); /* rounded */
void json_bool(struct json *j, bool value);
void json_null(struct json *j);

/* Key and value in one call. */
void json_kobj(struct json *j, const char *key);
void json_karr(struct json *j, const char *key);
void json_kstr(struct json *j, const char *key, const char *str);
void json_ku64(struct json *j, const char *key, uint64_t value);
void json_ki64(struct json *j, const char *key, int64_t value);
void json_kf64(struct json *j, const char *key, double value);
void json_kf64_dec(struct json *j, const char *key, double value, int decimals);
void json_kbool(struct json *j, const char *key, bool value);
void json_knull(struct json *j, const char *key);

#endif /* JSON_H */
