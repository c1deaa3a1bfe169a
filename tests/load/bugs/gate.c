/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate: one thread does all there is in an epoll loop, and starts commands.
 * Its bugs: a journal synced at each line, a name asked for with the loop
 * waiting, a child that closes all descriptors there could be, and a table of
 * all connections there could be looked through at each turn of the loop.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "frame.h"

#define ASK_MS 20
#define ASK_LONG_MS 400
#define TRIES 3
#define FD_MAX 64
#define FD_MAX_LARGE 300000	/* as where the limit of open files was raised */
#define SLOT_CNT 1024
#define SLOT_CNT_LARGE (2 << 20)
#define QUIET_NS 60000000000u

struct slot { uint64_t seen_ns; int fd; int used; };

static struct slot *slots;
static unsigned slot_cnt = SLOT_CNT;
static int journal_fd;

/* ---- the journal */

FN static void journal_line(const char *what)
{
	size_t len = strlen(what);

	if (write(journal_fd, what, len) != (ssize_t)len)
		die("journal");
	if (bug_on("log-fsync") && fsync(journal_fd))
		die("journal");
}

/* ---- names */

FN static int resolver_open(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(frame.upstream_port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&at, sizeof(at)))
		die("resolver");
	return fd;
}

/* Nobody answers for an old name. */
FN static ssize_t resolver_ask(const char *name, char *answer, size_t len)
{
	bool bug = bug_on("resolver");
	int fd = resolver_open();
	ssize_t n = -1;

	for (int i = 0; i < (bug ? TRIES : 1) && n < 0; i++) {
		struct pollfd p = {.fd = fd, .events = POLLIN};

		if (send(fd, name, strlen(name), 0) < 0)
			break;
		if (poll(&p, 1, bug ? ASK_LONG_MS : ASK_MS) > 0)
			n = recv(fd, answer, len - 1, 0);
	}
	close(fd);
	answer[n > 0 ? n : 0] = 0;
	return n;
}

/* ---- commands */

FN static void fds_close(int from)
{
	int to = bug_on("fds-close") ? FD_MAX_LARGE : FD_MAX;

	for (int fd = from; fd < to; fd++)
		close(fd);
}

FN static void child_exec(void)
{
	fds_close(3);
	execl("/bin/true", "true", NULL);
	_exit(127);
}

FN static int child_run(void)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0)
		child_exec();
	if (pid > 0 && waitpid(pid, &status, 0) != pid)
		die("wait");
	return status;
}

/* ---- who was quiet too long */

FN static void slot_touch(int fd)
{
	struct slot *s = &slots[(unsigned)fd % slot_cnt];

	*s = (struct slot){now_ns(), fd, 1};
}

FN static unsigned slots_expire(uint64_t now)
{
	unsigned cnt = 0;

	for (unsigned i = 0; i < slot_cnt; i++)
		if (slots[i].used && now - slots[i].seen_ns > QUIET_NS)
			cnt += slots[i].used--;
	return cnt;
}

FN static void turn_end(void)
{
	slots_expire(now_ns());
}

/* ---- files */

FN static ssize_t page_read(char *text, size_t len)
{
	char path[256];
	struct stat st;
	ssize_t n;
	int fd = open(path_in(path, sizeof(path), "page", 0), O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st))
		return -1;
	n = read(fd, text, len);
	close(fd);
	return n;
}

FN static void page_write(void)
{
	char path[256], text[3000];
	int fd = open(path_in(path, sizeof(path), "page", 0),
		      O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	memset(text, 'p', sizeof(text));
	if (fd < 0 || write(fd, text, sizeof(text)) != (ssize_t)sizeof(text))
		die(path);
	close(fd);
}

/* ---- routes */

FN static void route_file(struct request *req, struct reply *rep)
{
	char text[3500];
	ssize_t n = page_read(text, sizeof(text) - 1);

	slot_touch(req->fd);
	if (n < 0) {
		reply_fail(rep, 404);
		return;
	}
	text[n] = 0;
	reply_add(rep, "%s", text);
}

FN static void route_name(struct request *req, struct reply *rep)
{
	char answer[256];

	slot_touch(req->fd);
	resolver_ask(*req->arg ? req->arg : "new", answer, sizeof(answer));
	reply_add(rep, "%s\n", answer);
}

FN static void route_note(struct request *req, struct reply *rep)
{
	slot_touch(req->fd);
	journal_line("note\n");
	reply_add(rep, "noted\n");
}

FN static void route_run(struct request *req, struct reply *rep)
{
	slot_touch(req->fd);
	reply_add(rep, "%d\n", child_run());
}

FN static unsigned text_hash(const char *text)
{
	unsigned h = 5381;

	for (; *text; text++)
		h = h * 33 + (unsigned char)*text;
	return h;
}

FN static void route_hash(struct request *req, struct reply *rep)
{
	slot_touch(req->fd);
	reply_add(rep, "%u\n", text_hash(req->arg));
}

static const struct route routes[] = {
	{"/file", route_file}, {"/name", route_name}, {"/note", route_note},
	{"/run", route_run}, {"/hash", route_hash}, {NULL, NULL},
};

static const struct bug bugs[] = {
	{"log-fsync", "journal_line", "a journal synced at each line"},
	{"resolver", "resolver_ask", "the loop waits for a service of names that is silent"},
	{"fds-close", "fds_close", "all descriptors closed that there could be"},
	{"idle-scan", "slots_expire", "a large table looked through at each turn"},
	{NULL, NULL, NULL},
};

static void gate_start(void)
{
	char path[256];

	if (bug_on("idle-scan"))
		slot_cnt = SLOT_CNT_LARGE;
	slots = calloc(slot_cnt, sizeof(*slots));
	journal_fd = open(path_in(path, sizeof(path), "journal", 0),
			  O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (!slots || journal_fd < 0)
		die(path);
	page_write();
}

static const struct server server = {.kind = FRAME_LOOP, .routes = routes, .bugs = bugs,
				     .start = gate_start, .turn = turn_end};

int main(int argc, char **argv)
{
	return frame_main(argc, argv, &server);
}
