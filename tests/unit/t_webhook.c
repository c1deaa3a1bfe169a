/* SPDX-License-Identifier: Apache-2.0 */
/* What is posted of a finding, how much, and where to. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "serve/keep/db.h"
#include "serve/tell/webhook.h"
#include "serve/tell/webhook_post.h"
#include "unit.h"

static const struct db_finding finding = {
	.id = 7, .begin_ns = 1700000000500000000, .last_ns = 1700000060000000000,
	.service = "web\"", .rule = "slow", .reason = "p50 is 40.0 ms", .cls = "lock-held",
	.title = "lock held too long", .confidence = "high", .summary = "x holds it",
};

TEST(webhook_plain_body)
{
	struct buf out = {0};

	webhook_body(WEBHOOK_PLAIN, "begins", &finding, &out);
	HAS(buf_str(&out), "{\"event\":\"begins\",\"id\":7,\"service\":\"web\\\"\"");
	HAS(buf_str(&out), "\"class\":\"lock-held\"");
	buf_release(&out);
}

/* It fires until it ends, under the same labels. */
TEST(webhook_alertmanager_body)
{
	static const char labels[] = "\"labels\":{\"alertname\":\"heldup\","
				     "\"service\":\"web\\\"\","
				     "\"rule\":\"slow\",\"finding\":\"7\"}";
	struct db_finding ended = finding;
	struct buf out = {0};

	webhook_body(WEBHOOK_ALERTMANAGER, "judged", &finding, &out);
	HAS(buf_str(&out), "{\"version\":\"4\"");
	HAS(buf_str(&out), "\"status\":\"firing\"");
	HAS(buf_str(&out), labels);
	HAS(buf_str(&out), "\"startsAt\":\"2023-11-14T22:13:20Z\","
			   "\"endsAt\":\"0001-01-01T00:00:00Z\"");
	HAS(buf_str(&out), "\"summary\":\"lock held too long\"");
	buf_clear(&out);
	ended.end_ns = 1700000060000000000;
	webhook_body(WEBHOOK_ALERTMANAGER, "ends", &ended, &out);
	HAS(buf_str(&out), "\"status\":\"resolved\"");
	HAS(buf_str(&out), labels);
	HAS(buf_str(&out), "\"endsAt\":\"2023-11-14T22:14:20Z\"");
	buf_release(&out);
}

/* More than the bounds is counted, and without an address nothing is. */
TEST(webhook_bounds)
{
	struct webhook *w = webhook_new("http://127.0.0.1:9/", WEBHOOK_PLAIN);
	struct webhook *none = webhook_new(NULL, WEBHOOK_PLAIN);

	for (unsigned i = 0; i < WEBHOOK_QUEUE + 5; i++) {
		webhook_add(w, "begins", &finding);
		webhook_add(none, "begins", &finding);
	}
	webhook_step(none);
	EQ_U(webhook_lost(w), 5);
	EQ_U(webhook_sent(w), 0);
	EQ_U(webhook_lost(none), 0);
	webhook_free(w);
	webhook_free(none);
}

TEST(webhook_addresses)
{
	static const char *const wrong[] = {"", "ftp://x/", "file:///etc/passwd", "http://",
					    "https:///x", "127.0.0.1:80", "HTTP"};
	struct err err;

	for (unsigned i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		ROW((int)i);
		err = (struct err){0};
		EQ_I(post_check(wrong[i], &err), -EINVAL);
	}
}

/* A receiver on this host that answers one request; its port. */
static int receiver(int *ret_fd)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	OK(fd >= 0 && bind(fd, (void *)&at, sizeof(at)) == 0 && listen(fd, 1) == 0);
	OK(getsockname(fd, (void *)&at, &len) == 0);
	*ret_fd = fd;
	return ntohs(at.sin_port);
}

/* What came, up to the body's end. */
static void take(int fd, const char *answer, char *ret, size_t size)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	size_t len = 0;
	int conn = poll(&p, 1, 10000) == 1 ? accept(fd, NULL, NULL) : -1;

	OK(conn >= 0);
	while (len + 1 < size && !strstr(ret, "}")) {
		ssize_t got = read(conn, ret + len, size - len - 1);

		OK(got > 0);
		len += (size_t)got;
		ret[len] = '\0';
	}
	OK(write(conn, answer, strlen(answer)) == (ssize_t)strlen(answer));
	close(conn);
}

TEST(webhook_posts)
{
	static const struct {
		const char *answer;
		int code;
	} rows[] = {
		{"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", POST_TAKEN},
		{"HTTP/1.1 204 No Content\r\n\r\n", POST_TAKEN},
		{"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n", POST_FAILED},
		{"HTTP/1.1 429 Slow down\r\nContent-Length: 0\r\n\r\n", POST_FAILED},
		{"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n", POST_REFUSED},
		{"HTTP/1.1 302 There\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\n\r\n",
		 POST_REFUSED},
		{"not http\r\n\r\n", POST_FAILED},
	};
	struct err err = {0};
	int status, fd;

	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char url[64], got[2048] = "";
		pid_t pid;

		ROW((int)i);
		snprintf(url, sizeof(url), "http://127.0.0.1:%d/hook", receiver(&fd));
		if (post_check(url, &err) == -ENOENT) { /* libcurl is not here: it says so */
			EQ_I(waitpid(post_start(url, "{}"), &status, 0) > 0, 1);
			EQ_I(WEXITSTATUS(status), POST_NO_LIBRARY);
			close(fd);
			continue;
		}
		pid = post_start(url, "{\"a\":1}");
		OK(pid > 0);
		take(fd, rows[i].answer, got, sizeof(got));
		EQ_I(waitpid(pid, &status, 0), pid);
		OK(WIFEXITED(status));
		EQ_I(WEXITSTATUS(status), rows[i].code);
		HAS(got, "POST /hook HTTP/1.1");
		HAS(got, "Content-Type: application/json");
		HAS(got, "\r\n\r\n{\"a\":1}");
		close(fd);
	}
}
