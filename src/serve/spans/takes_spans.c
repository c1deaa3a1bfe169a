/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/spans/takes_spans.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/rights.h"
#include "base/stop.h"
#include "intake/intake.h"
#include "serve/spans/span_engine.h"
#include "serve/spans/span_link.h"

#define STEP_MS 100
#define SLICE_NS (5 * NS_PER_SEC) /* a shift is to be noticed within three of them */
#define PORT_AGAIN_US 200000	  /* a stop is seen so soon while there is no port */
#define PORT_AGAIN_CNT 150	  /* and the port is asked for again after 30 s */
#define BURST_S 2		  /* so many seconds of the CPU's share may be used at once */
#define WAIT_MAX_S 30
#define MEMORY_MAX (UINT64_C(512) << 20) /* of address space: beyond all bounds it ends */

struct takes {
	const struct takes_spans_opts *opts;
	struct intake *intake;
	struct span_engine *engine;
	struct span_msg msg;
	uint64_t slice_ns;	/* when the slice began */
	uint64_t cpu_ns, wall_ns; /* up to which the CPU's share is accounted for */
	double left_ns;		/* of it; negative: over */
	uint64_t lost_cnt;	/* slices, of a keeper that takes none */
	uint64_t closed_cnt;
	int link;
};

static uint64_t cpu_used_ns(struct rusage *r)
{
	getrusage(RUSAGE_SELF, r);
	return (uint64_t)(r->ru_utime.tv_sec + r->ru_stime.tv_sec) * NS_PER_SEC +
	       (uint64_t)(r->ru_utime.tv_usec + r->ru_stime.tv_usec) * NS_PER_US;
}

/* As intake_sink's: the share of the CPU is a bucket that fills with time. */
static unsigned busy(void *ctx)
{
	struct takes *t = ctx;
	double share = t->opts->cpu, wait_s;
	struct rusage r = {0};
	uint64_t now = clock_mono_ns(), cpu = cpu_used_ns(&r);

	if (!(share > 0))
		return 0;
	t->left_ns += share * (double)(now - t->wall_ns) - (double)(cpu - t->cpu_ns);
	if (t->left_ns > share * BURST_S * 1e9)
		t->left_ns = share * BURST_S * 1e9;
	t->wall_ns = now;
	t->cpu_ns = cpu;
	if (t->left_ns >= 0)
		return 0;
	wait_s = ceil(-t->left_ns / share / 1e9);
	return wait_s < WAIT_MAX_S ? (unsigned)wait_s : WAIT_MAX_S;
}

static void send_slice(void *ctx, const struct live_slice *s)
{
	struct takes *t = ctx;

	t->msg.kind = SPAN_MSG_SLICE;
	t->msg.u.slice = *s;
	t->lost_cnt += !span_link_put(t->link, &t->msg);
}

static void send_counts(struct takes *t)
{
	const struct intake_stats *in = intake_stats(t->intake);
	const struct open_traces_stats *open = span_engine_traces(t->engine);
	const struct live_types_stats *types = span_engine_types(t->engine);
	struct rusage r = {0};

	t->msg.kind = SPAN_MSG_COUNTS;
	memset(&t->msg.u, 0, sizeof(t->msg.u));
	t->msg.u.counts = (struct span_counts){
		.spans = in->span_cnt, .requests = in->request_cnt, .bytes = in->byte_cnt,
		.refused_spans = in->refused_span_cnt, .bad_requests = in->bad_cnt,
		.large_requests = in->large_cnt, .unsupported_requests = in->unsupported_cnt,
		.denied_requests = in->denied_cnt, .busy_requests = in->busy_cnt,
		.broken_requests = in->broken_cnt, .connections = in->connection_cnt,
		.refused_connections = in->refused_connection_cnt,
		.lost_names = in->lost_name_cnt, .traces = open->trace_cnt,
		.rootless_traces = open->rootless_cnt, .early_traces = open->early_cnt,
		.open_traces = open->open_cnt, .bad_traces = types->bad_cnt,
		.left_out_traces = types->type_over_cnt, .joined_spans = open->joined_cnt,
		.late_spans = open->late_cnt, .cut_spans = open->cut_cnt,
		.lost_slices = t->lost_cnt, .closed_ports = t->closed_cnt,
		.cpu_ns = cpu_used_ns(&r),
	};
	t->msg.u.counts.rss_bytes = (uint64_t)r.ru_maxrss * 1024;
	(void)span_link_put(t->link, &t->msg);
}

static void step(struct takes *t)
{
	uint64_t now;

	intake_run(t->intake, STEP_MS);
	now = clock_mono_ns();
	span_engine_step(t->engine, now);
	if (now - t->slice_ns < SLICE_NS)
		return;
	t->slice_ns = now;
	t->msg.real_ns = clock_real_ns();
	span_engine_take(t->engine, send_slice, t);
	send_counts(t);
}

/* One port that another program has does not keep the other from being opened. */
static int open_ports(struct takes *t, struct err *err)
{
	const struct takes_spans_opts *s = t->opts;
	struct intake_opts opts = {
		.http = s->http, .grpc = s->grpc, .token = s->token,
		.spans = {.no_events = true, .only_route = true},
		.strings = span_engine_strings(t->engine),
		.sink = {.ctx = t, .span_ctx = t->engine, .busy = busy, .span = span_engine_span},
	};
	int rc = intake_open(&opts, &t->intake, err);
	if (rc != -EADDRINUSE || !*s->http || !*s->grpc)
		return rc;
	log_warn("%s", err->msg);
	t->closed_cnt = 1;
	opts.grpc = "";
	rc = intake_open(&opts, &t->intake, err);
	if (rc != -EADDRINUSE)
		return rc;
	opts.grpc = s->grpc;
	opts.http = "";
	return intake_open(&opts, &t->intake, err);
}

/* Another program may have the ports for now. */
static int wait_for_ports(struct takes *t, struct err *err)
{
	int rc, again = 0;

	while (!stop_requested()) {
		if (again-- > 0) {
			usleep(PORT_AGAIN_US);
			continue;
		}
		rc = open_ports(t, err);
		if (rc != -EADDRINUSE)
			return rc;
		log_warn("%s: no spans are taken; asked for again in 30 s", err->msg);
		again = PORT_AGAIN_CNT;
	}
	return -ECANCELED;
}

static int confine(struct err *err)
{
	const struct rlimit none = {0, 0}, memory = {MEMORY_MAX, MEMORY_MAX};
	int rc = rights_drop_child();

	setrlimit(RLIMIT_CORE, &none);
	setrlimit(RLIMIT_DATA, &memory);
	if (rc == 0)
		rc = rights_filter(RIGHTS_SERVES_CONNECTIONS);
	return rc < 0 && rc != -ENOTSUP ? err_errno(err, rc, "give rights away") : 0;
}

/* No port is wanted: its parent would only start it again. */
static int do_nothing(void)
{
	while (!stop_requested())
		usleep(PORT_AGAIN_US);
	return 0;
}

int takes_spans_run(const struct takes_spans_opts *opts, int link, struct err *err)
{
	struct takes t = {.opts = opts, .link = link};
	const struct open_traces_opts usual = {0};
	int rc;

	if (!*opts->http && !*opts->grpc)
		return do_nothing();
	t.engine = span_engine_new(&usual);
	rc = wait_for_ports(&t, err);
	if (rc == 0)
		rc = confine(err);
	t.slice_ns = t.wall_ns = clock_mono_ns();
	while (rc == 0 && !stop_requested())
		step(&t);
	intake_close(t.intake);
	span_engine_free(t.engine);
	return rc == -ECANCELED ? 0 : rc;
}
