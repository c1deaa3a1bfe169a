/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/watcher.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/stop.h"
#include "base/vec.h"
#include "base/path_limit.h"
#include "collect/select.h"
#include "collect/source.h"
#include "serve/ask.h"
#include "serve/frozen.h"
#include "serve/link.h"
#include "serve/seconds.h"
#include "serve/services.h"
#include "serve/settings.h"
#include "store/event.h"

#define TAPE_BYTES (32u << 20) /* a minute of 10,000 waits a second, packed, three times over */
#define LOOK_NS (5 * NS_PER_SEC) /* how late a new service may be seen */
/*
 * The kernel side has room for some thousands of conversations and forgets none: full, it
 * begins anew, which takes a second or two and the minute before.  Not all the time.
 */
#define WORN_MIN_NS (600 * NS_PER_SEC)
#define WAIT_MS 1000
#define PIDS_FIRST 1024 /* as many as a selection takes; others are added */
#define ORDERS_MAX 32

struct order {
	uint64_t finding, due_ns;
	uint32_t service, seq;
};

struct watcher {
	const struct settings *settings;
	int link;
	struct services *services;
	struct seconds *seconds;
	struct frozen *frozen;
	struct source *source;
	VEC(int32_t) pids;	/* found, not watched yet */
	VEC(struct order) orders;
	uint64_t dropped_cnt, look_ns, since_ns, since_real_ns;
	struct ev_self self;
	uint64_t lost_cnt;
	bool is_gone;		/* the keeper */
	bool is_worn;		/* the tables of the kernel side are full */
};

static void put(struct watcher *w, struct link_msg *msg)
{
	msg->real_ns = clock_real_ns();
	msg->dropped_cnt = w->dropped_cnt;
	w->dropped_cnt += link_put(w->link, msg) ? 0 : 1;
}

static void found(void *ctx, uint32_t tgid)
{
	struct watcher *w = ctx;

	vec_push(&w->pids, (int32_t)tgid);
}

static void tell_services(struct watcher *w)
{
	for (uint32_t i = 0; i < w->services->cnt; i++) {
		struct service *s = &w->services->items[i];
		struct link_msg msg = {.kind = LINK_SERVICE, .service = i};

		if (!s->has_changed)
			continue;
		s->has_changed = false;
		snprintf(msg.u.service.name, sizeof(msg.u.service.name), "%s", s->name);
		services_describe(s, msg.u.service.what, sizeof(msg.u.service.what));
		msg.u.service.pid = s->pid;
		put(w, &msg);
	}
}

static void tell_cost(struct watcher *w)
{
	struct link_msg msg = {
		.kind = LINK_COST,
		.u.cost = {
			.cpu_ns = w->self.cpu_ns, .bpf_ns = w->self.bpf_ns,
			.rss_bytes = w->self.rss_bytes, .map_bytes = w->self.map_bytes,
			.event_cnt = w->self.events, .lost_cnt = w->lost_cnt,
			.since_ns = w->since_real_ns,
			.services_over_cnt = w->services->over_cnt,
			.ends_over_cnt = seconds_left_out(w->seconds),
			.processes_over_cnt = w->services->processes_over_cnt,
		},
	};

	put(w, &msg);
}

static void tell_second(struct watcher *w)
{
	for (uint32_t i = 0; i < w->services->cnt; i++) {
		struct link_msg msg = {.kind = LINK_SECOND, .service = i};

		seconds_take(w->seconds, i, &msg.u.second);
		put(w, &msg);
	}
	tell_cost(w);
}

static void take_loss(struct watcher *w, const struct ev_loss *loss)
{
	w->lost_cnt = 0;
	for (unsigned i = 0; i < LOSS_CNT; i++)
		w->lost_cnt += loss_spares_sums(i) ? 0 : loss->cnt[i];
	w->is_worn = loss->cnt[LOSS_END_MAP] && loss->h.ts_ns - w->since_ns > WORN_MIN_NS;
}

static int watcher_put(void *ctx, const struct event_hdr *ev)
{
	struct watcher *w = ctx;

	seconds_put(w->seconds, ev);
	frozen_put(w->frozen, ev);
	if (ev->kind == EV_SELF)
		w->self = *(const struct ev_self *)ev;
	else if (ev->kind == EV_LOSS)
		take_loss(w, (const struct ev_loss *)ev);
	else if (ev->kind == EV_TICK)
		tell_second(w);
	return 0;
}

static int asked_for(const struct watcher *w, const struct link_ask *who)
{
	const struct services *s = w->services;
	char what[LINK_TEXT_LEN];

	if (!who->pid && !who->port && !*who->name)
		return s->cnt == 1 ? 0 : SERVICES_NONE;
	for (uint32_t i = 0; i < s->cnt; i++) {
		services_describe(&s->items[i], what, sizeof(what));
		if (ask_matches(who, s->items[i].name, what))
			return (int)i;
	}
	return who->pid ? services_of(s, who->pid) : SERVICES_NONE;
}

/* A person waits: the window as it is. */
static void take_ask(struct watcher *w, const struct link_ask *who)
{
	int at = asked_for(w, who);
	struct link_msg msg = {.kind = LINK_CAPTURED,
			       .u.captured = {.code = -ENOENT, .seq = who->seq}};

	if (at != SERVICES_NONE && w->orders.cnt < ORDERS_MAX)
		vec_push(&w->orders, ((struct order){.service = (uint32_t)at, .seq = who->seq,
						     .due_ns = clock_mono_ns()}));
	else
		put(w, &msg);
}

static void take_orders(struct watcher *w)
{
	struct link_msg msg;
	int rc;

	while ((rc = link_get(w->link, &msg)) == 1) {
		struct order o = {.finding = msg.u.order.finding, .service = msg.service,
				  .due_ns = clock_mono_ns() + msg.u.order.after_ns};

		if (msg.kind == LINK_ASK)
			take_ask(w, &msg.u.ask);
		else if (msg.kind == LINK_ORDER && msg.service < w->services->cnt && o.finding &&
			 w->orders.cnt < ORDERS_MAX)
			vec_push(&w->orders, o);
	}
	w->is_gone |= rc == -EPIPE;
}

static void write_one(struct watcher *w, const struct order *o)
{
	struct link_msg msg = {.kind = LINK_CAPTURED, .service = o->service,
			       .u.captured = {.finding = o->finding, .seq = o->seq}};
	struct err err = {0};
	char path[4096];

	if (o->finding)
		snprintf(path, sizeof(path), WATCHER_CAPTURE, w->settings->state,
			 (unsigned long long)o->finding);
	else
		snprintf(path, sizeof(path), ASK_CAPTURE, w->settings->state);
	msg.u.captured.code = frozen_write(w->frozen, o->service, path, &msg.u.captured.bytes,
					   &err);
	if (msg.u.captured.code < 0 && o->finding)
		log_warn("finding %llu has no capture: %s", (unsigned long long)o->finding,
			 err.msg);
	msg.u.captured.window_ns = frozen_end_ns(w->frozen) - frozen_begin_ns(w->frozen);
	msg.u.captured.until_ns = clock_real_ns() - (clock_mono_ns() - frozen_end_ns(w->frozen));
	put(w, &msg);
}

/* Those that are due, once the tick before had all threads. */
static void write_due(struct watcher *w)
{
	uint64_t now = clock_mono_ns();
	size_t left = 0;
	bool due = false;

	for (size_t i = 0; i < w->orders.cnt; i++) {
		struct order o = w->orders.items[i];

		due |= now >= o.due_ns;
		if (now >= o.due_ns && frozen_is_full(w->frozen))
			write_one(w, &o);
		else
			w->orders.items[left++] = o;
	}
	w->orders.cnt = left;
	if (due && left)
		source_full(w->source);
}

static void look(struct watcher *w)
{
	uint64_t now = clock_mono_ns();

	if (now < w->look_ns)
		return;
	w->look_ns = now + LOOK_NS;
	services_find(w->services, found, w);
	for (size_t i = 0; w->source && i < w->pids.cnt; i++)
		source_add(w->source, (uint32_t)w->pids.items[i]);
	if (w->source)
		vec_clear(&w->pids);
	tell_services(w);
}

static int watch_open(struct watcher *w, struct err *err)
{
	struct select_opts select = {.pids = {.items = w->pids.items, .cnt = w->pids.cnt}};
	CLEANUP(path_limit_close) struct path_limit *writes = path_limit_new(true);
	struct watch_opts opts = {
		.select = &select, .cmdline = "heldup serve", .stacks = 1, .blocking = 1,
		.goes_on = 1, .writes = writes,
		.max_cost_ppm = (uint32_t)(w->settings->budget * 1e6),
	};
	size_t over = w->pids.cnt > PIDS_FIRST ? w->pids.cnt - PIDS_FIRST : 0;
	int rc = writes ? path_limit_allow(writes, w->settings->state) : 0;

	if (writes)
		path_limit_allow_host(writes);
	if (rc < 0)
		return err_errno(err, rc, "limit writing to '%s'", w->settings->state);
	select.pids.cnt -= over;
	rc = source_live(&opts, &w->source, err);
	for (size_t i = PIDS_FIRST; rc == 0 && i < w->pids.cnt; i++)
		source_add(w->source, (uint32_t)w->pids.items[i]);
	vec_clear(&w->pids);
	return rc;
}

/* Until there is a service to watch. */
static void wait_for_one(struct watcher *w)
{
	struct pollfd fds[2] = {{.fd = stop_fd(), .events = POLLIN},
				{.fd = w->link, .events = POLLIN}};

	for (;;) {
		look(w);
		if (w->pids.cnt || stop_requested() || w->is_gone)
			return;
		tell_cost(w);
		poll(fds, 2, WAIT_MS);
		take_orders(w);
	}
}

static int watch(struct watcher *w, struct err *err)
{
	struct event_sink sink = {.put = watcher_put, .ctx = w};
	int more = watch_open(w, err);

	w->since_real_ns = clock_real_ns();
	w->since_ns = clock_mono_ns();
	while (more >= 0 && !stop_requested() && !w->is_gone && !w->is_worn) {
		more = source_step(w->source, &sink, err);
		if (more == 0)
			return 0;
		take_orders(w);
		look(w);
		write_due(w);
	}
	return more < 0 ? more : 0;
}

int watcher_run(const struct settings *settings, const struct links *links, struct err *err)
{
	struct watcher w = {.settings = settings, .link = links->watch};
	int rc = 0;

	w.services = services_new(settings->services, settings->service_cnt);
	w.seconds = seconds_new(w.services);
	w.frozen = frozen_new(TAPE_BYTES, settings->window_ns, w.services);
	wait_for_one(&w);
	if (w.pids.cnt && !stop_requested())
		rc = watch(&w, err);
	source_free(w.source);
	frozen_free(w.frozen);
	seconds_free(w.seconds);
	services_free(w.services);
	vec_release(&w.pids);
	vec_release(&w.orders);
	return rc;
}
