/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kept/past.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "cli/kept/kept.h"
#include "cli/watch/run.h"
#include "collect/select.h"
#include "serve/ask.h"
#include "serve/keep/db.h"
#include "serve/judge.h"
#include "serve/serve.h"
#include "serve/settings.h"
#include "verdict/not_covered.h"

/* Quantiles and rates of less say little of how it was. */
#define BEFORE_MIN_NS (5 * NS_PER_SEC)

/* Intervals are a second: what is missing of one is not worth a line. */
#define MISSING_MIN_NS (3 * NS_PER_SEC / 2)

const struct opt past_opt_table[] = {
	{.type = OPT_STRING, .long_name = "since", .metavar = "TIME",
	 .help = "answer for the past from then on: 03:10, -5min, a date",
	 OPT_AT(struct past_opts, since)},
	{.type = OPT_STRING, .long_name = "until", .metavar = "TIME",
	 .help = "with --since or -i: and until then", OPT_AT(struct past_opts, until)},
	{.type = OPT_STRING, .long_name = "state", .metavar = "DIR", .def = SETTINGS_STATE,
	 .help = "the past is what heldup serve keeps in DIR", OPT_AT(struct past_opts, state)},
	OPT_END,
};

int past_time(const struct past_opts *o, struct cut_time *ret, struct err *err)
{
	uint64_t now = clock_real_ns();
	struct cut_time t = {0};
	int rc = o->since ? kept_time_parse(o->since, now, &t.from_ns, err) : 0;

	if (rc == 0 && o->until)
		rc = kept_time_parse(o->until, now, &t.until_ns, err);
	if (rc == 0 && t.until_ns && t.until_ns <= t.from_ns)
		rc = err_usage(err, "--until '%s' is not after --since '%s'", o->until, o->since);
	if (rc == 0)
		*ret = t;
	return rc;
}

bool past_is_long_before(const struct run *r)
{
	return r->span.from_ns > r->whole.from_ns + BEFORE_MIN_NS;
}

static void missing(const struct cut_time *t, struct verdict *v, struct arena *arena)
{
	char from[KEPT_TIME_LEN], until[KEPT_TIME_LEN];
	uint64_t now = clock_real_ns();

	if (t->until_ns > t->from_ns + MISSING_MIN_NS)
		verdict_unseen(v, arena_printf(arena, "%s to %s: nothing of that time is kept",
					       kept_time(t->from_ns, now, from),
					       kept_time(t->until_ns, now, until)), arena);
}

const char *past_say(const struct run *r, const struct cut_time *asked, const struct past *p,
		     struct verdict *v, struct arena *arena)
{
	char from[KEPT_TIME_LEN], until[KEPT_TIME_LEN];
	uint64_t now = clock_real_ns();

	if (!r->span.until_ns)
		return NULL;
	if (asked->from_ns)
		missing(&(struct cut_time){asked->from_ns, r->span.from_ns}, v, arena);
	if (asked->until_ns)
		missing(&(struct cut_time){r->span.until_ns, asked->until_ns}, v, arena);
	if (p && p->others)
		verdict_unseen(v, arena_printf(arena, "%s: heldup show N", p->others), arena);
	return arena_printf(arena, "%s to %s%s%s", kept_time(r->span.from_ns, now, from),
			    kept_time(r->span.until_ns, now, until), p && p->from ? " from " : "",
			    p && p->from ? p->from : "");
}

/* ---- where it is kept */

enum { OTHERS_SAID = 5, NAMES_LEN = 200 };

struct search {
	struct link_ask who;
	struct cut_time time;	/* until_ns is set */
	char service[LINK_NAME_LEN]; /* "": not known yet */
	char names[NAMES_LEN];	/* of all services */
	uint32_t cnt, match_cnt; /* of services */
	struct cut_time live;	/* zero: none */
	uint64_t best_ns, best_id; /* the finding with most of the time */
	char others[NAMES_LEN]; /* those with some of it */
	uint32_t capture_cnt, others_cnt;
};

static uint64_t overlap(const struct cut_time *a, uint64_t from_ns, uint64_t until_ns)
{
	uint64_t from = a->from_ns > from_ns ? a->from_ns : from_ns;
	uint64_t until = a->until_ns < until_ns ? a->until_ns : until_ns;

	return until > from ? until - from : 0;
}

static int who_of(const struct select_opts *o, struct link_ask *ret, struct err *err)
{
	const char *name = o->unit ? o->unit : o->container ? o->container : o->comm;

	*ret = (struct link_ask){0};
	if (o->cgroup || o->all || o->command || o->pids.cnt > 1)
		return err_usage(err, "the past is kept by service: give -p PID, -u UNIT, "
				      "--container NAME, --port N or a service's name");
	if (name && (size_t)snprintf(ret->name, sizeof(ret->name), "%s", name) >=
			    sizeof(ret->name))
		return err_usage(err, "'%s' is no name of a service", name);
	ret->pid = o->pids.cnt ? (uint32_t)o->pids.items[0] : 0;
	ret->port = (uint32_t)o->port;
	return 0;
}

static void take_service(void *ctx, const struct db_service *s)
{
	struct search *f = ctx;
	bool any = !f->who.pid && !f->who.port && !*f->who.name;
	size_t len = strlen(f->names);

	snprintf(f->names + len, sizeof(f->names) - len, "%s%s", len ? ", " : "", s->name);
	f->cnt++;
	if (!any && !ask_matches(&f->who, s->name, s->what) &&
	    !(f->who.pid && f->who.pid == s->pid))
		return;
	if (!f->match_cnt++)
		snprintf(f->service, sizeof(f->service), "%s", s->name);
}

static int service_find(struct search *f, struct db *db, struct err *err)
{
	int rc = *f->service ? 0 : db_services(db, take_service, f);

	if (rc < 0)
		return err_errno(err, rc, "read what is kept");
	if (*f->service && f->match_cnt <= 1)
		return 0;
	if (f->match_cnt > 1)
		return err_usage(err, "which service? give its name: %s", f->names);
	return f->cnt ? err_set(err, -ENOENT, "heldup serve keeps no such service; it has %s",
				f->names)
		      : err_set(err, -ENOENT, "heldup serve keeps no service yet");
}

static void take_finding(void *ctx, const struct db_finding *it)
{
	struct search *f = ctx;
	uint64_t ns = overlap(&f->time, it->capture_from_ns, it->capture_until_ns);
	size_t len = strlen(f->others);

	if (!it->capture_bytes || !it->capture_until_ns || strcmp(it->service, f->service) != 0)
		return;
	f->capture_cnt++;
	if (!ns)
		return;
	if (f->others_cnt++ < OTHERS_SAID)
		snprintf(f->others + len, sizeof(f->others) - len, "%s%llu", len ? ", " : "",
			 (unsigned long long)it->id);
	if (ns > f->best_ns) {
		f->best_ns = ns;
		f->best_id = it->id;
	}
}

/* The memory of a heldup serve that runs and knows whom is asked for. */
static void ask_live(struct search *f, const char *state, int *ret_fd)
{
	struct ask_answer answer = {0};
	struct err err = {0};
	int fd = serve_runs(state) ? ask_past(state, &f->who, &answer, &err) : -ENOTCONN;

	if (fd < 0 || answer.code < 0) {
		if (fd >= 0)
			close(fd);
		else if (fd != -ENOTCONN)
			log_warn("%s: only captures of findings are looked at", err.msg);
		return;
	}
	*ret_fd = fd;
	f->live = (struct cut_time){answer.from_ns, answer.until_ns};
	snprintf(f->service, sizeof(f->service), "%s", answer.service);
}

static int nothing(const struct search *f, struct err *err)
{
	uint64_t now = clock_real_ns();
	char from[KEPT_TIME_LEN], until[KEPT_TIME_LEN], live[2 * KEPT_TIME_LEN + 40] = "";

	if (f->live.until_ns)
		snprintf(live, sizeof(live), "%s to %s is in memory, ",
			 kept_time(f->live.from_ns, now, from),
			 kept_time(f->live.until_ns, now, until));
	return err_set(err, -ENODATA,
		       "nothing of %s is kept from %s to %s: %scaptures of findings: %u "
		       "(heldup log --service %s)", f->service,
		       kept_time(f->time.from_ns, now, from),
		       kept_time(f->time.until_ns, now, until), live, f->capture_cnt, f->service);
}

static int choose(const struct search *f, const char *state, struct arena *arena,
		  struct past *ret, struct err *err)
{
	uint64_t live_ns = overlap(&f->time, f->live.from_ns, f->live.until_ns);
	uint32_t more = f->others_cnt;

	if (!live_ns && !f->best_ns)
		return nothing(f, err);
	if (live_ns >= f->best_ns) {
		snprintf(ret->path, sizeof(ret->path), ASK_CAPTURE, state);
		ret->from = "the memory of heldup serve";
	} else {
		judge_path(state, f->best_id, JUDGE_CAPTURE, ret->path, sizeof(ret->path));
		ret->from = arena_printf(arena, "the capture of finding %llu",
					 (unsigned long long)f->best_id);
		more--;
	}
	if (more)
		ret->others = arena_printf(arena, "findings %s%s have some of that time",
					   f->others, f->others_cnt > OTHERS_SAID ? " and more"
										  : "");
	return 0;
}

bool past_is_wanted(const struct past_opts *o)
{
	return o->since || o->until;
}

int past_find(const struct past_opts *o, const struct select_opts *select,
	      const struct cut_time *time, struct arena *arena, struct past *ret, struct err *err)
{
	uint64_t now = clock_real_ns();
	struct search f = {.time = *time};
	struct db_filter filter = {.service = f.service};
	struct db *db = NULL;
	int rc = who_of(select, &f.who, err);

	*ret = (struct past){.fd = -1};
	if (rc < 0)
		return rc;
	if (!f.time.from_ns)
		return err_usage(err, "--until needs --since");
	if (!f.time.until_ns || f.time.until_ns > now)
		f.time.until_ns = now;
	rc = kept_open(o->state, &db, err);
	if (rc < 0)
		return rc;
	ask_live(&f, o->state, &ret->fd);
	rc = service_find(&f, db, err);
	if (rc == 0 && db_findings(db, &filter, take_finding, &f) < 0)
		rc = err_set(err, -EIO, "the findings that are kept cannot be read");
	db_close(db);
	if (rc == 0)
		rc = choose(&f, o->state, arena, ret, err);
	if (rc < 0)
		past_release(ret);
	return rc;
}

void past_release(struct past *p)
{
	if (p->fd > 0)
		close(p->fd);
	*p = (struct past){0};
}
