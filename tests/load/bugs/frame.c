/* SPDX-License-Identifier: Apache-2.0 */
/* The frame of the servers with bugs; see frame.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "frame.h"

#define CONN_MAX 256
#define HEAD_MAX 8192
#define QUEUE_MAX 512
#define BUG_MAX 4
#define LOG_MAX 8192
#define SESSION_CNT 64

struct conn {
	int fd;
	size_t len;
	char head[HEAD_MAX + 1];
};

struct frame frame = {.workers = 6};

static const struct server *server;
static const char *bugs_on[BUG_MAX];
static int loop_fd, listen_fd, log_fd;

static struct {
	pthread_mutex_t lock;
	pthread_cond_t filled;
	struct conn *conns[QUEUE_MAX];
	unsigned head, cnt;
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER, .filled = PTHREAD_COND_INITIALIZER};

static struct {
	pthread_mutex_t lock;
	char text[LOG_MAX];
	size_t len;
	uint64_t request_cnt;
	unsigned sessions[SESSION_CNT];
} shared = {.lock = PTHREAD_MUTEX_INITIALIZER};

void die(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(1);
}

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

bool bug_on(const char *name)
{
	for (int i = 0; i < BUG_MAX && bugs_on[i]; i++)
		if (!strcmp(bugs_on[i], name))
			return true;
	return false;
}

void reply_add(struct reply *rep, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(rep->text + rep->len, sizeof(rep->text) - rep->len, fmt, ap);
	va_end(ap);
	if (n > 0)
		rep->len += (size_t)n < sizeof(rep->text) - rep->len ?
			    (size_t)n : sizeof(rep->text) - rep->len - 1;
}

void reply_fail(struct reply *rep, int status)
{
	rep->status = status;
}

const char *path_in(char *buf, size_t len, const char *fmt, unsigned n)
{
	char name[64];

	snprintf(name, sizeof(name), fmt, n);
	snprintf(buf, len, "%s/%s", frame.dir, name);
	return buf;
}

void thread_start(void *(*run)(void *), void *arg, const char *name)
{
	pthread_t id;

	errno = pthread_create(&id, NULL, run, arg);
	if (errno)
		die("thread");
	pthread_setname_np(id, name);
	pthread_detach(id);
}

/* ---- the queue between the loop and the workers */

FN static void queue_push(struct conn *c)
{
	pthread_mutex_lock(&queue.lock);
	if (queue.cnt < QUEUE_MAX)
		queue.conns[(queue.head + queue.cnt++) % QUEUE_MAX] = c;
	pthread_cond_signal(&queue.filled);
	pthread_mutex_unlock(&queue.lock);
}

FN static struct conn *queue_pop(void)
{
	struct conn *c;

	pthread_mutex_lock(&queue.lock);
	while (!queue.cnt)
		pthread_cond_wait(&queue.filled, &queue.lock);
	c = queue.conns[queue.head];
	queue.head = (queue.head + 1) % QUEUE_MAX;
	queue.cnt--;
	pthread_mutex_unlock(&queue.lock);
	return c;
}

/* ---- the access log and what is counted */

FN static void log_flush(void)
{
	if (shared.len && write(log_fd, shared.text, shared.len) < 0)
		die("access log");
	shared.len = 0;
}

FN static void log_add(const struct request *req, int status, uint64_t took_ns)
{
	char line[256];
	int n = snprintf(line, sizeof(line), "%.100s %.40s %d %llu\n", req->path, req->arg,
			 status, (unsigned long long)took_ns / 1000);

	pthread_mutex_lock(&shared.lock);
	shared.request_cnt++;
	if (shared.len + n > LOG_MAX)
		log_flush();
	memcpy(shared.text + shared.len, line, n);
	shared.len += n;
	pthread_mutex_unlock(&shared.lock);
}

FN static void session_touch(const struct request *req)
{
	pthread_mutex_lock(&shared.lock);
	shared.sessions[(unsigned)req->fd % SESSION_CNT]++;
	pthread_mutex_unlock(&shared.lock);
}

/* ---- connections */

FN static void conn_arm(struct conn *c, int op)
{
	struct epoll_event ev = {.events = EPOLLIN | EPOLLONESHOT, .data.ptr = c};

	if (epoll_ctl(loop_fd, op, c->fd, &ev))
		die("epoll_ctl");
}

FN static struct conn *conn_accept(void)
{
	struct conn *c;
	int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0)
		return NULL;
	c = calloc(1, sizeof(*c));
	if (!c)
		die("connection");
	c->fd = fd;
	if (server->kind != FRAME_PROCESSES)
		conn_arm(c, EPOLL_CTL_ADD);
	return c;
}

FN static void conn_close(struct conn *c)
{
	shutdown(c->fd, SHUT_WR);
	close(c->fd);
	free(c);
}

/* False: the client went away or talks nonsense. */
FN static bool conn_read(struct conn *c)
{
	while (c->len < HEAD_MAX) {
		ssize_t n = recv(c->fd, c->head + c->len, HEAD_MAX - c->len, 0);

		if (n <= 0)
			return false;
		c->len += n;
		c->head[c->len] = 0;
		if (strstr(c->head, "\r\n\r\n"))
			return true;
	}
	return false;
}

FN static bool request_parse(struct conn *c, struct request *req)
{
	char *end = strstr(c->head, "\r\n\r\n");
	char *path = strchr(c->head, ' '), *stop, *arg, *size;

	if (!path)
		return false;
	*end = 0;
	size = strcasestr(c->head, "content-length:");
	stop = strchr(++path, ' ');
	if (!stop)
		return false;
	*stop = 0;
	arg = strchr(path, '?');
	if (arg)
		*arg++ = 0;
	req->fd = c->fd;
	req->path = path;
	req->arg = arg ? arg : "";
	req->want = size ? strtoul(size + 15, NULL, 10) : 0;
	req->body = end + 4;
	req->body_len = c->head + c->len - req->body;
	return true;
}

FN static void request_route(struct request *req, struct reply *rep)
{
	for (const struct route *r = server->routes; r->path; r++)
		if (!strcmp(r->path, req->path)) {
			r->run(req, rep);
			return;
		}
	reply_fail(rep, 404);
}

FN static bool reply_send(int fd, const struct reply *rep)
{
	char out[sizeof(rep->text) + 128];
	int n = snprintf(out, sizeof(out), "HTTP/1.1 %d X\r\n%sContent-Length: %zu\r\n\r\n",
			 rep->status,
			 server->kind == FRAME_PROCESSES ? "Connection: close\r\n" : "",
			 rep->len);
	size_t done = 0, all = n + rep->len;

	memcpy(out + n, rep->text, rep->len);
	while (done < all) {
		ssize_t sent = send(fd, out + done, all - done, MSG_NOSIGNAL);

		if (sent <= 0)
			return false;
		done += sent;
	}
	return true;
}

FN static void conn_serve(struct conn *c)
{
	struct request req = {0};
	struct reply rep = {.status = 200};
	uint64_t begin = now_ns();

	if (!conn_read(c) || !request_parse(c, &req)) {
		conn_close(c);
		return;
	}
	session_touch(&req);
	request_route(&req, &rep);
	log_add(&req, rep.status, now_ns() - begin);
	if (!reply_send(c->fd, &rep) || req.close || server->kind == FRAME_PROCESSES) {
		conn_close(c);
		return;
	}
	c->len = 0;
	conn_arm(c, EPOLL_CTL_MOD);
}

static void *worker_run(void *arg)
{
	(void)arg;
	for (;;)
		conn_serve(queue_pop());
	return NULL;
}

FN static void loop_run(void)
{
	struct epoll_event ev[32];

	for (;;) {
		int n = epoll_wait(loop_fd, ev, 32, 1000);

		for (int i = 0; i < n; i++) {
			if (!ev[i].data.ptr)
				conn_accept();
			else if (server->kind == FRAME_LOOP)
				conn_serve(ev[i].data.ptr);
			else
				queue_push(ev[i].data.ptr);
		}
		if (server->turn)
			server->turn();
	}
}

/* A process that serves one connection after the other. */
FN static void process_run(void)
{
	for (;;) {
		struct conn *c = conn_accept();

		if (c)
			conn_serve(c);
	}
}

static void process_start(void)
{
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (pid)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	process_run();
}

/* ---- once a second */

FN static void stats_write(void)
{
	char path[256], text[64];
	int n = snprintf(text, sizeof(text), "requests %llu\n",
			 (unsigned long long)shared.request_cnt);
	int fd = open(path_in(path, sizeof(path), "stats", 0),
		      O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, text, n) != n)
		die(path);
	close(fd);
}

FN static void config_check(void)
{
	static struct timespec seen;
	char path[256], text[512];
	struct stat st;
	int fd;

	if (stat(path_in(path, sizeof(path), "config", 0), &st) ||
	    st.st_mtim.tv_sec == seen.tv_sec)
		return;
	seen = st.st_mtim;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, text, sizeof(text)) < 0)
		die(path);
	close(fd);
}

static void *tick_run(void *arg)
{
	(void)arg;
	for (;;) {
		sleep(1);
		stats_write();
		config_check();
		pthread_mutex_lock(&shared.lock);
		log_flush();
		pthread_mutex_unlock(&shared.lock);
	}
	return NULL;
}

/* ---- start */

static void listen_open(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(frame.port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct epoll_event ev = {.events = EPOLLIN};
	int on = 1;

	listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	loop_fd = epoll_create1(EPOLL_CLOEXEC);
	setsockopt(listen_fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(listen_fd, (struct sockaddr *)&at, sizeof(at)) || listen(listen_fd, CONN_MAX) ||
	    epoll_ctl(loop_fd, EPOLL_CTL_ADD, listen_fd, &ev))
		die("listen");
}

static void usage(const char *name)
{
	fprintf(stderr, "usage: %s --port N --dir D [--workers N] [--upstream PORT] "
		"[--dead PORT] [--bug NAME]... | --bugs\n", name);
	exit(2);
}

static void bug_add(const char *name, const char *self)
{
	for (const struct bug *b = server->bugs; b->name; b++)
		for (int i = 0; i < BUG_MAX && !strcmp(b->name, name); i++)
			if (!bugs_on[i]) {
				bugs_on[i] = b->name;
				return;
			}
	usage(self);
}

static void option_set(const char *key, const char *value, const char *self)
{
	if (!strcmp(key, "--port"))
		frame.port = atoi(value);
	else if (!strcmp(key, "--workers"))
		frame.workers = atoi(value);
	else if (!strcmp(key, "--upstream"))
		frame.upstream_port = atoi(value);
	else if (!strcmp(key, "--dead"))
		frame.dead_port = atoi(value);
	else if (!strcmp(key, "--dir"))
		frame.dir = value;
	else if (!strcmp(key, "--bug"))
		bug_add(value, self);
	else
		usage(self);
}

int frame_main(int argc, char **argv, const struct server *s)
{
	char path[256];

	server = s;
	if (argc == 2 && !strcmp(argv[1], "--bugs")) {
		for (const struct bug *b = s->bugs; b->name; b++)
			printf("%s\t%s\t%s\n", b->name, b->function, b->about);
		return 0;
	}
	for (int i = 1; i < argc; i += 2)
		option_set(argv[i], i + 1 < argc ? argv[i + 1] : "", argv[0]);
	if (!frame.port || !frame.dir)
		usage(argv[0]);
	log_fd = open(path_in(path, sizeof(path), "access.log", 0),
		      O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (log_fd < 0)
		die(path);
	listen_open();
	if (s->start)
		s->start();
	for (int i = 0; i < frame.workers && s->kind == FRAME_PROCESSES; i++)
		process_start();
	for (int i = 0; i < frame.workers && s->kind == FRAME_POOL; i++)
		thread_start(worker_run, NULL, "worker");
	thread_start(tick_run, NULL, "tick");
	if (s->kind == FRAME_PROCESSES)
		for (;;)
			pause();
	loop_run();
	return 0;
}
