/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: spans_intake HTTP GRPC [TOKEN]: takes spans in at these addresses as the process of
 * heldup serve does, until standard input ends; then prints what became of them as JSON.
 * Given "busy" as a line of standard input it asks senders to wait, at "free" no more.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "intake/intake.h"
#include "serve/spans/span_engine.h"

#define RETRY_S 7

static unsigned busy(void *ctx)
{
	return *(bool *)ctx ? RETRY_S : 0;
}

static void print_slice(void *ctx, const struct live_slice *s)
{
	struct json *j = ctx;

	json_obj(j);
	json_kstr(j, "service", s->service);
	json_kstr(j, "name", s->name);
	json_ku64(j, "cnt", s->cnt);
	json_ku64(j, "failed", s->failed_cnt);
	json_ku64(j, "max_ns", s->max_ns);
	json_karr(j, "edges");
	for (uint32_t i = 0; i < s->edge_cnt; i++)
		json_str(j, s->edges[i].name);
	json_arr_end(j);
	json_obj_end(j);
}

/* Without what its parent had before it was started, which getrusage counts. */
static uint64_t peak_bytes(void)
{
	FILE *f = fopen("/proc/self/status", "re");
	unsigned long long kib = 0;
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "VmHWM: %llu", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib * 1024;
}

static void print(struct intake *in, struct span_engine *e)
{
	const struct intake_stats *st = intake_stats(in);
	const struct open_traces_stats *open = span_engine_traces(e);
	const struct {
		const char *name;
		uint64_t value;
	} counts[] = {
		{"requests", st->request_cnt}, {"spans", st->span_cnt},
		{"refused_spans", st->refused_span_cnt}, {"bad", st->bad_cnt},
		{"large", st->large_cnt}, {"unsupported", st->unsupported_cnt},
		{"denied", st->denied_cnt}, {"busy", st->busy_cnt}, {"broken", st->broken_cnt},
		{"connections", st->connection_cnt}, {"traces", open->trace_cnt},
		{"late", open->late_cnt}, {"early", open->early_cnt}, {"cut", open->cut_cnt},
		{"rootless", open->rootless_cnt},
	};
	struct buf out = {0};
	struct rusage r;
	struct json j;

	getrusage(RUSAGE_SELF, &r);
	json_init(&j, &out, JSON_COMPACT);
	json_to_file(&j, stdout);
	json_obj(&j);
	for (unsigned i = 0; i < sizeof(counts) / sizeof(*counts); i++)
		json_ku64(&j, counts[i].name, counts[i].value);
	json_kf64(&j, "cpu_s", (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
			       (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1e6);
	json_ku64(&j, "peak_bytes", peak_bytes());
	json_karr(&j, "types");
	span_engine_take(e, print_slice, &j);
	json_arr_end(&j);
	json_obj_end(&j);
	json_finish(&j);
	buf_release(&out);
}

/* False: it ended. */
static bool commands(bool *is_busy)
{
	char line[64];
	ssize_t got = read(STDIN_FILENO, line, sizeof(line) - 1);

	if (got <= 0)
		return got < 0;
	line[got] = '\0';
	*is_busy = strncmp(line, "busy", 4) == 0;
	return true;
}

int main(int argc, char **argv)
{
	const struct open_traces_opts usual = {0};
	struct span_engine *e = span_engine_new(&usual);
	bool is_busy = false;
	struct intake_opts opts = {
		.http = argc > 1 ? argv[1] : "", .grpc = argc > 2 ? argv[2] : "",
		.token = argc > 3 ? argv[3] : NULL,
		.spans = {.no_events = true, .only_route = true},
		.strings = span_engine_strings(e),
		.sink = {&is_busy, e, busy, span_engine_span},
	};
	struct err err = {0};
	struct intake *in;

	if (intake_open(&opts, &in, &err) < 0) {
		fprintf(stderr, "spans_intake: %s\n", err.msg);
		return 1;
	}
	fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);
	printf("ready\n");
	fflush(stdout);
	while (commands(&is_busy)) {
		intake_run(in, 20);
		span_engine_step(e, clock_mono_ns());
	}
	span_engine_step(e, UINT64_MAX);
	print(in, e);
	intake_close(in);
	span_engine_free(e);
	return 0;
}
