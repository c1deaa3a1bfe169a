/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DB_H
#define DB_H
/*
 * What `heldup serve` keeps: findings, and series of each service by the minute, in
 * one SQLite file (WAL) of the state directory; captures and answers lie beside it
 * as files, by the number of their finding.
 *
 *	db_open, db_finding_put ..., db_close
 *
 * A reader opens it read-only while the service writes.  A file of a newer heldup
 * is refused and left alone.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct db;
struct err;

enum { DB_TEXT_LEN = 400 };

struct db_finding {
	uint64_t id;
	uint64_t begin_ns, last_ns;	/* CLOCK_REALTIME: trouble from, seen until */
	uint64_t end_ns;		/* 0: it lasts */
	uint64_t again_cnt;		/* how often it came back after it had ended */
	uint64_t capture_bytes;		/* 0: none */
	uint64_t capture_from_ns, capture_until_ns; /* its time; 0: not known */
	uint64_t judged_from_ns, judged_until_ns; /* the trouble's of that; 0: to its end */
	char service[64];
	char rule[16];			/* rule_name */
	char reason[200];		/* what was noticed */
	char cls[24];			/* of the verdict; "" while it is not judged */
	char title[80], confidence[16];
	char summary[DB_TEXT_LEN];
	char note[200];			/* why there is no verdict, "" */
};

struct db_service {
	char name[64];
	char what[200];
	uint32_t pid;			/* 0: none lives */
	uint64_t seen_ns;		/* the last second of it */
	uint64_t answer_cnt;		/* of that */
	uint64_t p50_ns, p99_ns, open_cnt;
};

struct db_minute {
	uint64_t minute_ns;
	uint64_t answer_cnt, service_ns, p50_ns, p99_ns, open_max, oldest_max_ns;
};

struct db_filter {
	uint64_t since_ns;		/* findings that lasted until then, or later */
	const char *service;		/* part of its name; NULL: any */
	uint32_t max_cnt;
};

/* -EINVAL of a newer version, -EBADMSG no such file; write: made where it is not there. */
int db_open(const char *state_dir, bool write, struct db **ret, struct err *err);
void db_close(struct db *db);

/* id 0: a new one, whose number is given. */
int db_finding_put(struct db *db, struct db_finding *f);
/* The text of `why --json` of a finding, whose verdict goes into f. */
int db_finding_judge(struct db *db, struct db_finding *f, const char *json, size_t len);
int db_finding(struct db *db, uint64_t id, struct db_finding *ret); /* -ENOENT */
/* The newest first. */
int db_findings(struct db *db, const struct db_filter *filter,
		void (*each)(void *ctx, const struct db_finding *f), void *ctx);

int db_service_put(struct db *db, const struct db_service *s);
int db_services(struct db *db, void (*each)(void *ctx, const struct db_service *s), void *ctx);

int db_minute_put(struct db *db, const char *service, const struct db_minute *m);
int db_minutes(struct db *db, const char *service, uint64_t since_ns,
	       void (*each)(void *ctx, const struct db_minute *m), void *ctx);
/* Those in which the service had no finding. */
int db_sound_minutes(struct db *db, const char *service, uint64_t since_ns,
		     void (*each)(void *ctx, const struct db_minute *m), void *ctx);

/* Numbers by name: what heldup serve costs and left out. */
int db_fact_put(struct db *db, const char *name, uint64_t value);
int db_facts(struct db *db, void (*each)(void *ctx, const char *name, uint64_t value), void *ctx);

/* Findings that lasted when the service ended: it did not see their end. */
int db_close_open(struct db *db, uint64_t now_ns);

/* Forgets what ended before; the number of the oldest finding that is left is given. */
int db_forget(struct db *db, uint64_t before_ns);
/* The oldest finding with a capture; 0: none. */
uint64_t db_oldest_captured(struct db *db);

/* All of a second in one transaction. */
void db_begin(struct db *db);
void db_commit(struct db *db);

#endif /* DB_H */
