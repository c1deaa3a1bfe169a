/* SPDX-License-Identifier: Apache-2.0 */
#include "../import.h"

#include "base/bug.h"
#include "collect/import/import_lines.h"
#include "model/calls/calls.h"
#include "model/model.h"

/* All that an importer makes must pass the border of a capture. */
static int take(void *ctx, const struct event_hdr *ev)
{
	struct fuzz_import *f = ctx;

	BUG_ON(event_check(&f->check, ev, ev->size) != EVENT_PASS);
	model_add(f->m, ev);
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

void fuzz_import_begin(struct fuzz_import *f, const char *what)
{
	*f = (struct fuzz_import){.m = model_new(NULL), .import = import_new(what, "trace")};
	f->sink = (struct event_sink){take, f};
	import_begin(f->import, &f->sink);
}

void fuzz_import_tick(struct fuzz_import *f)
{
	import_tick(f->import);
}

void fuzz_import_end(struct fuzz_import *f)
{
	import_finish(f->import, NULL);
	model_finish(f->m);
	check_model(f->m);
	import_free(f->import);
	model_free(f->m);
	event_check_release(&f->check);
}

void fuzz_import(const struct import_format *format, const void *data, size_t size)
{
	struct lines_reader *r = lines_reader_new(-1, data, size); /* a read fails: the end */
	struct fuzz_import f;
	struct text line;
	void *ctx;

	fuzz_import_begin(&f, format->name);
	ctx = format->open(f.import, lines_peek(r));
	while (lines_next(r, &line) > 0) {
		format->looks(line);
		format->line(ctx, line, lines_number(r));
		fuzz_import_tick(&f);
	}
	format->end(ctx);
	format->free(ctx);
	fuzz_import_end(&f);
	lines_reader_free(r);
}
