/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/spans/span_engine.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/vec.h"
#include "intake/intake.h"
#include "spans/fold.h"

/*
 * Strings: a host's services have some thousand names.  Ids in names are folded;
 * what is left of high cardinality fills the table, and it is made anew.
 */
#define STRINGS_MAX (1 << 17)
#define STRINGS_FULL (STRINGS_MAX / 2)

struct span_engine {
	struct strtab strings;
	struct fold *fold;
	struct open_traces *open;
	struct live_types *types;
	uint64_t now_ns;
	struct strtab kept;	/* while strings are made anew */
	VEC(uint32_t) kept_ids;	/* by old id: the new one, 0: not kept yet */
};

static void take_trace(void *ctx, const struct trace *trace)
{
	struct span_engine *e = ctx;

	live_types_add(e->types, trace);
}

struct span_engine *span_engine_new(const struct open_traces_opts *opts)
{
	struct span_engine *e = xcalloc(1, sizeof(*e));
	struct open_traces_opts mine = *opts;

	mine.ctx = e;
	mine.trace = take_trace;
	e->strings.max_cnt = STRINGS_MAX;
	e->fold = fold_new(NULL, &e->strings);
	e->open = open_traces_new(&mine);
	e->types = live_types_new(&e->strings);
	return e;
}

void span_engine_free(struct span_engine *e)
{
	if (!e)
		return;
	fold_free(e->fold);
	open_traces_free(e->open);
	live_types_free(e->types);
	strtab_release(&e->strings);
	vec_release(&e->kept_ids);
	free(e);
}

struct strtab *span_engine_strings(struct span_engine *e)
{
	return &e->strings;
}

int span_engine_span(void *ctx, const struct trace_id *trace, const struct span *span,
		     const struct attr *attrs, const struct span_ref *refs)
{
	struct span_engine *e = ctx;
	struct span folded = *span;

	(void)refs;
	(void)fold_span(e->fold, &folded, attrs);
	return open_traces_add(e->open, trace, &folded, e->now_ns) ? 0 : INTAKE_REFUSED;
}

void span_engine_step(struct span_engine *e, uint64_t now_ns)
{
	e->now_ns = now_ns;
	open_traces_step(e->open, now_ns);
}

static uint32_t keep_string(void *ctx, uint32_t id)
{
	struct span_engine *e = ctx;
	uint32_t *to = &e->kept_ids.items[id];

	if (id && !*to)
		*to = strtab_add(&e->kept, strtab_str(&e->strings, id));
	return *to;
}

/* Only the texts of traces that are open are still needed. */
static void renew_strings(struct span_engine *e)
{
	live_types_forget(e->types);
	fold_free(e->fold);
	e->kept = (struct strtab){.max_cnt = STRINGS_MAX};
	vec_clear(&e->kept_ids);
	for (uint32_t i = 0; i <= e->strings.cnt; i++)
		vec_push(&e->kept_ids, 0);
	open_traces_rename(e->open, keep_string, e);
	strtab_release(&e->strings);
	e->strings = e->kept;
	e->fold = fold_new(NULL, &e->strings);
}

void span_engine_take(struct span_engine *e,
		      void (*slice)(void *ctx, const struct live_slice *s), void *ctx)
{
	live_types_take(e->types, slice, ctx);
	if (e->strings.cnt > STRINGS_FULL)
		renew_strings(e);
}

const struct open_traces_stats *span_engine_traces(struct span_engine *e)
{
	return open_traces_stats(e->open);
}

const struct live_types_stats *span_engine_types(const struct span_engine *e)
{
	return live_types_stats(e->types);
}
