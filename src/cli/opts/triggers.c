/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/opts/triggers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fmt.h"
#include "base/stop.h"
#include "cli/opts/check_child.h"
#include "cli/opts/select_opts.h"
#include "collect/source.h"
#include "model/model.h"
#include "waits/metrics/metrics.h"

enum { KEEP_WAITS = 1024, KEEP_TICKS = 8 };

/* A command that says whether all is well. */
struct check {
	struct check_child *child;
	bool runs, failed; /* the last one did */
	uint64_t next_ns;
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
	if (opts->until_fails) {
		t->check.child = check_child_new(opts->until_fails, opts->every_ns);
		if (!t->check.child)
			rc = err_errno(err, -errno, "start a child for --until-fails");
	}
	if (rc == 0 && opts->when)
		rc = meter_new(t, err);
	if (rc < 0) {
		triggers_free(t);
		return rc;
	}
	stop_usr1_init();
	*ret = t;
	return 0;
}

void triggers_free(struct triggers *t)
{
	if (!t)
		return;
	check_child_free(t->check.child);
	source_free(t->meter.src);
	metrics_free(t->meter.metrics);
	model_free(t->meter.model);
	arena_release(&t->meter.arena);
	free(t);
}

/* How it ended, or that it did not; "" when all is well. */
static void check_say(struct triggers *t, int end, int status, char *ret_why, size_t size)
{
	char span[FMT_MAX];

	if (end == CHECK_LATE)
		snprintf(ret_why, size, "did not end in %s", fmt_ns(span, t->opts.every_ns));
	else if (end == CHECK_ENDED && WIFSIGNALED(status))
		snprintf(ret_why, size, "was ended by signal %d", WTERMSIG(status));
	else if (end == CHECK_ENDED && WEXITSTATUS(status))
		snprintf(ret_why, size, "ended with status %d", WEXITSTATUS(status));
	else if (end == CHECK_ENDED)
		t->check.failed = false;
	else
		snprintf(ret_why, size, "cannot be run");
}

static bool check_fired(struct triggers *t, char *ret_reason, size_t size)
{
	struct check *c = &t->check;
	uint64_t now = clock_mono_ns();
	char why[64] = "";
	bool before = c->failed;
	int status = 0, end;

	if (!c->runs && now >= c->next_ns) {
		check_child_begin(c->child);
		c->runs = true;
		c->next_ns = now + t->opts.every_ns;
	} else if (c->runs && (end = check_child_result(c->child, &status))) {
		c->runs = false;
		check_say(t, end, status, why, sizeof(why));
	}
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
