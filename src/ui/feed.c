/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Live: the thread steps the source, whose events go to the model, the ticks
 * and the tape; after each step it builds the view `back` and exchanges it
 * with `ready` under the lock.  The lock is also held for each event, since
 * feed_write reads the tape from the other thread.
 *
 * Capture: all in the caller's thread.  `at` is the tick shown; the source is
 * read until FEED_AHEAD ticks beyond it, and from the start again to go back
 * to a tick that the model no longer keeps.
 */
#include "ui/feed.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/err.h"
#include "collect/source.h"
#include "model/model.h"
#include "store/capture.h"
#include "store/event.h"
#include "store/tape.h"
#include "ui/so_far.h"
#include "ui/ticks.h"
#include "ui/view.h"

enum {
	LIVE_WAITS = 32768,	/* kept in full: more than a second of a busy server */
	LIVE_SLICES = 4,	/* the tick shown, the open one, and room */
	FILE_TICKS = 1 << 16,	/* a capture of 18 hours */
	TABLE_HIGH = 1 << 15,	/* rows of a model table at which it is made anew */
	SLICES_AHEAD = 40000,	/* thread slices that the model is sure to keep */
};

struct feed {
	struct source *src;
	struct model *model;
	struct ticks *ticks;
	struct tape *tape;	/* live only */
	char *path;		/* capture only */
	struct so_far *so_far;
	struct view *back, *ready;
	bool has_ready;
	uint64_t at, model_ticks, renewed_cnt;
	uint64_t shown_tick;
	bool ended, failed, running, at_set;
	struct err err;
	int fd;
	pthread_t thread;
	pthread_mutex_t lock;
};

static struct model *new_model(const struct feed *f)
{
	struct model_opts opts = {.newest_waits = 1};

	if (f->tape) {
		opts.max_waits = LIVE_WAITS;
		opts.max_slices = LIVE_SLICES;
	}
	return model_new(&opts);
}

static int put(void *ctx, const struct event_hdr *ev)
{
	struct feed *f = ctx;

	pthread_mutex_lock(&f->lock);
	model_add(f->model, ev);
	ticks_add(f->ticks, ev);
	if (f->tape)
		tape_add(f->tape, ev);
	pthread_mutex_unlock(&f->lock);
	return 0;
}

static struct feed *feed_new(struct source *src, const char *path)
{
	struct feed *f = xcalloc(1, sizeof(*f));

	f->src = src;
	f->path = path ? xstrdup(path) : NULL;
	f->tape = path ? NULL : tape_new(NULL);
	f->ticks = ticks_new(path ? FILE_TICKS : 0);
	f->model = new_model(f);
	f->so_far = so_far_new();
	f->back = view_new();
	f->ready = view_new();
	f->fd = -1;
	pthread_mutex_init(&f->lock, NULL);
	return f;
}

static void build(struct feed *f, uint64_t tick)
{
	const struct tick *k = ticks_at(f->ticks, tick);
	struct view *v = f->back;

	if (!k)
		return;
	model_finish(f->model);
	so_far_judge(f->so_far, f->model, !f->tape);
	view_build(v, f->model, f->ticks, k->begin_ns, k->end_ns);
	so_far_to_view(f->so_far, v);
	pthread_mutex_lock(&f->lock);
	f->back = f->ready;
	f->ready = v;
	f->has_ready = true;
	f->shown_tick = tick;
	pthread_mutex_unlock(&f->lock);
}

static bool is_full(const struct model *m)
{
	return m->thread_cnt > TABLE_HIGH || m->res_cnt > TABLE_HIGH || m->pair_cnt > TABLE_HIGH;
}

/* A model that grew for long is made anew from what the tape still knows. */
static void renew(struct feed *f)
{
	struct event_sink sink;

	f->model_ticks++;
	if (f->model_ticks < (is_full(f->model) ? FEED_RENEW_MIN : FEED_RENEW))
		return;
	model_free(f->model);
	f->model = new_model(f);
	sink = model_sink(f->model);
	tape_replay(f->tape, &sink);
	f->model_ticks = 0;
	f->renewed_cnt++;
}

static void wake(struct feed *f)
{
	uint64_t one = 1;

	if (write(f->fd, &one, sizeof(one)) < 0)
		return; /* readable already */
}

static void *run(void *arg)
{
	struct feed *f = arg;
	struct event_sink sink = {.put = put, .ctx = f};
	uint64_t seen = 0;
	int rc;

	do {
		struct err err = {0};

		rc = source_step(f->src, &sink, &err);
		if (ticks_cnt(f->ticks) > seen) {
			seen = ticks_cnt(f->ticks);
			build(f, seen - 1);
			renew(f);
		}
		pthread_mutex_lock(&f->lock);
		f->ended = rc <= 0;
		f->failed = rc < 0;
		if (rc < 0)
			f->err = err;
		pthread_mutex_unlock(&f->lock);
		wake(f);
	} while (rc > 0);
	return NULL;
}

/* Signals are for the thread that draws. */
static int start_thread(struct feed *f)
{
	sigset_t all, was;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &was);
	rc = pthread_create(&f->thread, NULL, run, f);
	pthread_sigmask(SIG_SETMASK, &was, NULL);
	return rc;
}

struct feed *feed_live(struct source *src)
{
	struct feed *f = feed_new(src, NULL);
	int rc;

	f->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	rc = f->fd < 0 ? errno : start_thread(f);
	f->running = rc == 0;
	f->ended = f->failed = rc != 0;
	if (rc)
		err_errno(&f->err, -rc, "start the thread that reads events");
	return f;
}

int feed_file(const char *path, struct feed **ret_feed, struct err *err)
{
	struct source *src;
	int rc = source_file(path, &src, err);

	if (rc < 0)
		return rc;
	*ret_feed = feed_new(src, path);
	return 0;
}

void feed_free(struct feed *f)
{
	if (!f)
		return;
	if (f->running) {
		source_stop(f->src);
		pthread_join(f->thread, NULL);
	}
	source_free(f->src);
	model_free(f->model);
	ticks_free(f->ticks);
	tape_free(f->tape);
	so_far_free(f->so_far);
	view_free(f->back);
	view_free(f->ready);
	pthread_mutex_destroy(&f->lock);
	if (f->fd >= 0)
		close(f->fd);
	free(f->path);
	free(f);
}

int feed_fd(const struct feed *f)
{
	return f->fd;
}

/* With many threads the model keeps fewer ticks: look less far ahead. */
static uint64_t ahead_of(const struct feed *f)
{
	uint64_t threads = f->model->thread_cnt + 1, ahead = SLICES_AHEAD / threads;

	return ahead < 2 ? 2 : ahead > FEED_AHEAD ? FEED_AHEAD : ahead;
}

static int read_to(struct feed *f, uint64_t tick, struct err *err)
{
	struct event_sink sink = {.put = put, .ctx = f};
	int rc = 1;

	while (!f->ended && ticks_cnt(f->ticks) <= tick + ahead_of(f) && rc > 0) {
		rc = source_step(f->src, &sink, err);
		f->ended = rc <= 0;
		f->failed = rc < 0;
	}
	return rc < 0 ? rc : 0;
}

static int reopen(struct feed *f, struct err *err)
{
	struct source *src;
	int rc = source_file(f->path, &src, err);

	if (rc < 0)
		return rc;
	source_free(f->src);
	f->src = src;
	model_free(f->model);
	f->model = new_model(f);
	ticks_free(f->ticks);
	f->ticks = ticks_new(FILE_TICKS);
	f->ended = f->failed = false;
	return 0;
}

int feed_step(struct feed *f, int64_t by, struct err *err)
{
	int64_t to = f->at_set ? (int64_t)f->at + by : by > 0 ? by - 1 : 0;
	int rc = 0;

	if (to < 0)
		to = 0;
	if (f->at_set && (uint64_t)to < f->at)
		rc = reopen(f, err);
	if (rc == 0)
		rc = read_to(f, (uint64_t)to, err);
	if (ticks_cnt(f->ticks) == 0)
		return rc;
	f->at = (uint64_t)to;
	if (f->at >= ticks_cnt(f->ticks))
		f->at = ticks_cnt(f->ticks) - 1;
	f->at_set = true;
	build(f, f->at);
	return rc < 0 ? rc : 1;
}

bool feed_take(struct feed *f, struct view **view)
{
	uint64_t drained;
	bool got;

	if (f->fd >= 0 && read(f->fd, &drained, sizeof(drained)) < 0)
		drained = 0; /* nothing new */
	pthread_mutex_lock(&f->lock);
	got = f->has_ready;
	if (got) {
		struct view *v = f->ready;

		f->ready = *view;
		*view = v;
		f->has_ready = false;
	}
	pthread_mutex_unlock(&f->lock);
	return got;
}

struct feed_state feed_state(struct feed *f)
{
	struct feed_state s;

	pthread_mutex_lock(&f->lock);
	s = (struct feed_state){
		.live = f->tape != NULL,
		.ended = f->tape ? f->ended : f->ended && f->at + 1 >= ticks_cnt(f->ticks),
		.failed = f->failed,
		.tick = f->shown_tick,
		.tick_cnt = ticks_cnt(f->ticks),
		.renewed_cnt = f->renewed_cnt,
	};
	if (f->tape) {
		const struct tick *last = ticks_at(f->ticks, s.tick_cnt - 1);

		s.kept_bytes = tape_bytes(f->tape);
		s.kept_ns = last ? last->end_ns - tape_begin_ns(f->tape) : 0;
	}
	pthread_mutex_unlock(&f->lock);
	return s;
}

void feed_error(struct feed *f, struct err *ret_err)
{
	pthread_mutex_lock(&f->lock);
	*ret_err = f->err;
	pthread_mutex_unlock(&f->lock);
}

/* The lock keeps the tape as it is meanwhile; the source waits in put. */
int feed_write(struct feed *f, const char *path, struct err *err)
{
	struct capture *cap;
	struct event_sink sink;
	int rc, finish_rc;

	if (!f->tape)
		return err_set(err, -EINVAL, "this is a capture already: '%s'", f->path);
	if (access(path, F_OK) == 0)
		return err_set(err, -EEXIST, "'%s' exists", path);
	rc = capture_create(path, NULL, &cap, err);
	if (rc < 0)
		return rc;
	sink = capture_sink(cap);
	pthread_mutex_lock(&f->lock);
	rc = tape_replay(f->tape, &sink);
	pthread_mutex_unlock(&f->lock);
	finish_rc = capture_finish(cap, err); /* knows why a put failed */
	capture_free(cap);
	return rc < 0 ? rc : finish_rc;
}
