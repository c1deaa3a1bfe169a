/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mill: processes that accept for themselves and count in shared memory.  Its
 * bugs: a lock file that is left behind and waited for in short naps, a
 * directory looked through at each upload, a shared lock held over a slow
 * write, and a pattern with many stars, tried by recursion.
 */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "frame.h"

#define NAP_NS 500000
#define STALE_MS 700
#define COUNT_CNT 64
#define OLD_CNT 4000
#define PURGE_S 4
#define KEY_CNT 65536

struct shared { pthread_mutex_t lock; unsigned long cnt[COUNT_CNT]; };

static struct shared *shared;
static unsigned keys[KEY_CNT];

/* ---- a lock file */

FN static bool lockfile_is_stale(const char *path)
{
	struct timespec now;
	struct stat st;

	if (stat(path, &st))
		return false;
	clock_gettime(CLOCK_REALTIME, &now);
	return (now.tv_sec - st.st_mtim.tv_sec) * 1000 +
	       (now.tv_nsec - st.st_mtim.tv_nsec) / 1000000 > STALE_MS;
}

FN static void lockfile_take(const char *path)
{
	struct timespec nap = {0, NAP_NS};
	int fd;

	while ((fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644)) < 0) {
		if (lockfile_is_stale(path))
			unlink(path);
		nanosleep(&nap, NULL);
	}
	close(fd);
}

FN static void lockfile_drop(const char *path)
{
	unlink(path);
}

/* A bad order is refused, and the lock forgotten. */
FN static bool order_save(const char *text)
{
	char lock[256], path[256], line[64];
	int n = snprintf(line, sizeof(line), "%.40s\n", text), fd;

	lockfile_take(path_in(lock, sizeof(lock), "orders.lock", 0));
	if (bug_on("lock-left") && strstr(text, "bad"))
		return false;
	fd = open(path_in(path, sizeof(path), "orders", 0),
		  O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, line, n) != n)
		die(path);
	close(fd);
	lockfile_drop(lock);
	return true;
}

/* ---- uploads */

FN static unsigned spool_purge(time_t before)
{
	char dir[256], path[768];
	unsigned cnt = 0;
	struct dirent *e;
	struct stat st;
	DIR *d = opendir(path_in(dir, sizeof(dir), "spool", 0));

	if (!d)
		die(dir);
	while ((e = readdir(d))) {
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		if (!stat(path, &st) && S_ISREG(st.st_mode) && st.st_mtime < before)
			cnt += unlink(path) == 0;
	}
	closedir(d);
	return cnt;
}

FN static void upload_store(unsigned id)
{
	char path[256], to[256], text[512] = "";
	int fd = open(path_in(path, sizeof(path), "spool/new%u", id),
		      O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, text, sizeof(text)) != (ssize_t)sizeof(text))
		die(path);
	close(fd);
	if (rename(path, path_in(to, sizeof(to), "spool/%u", id)))
		die(to);
}

/* ---- what all processes count */

FN static void shared_add(unsigned at)
{
	pthread_mutex_lock(&shared->lock);
	shared->cnt[at % COUNT_CNT]++;
	pthread_mutex_unlock(&shared->lock);
}

FN static void counts_write(int fd, const unsigned long *cnt)
{
	char line[64];

	for (unsigned i = 0; i < COUNT_CNT; i++) {
		int n = snprintf(line, sizeof(line), "%u %lu\n", i, cnt[i]);

		if (write(fd, line, n) != n || (bug_on("slow-dump") && fdatasync(fd)))
			die("counts");
	}
}

FN static void shared_dump(void)
{
	unsigned long cnt[COUNT_CNT];
	char path[256];
	int fd = open(path_in(path, sizeof(path), "counts", 0),
		      O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0)
		die(path);
	pthread_mutex_lock(&shared->lock);
	memcpy(cnt, shared->cnt, sizeof(cnt));
	if (bug_on("slow-dump"))
		counts_write(fd, cnt);
	pthread_mutex_unlock(&shared->lock);
	if (!bug_on("slow-dump"))
		counts_write(fd, cnt);
	close(fd);
}

/* ---- patterns and keys */

FN static bool glob_match(const char *pattern, const char *text)
{
	if (!*pattern)
		return !*text;
	if (*pattern != '*')
		return *text && *pattern == *text && glob_match(pattern + 1, text + 1);
	for (;; text++) {
		if (glob_match(pattern + 1, text))
			return true;
		if (!*text)
			return false;
	}
}

FN static int rules_match(const char *text)
{
	static const char *const rules[] = {"/admin*", "*.php", "*/private/*"};
	int cnt = bug_on("glob") && glob_match("*a*a*a*a*a*b", text);

	for (unsigned i = 0; i < sizeof(rules) / sizeof(*rules); i++)
		cnt += glob_match(rules[i], text);
	return cnt;
}

FN static unsigned key_find(unsigned key)
{
	unsigned low = 0, high = KEY_CNT;

	while (low + 1 < high) {
		unsigned mid = (low + high) / 2;

		if (keys[mid] <= key)
			low = mid;
		else
			high = mid;
	}
	return low;
}

FN static int counter_next(void)
{
	char path[256], text[32] = "";
	int fd = open(path_in(path, sizeof(path), "counter", 0),
		      O_RDWR | O_CREAT | O_CLOEXEC, 0644), n;

	if (fd < 0 || flock(fd, LOCK_EX) || pread(fd, text, sizeof(text) - 1, 0) < 0)
		die(path);
	n = snprintf(text, sizeof(text), "%d\n", atoi(text) + 1);
	if (pwrite(fd, text, n, 0) != n || flock(fd, LOCK_UN))
		die(path);
	close(fd);
	return atoi(text);
}

/* ---- routes */

FN static void route_order(struct request *req, struct reply *rep)
{
	shared_add(1);
	reply_add(rep, "%s\n", order_save(req->arg) ? "saved" : "refused");
}

FN static void route_upload(struct request *req, struct reply *rep)
{
	static time_t purged;
	time_t now = time(NULL);

	(void)req;
	shared_add(2);
	upload_store((unsigned)getpid());
	if (bug_on("purge") || now >= purged + PURGE_S) {
		purged = now;
		spool_purge(now - 3600);
	}
	reply_add(rep, "stored\n");
}

FN static void route_dump(struct request *req, struct reply *rep)
{
	(void)req;
	shared_dump();
	reply_add(rep, "dumped\n");
}

FN static void route_match(struct request *req, struct reply *rep)
{
	shared_add(3);
	reply_add(rep, "%d\n", rules_match(req->arg));
}

FN static void route_find(struct request *req, struct reply *rep)
{
	shared_add(4);
	reply_add(rep, "%u\n", key_find((unsigned)req->fd * 977));
}

FN static void route_count(struct request *req, struct reply *rep)
{
	(void)req;
	shared_add(5);
	reply_add(rep, "%d\n", counter_next());
}

static const struct route routes[] = {
	{"/order", route_order}, {"/upload", route_upload}, {"/dump", route_dump},
	{"/match", route_match}, {"/find", route_find}, {"/count", route_count}, {NULL, NULL},
};

static const struct bug bugs[] = {
	{"lock-left", "lockfile_take", "a lock file left behind, waited for in short naps"},
	{"purge", "spool_purge", "a directory looked through at each upload"},
	{"slow-dump", "shared_dump|counts_write", "a shared lock held over a slow write"},
	{"glob", "glob_match", "a pattern with many stars, tried by recursion"},
	{NULL, NULL, NULL},
};

static void mill_start(void)
{
	pthread_mutexattr_t attr;
	char path[256];

	for (unsigned i = 0; i < KEY_CNT; i++)
		keys[i] = i * 31;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	if (shared == MAP_FAILED || mkdir(path_in(path, sizeof(path), "spool", 0), 0755))
		die("start");
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&shared->lock, &attr);
	for (unsigned i = 0; i < OLD_CNT; i++) {
		int fd = open(path_in(path, sizeof(path), "spool/old%u", i),
			      O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

		if (fd < 0)
			die(path);
		close(fd);
	}
}

static const struct server server = {.kind = FRAME_PROCESSES, .routes = routes, .bugs = bugs,
				     .start = mill_start};

int main(int argc, char **argv)
{
	return frame_main(argc, argv, &server);
}
