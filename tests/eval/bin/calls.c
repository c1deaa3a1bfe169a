/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the calls of a capture and the application's functions on their
 * stacks, for rules that tests/eval compares heldup with:
 *
 *	build/tests/calls FILE
 *	fn IDX MODULE NAME		(tabs between fields)
 *	stack IDX FN FN ...		innermost first
 *	call NAME STACK NS NS ...	STACK -1: none; NS of each call
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "collect/source.h"
#include "functions/units/app_frames.h"
#include "model/calls/calls.h"
#include "model/model.h"

static struct model *read_model(const char *path, struct err *err)
{
	struct model *m = model_new(NULL);
	struct event_sink sink = model_sink(m);
	struct source *src;
	int code = source_file(path, &src, err);

	if (code >= 0) {
		while ((code = source_step(src, &sink, err)) > 0)
			;
		source_free(src);
	}
	if (code < 0) {
		model_free(m);
		return NULL;
	}
	model_finish(m);
	return m;
}

static void print_stacks(const struct model *m, const struct appfns *app)
{
	for (size_t i = 0; i < app->fn_cnt; i++)
		printf("fn\t%zu\t%s\t%s\n", i, app->fns[i].module, app->fns[i].name);
	for (size_t i = 0; i < m->stack_cnt; i++) {
		if (!app->stacks[i].cnt)
			continue;
		printf("stack\t%zu", i);
		for (uint32_t k = 0; k < app->stacks[i].cnt; k++)
			printf("\t%u", app->stacks[i].frames[k].fn);
		putchar('\n');
	}
}

static int by_stack(const void *a, const void *b)
{
	const struct call *x = *(const struct call *const *)a, *y = *(const struct call *const *)b;

	if (x->nr != y->nr)
		return x->nr < y->nr ? -1 : 1;
	return x->stack < y->stack ? -1 : x->stack > y->stack;
}

static void print_calls(const struct model *m, const struct model_calls *c)
{
	const struct call **order = malloc((c->cnt + 1) * sizeof(struct call *));

	if (!order)
		abort();
	for (size_t i = 0; i < c->cnt; i++)
		order[i] = &c->calls[i];
	qsort(order, c->cnt, sizeof(*order), by_stack);
	for (size_t i = 0; i < c->cnt; i++) {
		if (!i || by_stack(&order[i - 1], &order[i]))
			printf("%scall\t%s\t%" PRId64, i ? "\n" : "",
			       model_call_name(m, order[i]->nr),
			       order[i]->stack == NO_IDX ? -1 : (int64_t)order[i]->stack);
		printf("\t%" PRIu64, order[i]->dur_ns);
	}
	putchar('\n');
	free(order);
}

int main(int argc, char **argv)
{
	struct err err = {0};
	struct arena arena = {0};
	struct model *m;

	if (argc != 2) {
		fprintf(stderr, "usage: calls FILE\n");
		return 2;
	}
	m = read_model(argv[1], &err);
	if (!m) {
		fprintf(stderr, "calls: %s\n", err.msg);
		return 1;
	}
	print_stacks(m, appfns_make(m, &arena));
	print_calls(m, m->calls);
	arena_release(&arena);
	model_free(m);
	return 0;
}
