/* SPDX-License-Identifier: Apache-2.0 */
/* The store of heldup serve. */
#include <errno.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/err.h"
#include "serve/keep/db.h"
#include "unit.h"

static char dir[64];

static const char *make_dir(void)
{
	snprintf(dir, sizeof(dir), "/tmp/heldup-db-XXXXXX");
	OK(mkdtemp(dir) != NULL);
	return dir;
}

static void drop_dir(void)
{
	char path[128];
	static const char *const names[] = {"heldup.db", "heldup.db-wal", "heldup.db-shm"};

	for (unsigned i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		unlink(path);
	}
	rmdir(dir);
}

static void count(void *ctx, const struct db_finding *f)
{
	(void)f;
	++*(unsigned *)ctx;
}

static unsigned findings(struct db *db, uint64_t since_ns, const char *service)
{
	struct db_filter filter = {.since_ns = since_ns, .service = service};
	unsigned cnt = 0;

	EQ_U(db_findings(db, &filter, count, &cnt), 0);
	return cnt;
}

TEST(db_findings_are_kept)
{
	static const char json[] = "{\"verdict\":{\"class\":\"lock-held\",\"title\":\"t\","
				   "\"confidence\":\"high\",\"summary\":\"s\"}}";
	struct db_finding f = {.begin_ns = 100, .last_ns = 200, .service = "web'\""};
	struct db_finding got, other = {.begin_ns = 900, .last_ns = 950, .service = "db"};
	struct err err = {0};
	struct db *db;

	EQ_U(db_open(make_dir(), true, &db, &err), 0);
	EQ_U(db_finding_put(db, &f), 0);
	EQ_U(db_finding_put(db, &other), 0);
	EQ_U(f.id, 1);
	EQ_U(db_finding_judge(db, &f, json, sizeof(json) - 1), 0);
	EQ_S(f.cls, "lock-held");
	EQ_U(db_finding_put(db, &f), 0);
	db_close(db);
	EQ_U(db_open(dir, false, &db, &err), 0); /* as another process reads it */
	EQ_U(db_finding(db, 1, &got), 0);
	EQ_S(got.service, "web'\"");
	EQ_S(got.cls, "lock-held");
	EQ_U((uint64_t)-db_finding(db, 7, &got), ENOENT);
	EQ_U(findings(db, 0, NULL), 2);
	EQ_U(findings(db, 500, NULL), 1);
	EQ_U(findings(db, 0, "web"), 1);
	db_close(db);
	drop_dir();
}

TEST(db_forgets)
{
	struct db_finding f = {.begin_ns = 100, .last_ns = 200, .end_ns = 200, .service = "a"};
	struct db_finding lasts = {.begin_ns = 100, .last_ns = 200, .service = "b"};
	struct err err = {0};
	struct db *db;

	EQ_U(db_open(make_dir(), true, &db, &err), 0);
	db_finding_put(db, &f);
	db_finding_put(db, &lasts);
	EQ_U(db_forget(db, 1000), 0);
	EQ_U(findings(db, 0, NULL), 1);
	EQ_U(db_close_open(db, 5000), 0);
	EQ_U(db_forget(db, 1000), 0);
	EQ_U(findings(db, 0, NULL), 0);
	db_close(db);
	drop_dir();
}

/* Of the version before: read as it is, and given what it lacks where it is written to. */
TEST(db_older_is_taken_over)
{
	struct db_finding got = {.service = "a", .judged_from_ns = 5};
	struct err err = {0};
	struct db *db;
	sqlite3 *sql;
	char path[128];

	EQ_U(db_open(make_dir(), true, &db, &err), 0);
	EQ_U(db_finding_put(db, &got), 0);
	db_close(db);
	snprintf(path, sizeof(path), "%s/heldup.db", dir);
	EQ_U(sqlite3_open(path, &sql), SQLITE_OK);
	EQ_U(sqlite3_exec(sql, "ALTER TABLE findings DROP capture_from_ns;"
			       "ALTER TABLE findings DROP capture_until_ns;"
			       "ALTER TABLE findings DROP judged_from_ns;"
			       "ALTER TABLE findings DROP judged_until_ns; PRAGMA user_version=1",
			  NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(sql);
	for (int write = 0; write < 2; write++) {
		ROW(write);
		EQ_U(db_open(dir, write, &db, &err), 0);
		EQ_U(db_finding(db, 1, &got), 0);
		EQ_S(got.service, "a");
		EQ_U(got.judged_from_ns, 0);
		db_close(db);
	}
	EQ_U(db_open(dir, true, &db, &err), 0);
	got.judged_from_ns = 7;
	EQ_U(db_finding_put(db, &got), 0);
	EQ_U(db_finding(db, 1, &got), 0);
	EQ_U(got.judged_from_ns, 7);
	db_close(db);
	drop_dir();
}

/* No answer of why: the finding stays, unjudged. */
TEST(db_bad_answer)
{
	struct db_finding f = {.service = "a"};
	struct err err = {0};
	struct db *db;

	EQ_U(db_open(make_dir(), true, &db, &err), 0);
	OK(db_finding_judge(db, &f, "{\"verdict\":", 11) < 0);
	EQ_S(f.cls, "");
	EQ_U(db_finding_judge(db, &f, "{}", 2), 0);
	EQ_S(f.cls, "");
	db_close(db);
	drop_dir();
}

TEST(db_newer_is_left_alone)
{
	struct err err = {0};
	struct stat before, after;
	struct db *db;
	sqlite3 *sql;
	char path[128];

	snprintf(path, sizeof(path), "%s/heldup.db", make_dir());
	EQ_U(sqlite3_open(path, &sql), SQLITE_OK);
	EQ_U(sqlite3_exec(sql, "PRAGMA user_version=9999; CREATE TABLE t(a)", NULL, NULL, NULL),
	     SQLITE_OK);
	sqlite3_close(sql);
	EQ_U(stat(path, &before), 0);
	for (int write = 0; write < 2; write++) {
		EQ_U((uint64_t)-db_open(dir, write, &db, &err), EINVAL);
		OK(strstr(err.msg, "newer heldup") != NULL);
	}
	EQ_U(stat(path, &after), 0);
	EQ_U(before.st_size, after.st_size);
	EQ_U(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
	drop_dir();
}

TEST(db_no_store)
{
	struct err err = {0};
	struct db *db;
	char path[128];
	FILE *f;

	EQ_U((uint64_t)-db_open("/nonexistent", false, &db, &err), ENOENT);
	snprintf(path, sizeof(path), "%s/heldup.db", make_dir());
	f = fopen(path, "w");
	OK(f != NULL);
	fputs("this is no database, and long enough to be looked at as one: 0123456789 0123456789 "
	      "0123456789 0123456789\n", f);
	fclose(f);
	OK(db_open(dir, true, &db, &err) < 0);
	drop_dir();
}

static void take_minute(void *ctx, const struct db_minute *m)
{
	*(struct db_minute *)ctx = *m;
}

TEST(db_minutes_of_two_runs_are_one)
{
	struct db_minute m = {.minute_ns = 60, .answer_cnt = 30, .service_ns = 300, .p50_ns = 10,
			      .p99_ns = 50, .open_max = 4, .oldest_max_ns = 7}, got = {0};
	struct err err = {0};
	struct db *db;

	EQ_I(db_open(make_dir(), true, &db, &err), 0);
	EQ_I(db_minute_put(db, "web", &m), 0);
	m.answer_cnt = 10;
	m.p50_ns = 30;
	m.p99_ns = 40;
	m.open_max = 6;
	EQ_I(db_minute_put(db, "web", &m), 0);
	EQ_I(db_minutes(db, "web", 0, take_minute, &got), 0);
	EQ_U(got.answer_cnt, 40);
	EQ_U(got.service_ns, 600);
	EQ_U(got.p50_ns, 15);
	EQ_U(got.p99_ns, 50);
	EQ_U(got.open_max, 6);
	db_close(db);
	drop_dir();
}

/* Writes until it is killed; what it says through the pipe was committed. */
static void write_for_ever(const char *where, int said)
{
	struct db_minute m = {.answer_cnt = 1};
	struct err err = {0};
	struct db *db;

	if (db_open(where, true, &db, &err) < 0)
		_exit(1);
	for (uint64_t i = 1;; i++) {
		m.minute_ns = i;
		db_begin(db);
		if (db_minute_put(db, "web", &m) < 0)
			_exit(1);
		db_commit(db);
		if (write(said, &i, sizeof(i)) != sizeof(i))
			_exit(1);
	}
}

static void count_minute(void *ctx, const struct db_minute *m)
{
	(void)m;
	++*(uint64_t *)ctx;
}

TEST(db_killed_at_random_points)
{
	const char *where = make_dir();
	uint64_t most = 0;

	srand(1);
	for (unsigned turn = 0; turn < 40; turn++) {
		uint64_t said = 0, cnt = 0, one;
		struct err err = {0};
		struct db *db;
		int pipes[2];
		pid_t pid;

		ROW(turn);
		EQ_I(pipe(pipes), 0);
		pid = fork();
		if (pid == 0)
			write_for_ever(where, pipes[1]);
		close(pipes[1]);
		usleep(2000 + (useconds_t)rand() % 15000);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		while (read(pipes[0], &one, sizeof(one)) == sizeof(one))
			said = one;
		close(pipes[0]);
		most = said > most ? said : most;
		EQ_I(db_open(where, true, &db, &err), 0);
		EQ_I(db_minutes(db, "web", 0, count_minute, &cnt), 0);
		OK(cnt >= most && cnt <= most + 1); /* none is lost, none is half there */
		most = cnt;
		db_close(db);
	}
	OK(most > 0);
	drop_dir();
}

TEST(db_full_disk)
{
	struct rlimit limit = {64 << 10, 64 << 10};
	struct db_minute m = {.answer_cnt = 1};
	struct err err = {0};
	uint64_t cnt = 0, put = 0;
	struct db *db;

	signal(SIGXFSZ, SIG_IGN);
	EQ_I(db_open(make_dir(), true, &db, &err), 0);
	EQ_I(setrlimit(RLIMIT_FSIZE, &limit), 0); /* files do not grow, as on a full disk */
	for (uint64_t i = 1; i < 20000; i++) {
		m.minute_ns = i;
		if (db_minute_put(db, "web", &m) < 0)
			break;
		put++;
	}
	OK(put > 0 && put < 19999);
	EQ_I(db_minutes(db, "web", 0, count_minute, &cnt), 0);
	EQ_U(cnt, put);
	db_close(db);
	cnt = 0;
	EQ_I(db_open(dir, false, &db, &err), 0);
	EQ_I(db_minutes(db, "web", 0, count_minute, &cnt), 0);
	EQ_U(cnt, put);
	db_close(db);
	drop_dir();
}
