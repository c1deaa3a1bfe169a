/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STATUS_H
#define STATUS_H
/*
 * How the host is, from the store: what `heldup`, `heldup log`, the pages and
 * /metrics show alike.
 *
 *	struct status st = {0};
 *	status_read, status_json or what one needs of it, status_release
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "serve/keep/db.h"
#include "serve/keep/request_rows.h"

struct buf;
struct json;

enum { STATUS_FINDINGS = 5, STATUS_NAME_LEN = 64 };

struct status_fact {
	char name[STATUS_NAME_LEN];
	uint64_t value;
};

struct status {
	VEC(struct db_service) services;
	VEC(struct db_finding) findings; /* the newest first */
	VEC(struct status_fact) facts;
	struct request_rows requests;
	uint64_t now_ns;
	bool runs;			 /* heldup serve, now */
};

/* 0 or -errno. */
int status_read(struct db *db, bool runs, struct status *st);
void status_release(struct status *st);

/* "sound", "held up", "not running", "not watched". */
const char *status_state(const struct status *st, const struct db_service *s);

/* The finding of a service that lasts; NULL: none does. */
const struct db_finding *status_open(const struct status *st, const char *service);

uint64_t status_fact(const struct status *st, const char *name);

/* The keys of "heldup/status/1", of "heldup/log/1", of a finding. */
void status_json(const struct status *st, struct json *j);
void status_finding_json(const struct db_finding *f, struct json *j);
int status_log_json(struct db *db, const struct db_filter *filter, struct json *j);

/* OpenMetrics text. */
void status_metrics(const struct status *st, struct buf *out);

#endif /* STATUS_H */
