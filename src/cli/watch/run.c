/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/watch/run.h"

#include <errno.h>
#include <stdbool.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "cli/watch/watching.h"
#include "model/calls/calls.h"
#include "waits/waits.h"

/*
 * The engine takes nothing from the rows per tick: those are for metrics and top.  Of
 * blocking calls the newest million, 40 MiB: functions need no more, and a long watch of
 * a busy server has tens of millions.
 */
const struct model_opts run_model = {.no_res_ticks = 1, .max_calls = 1 << 20};

/* Functions are reported where calls were recorded; they go by where requests spent their time. */
static struct waits_result *waits_of(const struct model *m, struct arena *arena)
{
	return waits_analyse(m, &(struct waits_opts){.by_wait = m->calls->end_ns > 0}, arena);
}

struct run run_of(struct model *m, struct arena *arena)
{
	return (struct run){.model = m, .waits = waits_of(m, arena)};
}

static void cut_drop(struct cut **c)
{
	cut_free(*c);
}

static int cut_file(const char *path, const struct cut_time *time, struct model *m,
		    struct run *run, struct err *err)
{
	CLEANUP(cut_drop) struct cut *c = cut_new(time);
	struct event_sink sink = model_sink(m);
	int code = watching_file(path, cut_sink(c), err);

	if (code == 0)
		code = cut_replay(c, &sink);
	if (code == 0 && !cut_whole(c, &run->whole))
		code = -ENODATA;
	if (code == 0 && !cut_span(c, &run->span))
		code = -ENODATA;
	return code < 0 && !err->code
		       ? err_set(err, code, "'%s' has nothing of that time", path) : code;
}

int run_file(const char *path, const struct cut_time *time, struct arena *arena,
	     struct run *ret_run, struct err *err)
{
	bool is_cut = time && (time->from_ns || time->until_ns);
	struct model *m = model_new(&run_model);
	struct run run = {0};
	int code = is_cut ? cut_file(path, time, m, &run, err)
			  : watching_file(path, model_sink(m), err);

	if (code < 0) {
		model_free(m);
		return code;
	}
	model_finish(m);
	run.model = m;
	run.waits = waits_of(m, arena);
	*ret_run = run;
	return 0;
}

void run_release(struct run *r)
{
	model_free(r->model);
	*r = (struct run){0};
}
