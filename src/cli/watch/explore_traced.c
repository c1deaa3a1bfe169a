/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/watch/explore_traced.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fmt.h"
#include "base/rights.h"
#include "base/stop.h"
#include "cli/files/known_space.h"
#include "cli/opts/file_rights.h"
#include "requests/forest/space.h"

#define TURN_MS 50
#define TAKE_NS (100 * NS_PER_MS)
/* With a lease more they are off by themselves. */
#define OFF_NS ((BOARD_LEASE_MS + 2000) * NS_PER_MS)

/* Programs drop what they cannot send at once: nobody is sent away. */
static unsigned never_busy(void *ctx)
{
	(void)ctx;
	return 0;
}

static int put_span(void *ctx, const struct trace_id *trace, const struct span *span,
		    const struct attr *attrs, const struct span_ref *refs)
{
	struct explore_traced *t = ctx;

	return gather_span(t->gather, clock_mono_ns(), trace, span, attrs, refs)
		       ? 0 : INTAKE_REFUSED;
}

static enum intake_asked put_question(void *ctx, const char *path,
				      const char *(*arg)(void *of, const char *name), void *of,
				      struct buf *ret)
{
	struct explore_traced *t = ctx;

	if (strcmp(path, "/heldup/v1/switches") != 0)
		return INTAKE_NO_PATH;
	switch (board_answer(t->board, clock_mono_ns(), arg, of, ret)) {
	case BOARD_ANSWERED:
		return INTAKE_ANSWERED;
	case BOARD_WAITS:
		return INTAKE_WAITS;
	default:
		return INTAKE_NO_PATH;
	}
}

static void take(void *ctx, const struct gathered *g)
{
	drive_take(ctx, g);
}

static void progress(const struct explore_traced *t, uint64_t gone_ns)
{
	struct arena scratch = {0};
	struct drive_result r;
	char time[FMT_MAX], cost[FMT_MAX];
	const char *why = "";

	drive_result(t->drive, clock_mono_ns(), &scratch, &r);
	for (uint32_t i = 0; r.forest && i < r.forest->decision_cnt; i++)
		if (r.forest->decisions[i].round == r.round_cnt && r.forest->decisions[i].why)
			why = r.forest->decisions[i].why;
	fprintf(stderr, "%s: round %u, %.0f requests, cost %s: %s\n", fmt_ns(time, gone_ns),
		r.round_cnt, (double)r.counts.trace_cnt, fmt_share(cost, r.cost_share), why);
	arena_release(&scratch);
}

/* Receives for a moment; who waits for an answer gets one where it is due. */
static uint64_t serve(struct explore_traced *t)
{
	uint64_t now_ns;

	intake_run(t->intake, TURN_MS);
	now_ns = clock_mono_ns();
	if (board_due(t->board, now_ns))
		intake_wake(t->intake);
	return now_ns;
}

/* True while it is to go on. */
static bool turn(const struct explore_traced_opts *o, struct explore_traced *t, uint64_t begin_ns,
		 uint64_t *taken_ns)
{
	uint64_t now_ns = serve(t);

	if (now_ns - *taken_ns >= TAKE_NS) {
		*taken_ns = now_ns;
		gather_take(t->gather, now_ns, take, t->drive);
		if (drive_step(t->drive, now_ns) && o->progress)
			progress(t, now_ns - begin_ns);
	}
	return now_ns - begin_ns < o->duration_ns && !stop_requested();
}

/* Waits until each program has said that all is off, or its lease has ended. */
static void switch_off(struct explore_traced *t)
{
	uint64_t begin_ns = clock_mono_ns(), now_ns = begin_ns;

	drive_end(t->drive);
	do {
		board_summary(t->board, now_ns, &t->after);
		if (t->after.off_cnt + t->after.silent_cnt == t->after.agent_cnt)
			break;
		now_ns = serve(t);
	} while (now_ns - begin_ns < OFF_NS);
	t->off_ns = now_ns - begin_ns;
}

/* Input from outside is read with no rights but to write what was asked for. */
static int rights_give_up(const struct explore_traced_opts *o, struct err *err)
{
	int rc = rights_keep(file_rights_of_outputs(o->cmd, o->cmd_opts));

	if (rc == 0)
		rc = rights_filter_watch(RIGHTS_LET_NET);
	return rc < 0 && rc != -ENOTSUP ? err_errno(err, rc, "give rights up") : 0;
}

/* Reads what was learnt before, while nothing comes from outside yet. */
static int drive_begin(const struct explore_traced_opts *o, struct explore_traced *t,
		       struct err *err)
{
	struct space *known = space_new(&t->points, &t->strings);
	const struct drive_opts drive = {.type = o->type, .max_cost = o->max_cost, .known = known};
	bool was_there;
	int code = o->space_path ? known_space_read(o->space_path, known, &t->points, &t->strings,
						    &was_there, err) : 0;

	if (code == 0) {
		t->board = board_new();
		t->gather = gather_new(&t->strings);
		t->drive = drive_new(&drive, t->board, &t->points, &t->strings);
	}
	space_free(known);
	return code;
}

int explore_traced(const struct explore_traced_opts *opts, struct arena *arena,
		   struct explore_traced *ret, struct err *err)
{
	const struct intake_opts in = {
		.http = opts->listen, .strings = &ret->strings,
		.sink = {.ctx = ret, .span_ctx = ret, .busy = never_busy, .span = put_span,
			 .ask = put_question}};
	uint64_t begin_ns = clock_mono_ns(), taken_ns = begin_ns;
	int code = drive_begin(opts, ret, err);

	if (code == 0)
		code = intake_open(&in, &ret->intake, err);
	if (code == 0)
		code = rights_give_up(opts, err);
	if (code < 0)
		return code;
	while (turn(opts, ret, begin_ns, &taken_ns) && drive_phase(ret->drive) != DRIVE_DONE)
		;
	drive_result(ret->drive, clock_mono_ns(), arena, &ret->result);
	switch_off(ret);
	ret->took_ns = clock_mono_ns() - begin_ns;
	return opts->space_path ? known_space_write(opts->space_path, drive_space(ret->drive),
						    &ret->points, &ret->strings, err) : 0;
}

void explore_traced_release(struct explore_traced *t)
{
	intake_close(t->intake);
	drive_free(t->drive);
	gather_free(t->gather);
	board_free(t->board);
	points_release(&t->points);
	strtab_release(&t->strings);
}
