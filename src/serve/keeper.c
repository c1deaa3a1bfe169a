/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/keeper.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/rights.h"
#include "base/stop.h"
#include "base/path_limit.h"
#include "serve/ask.h"
#include "serve/keep/db.h"
#include "serve/http.h"
#include "serve/trouble.h"
#include "serve/link.h"
#include "serve/settings.h"
#include "serve/spans/kept_types.h"
#include "serve/spans/span_link.h"
#include "serve/spans/span_trouble.h"

#define STEP_MS 200
#define TELL_NS (5 * NS_PER_SEC)   /* services' rows: how old a list may be */
#define TIDY_NS (60 * NS_PER_SEC)

struct keeper {
	int64_t clock_off_ns;	/* from CLOCK_MONOTONIC to CLOCK_REALTIME at the last step */
	const struct settings *settings;
	struct db *db;
	struct findings *findings;
	struct http *http;	/* NULL: nothing is served */
	struct ask *ask;
	struct link_cost cost;
	struct kept_types *types;
	struct span_troubles *troubles;
	struct span_counts spans;
	uint64_t dropped_cnt, bad_cnt, tell_ns, tidy_ns, start_ns;
	int link, spans_link;
};

static void take(struct keeper *k, const struct link_msg *msg)
{
	k->dropped_cnt = msg->dropped_cnt;
	switch (msg->kind) {
	case LINK_SERVICE:
		findings_service(k->findings, msg->service, &msg->u.service);
		break;
	case LINK_SECOND:
		findings_second(k->findings, msg->service, &msg->u.second, msg->real_ns);
		break;
	case LINK_CAPTURED:
		if (msg->u.captured.finding)
			findings_captured(k->findings, &msg->u.captured);
		else
			ask_captured(k->ask, &msg->u.captured,
				     findings_name(k->findings, msg->service));
		break;
	case LINK_COST:
		k->cost = msg->u.cost;
		break;
	default:
		k->bad_cnt++;
	}
}

static void take_spans(struct keeper *k)
{
	struct span_msg msg;
	int rc;

	while ((rc = span_link_get(k->spans_link, &msg)) != 0) {
		if (rc == -EBADMSG)
			k->bad_cnt++;
		else if (rc < 0)
			return;
		else if (msg.kind == SPAN_MSG_SLICE)
			kept_types_slice(k->types, &msg.u.slice, clock_real_ns());
		else
			k->spans = msg.u.counts;
	}
}

static void take_all(struct keeper *k)
{
	struct link_msg msg;
	int rc;

	while ((rc = link_get(k->link, &msg)) != 0) {
		if (rc == 1)
			take(k, &msg);
		else if (rc == -EBADMSG)
			k->bad_cnt++;
		else
			return;
	}
}

static uint64_t cpu_ns(int who)
{
	struct rusage r = {0};

	getrusage(who, &r);
	return (uint64_t)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) * NS_PER_SEC +
	       (uint64_t)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) * NS_PER_US;
}

/* Puts what heldup serve costs and left out into the store, for `heldup` and the page. */
static void tell_self(struct keeper *k)
{
	const struct link_cost *c = &k->cost;
	struct rusage own = {0};
	uint64_t lost_posts;

	getrusage(RUSAGE_SELF, &own);
	db_fact_put(k->db, "sent_webhooks", findings_posted(k->findings, &lost_posts));
	db_fact_put(k->db, "lost_webhooks", lost_posts);
	db_fact_put(k->db, "now_ns", clock_real_ns());
	db_fact_put(k->db, "since_ns", c->since_ns);
	db_fact_put(k->db, "watch_cpu_ns", c->cpu_ns);
	db_fact_put(k->db, "bpf_cpu_ns", c->bpf_ns);
	db_fact_put(k->db, "keep_cpu_ns", cpu_ns(RUSAGE_SELF));
	db_fact_put(k->db, "judge_cpu_ns", cpu_ns(RUSAGE_CHILDREN));
	db_fact_put(k->db, "memory_bytes", c->rss_bytes + k->spans.rss_bytes +
		    (uint64_t)own.ru_maxrss * 1024);
	db_fact_put(k->db, "map_bytes", c->map_bytes);
	db_fact_put(k->db, "events", c->event_cnt);
	db_fact_put(k->db, "lost_events", c->lost_cnt);
	db_fact_put(k->db, "lost_messages", k->dropped_cnt + k->bad_cnt);
	db_fact_put(k->db, "left_out_services", c->services_over_cnt);
	db_fact_put(k->db, "left_out_processes", c->processes_over_cnt);
	db_fact_put(k->db, "left_out_conversations", c->ends_over_cnt);
	db_fact_put(k->db, "refused_http_requests", http_refused(k->http));
	db_fact_put(k->db, "refused_questions", ask_refused(k->ask));
	db_fact_put(k->db, "lost_announcements", findings_unannounced(k->findings));
	db_fact_put(k->db, "refused_findings", findings_refused(k->findings));
}

/* Puts into the store what was taken of spans, and what was not and why. */
static void tell_spans(struct keeper *k)
{
	const struct span_counts *c = &k->spans;
	const struct {
		const char *name;
		uint64_t value;
	} facts[] = {
		{"spans", c->spans}, {"span_requests", c->requests}, {"span_bytes", c->bytes},
		{"span_connections", c->connections}, {"span_cpu_ns", c->cpu_ns},
		{"span_traces", c->traces}, {"span_traces_open", c->open_traces},
		{"span_traces_rootless", c->rootless_traces},
		{"span_traces_early", c->early_traces}, {"spans_joined", c->joined_spans},
		{"refused_spans", c->refused_spans}, {"refused_span_requests", c->bad_requests},
		{"refused_span_requests_too_large", c->large_requests},
		{"refused_span_requests_unsupported", c->unsupported_requests},
		{"refused_span_requests_without_token", c->denied_requests},
		{"refused_span_requests_for_now", c->busy_requests},
		{"refused_span_connections", c->refused_connections},
		{"lost_span_requests", c->broken_requests}, {"lost_span_names", c->lost_names},
		{"lost_span_slices", c->lost_slices}, {"lost_late_spans", c->late_spans},
		{"lost_spans_over_limit", c->cut_spans}, {"lost_span_traces", c->bad_traces},
		{"left_out_span_traces", c->left_out_traces},
		{"left_out_request_types", kept_types_left_out(k->types)},
		{"left_out_span_ports", c->closed_ports},
		{"left_out_span_findings", span_troubles_left_out(k->troubles)},
	};

	for (unsigned i = 0; i < sizeof(facts) / sizeof(*facts); i++)
		db_fact_put(k->db, facts[i].name, facts[i].value);
}

/* A clock that is slewed goes less wrong in a step; one that is set may go anywhere. */
#define CLOCK_SET_NS ((int64_t)NS_PER_SEC)

static void look_at_clock(struct keeper *k)
{
	int64_t offset = (int64_t)(clock_real_ns() - clock_mono_ns());
	int64_t by_ns = k->clock_off_ns ? offset - k->clock_off_ns : 0;

	k->clock_off_ns = offset;
	if (by_ns > CLOCK_SET_NS || by_ns < -CLOCK_SET_NS)
		findings_clock_set(k->findings, by_ns);
}

static void step(struct keeper *k)
{
	uint64_t now = clock_mono_ns();

	look_at_clock(k);
	db_begin(k->db);
	take_all(k);
	take_spans(k);
	findings_step(k->findings);
	ask_step(k->ask);
	if (now >= k->tell_ns) {
		k->tell_ns = now + TELL_NS;
		findings_tell(k->findings);
		tell_self(k);
		tell_spans(k);
		kept_types_put(k->types, clock_real_ns());
	}
	db_commit(k->db);
	if (now >= k->tidy_ns) {
		k->tidy_ns = now + TIDY_NS;
		findings_tidy(k->findings, k->settings->keep_bytes, k->settings->keep_ns);
	}
}

/* All it may do from here on: its own directory, its socket, the pages' socket. */
static int confine(const struct settings *settings, struct err *err)
{
	struct path_limit *w = path_limit_new(false);
	int rc = w ? path_limit_allow(w, settings->state) : 0;

	if (rc == 0 && w)
		rc = path_limit_allow(w, "/dev/null");
	rights_bound();
	if (rc == 0)
		rc = rights_drop_child();
	if (rc == 0 && w)
		rc = path_limit_apply(w);
	path_limit_close(&w);
	return rc < 0 ? err_errno(err, rc, "give rights away") : 0;
}

static void send_order(void *ctx, uint32_t service, const struct link_order *order)
{
	struct keeper *k = ctx;
	struct link_msg msg = {.kind = LINK_ORDER, .service = service, .u.order = *order};

	if (!link_put(k->link, &msg))
		k->dropped_cnt++;
}

static void say(void *ctx, const char *event, const struct db_finding *f)
{
	if (strcmp(event, "joins") == 0)
		findings_join(ctx, f->id, f->reason);
	else
		findings_say(ctx, event, f);
}

static void send_ask(void *ctx, const struct link_ask *who)
{
	struct keeper *k = ctx;
	struct link_msg msg = {.kind = LINK_ASK, .u.ask = *who};

	if (!link_put(k->link, &msg))
		k->dropped_cnt++;
}

int keeper_run(const struct settings *settings, const struct links *links, struct err *err)
{
	struct keeper k = {.settings = settings, .link = links->watch,
			   .spans_link = links->spans, .start_ns = clock_real_ns()};
	struct pollfd fds[3] = {{.fd = k.link, .events = POLLIN}, {.events = POLLIN},
				{.fd = k.spans_link, .events = POLLIN}};
	int rc = ask_open(settings->state, send_ask, &k, &k.ask, err);

	if (rc == 0)
		rc = confine(settings, err);
	if (rc == 0)
		rc = db_open(settings->state, true, &k.db, err);
	if (rc == 0)
		rc = http_open(settings, k.db, &k.http, err);
	if (rc < 0) {
		ask_close(k.ask);
		db_close(k.db);
		return rc;
	}
	fds[1].fd = http_fd(k.http);
	db_close_open(k.db, k.start_ns);
	k.findings = findings_new(settings, k.db, send_order, &k);
	k.troubles = span_troubles_new(k.db, say, k.findings);
	k.types = kept_types_new(k.db, k.troubles, k.start_ns);
	while (!stop_requested()) {
		poll(fds, 3, STEP_MS);
		step(&k);
		http_run(k.http);
	}
	db_close_open(k.db, clock_real_ns());
	http_close(k.http);
	ask_close(k.ask);
	findings_free(k.findings);
	kept_types_free(k.types);
	span_troubles_free(k.troubles);
	db_close(k.db);
	return 0;
}
