/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends what is in the queue, a batch at a time, from a thread of its own.  Who records never
 * waits for it; what cannot be sent is dropped and counted.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "internal.h"

enum {
	EACH_MS = 250,		/* the protocol allows 500 */
	BATCH = 256,
	SEND_MS = 3000,		/* the queue holds what comes meanwhile */
	REPLY_MAX = 4096,
};

static pthread_t sender;
static bool ending, running;

struct sending {
	struct record records[BATCH];
	uint8_t body[BODY_MAX];
	char reply[REPLY_MAX];
};

/* False: there is no more. */
static bool send_batch(struct sending *s)
{
	struct http_reply reply = {.body = s->reply, .cap = sizeof(s->reply)};
	size_t cnt = 0, len;
	bool sent;

	while (cnt < BATCH && queue_take(&s->records[cnt]))
		cnt++;
	if (!cnt)
		return false;
	len = otlp_encode(s->records, cnt, s->body, sizeof(s->body));
	sent = len && http_ask("POST", "/v1/traces", s->body, len, SEND_MS, &reply) == 0 &&
	       reply.status / 100 == 2;
	tally_add(sent ? &tally.exported : &tally.dropped, cnt);
	return cnt == BATCH;
}

static void *sender_run(void *arg)
{
	struct sending *s = malloc(sizeof(*s));
	struct timespec ts, each = {.tv_nsec = EACH_MS * 1000000L};
	uint64_t cpu_ns = 0, cpu;

	(void)arg;
	while (s && !__atomic_load_n(&ending, __ATOMIC_ACQUIRE)) {
		nanosleep(&each, NULL);
		while (send_batch(s) && !__atomic_load_n(&ending, __ATOMIC_ACQUIRE))
			;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
		cpu = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
		tally_add(&tally.own_ns, cpu - cpu_ns);
		cpu_ns = cpu;
	}
	if (s)
		(void)send_batch(s);
	http_end();
	free(s);
	return NULL;
}

int export_begin(void)
{
	ending = false;
	running = pthread_create(&sender, NULL, sender_run, NULL) == 0;
	return running ? 0 : -EAGAIN;
}

void export_end(void)
{
	if (!running)
		return;
	__atomic_store_n(&ending, true, __ATOMIC_RELEASE);
	pthread_join(sender, NULL);
	running = false;
}

void export_forget(void)
{
	running = false;
}
