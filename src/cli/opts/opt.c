/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/opts/opt.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/bug.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fmt.h"
#include "cli/opts/guess.h"

enum { OPT_DEPTH_MAX = 4, OPT_HELP_COLUMN = 26, OPT_HELP_WIDTH = 80 };
enum { OPT_HELP_TWO = 60, OPT_HELP_BELOW = 8 }; /* narrower than that: one column, from here */

/* Walks a table and its groups in order. */
struct opt_walk {
	const struct opt *at[OPT_DEPTH_MAX];
	size_t off[OPT_DEPTH_MAX];
	int depth;
};

/* The next option and, in *ret_off, where it goes; NULL at the end. */
static const struct opt *walk_next(struct opt_walk *w, size_t *ret_off)
{
	while (w->depth >= 0) {
		const struct opt *o = w->at[w->depth];

		if (o->type == OPT_TYPE_END) {
			w->depth--;
			continue;
		}
		w->at[w->depth]++;
		*ret_off = w->off[w->depth] + o->off;
		if (o->type != OPT_TYPE_GROUP)
			return o;
		BUG_ON(w->depth + 1 >= OPT_DEPTH_MAX);
		w->depth++;
		w->at[w->depth] = o->group;
		w->off[w->depth] = *ret_off;
	}
	return NULL;
}

static struct opt_walk walk_start(const struct opt *table)
{
	return (struct opt_walk){.at = {table}};
}

static int int_fill(const struct opt *o, int64_t *dst, const char *text, struct err *err)
{
	int64_t max = o->min || o->max ? o->max : INT64_MAX;
	char *end;
	long long value;

	errno = 0;
	value = strtoll(text, &end, 10);
	if (end == text || *end || isspace((unsigned char)*text))
		return err_usage(err, "'%s' is not a number", text);
	if (errno || value < o->min || value > max)
		return err_usage(err, "'%s' is not between %lld and %lld", text, (long long)o->min,
				 (long long)max);
	*dst = value;
	return 0;
}

static int duration_fill(const struct opt *o, uint64_t *dst, const char *text, struct err *err)
{
	char limit[FMT_MAX];
	uint64_t ns;

	if (duration_parse(text, &ns, err) < 0)
		return -EINVAL;
	if (ns < (uint64_t)o->min)
		return err_usage(err, "'%s' is shorter than %s", text,
				 fmt_ns(limit, (uint64_t)o->min));
	if (o->max && ns > (uint64_t)o->max)
		return err_usage(err, "'%s' is longer than %s", text,
				 fmt_ns(limit, (uint64_t)o->max));
	*dst = ns;
	return 0;
}

static int list_fill(struct opt_list *list, const char *text, struct arena *arena, struct err *err)
{
	size_t cnt = 1, i = list->cnt;
	const char **items;

	for (const char *at = text; *at; at++)
		cnt += *at == ',';
	items = ARENA_ARRAY(arena, const char *, list->cnt + cnt);
	if (list->cnt)
		memcpy(items, list->items, list->cnt * sizeof(*items));
	for (const char *at = text;;) {
		size_t len = strcspn(at, ",");

		if (!len)
			return err_usage(err, "'%s' has an empty part", text);
		items[i++] = arena_strndup(arena, at, len);
		if (!at[len])
			break;
		at += len + 1;
	}
	*list = (struct opt_list){.items = items, .cnt = i};
	return 0;
}

static int choice_fill(const struct opt *o, int *dst, const char *text, struct err *err)
{
	char known[160] = "";
	size_t len = 0;

	for (int i = 0; o->choices[i]; i++) {
		if (strcmp(o->choices[i], text) == 0) {
			*dst = i;
			return 0;
		}
		if (len < sizeof(known))
			len += (size_t)snprintf(known + len, sizeof(known) - len, "%s%s",
						i ? ", " : "", o->choices[i]);
	}
	return err_usage(err, "'%s' is not one of: %s", text, known);
}

static int value_fill(const struct opt *o, char *dst, const char *text, struct arena *arena,
		      struct err *err)
{
	switch (o->type) {
	case OPT_FLAG:
		*(bool *)dst = true;
		return 0;
	case OPT_STRING:
		if (!*text)
			return err_usage(err, "the value is empty");
		*(const char **)dst = text;
		return 0;
	case OPT_DURATION:
		return duration_fill(o, (uint64_t *)dst, text, err);
	case OPT_INT:
		return int_fill(o, (int64_t *)dst, text, err);
	case OPT_LIST:
		return list_fill((struct opt_list *)dst, text, arena, err);
	case OPT_CHOICE:
		return choice_fill(o, (int *)dst, text, err);
	case OPT_CUSTOM:
		return o->parse(dst, text, arena, err);
	case OPT_COMMAND:
	case OPT_TYPE_GROUP:
	case OPT_TYPE_END:
		break;
	}
	BUG("an option of this type takes no value");
}

/* "-d" or "--duration", as the user wrote it. */
static int opt_fill(const struct opt *o, struct opt_parse *p, size_t off, const char *written,
		    const char *text, struct err *err)
{
	if (value_fill(o, (char *)p->opts + off, text, p->arena, err) < 0) {
		if (err)
			err->kind = ERR_USAGE;
		err_prefix(err, "%s", written);
		return -EINVAL;
	}
	return 0;
}

static const struct opt *long_find(const struct opt *table, const char *name, size_t len,
				   size_t *ret_off)
{
	struct opt_walk w = walk_start(table);
	const struct opt *o;

	while ((o = walk_next(&w, ret_off)))
		if (o->type != OPT_COMMAND && o->long_name &&
		    strncmp(o->long_name, name, len) == 0 && !o->long_name[len])
			return o;
	return NULL;
}

static const struct opt *short_find(const struct opt *table, char name, size_t *ret_off)
{
	struct opt_walk w = walk_start(table);
	const struct opt *o;

	while ((o = walk_next(&w, ret_off)))
		if (o->type != OPT_COMMAND && o->short_name == name)
			return o;
	return NULL;
}

static const char *long_guess(const struct opt *table, const char *name)
{
	struct opt_walk w = walk_start(table);
	struct guess g = {.word = name};
	const struct opt *o;
	size_t off;

	while ((o = walk_next(&w, &off)))
		if (o->long_name && o->type != OPT_COMMAND)
			guess_try(&g, o->long_name);
	return g.best;
}

/* args[*i] is "--name" or "--name=value"; *i moves on when the value is the next argument. */
static int long_take(const struct opt *table, struct opt_parse *p, char **args, int *i,
		     struct err *err)
{
	char *name = args[*i] + 2;
	size_t len = strcspn(name, "="), off;
	const struct opt *o = long_find(table, name, len, &off);
	char *written = arena_strndup(p->arena, args[*i], len + 2);
	const char *text;

	if (!o) {
		const char *guess = long_guess(table, written + 2);

		return err_usage(err, "unknown option '%s'%s%s%s", written,
				 guess ? " (did you mean --" : "", guess ? guess : "",
				 guess ? "?)" : "");
	}
	if (o->type == OPT_FLAG) {
		if (name[len])
			return err_usage(err, "option '%s' takes no value", written);
		return opt_fill(o, p, off, written, "", err);
	}
	if (name[len])
		text = name + len + 1;
	else if (args[*i + 1])
		text = args[++*i];
	else
		return err_usage(err, "option '%s' needs %s", written, o->metavar);
	return opt_fill(o, p, off, written, text, err);
}

/* args[*i] is "-abc": flags may be joined, and the last may have its value joined. */
static int short_take(const struct opt *table, struct opt_parse *p, char **args, int *i,
		      struct err *err)
{
	for (char *at = args[*i] + 1; *at; at++) {
		char written[3] = {'-', *at, '\0'};
		const struct opt *o;
		const char *text = "";
		size_t off;

		o = short_find(table, *at, &off);
		if (!o)
			return err_usage(err, "unknown option '%s'", written);
		if (o->type != OPT_FLAG) {
			if (at[1])
				text = at + 1;
			else if (args[*i + 1])
				text = args[++*i];
			else
				return err_usage(err, "option '%s' needs %s", written, o->metavar);
		}
		if (opt_fill(o, p, off, written, text, err) < 0)
			return -EINVAL;
		if (o->type != OPT_FLAG)
			break;
	}
	return 0;
}

static int defaults_fill(const struct opt *table, struct opt_parse *p, struct err *err)
{
	struct opt_walk w = walk_start(table);
	const struct opt *o;
	size_t off;

	while ((o = walk_next(&w, &off)))
		if (o->def && opt_fill(o, p, off, o->long_name, o->def, err) < 0)
			return -EINVAL;
	return 0;
}

/* Takes the words after "--": the command's to run, else plain arguments. */
static void rest_take(const struct opt *table, struct opt_parse *p, char **rest)
{
	struct opt_walk w = walk_start(table);
	const struct opt *o;
	size_t off;

	while ((o = walk_next(&w, &off)))
		if (o->type == OPT_COMMAND) {
			if (rest[0])
				*(char ***)((char *)p->opts + off) = rest;
			return;
		}
	while (*rest)
		p->argv[p->argc++] = *rest++;
}

int opt_parse(const struct opt *table, struct opt_parse *p, char **args, struct err *err)
{
	int cnt = 0, code;

	while (args[cnt])
		cnt++;
	p->argv = ARENA_ARRAY(p->arena, char *, (size_t)cnt + 1);
	p->argc = 0;
	if (defaults_fill(table, p, err) < 0)
		return -EINVAL;
	for (int i = 0; i < cnt; i++) {
		if (strcmp(args[i], "--") == 0) {
			rest_take(table, p, args + i + 1);
			break;
		}
		if (args[i][0] != '-' || !args[i][1]) {
			p->argv[p->argc++] = args[i];
			continue;
		}
		if (args[i][1] == '-')
			code = long_take(table, p, args, &i, err);
		else
			code = short_take(table, p, args, &i, err);
		if (code < 0)
			return code;
	}
	return 0;
}

/* The place of the options' words on a line. */
struct help_place {
	unsigned column, width;
};

/* Adds the words from the column on, in lines of at most the width. */
static void opt_help_words(const char *text, const struct help_place *at, struct buf *out)
{
	size_t column = at->column;

	while (*text) {
		size_t len = strcspn(text, " ");

		if (column > at->column && column + 1 + len > at->width) {
			buf_addch(out, '\n');
			buf_addn(out, ' ', at->column);
			column = at->column;
		} else if (column > at->column) {
			buf_addch(out, ' ');
			column++;
		}
		buf_add(out, text, len);
		column += len;
		text += len + (text[len] == ' ');
	}
	buf_addch(out, '\n');
}

static void opt_help_line(const struct opt *o, const struct help_place *at, struct buf *out)
{
	CLEANUP(buf_release) struct buf words = {0};
	size_t start = out->len;

	buf_adds(out, "  ");
	if (o->type == OPT_COMMAND)
		buf_printf(out, "-- %s", o->metavar);
	else if (o->short_name && o->long_name)
		buf_printf(out, "-%c, --%s", o->short_name, o->long_name);
	else if (o->long_name)
		buf_printf(out, "    --%s", o->long_name);
	else
		buf_printf(out, "-%c", o->short_name);
	if (o->metavar && o->type != OPT_COMMAND)
		buf_printf(out, " %s", o->metavar);
	if (out->len - start + 2 > at->column) {
		buf_addch(out, '\n');
		start = out->len;
	}
	buf_addn(out, ' ', at->column - (out->len - start));
	buf_adds(&words, o->help);
	if (o->def)
		buf_printf(&words, " (default %s)", o->def);
	opt_help_words(buf_str(&words), at, out);
}

void opt_help(const struct opt *table, unsigned columns, struct buf *out)
{
	bool narrow = columns && columns < OPT_HELP_TWO;
	struct help_place at = {
		.column = narrow ? OPT_HELP_BELOW : OPT_HELP_COLUMN,
		.width = columns && columns < OPT_HELP_WIDTH ? columns : OPT_HELP_WIDTH,
	};
	struct opt_walk w = walk_start(table);
	const struct opt *o;
	size_t off;

	while ((o = walk_next(&w, &off)))
		opt_help_line(o, &at, out);
}

void opt_each(const struct opt *table, void (*each)(void *ctx, const struct opt *o), void *ctx)
{
	struct opt_walk w = walk_start(table);
	const struct opt *o;
	size_t off;

	while ((o = walk_next(&w, &off)))
		each(ctx, o);
}
