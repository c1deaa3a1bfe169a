/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes are what a client sends to the page of heldup serve, over a connection
 * of the loopback interface: with a token where their length is odd.
 */
#include "fuzz.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bug.h"
#include "base/clock.h"
#include "base/err.h"
#include "serve/http.h"
#include "serve/keep/db.h"
#include "serve/settings.h"

enum { TURNS = 200, SENT_MAX = 8192 };

static char dir[64];
static struct settings settings[2];
static struct http *servers[2];
static struct sockaddr_in at[2];

static void folder_remove(void)
{
	char cmd[sizeof(dir) + 16];

	snprintf(cmd, sizeof(cmd), "rm -rf '%s'", dir);
	(void)!system(cmd);
}

static uint16_t free_port(void)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(in);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	BUG_ON(fd < 0 || bind(fd, (void *)&in, len) < 0 ||
	       getsockname(fd, (void *)&in, &len) < 0);
	close(fd);
	return ntohs(in.sin_port);
}

/* A store with a service, some minutes and a finding. */
static struct db *store_make(void)
{
	struct db_finding f = {.begin_ns = 1, .last_ns = 2, .service = "web", .cls = "lock-held"};
	struct db_service s = {.name = "web", .what = "port 80", .answer_cnt = 7};
	struct db_minute m = {.minute_ns = clock_real_ns(), .answer_cnt = 7};
	struct err err = {0};
	struct db *db;

	snprintf(dir, sizeof(dir), "/dev/shm/heldup-fuzz-XXXXXX");
	BUG_ON(!mkdtemp(dir) || db_open(dir, true, &db, &err) < 0);
	atexit(folder_remove);
	db_finding_put(db, &f);
	db_service_put(db, &s);
	db_minute_put(db, "web", &m);
	return db;
}

static void start(void)
{
	static char listen[2][32];
	struct db *db = store_make();
	struct err err = {0};

	for (int i = 0; i < 2; i++) {
		uint16_t port = free_port();

		at[i] = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port),
					     .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
		snprintf(listen[i], sizeof(listen[i]), "127.0.0.1:%u", port);
		settings_init(&settings[i]);
		settings[i].state = dir;
		settings[i].listen = listen[i];
		settings[i].token = i ? "secret" : NULL;
		BUG_ON(http_open(&settings[i], db, &servers[i], &err) < 0);
	}
}

/* True: it is to be waited for no more. */
static bool take(int fd)
{
	char bytes[65536];
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, 0) > 0 && recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) <= 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int which = size & 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct linger now = {1, 0};

	if (!servers[0])
		start();
	BUG_ON(fd < 0 || connect(fd, (void *)&at[which], sizeof(at[which])) < 0);
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now)); /* leaves no TIME_WAIT */
	if (send(fd, data, size < SENT_MAX ? size : SENT_MAX, MSG_NOSIGNAL) < 0)
		abort();
	shutdown(fd, SHUT_WR);
	for (int i = 0; i < TURNS && !take(fd); i++)
		http_run(servers[which]);
	close(fd);
	http_run(servers[which]);
	return 0;
}
