/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which tracepoints are on.  A thread asks heldup and waits for its answer until something
 * changes; each answer is a lease.  When a lease ends without a new one, all are off.
 *
 * A request copies the state of its type where it begins.  The words `on` of the tracepoints
 * only keep those out that are on for nobody: they are set for the present state and for those
 * before, which requests in flight began with.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "internal.h"

enum {
	WAIT_MS = 2000,		/* heldup answers by then, whether something changed or not */
	SLACK_MS = 1000,
	AGAIN_MS = 500,		/* nobody there: ask again after so long */
	PATH_MAX_LEN = 768,
};

struct heldup_point *points[HELDUP_POINTS_MAX];
uint32_t point_cnt;
struct settings settings;

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct state states[STATES];	/* [0] the present one */

static pthread_t asker;
static pthread_mutex_t end_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t end_cond;
static bool ending, running;

uint64_t text_hash(const char *text)
{
	uint64_t h = 0xcbf29ce484222325ull;

	while (*text)
		h = (h ^ (unsigned char)*text++) * 0x100000001b3ull;
	return h;
}

/* ---- states */

static const struct state *state_of(uint64_t epoch)
{
	for (int i = 0; epoch && i < STATES; i++)
		if (states[i].epoch == epoch)
			return &states[i];
	return &states[0];
}

bool state_of_type(uint64_t type_hash, uint64_t epoch, struct type_state *ret, uint64_t *ret_epoch)
{
	const struct state *s;
	bool found = false;

	pthread_rwlock_rdlock(&lock);
	s = state_of(epoch);
	for (uint32_t i = 0; i < s->type_cnt && !found; i++) {
		found = s->types[i].hash == type_hash;
		if (found)
			*ret = s->types[i];
	}
	*ret_epoch = s->epoch;
	pthread_rwlock_unlock(&lock);
	return found;
}

bool state_of_name(const char *name, struct type_state *ret, uint64_t *ret_epoch)
{
	return state_of_type(text_hash(name), 0, ret, ret_epoch);
}

static uint32_t words_set(void)
{
	uint32_t on_cnt = 0;

	for (uint32_t p = 0; p < point_cnt; p++) {
		bool now = false, before = false;

		for (int i = 0; i < STATES; i++) {
			for (uint32_t t = 0; t < states[i].type_cnt; t++) {
				const struct type_state *ts = &states[i].types[t];
				bool on = ts->all || (ts->on[p / 64] >> (p % 64) & 1);

				now |= on && i == 0;
				before |= on;
			}
		}
		on_cnt += now;
		__atomic_store_n(&points[p]->on, before, __ATOMIC_RELAXED);
	}
	__atomic_store_n(&heldup_any, states[0].type_cnt != 0, __ATOMIC_RELAXED);
	return on_cnt;
}

static uint32_t on_cnt;

void state_set(const struct state *next)
{
	pthread_rwlock_wrlock(&lock);
	if (!next) {
		memset(states, 0, sizeof(states));
	} else if (next->epoch != states[0].epoch) {
		memmove(&states[1], &states[0], (STATES - 1) * sizeof(states[0]));
		states[0] = *next;
		if (!next->type_cnt) /* the end of a search: nothing in flight is waited for */
			memset(&states[1], 0, (STATES - 1) * sizeof(states[0]));
	} else {
		states[0] = *next;
	}
	on_cnt = words_set();
	pthread_rwlock_unlock(&lock);
}

/* ---- tracepoints */

int heldup_add_points(struct heldup_point *from, struct heldup_point *to)
{
	int err = 0;

	pthread_rwlock_wrlock(&lock);
	for (struct heldup_point *p = from; from && p < to; p++) {
		if (p->idx)
			continue;
		if (point_cnt == HELDUP_POINTS_MAX) {
			tally_add(&tally.points_dropped, 1);
			err = -E2BIG;
			continue;
		}
		points[point_cnt] = p;
		p->idx = ++point_cnt;
	}
	pthread_rwlock_unlock(&lock);
	return err;
}

void heldup_count(struct heldup_counts *ret)
{
	*ret = (struct heldup_counts){
		.recorded_cnt = tally_get(&tally.recorded),
		.exported_cnt = tally_get(&tally.exported),
		.dropped_cnt = tally_get(&tally.dropped),
		.key_dropped_cnt = tally_get(&tally.keys_dropped),
		.event_dropped_cnt = tally_get(&tally.events_dropped),
		.point_dropped_cnt = tally_get(&tally.points_dropped),
		.span_ns = tally.span_ns};
	pthread_rwlock_rdlock(&lock);
	ret->on_cnt = on_cnt;
	ret->point_cnt = point_cnt;
	ret->epoch = states[0].epoch;
	pthread_rwlock_unlock(&lock);
}

/* ---- asking */

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static bool is_ending(void)
{
	bool yes;

	pthread_mutex_lock(&end_lock);
	yes = ending;
	pthread_mutex_unlock(&end_lock);
	return yes;
}

static void pause_ms(unsigned ms)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	ts.tv_sec += ms / 1000;
	ts.tv_nsec += (long)(ms % 1000) * 1000000;
	if (ts.tv_nsec >= 1000000000) {
		ts.tv_sec++;
		ts.tv_nsec -= 1000000000;
	}
	pthread_mutex_lock(&end_lock);
	if (!ending)
		pthread_cond_timedwait(&end_cond, &end_lock, &ts);
	pthread_mutex_unlock(&end_lock);
}

/* %XX for all but letters, digits and -._ */
static void escape(char *out, size_t cap, const char *from)
{
	size_t len = 0;

	for (; *from && len + 4 < cap; from++) {
		unsigned char c = (unsigned char)*from;

		if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		    strchr("-._", c))
			out[len++] = (char)c;
		else
			len += (size_t)snprintf(out + len, cap - len, "%%%02X", c);
	}
	out[len] = '\0';
}

static void path_make(char *out, size_t cap)
{
	char service[3 * SERVICE_MAX], instance[3 * SERVICE_MAX];
	struct heldup_counts c;

	heldup_count(&c);
	escape(service, sizeof(service), settings.service);
	escape(instance, sizeof(instance), settings.instance);
	snprintf(out, cap,
		 "/heldup/v1/switches?service=%s&instance=%s&epoch=%llu&on=%u&points=%u"
		 "&queue=%.3f&recorded=%llu&exported=%llu&dropped=%llu&requests=%llu&traced=%llu"
		 "&span_ns=%.0f&own_ns=%llu&ask_ns=%llu&cpu_ns=%llu&wait_ms=%d",
		 service, instance, (unsigned long long)c.epoch, c.on_cnt, c.point_cnt,
		 (double)queue_cnt() / HELDUP_QUEUE, (unsigned long long)c.recorded_cnt,
		 (unsigned long long)c.exported_cnt, (unsigned long long)c.dropped_cnt,
		 (unsigned long long)tally_get(&tally.request_cnt),
		 (unsigned long long)tally_get(&tally.traced_cnt), c.span_ns,
		 (unsigned long long)tally_get(&tally.own_ns),
		 (unsigned long long)tally_get(&tally.ask_ns),
		 (unsigned long long)clock_ns(CLOCK_PROCESS_CPUTIME_ID), WAIT_MS);
}

/* One question; true: there is a lease now. */
static bool ask(struct http_reply *reply, struct state *next, struct terms *ret)
{
	char path[PATH_MAX_LEN];

	path_make(path, sizeof(path));
	return http_ask("GET", path, NULL, 0, WAIT_MS + SLACK_MS, reply) == 0 &&
	       reply->status == 200 && state_parse(reply->body, reply->len, next, ret) == 0;
}

static void own_count(uint64_t *before_ns)
{
	uint64_t ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	tally_add(&tally.ask_ns, ns - *before_ns);
	*before_ns = ns;
}

/* A lease counts from its answer.  One that could end while the next question waits has ended. */
static void asker_loop(struct http_reply *reply, struct state *next)
{
	uint64_t until_ns = 0, cpu_ns = 0;

	while (!is_ending()) {
		struct terms terms = {.again_ms = AGAIN_MS};

		if (ask(reply, next, &terms)) {
			until_ns = clock_ns(CLOCK_MONOTONIC) + terms.lease_ms * UINT64_C(1000000);
			state_set(next);
		} else if (until_ns && clock_ns(CLOCK_MONOTONIC) + SLACK_MS * UINT64_C(1000000) >=
				       until_ns) {
			state_set(NULL);
			until_ns = 0;
		}
		own_count(&cpu_ns);
		if (terms.again_ms)
			pause_ms(terms.again_ms);
	}
	state_set(NULL);
}

static void *asker_run(void *arg)
{
	struct http_reply reply = {.body = malloc(ANSWER_MAX), .cap = ANSWER_MAX};
	struct state *next = calloc(1, sizeof(*next));

	(void)arg;
	if (reply.body && next)
		asker_loop(&reply, next);
	http_end();
	free(reply.body);
	free(next);
	return NULL;
}

/* Another thread may have held the lock when the process forked. */
void switches_forget(void)
{
	pthread_rwlock_init(&lock, NULL);
	running = false;
	state_set(NULL);
}

int switches_begin(void)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&end_cond, &attr);
	pthread_condattr_destroy(&attr);
	ending = false;
	running = pthread_create(&asker, NULL, asker_run, NULL) == 0;
	return running ? 0 : -EAGAIN;
}

/* The thread may be in a question: the answer is not waited for by who stops the program. */
void switches_end(void)
{
	if (!running)
		return;
	pthread_mutex_lock(&end_lock);
	ending = true;
	pthread_cond_signal(&end_cond);
	pthread_mutex_unlock(&end_lock);
	state_set(NULL);
	pthread_join(asker, NULL);
	running = false;
}
