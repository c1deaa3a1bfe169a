/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/ask.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"

#define ASK_SOCKET "%s/ask.sock"

enum { PATH_LEN = 4096 };

enum client_state { CLIENT_NONE = 0, CLIENT_CONNECTED, CLIENT_ASKS, CLIENT_READS };

struct ask {
	char *state_dir;
	void (*order)(void *ctx, const struct link_ask *who);
	void *ctx;
	int listen_fd;
	uint32_t seq;		/* of the last question */
	uint64_t refused_cnt;
	struct client {
		enum client_state state;
		int fd;
		uint64_t until_ns;
		uint32_t seq;
	} clients[ASK_CLIENTS];
};

/* ---- by words */

static bool kind_is(const char *what, const char *name)
{
	const char *space = strchr(what, ' ');
	size_t len = space ? strcspn(space + 1, ",") : 0, name_len = strlen(name);

	if (!space || len < name_len || strncmp(space + 1, name, name_len) != 0)
		return false;
	return len == name_len ||
	       (len == name_len + 8 && strncmp(space + 1 + name_len, ".service", 8) == 0);
}

static bool has_port(const char *what, uint32_t port)
{
	const char *at = strstr(what, "port ");
	char *end = at ? (char *)(uintptr_t)at + 5 : NULL;

	while (end && *end >= '0' && *end <= '9') {
		unsigned long one = strtoul(end, &end, 10);

		/* "port 80, 443, 3 processes": the last is no port */
		if (one == port && *end != ' ')
			return true;
		end = strncmp(end, ", ", 2) == 0 ? end + 2 : NULL;
	}
	return false;
}

bool ask_matches(const struct link_ask *who, const char *name, const char *what)
{
	if (*who->name && (strcmp(who->name, name) == 0 || kind_is(what, who->name)))
		return true;
	return who->port && has_port(what, who->port);
}

/* ---- the asker */

static int address_of(const char *state_dir, struct sockaddr_un *ret, socklen_t *ret_len)
{
	int len;

	*ret = (struct sockaddr_un){.sun_family = AF_UNIX};
	len = snprintf(ret->sun_path, sizeof(ret->sun_path), ASK_SOCKET, state_dir);
	*ret_len = sizeof(*ret);
	return len > 0 && (size_t)len < sizeof(ret->sun_path) ? 0 : -ENAMETOOLONG;
}

static int answer_get(int fd, struct ask_answer *ret, struct err *err)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	int rc = poll(&p, 1, (int)(ASK_NS / NS_PER_MS) + 1000);
	ssize_t got = rc > 0 ? recv(fd, ret, sizeof(*ret), 0) : 0;

	if (rc == 0)
		return err_set(err, -ETIMEDOUT, "heldup serve does not answer");
	if (rc < 0 || got != sizeof(*ret))
		return err_set(err, -EIO, "heldup serve hung up");
	ret->service[LINK_NAME_LEN - 1] = '\0';
	return 0;
}

int ask_past(const char *state_dir, const struct link_ask *who, struct ask_answer *ret,
	     struct err *err)
{
	struct sockaddr_un to;
	socklen_t len;
	int rc = address_of(state_dir, &to, &len), fd;

	if (rc < 0)
		return err_errno(err, rc, "'%s'", state_dir);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return err_errno(err, -errno, "make a socket");
	if (connect(fd, (void *)&to, len) < 0)
		rc = err_set(err, errno == EACCES ? -EACCES : -ENOTCONN,
			     "no heldup serve answers in '%s': %m", state_dir);
	else if (send(fd, who, sizeof(*who), MSG_NOSIGNAL) != sizeof(*who))
		rc = err_set(err, -EIO, "heldup serve hung up");
	else
		rc = answer_get(fd, ret, err);
	if (rc < 0) {
		close(fd);
		return rc;
	}
	return fd;
}

/* ---- the keeper */

static int listen_at(const char *state_dir, struct err *err)
{
	struct sockaddr_un at;
	socklen_t len;
	int rc = address_of(state_dir, &at, &len), fd;

	if (rc < 0)
		return err_errno(err, rc, "the state directory '%s'", state_dir);
	unlink(at.sun_path); /* of one that was killed: the lock says that none runs */
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return err_errno(err, -errno, "make a socket");
	if (bind(fd, (void *)&at, len) < 0 || listen(fd, ASK_CLIENTS) < 0) {
		rc = err_errno(err, -errno, "listen at '%s'", at.sun_path);
		close(fd);
		return rc;
	}
	return fd;
}

static void file_drop(const struct ask *a)
{
	char path[PATH_LEN];

	snprintf(path, sizeof(path), ASK_CAPTURE, a->state_dir);
	unlink(path);
}

int ask_open(const char *state_dir, void (*order)(void *ctx, const struct link_ask *who),
	     void *ctx, struct ask **ret, struct err *err)
{
	int fd = listen_at(state_dir, err);
	struct ask *a;

	if (fd < 0)
		return fd;
	a = xcalloc(1, sizeof(*a));
	a->state_dir = xstrdup(state_dir);
	a->listen_fd = fd;
	a->order = order;
	a->ctx = ctx;
	file_drop(a);
	*ret = a;
	return 0;
}

static void hang_up(struct ask *a, struct client *c)
{
	if (c->state == CLIENT_READS)
		file_drop(a);
	close(c->fd);
	*c = (struct client){0};
}

void ask_close(struct ask *a)
{
	char path[PATH_LEN];

	if (!a)
		return;
	for (unsigned i = 0; i < ASK_CLIENTS; i++)
		if (a->clients[i].state)
			hang_up(a, &a->clients[i]);
	close(a->listen_fd);
	snprintf(path, sizeof(path), ASK_SOCKET, a->state_dir);
	unlink(path);
	free(a->state_dir);
	free(a);
}

uint64_t ask_refused(const struct ask *a)
{
	return a ? a->refused_cnt : 0;
}

static void accept_one(struct ask *a, int fd)
{
	for (unsigned i = 0; i < ASK_CLIENTS; i++) {
		if (a->clients[i].state)
			continue;
		a->clients[i] = (struct client){.state = CLIENT_CONNECTED, .fd = fd,
						.until_ns = clock_mono_ns() + ASK_NS};
		return;
	}
	a->refused_cnt++;
	close(fd);
}

static struct client *busy_one(struct ask *a)
{
	for (unsigned i = 0; i < ASK_CLIENTS; i++)
		if (a->clients[i].state > CLIENT_CONNECTED)
			return &a->clients[i];
	return NULL;
}

/* A question, or the end of one. */
static void take(struct ask *a, struct client *c)
{
	struct link_ask who;
	ssize_t got = recv(c->fd, &who, sizeof(who), MSG_DONTWAIT | MSG_TRUNC);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got != sizeof(who) || c->state != CLIENT_CONNECTED) {
		a->refused_cnt += got > 0;
		hang_up(a, c);
		return;
	}
	who.name[LINK_NAME_LEN - 1] = '\0';
	who.seq = c->seq = ++a->seq;
	c->state = CLIENT_ASKS;
	a->order(a->ctx, &who);
}

void ask_step(struct ask *a)
{
	uint64_t now = clock_mono_ns();
	int fd;

	while ((fd = accept4(a->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0)
		accept_one(a, fd);
	for (unsigned i = 0; i < ASK_CLIENTS; i++) {
		struct client *c = &a->clients[i], *busy = busy_one(a);

		if (c->state && (!busy || c == busy))
			take(a, c);
		if (c->state && now > c->until_ns) {
			a->refused_cnt++;
			hang_up(a, c);
		}
	}
}

void ask_captured(struct ask *a, const struct link_captured *captured, const char *service)
{
	struct client *c = busy_one(a);
	struct ask_answer answer = {
		.code = captured->code,
		.from_ns = captured->until_ns - captured->window_ns,
		.until_ns = captured->until_ns,
	};

	if (!c || c->state != CLIENT_ASKS || c->seq != captured->seq) {
		if (!c || c->state != CLIENT_READS)
			file_drop(a); /* who asked gave up */
		return;
	}
	snprintf(answer.service, sizeof(answer.service), "%s", service);
	c->state = CLIENT_READS;
	c->until_ns = clock_mono_ns() + ASK_HOLD_NS;
	if (send(c->fd, &answer, sizeof(answer), MSG_DONTWAIT | MSG_NOSIGNAL) != sizeof(answer))
		hang_up(a, c);
}
