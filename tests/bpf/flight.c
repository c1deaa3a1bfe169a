/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints what a capture tells of system calls, for the tests of the flight
 * recorder, one line each: build/tests/flight FILE
 *
 *	task TS TID TGID OP COMM	stack ID TGID FRAMES	frame FRAME NAME
 *	call TID NAME BEGIN DUR RESULT KIND FLAGS CPU STACK
 *	window BEGIN END LOST FLAGS REASON
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "collect/source.h"
#include "store/event_calls.h"

#define STR_MAX 65536
#define NR_MAX 65536

struct show {
	char *strs[STR_MAX];
	uint32_t names[NR_MAX];
};

static const char *str(const struct show *s, uint32_t id)
{
	return id < STR_MAX && s->strs[id] ? s->strs[id] : "";
}

static void show_calls(const struct show *s, const struct ev_calls *e)
{
	const struct ev_call *call = (const void *)(e + 1);

	for (uint32_t i = 0; i < e->cnt; i++, call++)
		printf("call %u %s %" PRIu64 " %" PRIu64 " %u %u %u %u %u\n", call->tid,
		       str(s, s->names[call->nr]), call->begin_ns, call->dur_ns, call->result,
		       call->kind, call->flags, call->cpu, call->stack);
}

static int put(void *ctx, const struct event_hdr *h)
{
	struct show *s = ctx;

	if (h->kind == EV_STR) {
		const struct ev_str *e = (const void *)h;

		if (e->id < STR_MAX)
			s->strs[e->id] = strndup((const char *)(e + 1), e->len);
	} else if (h->kind == EV_CALL_NAME) {
		const struct ev_call_name *e = (const void *)h;

		if (e->nr < NR_MAX)
			s->names[e->nr] = e->name;
	} else if (h->kind == EV_CALLS) {
		show_calls(s, (const void *)h);
	} else if (h->kind == EV_TASK) {
		const struct ev_task *e = (const void *)h;

		printf("task %" PRIu64 " %u %u %u %s\n", h->ts_ns, h->tid, e->tgid, e->op,
		       str(s, e->comm));
	} else if (h->kind == EV_STACK) {
		const struct ev_stack *e = (const void *)h;
		const uint64_t *frames = (const void *)(e + 1);

		printf("stack %u %u", e->id, e->tgid);
		for (uint32_t i = 0; i < e->user_cnt; i++)
			printf(" %" PRIx64, frames[e->kernel_cnt + i]);
		putchar('\n');
	} else if (h->kind == EV_FRAME) {
		const struct ev_frame *e = (const void *)h;

		printf("frame %" PRIx64 " %s\n", e->frame, str(s, e->fn));
	} else if (h->kind == EV_WINDOW) {
		const struct ev_window *e = (const void *)h;

		printf("window %" PRIu64 " %" PRIu64 " %" PRIu64 " %u %s\n", e->begin_ns, h->ts_ns,
		       e->lost_cnt, e->flags, str(s, e->reason));
	}
	return 0;
}

int main(int argc, char **argv)
{
	static struct show show;
	struct event_sink sink = {.put = put, .ctx = &show};
	struct source *src;
	struct err err = {0};
	int rc;

	if (argc != 2)
		return 2;
	rc = source_file(argv[1], &src, &err);
	while (rc >= 0 && (rc = source_step(src, &sink, &err)) > 0)
		;
	if (rc < 0) {
		fprintf(stderr, "flight: %s\n", err.msg);
		return 1;
	}
	source_free(src);
	return 0;
}
