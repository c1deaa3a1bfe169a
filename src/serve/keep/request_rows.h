/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REQUEST_ROWS_H
#define REQUEST_ROWS_H
/* Request types as the pages, the API, `heldup` and /metrics show them: rows of db_requests. */
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "serve/keep/db_requests.h"

struct buf;
struct db;
struct json;

enum { REQUEST_WINDOW = 300 };	/* seconds: what is now */

struct request_rows {		/* by type, its windows side by side */
	VEC(struct db_request) rows;
};

int request_rows_read(struct db *db, struct request_rows *r);
/*
 * The types since then, added up from minutes, or where these are gone from hours:
 * rows of seconds 0, those with the most requests first.
 */
int request_rows_since(struct db *db, uint64_t since_ns, uint64_t now_ns,
		       struct request_rows *r);

void request_rows_release(struct request_rows *r);

/* Requests in a second of a row's window. */
double request_rate(const struct db_request *r);

/* An array of types with their windows. */
void request_rows_json(const struct request_rows *r, struct json *j);

/* OpenMetrics text of REQUEST_WINDOW. */
void request_rows_metrics(const struct request_rows *r, struct buf *out);

/* The minutes of one type: an array, as that of a service's. */
int request_series_json(struct db *db, uint64_t hash, uint64_t since_ns, struct json *j);

/* Appends a label's value, quoted as the format wants it: names are anybody's. */
void metrics_label(struct buf *out, const char *text);

#endif /* REQUEST_ROWS_H */
