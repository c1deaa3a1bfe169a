/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/opts/request_opts.h"

#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"

static int number_parse(const char *text, double min, double max, double *ret)
{
	char *end;
	double x = strtod(text, &end);

	if (end == text || *end || !(x >= min && x <= max))
		return -EINVAL;
	*ret = x;
	return 0;
}

/* Parses the text after the colon: ascending numbers with commas between them. */
static int bounds_parse(char *text, struct key_spec *spec, struct arena *arena)
{
	double *bounds = ARENA_ARRAY(arena, double, BOUNDS_MAX), x;
	char *rest = NULL;

	spec->bounds = bounds;
	for (char *one = strtok_r(text, ",", &rest); one; one = strtok_r(NULL, ",", &rest)) {
		if (spec->bound_cnt == BOUNDS_MAX || number_parse(one, -1e300, 1e300, &x) < 0 ||
		    (spec->bound_cnt && x <= bounds[spec->bound_cnt - 1]))
			return -EINVAL;
		bounds[spec->bound_cnt++] = x;
	}
	return spec->bound_cnt ? 0 : -EINVAL;
}

int key_parse(void *dst, const char *text, struct arena *arena, struct err *err)
{
	struct key_list *list = dst;
	struct key_spec spec = {0};
	char *name = arena_strdup(arena, text), *colon = strrchr(name, ':');
	char *equals = strchr(name, '=');

	if (list->cnt == KEYS_MAX)
		return err_usage(err, "more than %d keys", KEYS_MAX);
	if (colon && colon[1] && strchr("0123456789.-+", colon[1])) {
		*colon = '\0';
		if (bounds_parse(colon + 1, &spec, arena) < 0)
			return err_usage(err, "'%s': after the colon ascending numbers are "
					 "expected, at most %d, such as size:1000,100000",
					 text, BOUNDS_MAX);
	}
	if (equals) {
		*equals = '\0';
		spec.bin_name = name;
		name = equals + 1;
	}
	if (!*name || (spec.bin_name && !*spec.bin_name))
		return err_usage(err, "'%s' names no attribute", text);
	spec.name = name;
	list->specs[list->cnt++] = spec;
	return 0;
}

int path_parse(void *dst, const char *text, struct arena *arena, struct err *err)
{
	struct path_list *list = dst;

	if (list->cnt == PATHS_MAX)
		return err_usage(err, "more than %d files", PATHS_MAX);
	list->items[list->cnt++] = arena_strdup(arena, text);
	return 0;
}

int cv_parse(void *dst, const char *text, struct arena *arena, struct err *err)
{
	(void)arena;
	if (number_parse(text, 0.001, 1000, dst) < 0)
		return err_usage(err, "'%s' is no coefficient of variation: give one such as 0.1",
				 text);
	return 0;
}

int percentile_parse(void *dst, const char *text, struct arena *arena, struct err *err)
{
	(void)arena;
	if (number_parse(text, 50, 99.9, dst) < 0)
		return err_usage(err, "'%s' is not a percentile from 50 to 99.9", text);
	return 0;
}

/* RE=TEXT, to a struct fold_list. */
static int fold_parse(void *dst, const char *text, struct arena *arena, struct err *err)
{
	struct fold_list *list = dst;
	struct fold_rule *rule = &list->rules[list->cnt];
	char *re = arena_strdup(arena, text), *equals = strrchr(re, '=');
	regex_t compiled;
	char why[160];
	int code;

	if (list->cnt == FOLD_RULES_MAX)
		return err_usage(err, "more than %d --fold", FOLD_RULES_MAX);
	if (!equals || equals == re)
		return err_usage(err, "--fold '%s': give RE=TEXT, such as 'shop-[a-z]+=shop-{id}'",
				 text);
	*equals = '\0';
	code = regcomp(&compiled, re, REG_EXTENDED);
	if (code) {
		regerror(code, &compiled, why, sizeof(why));
		return err_usage(err, "'%s' is not a regular expression: %s", re, why);
	}
	regfree(&compiled);
	*rule = (struct fold_rule){re, equals + 1};
	list->cnt++;
	return 0;
}

struct fold_opts fold_list_opts(const struct fold_list *list)
{
	return (struct fold_opts){.rules = list->rules, .rule_cnt = list->cnt,
				  .keep_ids = list->keep_ids};
}

const struct opt fold_opt_table[] = {
	{.type = OPT_CUSTOM, .long_name = "fold", .metavar = "RE=TEXT", .parse = fold_parse,
	 .help = "replace RE by TEXT in span names (may be repeated)",
	 OPT_AT(struct fold_list, rules)},
	{.type = OPT_FLAG, .long_name = "no-fold",
	 .help = "keep ids in names: do not fold /user/17 to /user/{id}",
	 OPT_AT(struct fold_list, keep_ids)},
	OPT_END,
};
