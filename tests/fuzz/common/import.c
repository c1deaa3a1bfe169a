/* SPDX-License-Identifier: Apache-2.0 */
#include "../import.h"

#include <stdlib.h>

#include "base/bug.h"
#include "collect/import_int.h"
#include "collect/import_lines.h"
#include "model/calls.h"
#include "model/model.h"
#include "store/check.h"

struct taker {
	struct model *m;
	struct event_check check;
};

/* All that an importer makes must pass the border of a capture. */
static int take(void *ctx, const struct event_hdr *ev)
{
	struct taker *t = ctx;

	BUG_ON(event_check(&t->check, ev, ev->size) != EVENT_PASS);
	model_add(t->m, ev);
	return 0;
}

static void check_model(const struct model *m)
{
	const struct model_calls *c = m->calls;

	BUG_ON(m->bad_event_cnt || m->unknown_kind_cnt);
	for (size_t i = 0; i < c->cnt; i++) {
		const struct call *call = &c->calls[i];

		BUG_ON(call->thread >= m->thread_cnt || call->nr >= c->nr_cnt);
		BUG_ON(call->stack != NO_IDX && call->stack >= m->stack_cnt);
		BUG_ON(call->begin_ns + call->dur_ns > c->end_ns);
		BUG_ON(i && call[-1].thread == call->thread &&
		       call[-1].begin_ns + call[-1].dur_ns > call->begin_ns);
		BUG_ON(!model_call_name(m, call->nr));
	}
}

void fuzz_import(const struct import_format *format, const void *data, size_t size)
{
	struct taker t = {.m = model_new(NULL)};
	struct event_sink sink = {take, &t};
	struct import *im = import_new(format->name, "trace");
	struct lines_reader *r = lines_reader_new(-1, data, size); /* a read fails: the end */
	void *ctx = format->open(im, lines_peek(r));
	struct text line;

	import_begin(im, &sink);
	while (lines_next(r, &line) > 0) {
		format->looks(line);
		format->line(ctx, line, lines_number(r));
		import_tick(im);
	}
	format->end(ctx);
	import_finish(im, NULL);
	model_finish(t.m);
	check_model(t.m);
	format->free(ctx);
	import_free(im);
	lines_reader_free(r);
	model_free(t.m);
	event_check_release(&t.check);
}
