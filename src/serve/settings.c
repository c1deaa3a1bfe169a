/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/settings.h"

#include <errno.h>
#include <ini.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "intake/intake.h"
#include "serve/link.h"

#define KEEP_BYTES (UINT64_C(1) << 30)
#define KEEP_NS (30 * 24 * 3600 * NS_PER_SEC)
#define KEEP_MIN_BYTES (UINT64_C(1) << 20) /* what a capture of a minute takes: less keeps none */
#define KEEP_MIN_NS (60 * NS_PER_SEC)	   /* series are by the minute */
#define WINDOW_NS (60 * NS_PER_SEC)
#define WINDOW_MIN_NS (10 * NS_PER_SEC)
#define WINDOW_MAX_NS (3600 * NS_PER_SEC)
#define BUDGET 0.01
#define SPANS_CPU 0.25 /* some 250,000 spans a second: more than a host's services make */

void settings_init(struct settings *s)
{
	*s = (struct settings){
		.state = SETTINGS_STATE,
		.listen = "127.0.0.1:4319",
		.spans_http = INTAKE_HTTP,
		.spans_grpc = INTAKE_GRPC,
		.spans_cpu = SPANS_CPU,
		.keep_bytes = KEEP_BYTES,
		.keep_ns = KEEP_NS,
		.window_ns = WINDOW_NS,
		.budget = BUDGET,
	};
}

void settings_release(struct settings *s)
{
	arena_release(&s->arena);
}

static bool name_is_fine(const char *name)
{
	size_t len = strlen(name);

	return len && len < LINK_NAME_LEN &&
	       len == strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "0123456789._:@-");
}

/* "64M", "1G" */
static int keep_size_parse(const char *text, uint64_t *ret)
{
	char *end;
	double n = strtod(text, &end);
	const char *units = "KMGT", *unit = *end ? strchr(units, *end) : NULL;

	if (end == text || !(n > 0) || (*end && (!unit || end[1])))
		return -EINVAL;
	for (long i = unit ? unit - units + 1 : 0; i > 0; i--)
		n *= 1024;
	if (!(n >= KEEP_MIN_BYTES && n <= 1e15))
		return -EINVAL;
	*ret = (uint64_t)n;
	return 0;
}

/* A time in days too: "30d". */
static int keep_age_parse(const char *text, uint64_t *ret, struct err *err)
{
	char *end;
	double days = strtod(text, &end);
	uint64_t ns = 0;

	if (end != text && strcmp(end, "d") == 0)
		ns = days > 0 && days <= 1000 ? (uint64_t)(days * 24 * 3600 * 1e9) : 0;
	else if (duration_parse(text, &ns, err) < 0)
		return err->code;
	if (ns < KEEP_MIN_NS)
		return err_usage(err, "keep-age '%s': from a minute to 1000 days", text);
	*ret = ns;
	return 0;
}

static int window_parse(const char *text, uint64_t *ret, struct err *err)
{
	uint64_t ns = 0;

	if (duration_parse(text, &ns, err) < 0)
		return err->code;
	if (ns < WINDOW_MIN_NS || ns > WINDOW_MAX_NS)
		return err_usage(err, "window '%s': from 10s to an hour", text);
	*ret = ns;
	return 0;
}

static int format_parse(const char *text, enum webhook_format *ret, struct err *err)
{
	if (strcmp(text, "plain") == 0)
		*ret = WEBHOOK_PLAIN;
	else if (strcmp(text, "alertmanager") == 0)
		*ret = WEBHOOK_ALERTMANAGER;
	else
		return err_usage(err, "webhook-format '%s': plain or alertmanager", text);
	return 0;
}

static int number_parse(const char *text, int64_t max, int64_t *ret)
{
	char *end;
	long long n = strtoll(text, &end, 10);

	if (end == text || *end || n < 1 || n > max)
		return -EINVAL;
	*ret = n;
	return 0;
}

static int pids_add(struct settings *s, struct select_opts *o, const char *value, struct err *err)
{
	int32_t *pid;
	int64_t n;

	if (number_parse(value, INT32_MAX, &n) < 0)
		return err_usage(err, "pid '%s': give a number", value);
	pid = arena_alloc(&s->arena, sizeof(*pid));
	*pid = (int32_t)n;
	o->pids = (struct select_pids){.items = pid, .cnt = 1};
	return 0;
}

/* One way of choosing the processes of a service. */
static int select_set(struct settings *s, struct select_opts *o, const char *key,
		      const char *value, struct err *err)
{
	const char *kept = arena_strdup(&s->arena, value);
	regex_t re;

	if (!*value)
		return err_usage(err, "%s: it has no value", key);
	if (strcmp(key, "unit") == 0) {
		o->unit = kept;
	} else if (strcmp(key, "container") == 0) {
		o->container = kept;
	} else if (strcmp(key, "cgroup") == 0) {
		o->cgroup = kept;
	} else if (strcmp(key, "pid") == 0) {
		return pids_add(s, o, value, err);
	} else if (strcmp(key, "port") == 0) {
		if (number_parse(value, 65535, &o->port) < 0)
			return err_usage(err, "port '%s': give a number from 1 to 65535", value);
	} else if (strcmp(key, "comm") == 0) {
		if (regcomp(&re, value, REG_EXTENDED | REG_NOSUB) != 0)
			return err_usage(err, "comm '%s': no regular expression", value);
		regfree(&re);
		o->comm = kept;
	} else {
		return err_usage(err, "no key '%s' of a service: port, unit, comm, pid, cgroup, "
				      "container", key);
	}
	return 0;
}

static struct serve_service *service_of(struct settings *s, const char *name, struct err *err)
{
	struct serve_service *it;

	for (size_t i = 0; i < s->service_cnt; i++)
		if (strcmp(s->services[i].name, name) == 0)
			return &s->services[i];
	if (!name_is_fine(name)) {
		err_usage(err, "'%s' is no name of a service: letters, digits and ._:@-", name);
		return NULL;
	}
	if (s->service_cnt >= SETTINGS_SERVICES_MAX) {
		err_set(err, -E2BIG, "over %d services", SETTINGS_SERVICES_MAX);
		return NULL;
	}
	it = &s->services[s->service_cnt++];
	*it = (struct serve_service){.name = arena_strdup(&s->arena, name)};
	return it;
}

int settings_service(struct settings *s, const char *text, struct err *err)
{
	const char *is = strchr(text, '='), *colon = is ? strchr(is, ':') : NULL;
	struct serve_service *it;

	if (!colon)
		return err_usage(err, "service '%s': give NAME=port:N, NAME=unit:U, NAME=comm:RE "
				      "or such", text);
	it = service_of(s, arena_strndup(&s->arena, text, (size_t)(is - text)), err);
	if (!it)
		return err->code;
	return select_set(s, &it->select,
			  arena_strndup(&s->arena, is + 1, (size_t)(colon - is - 1)), colon + 1,
			  err);
}

/* "1%" */
static int share_parse(const char *key, const char *text, double *ret, struct err *err)
{
	char *end;
	double n = strtod(text, &end);

	if (end == text || (*end && strcmp(end, "%") != 0) || !(n >= 0 && n <= 100))
		return err_usage(err, "%s '%s': give a percentage such as 1%%", key, text);
	*ret = n / 100;
	return 0;
}

static const char *address_of(struct settings *s, const char *value)
{
	return strcmp(value, "none") == 0 ? "" : arena_strdup(&s->arena, value);
}

static int serve_key(struct settings *s, const char *key, const char *value, struct err *err)
{
	if (strcmp(key, "state") == 0 && !*value)
		return err_usage(err, "state: it has no value");
	else if (strcmp(key, "state") == 0)
		s->state = arena_strdup(&s->arena, value);
	else if (strcmp(key, "listen") == 0)
		s->listen = address_of(s, value);
	else if (strcmp(key, "spans-http") == 0)
		s->spans_http = address_of(s, value);
	else if (strcmp(key, "spans-grpc") == 0)
		s->spans_grpc = address_of(s, value);
	else if (strcmp(key, "spans-cpu") == 0)
		return share_parse(key, value, &s->spans_cpu, err);
	else if (strcmp(key, "on-finding") == 0)
		s->announce.command = arena_strdup(&s->arena, value);
	else if (strcmp(key, "webhook") == 0)
		s->announce.webhook = arena_strdup(&s->arena, value);
	else if (strcmp(key, "webhook-format") == 0)
		return format_parse(value, &s->announce.format, err);
	else if (strcmp(key, "token") == 0)
		s->token = arena_strdup(&s->arena, value);
	else if (strcmp(key, "keep-size") == 0 && keep_size_parse(value, &s->keep_bytes) < 0)
		return err_usage(err, "keep-size '%s': from 1M, such as 1G", value);
	else if (strcmp(key, "keep-size") == 0)
		return 0;
	else if (strcmp(key, "keep-age") == 0)
		return keep_age_parse(value, &s->keep_ns, err);
	else if (strcmp(key, "window") == 0)
		return window_parse(value, &s->window_ns, err);
	else if (strcmp(key, "budget") == 0)
		return share_parse(key, value, &s->budget, err);
	else
		return err_usage(err, "no key '%s' of [serve]: state, listen, token, keep-size, "
				      "keep-age, window, budget, on-finding, webhook, "
				      "webhook-format, spans-http, spans-grpc, spans-cpu", key);
	return 0;
}

static int one_key(struct settings *s, const char *section, const char *key, const char *value,
		   struct err *err)
{
	struct serve_service *it;

	if (strcmp(section, "serve") == 0)
		return serve_key(s, key, value, err);
	if (strncmp(section, "service ", 8) != 0)
		return err_usage(err, "no section [%s]: [serve] and [service NAME]", section);
	it = service_of(s, section + 8, err);
	if (!it)
		return err->code;
	if (strcmp(key, "p99") == 0)
		return duration_parse(value, &it->p99_ns, err);
	return select_set(s, &it->select, key, value, err);
}

struct reading {
	struct settings *s;
	const char *at;		/* text that was not read yet */
	int line, wrong_cnt;
	void (*complain)(void *ctx, int line, const char *what);
	void *ctx;
};

static void wrong(struct reading *r, int line, const char *what)
{
	if (r->wrong_cnt++ < SETTINGS_ERRORS_MAX)
		r->complain(r->ctx, line, what);
}

/* The library's reader: one line, as fgets. */
static char *next_line(char *out, int size, void *stream)
{
	struct reading *r = stream;
	size_t len = strcspn(r->at, "\n");

	if (!*r->at)
		return NULL;
	r->line++;
	if (len > (size_t)size - 2) {
		wrong(r, r->line, "the line is too long");
		snprintf(out, (size_t)size, ";\n");
	} else {
		snprintf(out, (size_t)size, "%.*s\n", (int)len, r->at);
	}
	r->at += len + (r->at[len] == '\n');
	return out;
}

static int take_key(void *ctx, const char *section, const char *key, const char *value)
{
	struct reading *r = ctx;
	struct err err = {0};

	if (one_key(r->s, section, key, value, &err) < 0)
		wrong(r, r->line, err.msg);
	return 1;
}

/* A service without a way to find its processes. */
static void services_check(struct reading *r)
{
	char text[LINK_NAME_LEN + 80];

	for (size_t i = 0; i < r->s->service_cnt; i++) {
		const struct select_opts *o = &r->s->services[i].select;

		if (o->port || o->unit || o->comm || o->pids.cnt || o->cgroup || o->container)
			continue;
		snprintf(text, sizeof(text), "[service %.63s] says not which processes it is: "
			 "give it a port or unit", r->s->services[i].name);
		wrong(r, 0, text);
	}
}

int settings_read(struct settings *s, const char *path,
		  void (*complain)(void *ctx, int line, const char *what), void *ctx,
		  struct err *err)
{
	CLEANUP(buf_release) struct buf text = {0};
	struct reading r = {.s = s, .complain = complain, .ctx = ctx};
	int rc = file_read(path, SETTINGS_FILE_MAX, &text, err);

	if (rc < 0)
		return rc;
	if (memchr(text.data ? text.data : "", '\0', text.len))
		return err_set(err, -EINVAL, "'%s' is no text", path);
	r.at = buf_str(&text);
	rc = ini_parse_stream(next_line, &r, take_key, &r);
	if (rc > 0)
		wrong(&r, rc, "neither [SECTION] nor KEY = VALUE");
	if (!r.wrong_cnt)
		services_check(&r);
	if (r.wrong_cnt)
		return err_usage(err, "'%s' has %d error%s", path, r.wrong_cnt,
				 r.wrong_cnt == 1 ? "" : "s");
	return 0;
}
