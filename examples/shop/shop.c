/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A shop of three services, each a process with tracepoints of libheldup, a bank without any,
 * and clients that check each reply.  $SHOP_FAULT holds it up in one place (README.md).
 *
 *	shop bank PORT | stock PORT | cart PORT
 *	shop front PORT CART_PORT STOCK_PORT BANK_PORT
 *	shop load PORT REQUESTS_PER_SECOND SECONDS [BURST]
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "heldup.h"

enum {
	SLOTS = 10,		/* of the semaphore */
	SLOT_US = 25000,	/* one is held for so long */
	LOCK_HELD_US = 50000,	/* by the housekeeper, */
	LOCK_FREE_US = 40000,	/* and then not for so long */
	SLOW_US = 40000,	/* at most: what one of three requests takes longer */
	CLIENTS_MAX = 512,
	HEAD_MAX = 1024,
};

enum fault { NO_FAULT, SLOW_FUNCTION, SEMAPHORE, LOCK, SLOW_PEER };

static enum fault fault;
static uint16_t cart_port, stock_port, bank_port;

/* ---- work */

static uint64_t mix(uint64_t n)
{
	n ^= n >> 31;
	return n * 0x9e3779b97f4a7c15ull;
}

/* 0 to max - 1, by the request's number and a word for the place alone. */
static unsigned draw(uint64_t number, uint64_t place, unsigned max)
{
	return (unsigned)(mix(mix(number + place * 977)) >> 33) % max;
}

static uint64_t now_us(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000u + (uint64_t)ts.tv_nsec / 1000u;
}

static void compute_us(unsigned us)
{
	uint64_t end = now_us(CLOCK_THREAD_CPUTIME_ID) + us;

	while (now_us(CLOCK_THREAD_CPUTIME_ID) < end)
		;
}

static void sleep_us(unsigned us)
{
	struct timespec ts = {us / 1000000, (long)(us % 1000000) * 1000};

	while (nanosleep(&ts, &ts) < 0 && errno == EINTR)
		;
}

#define STEP(name, us)                                                                             \
	do {                                                                                       \
		HELDUP_SPAN(step, name);                                                           \
		compute_us(us);                                                                    \
		heldup_end(&step);                                                                 \
	} while (0)

/* ---- HTTP, as far as it is needed */

struct request {
	char kind[16];
	uint64_t number;
	char parent[HELDUP_HEADER_MAX], state[HELDUP_HEADER_MAX];
	struct heldup_request traced;
};

typedef uint64_t (*handler)(struct request *r);

static void header_copy(const char *head, const char *name, char out[HELDUP_HEADER_MAX])
{
	const char *at = strcasestr(head, name);

	out[0] = '\0';
	if (at)
		(void)sscanf(at + strlen(name), " %63[^\r\n]", out);
}

/* Until the blank line, or the end: false where it is no request. */
static bool head_read(int fd, char *head)
{
	size_t len = 0;

	while (len < HEAD_MAX - 1) {
		ssize_t n = recv(fd, head + len, HEAD_MAX - 1 - len, 0);

		if (n <= 0)
			return false;
		len += (size_t)n;
		head[len] = '\0';
		if (strstr(head, "\r\n\r\n"))
			return true;
	}
	return false;
}

struct job {
	int fd;
	handler handle;
};

static void *job_run(void *arg)
{
	struct job job = *(struct job *)arg;
	char head[HEAD_MAX], reply[128];
	struct request r = {0};
	unsigned long long number;

	free(arg);
	if (head_read(job.fd, head) && sscanf(head, "GET /%15[a-z]/%llu", r.kind, &number) == 2) {
		r.number = number;
		header_copy(head, "\r\ntraceparent:", r.parent);
		header_copy(head, "\r\ntracestate:", r.state);
		snprintf(reply, sizeof(reply),
			 "HTTP/1.0 200 OK\r\nContent-Length: 17\r\n\r\n%016llx\n",
			 (unsigned long long)job.handle(&r));
		(void)!send(job.fd, reply, strlen(reply), MSG_NOSIGNAL);
	}
	close(job.fd);
	return NULL;
}

static void thread_start(void *(*run)(void *), void *arg)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, 128 << 10);
	if (pthread_create(&thread, &attr, run, arg)) {
		perror("shop: pthread_create");
		exit(1);
	}
	pthread_attr_destroy(&attr);
}

static struct sockaddr_in here(uint16_t port)
{
	return (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port),
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static int serve(uint16_t port, handler handle)
{
	struct sockaddr_in at = here(port);
	int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) || listen(fd, 256)) {
		perror("shop: listen");
		return 1;
	}
	printf("ready\n");
	fflush(stdout);
	for (;;) {
		struct job *job = malloc(sizeof(*job));

		if (!job)
			return 1;
		*job = (struct job){accept(fd, NULL, NULL), handle};
		if (job->fd >= 0)
			thread_start(job_run, job);
		else
			free(job);
	}
}

/* The number that the service answers, 0: it did not. */
static uint64_t ask(uint16_t port, const char *kind, uint64_t number, struct heldup_request *traced)
{
	char parent[HELDUP_HEADER_MAX] = "", state[HELDUP_HEADER_MAX] = "", text[512];
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in at = here(port);
	unsigned long long sum = 0;
	size_t len = 0;
	ssize_t n = 1;

	if (traced)
		heldup_headers(traced, parent, state);
	snprintf(text, sizeof(text), "GET /%s/%llu HTTP/1.0\r\n%s%s%s%s%s%s\r\n", kind,
		 (unsigned long long)number, *parent ? "traceparent: " : "", parent,
		 *parent ? "\r\n" : "", *state ? "tracestate: " : "", state, *state ? "\r\n" : "");
	if (connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0 &&
	    send(fd, text, strlen(text), MSG_NOSIGNAL) > 0)
		while (len < sizeof(text) - 1 &&
		       (n = recv(fd, text + len, sizeof(text) - 1 - len, 0)) > 0)
			len += (size_t)n;
	close(fd);
	text[len] = '\0';
	if (strstr(text, "\r\n\r\n"))
		(void)sscanf(strstr(text, "\r\n\r\n"), "\r\n\r\n%llx", &sum);
	return sum;
}

/* What each service makes of a number: the clients compute it too. */
static uint64_t cart_sum(uint64_t number) { return mix(number + 1); }
static uint64_t stock_sum(uint64_t number) { return mix(number + 2); }
static uint64_t bank_sum(uint64_t number) { return mix(number + 3); }

static uint64_t front_sum(uint64_t number)
{
	return mix(cart_sum(number) ^ stock_sum(number) ^ bank_sum(number)) | 1;
}

/* ---- bank: no tracepoints */

static uint64_t bank_handle(struct request *r)
{
	if (fault == SLOW_PEER && draw(r->number, 4, 3) == 0)
		sleep_us(draw(r->number, 5, SLOW_US));
	return bank_sum(r->number);
}

/* ---- stock */

static sem_t slots;
static unsigned queue_length;

static void stock_lookup(uint64_t number)
{
	HELDUP_SPAN(lookup, "stock lookup");
	STEP("index descend", 30);
	STEP("row read", 30);
	STEP("row decode", 20);
	heldup_num(&lookup, "items", draw(number, 1, 9) + 1);
	heldup_end(&lookup);
}

static void slot_take(void)
{
	unsigned before = __atomic_fetch_add(&queue_length, 1, __ATOMIC_RELAXED);

	HELDUP_SPAN(wait, "slot wait");
	heldup_num(&wait, "queue.length", before);
	while (sem_wait(&slots) && errno == EINTR)
		;
	heldup_end(&wait);
}

static void slot_give(void)
{
	__atomic_fetch_sub(&queue_length, 1, __ATOMIC_RELAXED);
	sem_post(&slots);
}

static void stock_reserve(void)
{
	HELDUP_SPAN(reserve, "stock reserve");
	STEP("quota check", 20);
	slot_take();
	STEP("row lock", 20);
	if (fault == SEMAPHORE)
		sleep_us(SLOT_US);
	STEP("row write", 30);
	slot_give();
	STEP("journal append", 20);
	heldup_end(&reserve);
}

static uint64_t stock_handle(struct request *r)
{
	HELDUP_POINT(point, "POST /reserve");
	HELDUP_POINT(reserved, "reserved");

	heldup_request_begin(&r->traced, &point, r->parent, r->state);
	STEP("stock parse", 20);
	STEP("stock authorize", 20);
	stock_lookup(r->number);
	stock_reserve();
	heldup_event(&reserved);
	STEP("stock audit", 20);
	STEP("stock encode", 20);
	heldup_request_end(&r->traced);
	return stock_sum(r->number);
}

/* ---- cart */

static pthread_mutex_t session_lock = PTHREAD_MUTEX_INITIALIZER;

static void *housekeeper_run(void *arg)
{
	for (;;) {
		pthread_mutex_lock(&session_lock);
		sleep_us(LOCK_HELD_US);
		pthread_mutex_unlock(&session_lock);
		sleep_us(LOCK_FREE_US);
	}
	return arg;
}

static void cart_load(uint64_t number)
{
	HELDUP_SPAN(load, "cart load");
	STEP("cache look", 20);
	STEP("cart read", 30);
	STEP("cart decode", 30);
	STEP("cart check", 20);
	heldup_num(&load, "lines", draw(number, 2, 20));
	heldup_end(&load);
}

static void cart_discount(uint64_t number)
{
	unsigned coupon = draw(number, 3, 3) ? 0 : draw(number, 6, SLOW_US / 1000) + 1;

	HELDUP_SPAN(discount, "discount apply");
	heldup_num(&discount, "coupon", coupon);
	compute_us(fault == SLOW_FUNCTION ? coupon * 1000 : 20);
	heldup_end(&discount);
}

static void cart_price(uint64_t number)
{
	HELDUP_SPAN(price, "cart price");
	STEP("lines sum", 30);
	cart_discount(number);
	STEP("tax add", 20);
	STEP("currency convert", 20);
	STEP("rounding", 10);
	heldup_end(&price);
}

static void cart_session(void)
{
	HELDUP_SPAN(session, "session touch");
	STEP("session find", 20);
	HELDUP_SPAN(wait, "session lock");
	pthread_mutex_lock(&session_lock);
	heldup_end(&wait);
	STEP("session write", 20);
	pthread_mutex_unlock(&session_lock);
	STEP("session log", 10);
	heldup_end(&session);
}

static uint64_t cart_handle(struct request *r)
{
	HELDUP_POINT(point, "GET /cart");

	heldup_request_begin(&r->traced, &point, r->parent, r->state);
	STEP("cart parse", 20);
	cart_load(r->number);
	cart_price(r->number);
	cart_session();
	STEP("cart encode", 20);
	heldup_request_end(&r->traced);
	return cart_sum(r->number);
}

/* ---- front */

static void front_login(void)
{
	HELDUP_SPAN(login, "login check");
	STEP("cookie read", 10);
	STEP("token decode", 30);
	STEP("token verify", 40);
	heldup_end(&login);
}

static uint64_t front_cart(struct request *r)
{
	uint64_t sum;

	HELDUP_SPAN(call, "cart call");
	STEP("cart request", 10);
	sum = ask(cart_port, "cart", r->number, &r->traced);
	STEP("cart response", 10);
	heldup_end(&call);
	return sum;
}

static uint64_t front_stock(struct request *r)
{
	uint64_t sum;

	HELDUP_SPAN(call, "stock call");
	sum = ask(stock_port, "reserve", r->number, &r->traced);
	STEP("stock response", 10);
	heldup_end(&call);
	return sum;
}

static uint64_t front_pay(struct request *r)
{
	uint64_t sum;

	HELDUP_SPAN(pay, "pay");
	STEP("card decode", 20);
	STEP("payment build", 20);
	HELDUP_SPAN(call, "bank call");
	sum = ask(bank_port, "pay", r->number, NULL);
	heldup_end(&call);
	STEP("receipt verify", 20);
	heldup_end(&pay);
	return sum;
}

static void front_render(void)
{
	HELDUP_SPAN(render, "page render");
	STEP("head render", 20);
	STEP("items render", 40);
	STEP("foot render", 20);
	heldup_end(&render);
}

static uint64_t front_handle(struct request *r)
{
	HELDUP_POINT(checkout, "GET /checkout");
	HELDUP_POINT(browse, "GET /browse");
	bool buys = strcmp(r->kind, "checkout") == 0;
	uint64_t cart, stock = stock_sum(r->number), bank = bank_sum(r->number);

	heldup_request_begin(&r->traced, buys ? &checkout : &browse, r->parent, r->state);
	STEP("request parse", 20);
	STEP("route find", 10);
	front_login();
	cart = front_cart(r);
	if (buys) {
		stock = front_stock(r);
		bank = front_pay(r);
	}
	front_render();
	STEP("access log", 10);
	heldup_request_end(&r->traced);
	return mix(cart ^ stock ^ bank) | 1;
}

/* ---- clients */

static volatile sig_atomic_t ends;	/* by SIGTERM: the clients say what they got */

static void end_soon(int sig)
{
	(void)sig;
	ends = 1;
}

static struct {
	pthread_mutex_t lock;
	uint64_t right, wrong;
	unsigned in_flight, us[1 << 16];
	uint16_t port;
} clients = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void *client_run(void *arg)
{
	uint64_t number = (uint64_t)(uintptr_t)arg, begin = now_us(CLOCK_MONOTONIC);
	bool buys = draw(number, 7, 8) != 0;
	bool right = ask(clients.port, buys ? "checkout" : "browse", number, NULL) ==
		     front_sum(number);

	pthread_mutex_lock(&clients.lock);
	if (buys)
		clients.us[(clients.right + clients.wrong) % (1 << 16)] =
			(unsigned)(now_us(CLOCK_MONOTONIC) - begin);
	clients.right += right;
	clients.wrong += !right;
	clients.in_flight--;
	pthread_mutex_unlock(&clients.lock);
	return NULL;
}

static bool client_start(uint64_t number)
{
	bool room;

	pthread_mutex_lock(&clients.lock);
	room = clients.in_flight < CLIENTS_MAX;
	clients.in_flight += room;
	pthread_mutex_unlock(&clients.lock);
	if (room)
		thread_start(client_run, (void *)(uintptr_t)number);
	return room;
}

static int by_value(const void *a, const void *b)
{
	const unsigned *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Bursts of 1 to burst requests, at random times; the mean rate is as asked for. */
static int load(uint16_t port, double rate, double seconds, unsigned burst)
{
	uint64_t number = (uint64_t)getpid() << 32, left_out = 0, begin = now_us(CLOCK_MONOTONIC);
	double next_us = 0;
	size_t cnt;

	clients.port = port;
	signal(SIGTERM, end_soon);
	while (next_us < seconds * 1e6 && !ends) {
		unsigned size = 1 + draw(number, 8, burst);
		double gap = (double)size * 1e6 / rate, at = (double)(now_us(CLOCK_MONOTONIC) - begin);

		if (at < next_us)
			sleep_us((unsigned)(next_us - at));
		for (unsigned i = 0; i < size; i++)
			left_out += !client_start(++number);
		next_us += gap * (0.5 + draw(number, 9, 1000) / 1000.0);
	}
	while (__atomic_load_n(&clients.in_flight, __ATOMIC_RELAXED))
		sleep_us(5000);
	cnt = clients.right + clients.wrong;
	qsort(clients.us, cnt < 1 << 16 ? cnt : 1 << 16, sizeof(clients.us[0]), by_value);
	printf("right %llu wrong %llu left_out %llu p50_us %u p99_us %u\n",
	       (unsigned long long)clients.right, (unsigned long long)clients.wrong,
	       (unsigned long long)left_out, clients.us[cnt / 2], clients.us[cnt * 99 / 100]);
	return clients.wrong != 0 || left_out != 0;
}

/* ---- main */

static enum fault fault_of(const char *name)
{
	static const char *const names[] = {"none", "slow_function", "semaphore", "lock",
					    "slow_peer"};

	for (unsigned i = 0; name && i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(name, names[i]) == 0)
			return (enum fault)i;
	return NO_FAULT;
}

static int service(const char *name, uint16_t port, handler handle)
{
	int err = heldup_start(&(struct heldup_opts){.service = name});

	if (err) {
		fprintf(stderr, "shop: heldup_start: %s\n", strerror(-err));
		return 1;
	}
	return serve(port, handle);
}

static int usage(void)
{
	fprintf(stderr, "usage: shop bank|stock|cart PORT\n"
			"       shop front PORT CART_PORT STOCK_PORT BANK_PORT\n"
			"       shop load PORT REQUESTS_PER_SECOND SECONDS [BURST]\n");
	return 2;
}

int main(int argc, char **argv)
{
	const char *role = argc > 2 ? argv[1] : "";
	uint16_t port = argc > 2 ? (uint16_t)atoi(argv[2]) : 0;

	fault = fault_of(getenv("SHOP_FAULT"));
	sem_init(&slots, 0, SLOTS);
	if (strcmp(role, "load") == 0 && argc >= 5)
		return load(port, atof(argv[3]), atof(argv[4]),
			    argc > 5 ? (unsigned)atoi(argv[5]) : 1);
	if (strcmp(role, "bank") == 0)
		return serve(port, bank_handle);
	if (strcmp(role, "stock") == 0)
		return service("stock", port, stock_handle);
	if (strcmp(role, "cart") == 0 && fault == LOCK)
		thread_start(housekeeper_run, NULL);
	if (strcmp(role, "cart") == 0)
		return service("cart", port, cart_handle);
	if (strcmp(role, "front") != 0 || argc != 6)
		return usage();
	cart_port = (uint16_t)atoi(argv[3]);
	stock_port = (uint16_t)atoi(argv[4]);
	bank_port = (uint16_t)atoi(argv[5]);
	return service("front", port, front_handle);
}
