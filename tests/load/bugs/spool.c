/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spool: keeps messages as files, with a journal, reports and page templates.
 * Four classic bugs: a journal synced at each record, a report written byte
 * by byte, a template looked for at hundreds of places, a directory read
 * again for every message taken.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frame.h"

#define START_CNT 3000		/* messages there at the start */
#define MESSAGE_LEN 2000
#define SYNC_EACH 64		/* records */
#define TODO_MAX 256
#define REPORT_ROWS 60
#define REPORT_ROWS_BIG 1500
#define TEMPLATE_PLACES 6000

static struct {
	pthread_mutex_t lock;
	int fd;
	unsigned unsynced;
} journal = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct {
	pthread_mutex_t lock;
	unsigned todo[TODO_MAX], cnt;
	unsigned next_id, low;
} spool = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- the journal */

FN static void journal_sync(void)
{
	if (fdatasync(journal.fd))
		die("journal");
	journal.unsynced = 0;
}

FN static void journal_append(const char *what, unsigned id)
{
	char line[128];
	int n = snprintf(line, sizeof(line), "%llu %s %u\n", (unsigned long long)now_ns(),
			 what, id);

	pthread_mutex_lock(&journal.lock);
	if (write(journal.fd, line, n) != n)
		die("journal");
	if (bug_on("fsync-record")) {
		if (fsync(journal.fd))
			die("journal");
	} else if (++journal.unsynced >= SYNC_EACH) {
		journal_sync();
	}
	pthread_mutex_unlock(&journal.lock);
}

/* ---- messages */

FN static void message_write(unsigned id)
{
	char part[256], path[256], text[MESSAGE_LEN];
	int fd = open(path_in(part, sizeof(part), "in.%u", id),
		      O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	memset(text, 'a' + id % 26, sizeof(text));
	if (fd < 0 || write(fd, text, sizeof(text)) != (ssize_t)sizeof(text))
		die(part);
	close(fd);
	if (rename(part, path_in(path, sizeof(path), "m.%u", id)))
		die(path);
}

FN static long message_read(unsigned id)
{
	char path[256], text[MESSAGE_LEN];
	struct stat st;
	int fd = open(path_in(path, sizeof(path), "m.%u", id), O_RDONLY | O_CLOEXEC);
	long got = -1;

	if (fd < 0)
		return -1;
	if (!fstat(fd, &st))
		got = pread(fd, text, sizeof(text), 0);
	close(fd);
	return got;
}

FN static void message_drop(unsigned id)
{
	char path[256];

	unlink(path_in(path, sizeof(path), "m.%u", id));
}

/* ---- taking the next message */

FN static void spool_fill(void)
{
	DIR *d = opendir(frame.dir);
	struct dirent *e;
	unsigned id;

	if (!d)
		die(frame.dir);
	while (spool.cnt < TODO_MAX && (e = readdir(d)))
		if (sscanf(e->d_name, "m.%u", &id) == 1)
			spool.todo[spool.cnt++] = id;
	closedir(d);
}

/* The oldest one, found by looking at all that are there. */
FN static unsigned spool_oldest(void)
{
	DIR *d = opendir(frame.dir);
	struct dirent *e;
	unsigned id, best = 0;

	if (!d)
		die(frame.dir);
	while ((e = readdir(d)))
		if (sscanf(e->d_name, "m.%u", &id) == 1 && (!best || id < best) &&
		    !faccessat(dirfd(d), e->d_name, R_OK, 0))
			best = id;
	closedir(d);
	return best;
}

FN static unsigned spool_next(void)
{
	unsigned id = 0;

	pthread_mutex_lock(&spool.lock);
	if (bug_on("dir-rescan")) {
		id = spool_oldest();
	} else {
		if (!spool.cnt)
			spool_fill();
		if (spool.cnt)
			id = spool.todo[--spool.cnt];
	}
	if (id)
		message_drop(id);
	pthread_mutex_unlock(&spool.lock);
	return id;
}

/* ---- reports and pages */

FN static size_t report_row(char *row, size_t len, unsigned i)
{
	return snprintf(row, len, "%u;%u;%u\n", i, i * 7919 % 1000, i * 31 % 97);
}

FN static void report_emit(int fd, unsigned rows)
{
	char all[64 * 1024], row[64];
	size_t len = 0;

	for (unsigned i = 0; i < rows; i++) {
		size_t n = report_row(row, sizeof(row), i);

		for (size_t k = 0; bug_on("tiny-writes") && k < n; k++)
			if (write(fd, row + k, 1) != 1)
				die("report");
		memcpy(all + len, row, n);
		len += n;
	}
	if (!bug_on("tiny-writes") && write(fd, all, len) != (ssize_t)len)
		die("report");
}

FN static int template_find(const char *name, char *path, size_t len)
{
	unsigned places = bug_on("stat-storm") ? TEMPLATE_PLACES : 2;
	struct stat st;

	for (unsigned i = places; i--;) {
		if (i)
			snprintf(path, len, "%s/theme%u/%s.tmpl", frame.dir, i, name);
		else
			snprintf(path, len, "%s/%s.tmpl", frame.dir, name);
		if (!stat(path, &st))
			return 0;
	}
	return -ENOENT;
}

FN static long template_read(const char *path)
{
	char text[4096];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	long got;

	if (fd < 0)
		return -1;
	got = read(fd, text, sizeof(text));
	close(fd);
	return got;
}

/* ---- routes */

FN static void route_put(struct request *req, struct reply *rep)
{
	unsigned id = __sync_add_and_fetch(&spool.next_id, 1);

	(void)req;
	journal_append("put", id);
	message_write(id);
	reply_add(rep, "%u\n", id);
}

FN static void route_get(struct request *req, struct reply *rep)
{
	unsigned seed = req->arg[0] ? strtoul(req->arg, NULL, 10) : (unsigned)now_ns();
	long got = message_read(1 + seed % spool.next_id);

	reply_add(rep, "%ld bytes\n", got);
}

FN static void route_next(struct request *req, struct reply *rep)
{
	unsigned id = spool_next(), fresh = __sync_add_and_fetch(&spool.next_id, 1);

	(void)req;
	message_write(fresh);	/* as many come as go */
	reply_add(rep, "took %u\n", id);
}

FN static void route_report(struct request *req, struct reply *rep)
{
	char path[256];
	int fd = open(path_in(path, sizeof(path), "report.%u", req->fd),
		      O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0)
		die(path);
	report_emit(fd, strcmp(req->arg, "big") ? REPORT_ROWS : REPORT_ROWS_BIG);
	close(fd);
	reply_add(rep, "written\n");
}

FN static void route_page(struct request *req, struct reply *rep)
{
	char path[512];

	(void)req;
	if (template_find("page", path, sizeof(path)))
		reply_fail(rep, 404);
	else
		reply_add(rep, "%ld\n", template_read(path));
}

/* Another program may look at the spool while it holds this lock. */
FN static void route_count(struct request *req, struct reply *rep)
{
	char path[256];
	int fd = open(path_in(path, sizeof(path), "lock", 0), O_RDWR | O_CREAT | O_CLOEXEC, 0644);

	(void)req;
	if (fd < 0 || flock(fd, LOCK_SH))
		die(path);
	reply_add(rep, "%u\n", spool.next_id);
	flock(fd, LOCK_UN);
	close(fd);
}

static void start(void)
{
	char path[256];
	FILE *f = fopen(path_in(path, sizeof(path), "page.tmpl", 0), "w");

	if (!f)
		die(path);
	fputs("<html>page</html>\n", f);
	fclose(f);
	journal.fd = open(path_in(path, sizeof(path), "journal", 0),
			  O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (journal.fd < 0)
		die(path);
	for (spool.next_id = 1; spool.next_id < START_CNT; spool.next_id++)
		message_write(spool.next_id);
}

static const struct route routes[] = {
	{"/put", route_put}, {"/get", route_get}, {"/next", route_next},
	{"/report", route_report}, {"/page", route_page}, {"/count", route_count}, {NULL, NULL},
};

static const struct bug bugs[] = {
	{"fsync-record", "journal_append", "a journal synced at every record"},
	{"tiny-writes", "report_emit", "a report written byte by byte"},
	{"stat-storm", "template_find", "a file looked for at 6,000 places"},
	{"dir-rescan", "spool_oldest|spool_next", "a directory read again for each message"},
	{NULL, NULL, NULL},
};

static const struct server server = {.routes = routes, .bugs = bugs, .start = start};

int main(int argc, char **argv)
{
	return frame_main(argc, argv, &server);
}
