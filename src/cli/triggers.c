/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/triggers.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fmt.h"
#include "base/stop.h"
#include "cli/select.h"
#include "collect/source.h"
#include "model/model.h"
#include "waits/metrics.h"

enum { KEEP_WAITS = 1024, KEEP_TICKS = 8 };

extern char **environ;

/* A command that says whether all is well. */
struct check {
	pid_t pid;	/* 0: none runs */
	uint64_t begin_ns, next_ns;
	bool failed;	/* the last one did */
};

/* A metric, summed over all rows of the chosen processes. */
struct meter {
	struct source *src;
	struct model *model;
	struct metrics *metrics;
	struct arena arena;
	uint32_t order;
	char op;
	double limit, value;
	uint64_t seen_ns;	/* end of the last tick looked at */
	bool over;
};

struct triggers {
	struct triggers_opts opts;
	struct check check;
	struct meter meter;
};

int triggers_parse(const char *text, uint32_t *ret_order, char *ret_op, double *ret_value)
{
	size_t len = strcspn(text, "<>"), cnt;
	const struct metric_def *defs = metrics_table(&cnt);
	double value;
	char *end;

	if (!text[len])
		return -EINVAL;
	value = strtod(text + len + 1, &end);
	if (end == text + len + 1 || *end || !(value >= 0))
		return -EINVAL;
	for (size_t i = 0; i < cnt; i++) {
		if (strlen(defs[i].name) != len || strncmp(defs[i].name, text, len) != 0)
			continue;
		*ret_order = (uint32_t)i;
		*ret_op = text[len];
		*ret_value = value;
		return 0;
	}
	return -ENOENT;
}

static int meter_new(struct triggers *t, struct err *err)
{
	const struct model_opts keep = {.max_waits = KEEP_WAITS, .max_slices = KEEP_TICKS,
					.newest_waits = 1};
	struct watch_opts watch = {.select = t->opts.select, .only_target = 1,
				   .unfiltered = 1}; /* until the recording, opened next, is */
	struct meter *m = &t->meter;
	int rc = triggers_parse(t->opts.when, &m->order, &m->op, &m->limit);

	if (rc == -ENOENT)
		return err_usage(err, "--when '%s': heldup metrics knows no such metric",
				 t->opts.when);
	if (rc < 0)
		return err_usage(err, "--when '%s': write METRIC>NUMBER, such as "
				      "futex_wait_time>0.5", t->opts.when);
	if (t->opts.select->command)
		return err_usage(err, "--when looks at processes that run: leave -- COMMAND out");
	rc = source_live(&watch, &m->src, err);
	if (rc < 0)
		return rc;
	m->model = model_new(&keep);
	m->metrics = metrics_new();
	return 0;
}

int triggers_new(const struct triggers_opts *opts, struct triggers **ret, struct err *err)
{
	struct triggers *t = xcalloc(1, sizeof(*t));
	int rc = 0;

	t->opts = *opts;
	if (opts->when)
		rc = meter_new(t, err);
	if (rc < 0) {
		triggers_free(t);
		return rc;
	}
	stop_usr1_init();
	*ret = t;
	return 0;
}

static void check_kill(struct check *c)
{
	kill(-c->pid, SIGKILL);
	while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
		;
	c->pid = 0;
}

void triggers_free(struct triggers *t)
{
	if (!t)
		return;
	if (t->check.pid)
		check_kill(&t->check);
	source_free(t->meter.src);
	metrics_free(t->meter.metrics);
	model_free(t->meter.model);
	arena_release(&t->meter.arena);
	free(t);
}

/* In a process group of its own, so that all it began can be ended; quiet. */
static void check_start(struct triggers *t, uint64_t now)
{
	char *argv[] = {"sh", "-c", (char *)(uintptr_t)t->opts.until_fails, NULL};
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t none;

	sigemptyset(&none);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setpgroup(&attr, 0);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
	if (posix_spawn(&t->check.pid, "/bin/sh", &files, &attr, argv, environ))
		t->check.pid = 0;
	t->check.begin_ns = now;
	t->check.next_ns = now + t->opts.every_ns;
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attr);
}

/* How it ended, or that it did not; "" while it goes on or all is well. */
static void check_look(struct triggers *t, uint64_t now, char *ret_why, size_t size)
{
	struct check *c = &t->check;
	char span[FMT_MAX];
	int status = 0;

	if (waitpid(c->pid, &status, WNOHANG) == c->pid) {
		c->pid = 0;
		if (WIFSIGNALED(status))
			snprintf(ret_why, size, "was ended by signal %d", WTERMSIG(status));
		else if (WEXITSTATUS(status))
			snprintf(ret_why, size, "ended with status %d", WEXITSTATUS(status));
		else
			c->failed = false;
	} else if (now - c->begin_ns > t->opts.every_ns) {
		check_kill(c);
		snprintf(ret_why, size, "did not end in %s", fmt_ns(span, t->opts.every_ns));
	}
}

static bool check_fired(struct triggers *t, char *ret_reason, size_t size)
{
	struct check *c = &t->check;
	uint64_t now = clock_mono_ns();
	char why[64] = "";
	bool before = c->failed;

	if (!c->pid && now >= c->next_ns)
		check_start(t, now);
	else if (c->pid)
		check_look(t, now, why, sizeof(why));
	if (!*why)
		return false;
	c->failed = true;
	if (before)
		return false;
	snprintf(ret_reason, size, "'%s' %s", t->opts.until_fails, why);
	return true;
}

static int meter_put(void *ctx, const struct event_hdr *ev)
{
	model_add(ctx, ev);
	return 0;
}

static bool meter_fired(struct triggers *t, char *ret_reason, size_t size)
{
	struct meter *m = &t->meter;
	struct event_sink sink = {.put = meter_put, .ctx = m->model};
	bool before = m->over;
	struct metrics_result res;
	struct err err = {0};

	if (source_step(m->src, &sink, &err) <= 0)
		return false;
	model_finish(m->model);
	if (m->model->tick_end_ns == m->seen_ns)
		return false;
	m->seen_ns = m->model->tick_end_ns;
	arena_clear(&m->arena);
	res = metrics_tick(m->metrics, m->model, &m->arena);
	m->value = 0;
	for (size_t i = 0; i < res.row_cnt; i++)
		m->value += res.rows[i].order == m->order ? res.rows[i].value : 0;
	m->over = m->op == '>' ? m->value > m->limit : m->value < m->limit;
	if (!m->over || before)
		return false;
	snprintf(ret_reason, size, "%s: it was %.4g", t->opts.when, m->value);
	return true;
}

bool triggers_fired(void *ctx, char *ret_reason, size_t size)
{
	struct triggers *t = ctx;

	if (stop_usr1_taken()) {
		snprintf(ret_reason, size, "asked for by a signal");
		return true;
	}
	if (t->opts.until_fails && check_fired(t, ret_reason, size))
		return true;
	return t->meter.src && meter_fired(t, ret_reason, size);
}
