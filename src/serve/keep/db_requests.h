/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DB_REQUESTS_H
#define DB_REQUESTS_H
/*
 * What the store keeps of request types: how they are over the last five minutes,
 * hour and day, and the sums of minutes and hours that these are made of.
 */
#include <stddef.h>
#include <stdint.h>

#include "requests/live/live_sums.h"

struct db;

struct db_request {		/* one type over one window */
	uint64_t hash;
	uint32_t seconds;	/* 300, 3600, 86400 */
	uint64_t seen_ns;	/* CLOCK_REALTIME: its last request */
	uint64_t covered_ns;	/* of the window: what was there to be seen */
	char service[LIVE_SERVICE_LEN], name[LIVE_NAME_LEN];
	struct live_view view;
};

struct db_request_sums {	/* one type in one minute or hour */
	uint64_t hash, begin_ns;
	uint32_t seconds;	/* 60, 3600 */
	uint64_t cnt, failed_cnt, p50_ns, p99_ns;
	const void *sums;	/* struct live_sums; read: borrowed, any bytes */
	size_t sums_len;
};

int db_request_put(struct db *db, const struct db_request *r);
/* Those with the most requests first, each with its windows side by side, the shortest first. */
int db_requests(struct db *db, void (*each)(void *ctx, const struct db_request *r), void *ctx);

int db_request_sums_put(struct db *db, const struct db_request_sums *r);
/* hash 0: of all types. */
int db_request_sums(struct db *db, uint64_t hash, uint64_t since_ns,
		    void (*each)(void *ctx, const struct db_request_sums *r), void *ctx);

int db_request_edge_put(struct db *db, uint64_t hash, uint64_t edge, const char *name);
int db_request_edges(struct db *db,
		     void (*each)(void *ctx, uint64_t hash, uint64_t edge, const char *name),
		     void *ctx);

/* Types not seen since before_ns, and minutes over two hours old. */
int db_requests_forget(struct db *db, uint64_t before_ns, uint64_t minutes_before_ns);

#endif /* DB_REQUESTS_H */
