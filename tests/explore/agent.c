/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All that lib/ can do, in one program: t_lib in tests/explore/run asks for its spans.  It checks
 * by itself what only the process can see: what readers outside find, counters, forks.
 */
#include <endian.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "heldup.h"

#define CHECK(cond)                                                                                \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			printf("FAIL line %d: %s\n", __LINE__, #cond);                             \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

struct thread_record {		/* OTEP 4947 */
	unsigned char trace[16], span[8], valid, flags;
	uint16_t attrs_size;
};
extern __thread struct thread_record *otel_thread_ctx_v1;

HELDUP_POINT(request_point, "GET /all");
HELDUP_POINT(noted, "noted");

static void sleep_ms(long ms)
{
	struct timespec ts = {ms / 1000, ms % 1000 * 1000000};

	nanosleep(&ts, NULL);
}

/* ---- readers outside */

/* The mapping of OTEP 4719, by its name in maps; its payload has the service's name. */
static void process_context_check(void)
{
	char line[512], *at = NULL;
	FILE *f = fopen("/proc/self/maps", "r");

	CHECK(f);
	while (!at && fgets(line, sizeof(line), f))
		if (strstr(line, "OTEL_CTX"))
			at = (char *)strtoul(line, NULL, 16);
	fclose(f);
	CHECK(at && memcmp(at, "OTEL_CTX", 8) == 0);
	CHECK(*(uint32_t *)(at + 8) == 2 && *(uint64_t *)(at + 16) != 0);
	CHECK(memmem(*(char **)(at + 24), *(uint32_t *)(at + 12), "all of it", 9));
}

static bool thread_has(uint64_t span)
{
	const struct thread_record *r = otel_thread_ctx_v1;
	uint64_t id;

	if (!r || !r->valid)
		return span == 0;
	memcpy(&id, r->span, sizeof(id));
	return be64toh(id) == span;
}

/* ---- a queue and a thread behind it */

static struct {
	pthread_mutex_t lock;
	pthread_cond_t cond;
	struct heldup_link link;
	bool has;
} queue = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, {0}, false};

static void *worker_run(void *arg)
{
	for (;;) {
		struct heldup_link link;

		pthread_mutex_lock(&queue.lock);
		while (!queue.has)
			pthread_cond_wait(&queue.cond, &queue.lock);
		link = queue.link;
		queue.has = false;
		pthread_mutex_unlock(&queue.lock);
		heldup_link_enter(&link);
		HELDUP_SPAN(work, "queued work");
		sleep_ms(1);
		heldup_end(&work);
		heldup_link_leave(&link);
		CHECK(thread_has(0));
	}
	return arg;
}

static void hand_over(void)
{
	pthread_mutex_lock(&queue.lock);
	if (queue.has)
		heldup_link_drop(&queue.link);
	queue.link = heldup_link_take();
	queue.has = true;
	pthread_cond_signal(&queue.cond);
	pthread_mutex_unlock(&queue.lock);
}

/* ---- requests */

static void keys_put(struct heldup_span *span)
{
	heldup_num(span, "n", 2.5);
	heldup_text(span, "word", "a text that is longer than the forty bytes of a key");
	for (int i = 0; i < HELDUP_KEYS_MAX; i++)
		heldup_num(span, "over", i);
}

static void request_run(const char *parent, const char *state)
{
	char out_parent[HELDUP_HEADER_MAX], out_state[HELDUP_HEADER_MAX];
	struct heldup_request request;

	heldup_request_begin(&request, &request_point, parent, state);
	HELDUP_SPAN(outer, "outer");
	keys_put(&outer);
	HELDUP_SPAN(inner, "inner");
	CHECK(!inner.id || thread_has(inner.id));
	heldup_event(&noted);
	hand_over();
	heldup_headers(&request, out_parent, out_state);
	CHECK(!inner.id || (strncmp(out_parent, "00-", 3) == 0 && strstr(out_state, "heldup=")));
	sleep_ms(2);
	heldup_end(&inner);
	heldup_end(&outer);
	heldup_request_end(&request);
	CHECK(thread_has(0));
}

/* Headers of others go on where the request is not traced. */
static void passed_on_check(void)
{
	static const char parent[] = "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01";
	char out_parent[HELDUP_HEADER_MAX], out_state[HELDUP_HEADER_MAX];
	struct heldup_request request;

	heldup_request_begin(&request, &request_point, parent, "other=1");
	CHECK(!request.context);
	heldup_headers(&request, out_parent, out_state);
	CHECK(strcmp(out_parent, parent) == 0 && strcmp(out_state, "other=1") == 0);
	heldup_request_end(&request);
}

/* A child has no thread that could switch anything off. */
static void fork_check(void)
{
	struct heldup_counts c;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		heldup_count(&c);
		_exit(c.on_cnt != 0 || c.epoch != 0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

int main(void)
{
	struct heldup_counts c;
	pthread_t worker;

	passed_on_check();
	CHECK(heldup_start(&(struct heldup_opts){.service = "all of it"}) == 0);
	CHECK(heldup_start(NULL) == -114 /* EALREADY */);
	process_context_check();
	CHECK(pthread_create(&worker, NULL, worker_run, NULL) == 0);
	do { /* until heldup has seen enough and turns all off */
		request_run(NULL, NULL);
		heldup_count(&c);
	} while (c.exported_cnt < 200);
	CHECK(c.on_cnt && c.key_dropped_cnt && !c.dropped_cnt && c.span_ns > 0);
	fork_check();
	heldup_stop();
	heldup_count(&c);
	CHECK(!c.on_cnt && !c.epoch && c.recorded_cnt == c.exported_cnt + c.dropped_cnt);
	printf("ok %llu spans\n", (unsigned long long)c.recorded_cnt);
	return 0;
}
