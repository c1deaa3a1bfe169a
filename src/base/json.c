/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/bug.h"
#include "base/utf8.h"

enum { JSON_FLUSH_BYTES = 64 * 1024 };

void json_init(struct json *j, struct buf *out, enum json_flags flags)
{
	*j = (struct json){.out = out, .flags = flags};
}

void json_to_file(struct json *j, FILE *file)
{
	j->file = file;
}

static void json_flush(struct json *j)
{
	if (!j->file)
		return;
	/* a failed write stays in ferror(file), which the owner of file checks at the end */
	fwrite(buf_str(j->out), 1, j->out->len, j->file);
	buf_clear(j->out);
}

static void json_line(struct json *j)
{
	buf_addch(j->out, '\n');
	buf_addn(j->out, ' ', (size_t)j->depth * 2);
}

/* The comma and space before the next value or key. */
static void json_separate(struct json *j, bool nested)
{
	struct json_level *level;

	if (!j->depth)
		return;
	level = &j->levels[j->depth - 1];
	if (j->out->len > JSON_FLUSH_BYTES)
		json_flush(j);
	if (level->has_items)
		buf_addch(j->out, ',');
	if (j->flags & JSON_PRETTY) {
		if (level->is_obj || nested || level->has_nested)
			json_line(j);
		else if (level->has_items)
			buf_addch(j->out, ' ');
	}
	level->has_items = true;
	level->has_nested |= nested;
}

static void json_value(struct json *j, bool nested)
{
	if (j->depth && j->levels[j->depth - 1].is_obj) {
		BUG_ON(!j->key_done);
		j->key_done = false;
		return;
	}
	json_separate(j, nested);
}

static void json_open(struct json *j, bool is_obj)
{
	json_value(j, true);
	BUG_ON(j->depth >= JSON_DEPTH_MAX);
	j->levels[j->depth++] = (struct json_level){.is_obj = is_obj};
	buf_addch(j->out, is_obj ? '{' : '[');
}

static void json_close(struct json *j, bool is_obj)
{
	struct json_level level;

	BUG_ON(!j->depth || j->key_done);
	level = j->levels[--j->depth];
	BUG_ON(level.is_obj != is_obj);
	if ((j->flags & JSON_PRETTY) && level.has_items && (is_obj || level.has_nested))
		json_line(j);
	buf_addch(j->out, is_obj ? '}' : ']');
}

void json_finish(struct json *j)
{
	BUG_ON(j->depth);
	buf_addch(j->out, '\n');
	json_flush(j);
}

void json_obj(struct json *j)
{
	json_open(j, true);
}

void json_obj_end(struct json *j)
{
	json_close(j, true);
}

void json_arr(struct json *j)
{
	json_open(j, false);
}

void json_arr_end(struct json *j)
{
	json_close(j, false);
}

static void json_escape(struct buf *out, uint32_t c)
{
	switch (c) {
	case '"':
		buf_adds(out, "\\\"");
		break;
	case '\\':
		buf_adds(out, "\\\\");
		break;
	case '\n':
		buf_adds(out, "\\n");
		break;
	case '\t':
		buf_adds(out, "\\t");
		break;
	case '\r':
		buf_adds(out, "\\r");
		break;
	default:
		buf_printf(out, "\\u%04x", c);
	}
}

static bool is_plain(uint32_t cp)
{
	/* '<' neither, so that the text can stand in an HTML script element */
	return cp != '"' && cp != '\\' && cp != '<' && !utf8_is_unsafe(cp);
}

/* Unsafe ones are written as numbers; for who shows the text, in a way that stays so. */
static void json_text(struct json *j, const char *s, size_t len)
{
	size_t run = 0; /* bytes before s[i] not yet written */
	size_t i = 0;

	buf_addch(j->out, '"');
	while (i < len) {
		uint32_t cp = 0;
		size_t good = utf8_decode(s + i, len - i, &cp);

		if (good && is_plain(cp)) {
			i += good;
			run += good;
			continue;
		}
		buf_add(j->out, s + i - run, run);
		run = 0;
		if (!good)
			buf_adds(j->out, "\xef\xbf\xbd");
		else if ((j->flags & JSON_SHOWN) && cp >= 0x7f)
			buf_printf(j->out, "\\\\u%04x", cp);
		else
			json_escape(j->out, cp);
		i += good ? good : 1;
	}
	buf_add(j->out, s + i - run, run);
	buf_addch(j->out, '"');
}

void json_key(struct json *j, const char *key)
{
	BUG_ON(!j->depth || !j->levels[j->depth - 1].is_obj || j->key_done);
	json_separate(j, false);
	json_text(j, key, strlen(key));
	buf_adds(j->out, (j->flags & JSON_PRETTY) ? ": " : ":");
	j->key_done = true;
}

void json_strn(struct json *j, const char *str, size_t len)
{
	json_value(j, false);
	json_text(j, str, len);
}

void json_str(struct json *j, const char *str)
{
	if (str)
		json_strn(j, str, strlen(str));
	else
		json_null(j);
}

void json_u64(struct json *j, uint64_t value)
{
	json_value(j, false);
	buf_printf(j->out, "%" PRIu64, value);
}

void json_i64(struct json *j, int64_t value)
{
	json_value(j, false);
	buf_printf(j->out, "%" PRId64, value);
}

void json_f64(struct json *j, double value)
{
	char text[40];

	if (!isfinite(value)) {
		json_null(j);
		return;
	}
	for (int digits = 6; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	json_value(j, false);
	buf_adds(j->out, text);
}

void json_f64_dec(struct json *j, double value, int decimals)
{
	double scale = pow(10, decimals);
	double rounded = round(value * scale) / scale;

	json_f64(j, isfinite(rounded) ? rounded : value);
}

void json_bool(struct json *j, bool value)
{
	json_value(j, false);
	buf_adds(j->out, value ? "true" : "false");
}

void json_null(struct json *j)
{
	json_value(j, false);
	buf_adds(j->out, "null");
}

void json_kobj(struct json *j, const char *key)
{
	json_key(j, key);
	json_obj(j);
}

void json_karr(struct json *j, const char *key)
{
	json_key(j, key);
	json_arr(j);
}

void json_kstr(struct json *j, const char *key, const char *str)
{
	json_key(j, key);
	json_str(j, str);
}

void json_ku64(struct json *j, const char *key, uint64_t value)
{
	json_key(j, key);
	json_u64(j, value);
}

void json_ki64(struct json *j, const char *key, int64_t value)
{
	json_key(j, key);
	json_i64(j, value);
}

void json_kf64(struct json *j, const char *key, double value)
{
	json_key(j, key);
	json_f64(j, value);
}

void json_kf64_dec(struct json *j, const char *key, double value, int decimals)
{
	json_key(j, key);
	json_f64_dec(j, value, decimals);
}

void json_kbool(struct json *j, const char *key, bool value)
{
	json_key(j, key);
	json_bool(j, value);
}

void json_knull(struct json *j, const char *key)
{
	json_key(j, key);
	json_null(j);
}
