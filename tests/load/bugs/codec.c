/* SPDX-License-Identifier: Apache-2.0 */
/*
 * codec: cuts streams into packets, encodes and sums files, looks names up in
 * a table.  Its bugs are both in memory: what is left of a stream is moved to
 * the front for each packet (quadratic), and a search that never ends when the
 * table is full (a spin without any call).
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "frame.h"

#define STREAM_SMALL (16 * 1024)
#define STREAM_BIG (3 << 20)
#define PACKET 512
#define FILL 65536
#define TABLE_CNT 1024
#define NAME_LEN 16

struct stream { char *data; size_t begin, end, all; int fd; };

static struct {
	pthread_mutex_t lock;
	char names[TABLE_CNT][NAME_LEN];
} table = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- a stream */

FN static bool stream_open(struct stream *s, size_t all)
{
	char path[256];

	s->fd = open(path_in(path, sizeof(path), "stream", 0), O_RDONLY | O_CLOEXEC);
	s->data = malloc(all);
	s->all = all;
	s->begin = s->end = 0;
	return s->fd >= 0 && s->data;
}

FN static bool stream_fill(struct stream *s)
{
	while (s->end < s->all) {
		size_t room = s->all - s->end < FILL ? s->all - s->end : FILL;
		ssize_t n = read(s->fd, s->data + s->end, room);

		if (n <= 0)
			return false;
		s->end += n;
	}
	return true;
}

FN static bool stream_take(struct stream *s, char *packet)
{
	if (s->end - s->begin < PACKET)
		return false;
	memcpy(packet, s->data + s->begin, PACKET);
	if (bug_on("quad-copy")) {
		s->end -= PACKET;
		memmove(s->data, s->data + PACKET, s->end);
	} else {
		s->begin += PACKET;
	}
	return true;
}

FN static void stream_close(struct stream *s)
{
	close(s->fd);
	free(s->data);
}

/* ---- packets */

FN static unsigned packet_sum(const char *packet)
{
	unsigned sum = 0;

	for (int i = 0; i < PACKET; i++)
		sum = sum * 31 + (unsigned char)packet[i];
	return sum;
}

FN static void sums_write(const unsigned *sums, unsigned cnt)
{
	char path[256];
	struct iovec iov = {.iov_base = (void *)sums, .iov_len = cnt * sizeof(*sums)};
	int fd = open(path_in(path, sizeof(path), "sums", 0),
		      O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0 || writev(fd, &iov, 1) < 0)
		die(path);
	close(fd);
}

FN static unsigned packets_run(struct stream *s)
{
	static _Thread_local unsigned sums[STREAM_BIG / PACKET];
	char packet[PACKET];
	unsigned cnt = 0;

	while (cnt < STREAM_BIG / PACKET && stream_take(s, packet))
		sums[cnt++] = packet_sum(packet);
	sums_write(sums, cnt);
	return cnt;
}

/* ---- the table */

FN static unsigned name_hash(const char *name)
{
	unsigned h = 5381;

	while (*name)
		h = h * 33 + (unsigned char)*name++;
	return h;
}

/* The slot of name or an empty one; a full table has neither. */
FN static int table_find(const char *name)
{
	unsigned at = name_hash(name), tries = 0;

	while (table.names[at % TABLE_CNT][0] && strcmp(table.names[at % TABLE_CNT], name)) {
		if (++tries >= TABLE_CNT && !bug_on("spin"))
			return -1;
		at++;
	}
	return at % TABLE_CNT;
}

FN static void table_load(void)
{
	char path[256], text[NAME_LEN];
	int fd = open(path_in(path, sizeof(path), "names", 0), O_RDONLY | O_CLOEXEC);
	int at;

	if (fd < 0)
		die(path);
	while (read(fd, text, NAME_LEN) == NAME_LEN) {
		at = table_find(text);
		if (at >= 0)
			memcpy(table.names[at], text, NAME_LEN);
	}
	close(fd);
}

/* ---- files */

FN static size_t block_encode(const unsigned char *in, size_t len, char *out)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < len; i++) {
		out[2 * i] = digits[in[i] >> 4];
		out[2 * i + 1] = digits[in[i] & 15];
	}
	return 2 * len;
}

FN static void file_encode(void)
{
	char from[256], to[256], out[8192];
	unsigned char in[4096];
	int fd = open(path_in(from, sizeof(from), "small", 0), O_RDONLY | O_CLOEXEC);
	int out_fd = open(path_in(to, sizeof(to), "encoded", 0),
			  O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	ssize_t n;

	if (fd < 0 || out_fd < 0)
		die(from);
	while ((n = read(fd, in, sizeof(in))) > 0)
		if (write(out_fd, out, block_encode(in, n, out)) < 0)
			die(to);
	close(fd);
	close(out_fd);
}

FN static unsigned file_sum(void)
{
	char path[256], in[8192];
	int fd = open(path_in(path, sizeof(path), "small", 0), O_RDONLY | O_CLOEXEC);
	unsigned sum = 0;
	off_t at = 0;

	if (fd < 0)
		die(path);
	posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	while (pread(fd, in, sizeof(in), at) > 0) {
		sum += packet_sum(in);
		at += sizeof(in);
	}
	close(fd);
	return sum;
}

/* ---- routes */

FN static void route_packets(struct request *req, struct reply *rep)
{
	struct stream s;

	if (!stream_open(&s, strcmp(req->arg, "big") ? STREAM_SMALL : STREAM_BIG) ||
	    !stream_fill(&s))
		die("stream");
	reply_add(rep, "%u packets\n", packets_run(&s));
	stream_close(&s);
}

FN static void route_lookup(struct request *req, struct reply *rep)
{
	int at;

	pthread_mutex_lock(&table.lock);
	at = table_find(req->arg[0] ? req->arg : "name7");
	pthread_mutex_unlock(&table.lock);
	reply_add(rep, "%d\n", at);
}

FN static void route_encode(struct request *req, struct reply *rep)
{
	(void)req;
	file_encode();
	reply_add(rep, "encoded\n");
}

FN static void route_sum(struct request *req, struct reply *rep)
{
	(void)req;
	reply_add(rep, "%u\n", file_sum());
}

FN static void route_names(struct request *req, struct reply *rep)
{
	char path[256];
	struct stat st;

	(void)req;
	if (stat(path_in(path, sizeof(path), "names", 0), &st))
		die(path);
	reply_add(rep, "%lld\n", (long long)st.st_size);
}

static void file_make(const char *name, size_t len)
{
	char path[256];
	FILE *f = fopen(path_in(path, sizeof(path), name, 0), "w");

	if (!f)
		die(path);
	for (size_t i = 0; i < len; i++)
		fputc('a' + i * 7 % 26, f);
	fclose(f);
}

static void start(void)
{
	char path[256], name[NAME_LEN] = "";
	FILE *f = fopen(path_in(path, sizeof(path), "names", 0), "w");

	if (!f)
		die(path);
	for (unsigned i = 0; i < TABLE_CNT; i++) {
		memset(name, 0, sizeof(name));
		snprintf(name, sizeof(name), "name%u", i);
		fwrite(name, 1, sizeof(name), f);
	}
	fclose(f);
	file_make("stream", STREAM_BIG);
	file_make("small", 20000);
	table_load();
}

static const struct route routes[] = {
	{"/packets", route_packets}, {"/lookup", route_lookup}, {"/encode", route_encode},
	{"/sum", route_sum}, {"/names", route_names}, {NULL, NULL},
};

static const struct bug bugs[] = {
	{"quad-copy", "stream_take", "all that is left is moved for each packet"},
	{"spin", "table_find", "a search in a full table that never ends"},
	{NULL, NULL, NULL},
};

static const struct server server = {.routes = routes, .bugs = bugs, .start = start};

int main(int argc, char **argv)
{
	return frame_main(argc, argv, &server);
}
