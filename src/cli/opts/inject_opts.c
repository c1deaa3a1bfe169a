/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/opts/inject_opts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "trace/points.h"

#define QUEUE_KEY "queue.length"

/* The tracepoint's number, or -errno. */
static int64_t find_point(const struct inject_names *n, const char *name, struct err *err)
{
	int64_t by_name = -1;
	bool several = false;

	for (size_t i = 0; i < n->points->items.cnt; i++) {
		const struct point *p = &n->points->items.items[i];
		CLEANUP(buf_release) struct buf full = {0};

		buf_printf(&full, "%s %s", strtab_str(n->strings, p->service),
			   strtab_str(n->strings, p->name));
		if (strcmp(buf_str(&full), name) == 0)
			return (int64_t)i;
		if (strcmp(strtab_str(n->strings, p->name), name) != 0)
			continue;
		several |= by_name >= 0;
		by_name = (int64_t)i;
	}
	if (several)
		return err_usage(err, "--inject: several services have '%s': give 'SERVICE NAME'",
				 name);
	if (by_name < 0)
		return err_usage(err, "--inject: no tracepoint '%s' in the requests", name);
	return by_name;
}

static int time_of(const struct inject_names *n, const char *text, int64_t *ret_ns,
		   struct err *err)
{
	size_t len = strlen(text);
	uint64_t ns = 0;
	double times;
	char *end;

	if (len && text[len - 1] == 'x') {
		times = strtod(text, &end);
		if (end != text + len - 1 || !(times >= 0) || times > 1e9)
			return err_usage(err, "--inject: '%s' is no time (say 20ms or 3x)", text);
		ns = times * n->mean_ns < (double)INJECT_MAX_NS ? (uint64_t)(times * n->mean_ns)
								: (uint64_t)INJECT_MAX_NS;
	} else if (duration_parse(text, &ns, NULL) < 0) {
		return err_usage(err, "--inject: '%s' is no time (say 20ms or 3x)", text);
	}
	if (ns > (uint64_t)INJECT_MAX_NS)
		return err_usage(err, "--inject: '%s' is more than an hour", text);
	*ret_ns = (int64_t)ns;
	return 0;
}

static int take_option(struct injection *j, const char *text, struct err *err)
{
	char *end;

	if (strcmp(text, "exit") == 0) {
		j->where = INJECT_EXIT;
		return 0;
	}
	if (strncmp(text, "share=", 6) == 0) {
		double share = strtod(text + 6, &end);

		j->share_ppm = share > 0 && share <= 1 ? (uint32_t)(share * 1e6) : 0;
		return *end || !j->share_ppm
			       ? err_usage(err, "--inject: '%s': a share is over 0, up to 1", text)
			       : 0;
	}
	if (strncmp(text, "with=", 5) == 0) {
		unsigned long with = strtoul(text + 5, &end, 10);

		j->together = (uint8_t)with;
		return *end || with < 1 || with > UINT8_MAX
			       ? err_usage(err, "--inject: '%s': a number from 1 to 255", text)
			       : 0;
	}
	return err_usage(err, "--inject: '%s' is none of exit, share=S and with=N", text);
}

static void take_key(const struct inject_names *n, char *text, struct injection *j)
{
	char *value = strchr(text, '=');

	if (value)
		*value++ = 0;
	j->key = strtab_add(n->strings, text);
	j->text = value ? strtab_add(n->strings, value) : 0;
}

static int take_law(const struct inject_names *n, char *law, struct injection *j, struct err *err)
{
	char *rest = law, *name = strsep(&rest, ","), *part;
	int code;

	if (strcmp(name, "uniform") == 0) {
		j->law = INJECT_UNIFORM;
	} else if (strcmp(name, "constant") == 0) {
		j->law = INJECT_CONSTANT;
	} else if (strcmp(name, "queue") == 0) {
		j->law = INJECT_BY_KEY;
		j->make_key = true;
		j->key = strtab_add(n->strings, QUEUE_KEY);
	} else if (strcmp(name, "key") == 0 && rest) {
		j->law = INJECT_BY_KEY;
		take_key(n, strsep(&rest, ","), j);
	} else {
		return err_usage(err, "--inject: '%s' is none of uniform, constant, queue and key",
				 name);
	}
	part = rest ? strsep(&rest, ",") : NULL;
	if (!part)
		return err_usage(err, "--inject: '%s' lacks its time", name);
	code = time_of(n, part, &j->ns, err);
	while (code == 0 && (part = strsep(&rest, ",")))
		code = take_option(j, part, err);
	return code;
}

int inject_parse(const struct inject_names *names, const char *text, struct injection *ret,
		 struct err *err)
{
	CLEANUP_FREE char *copy = xstrdup(text);
	char *law = strrchr(copy, ':');
	struct injection j = {0};
	int64_t point;
	int code;

	if (!law || law == copy)
		return err_usage(err, "--inject: '%s' is not POINT:LAW", text);
	*law++ = 0;
	point = find_point(names, copy, err);
	if (point < 0)
		return (int)point;
	j.service = names->points->items.items[point].service;
	j.name = names->points->items.items[point].name;
	code = take_law(names, law, &j, err);
	if (code == 0)
		*ret = j;
	return code;
}
