/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/keep/db_requests.h"

#include "serve/keep/db_int.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))
#define PER_MILLION 1e6 /* shares are bound as whole numbers */

int db_request_put(struct db *db, const struct db_request *r)
{
	const struct live_view *v = &r->view;
	const struct db_value values[] = {
		N(r->hash), N(r->seconds), S(r->service), S(r->name), N(r->seen_ns),
		N(r->covered_ns), N(v->cnt), N(v->failed_cnt), N(v->mean_ns), N(v->p50_ns),
		N(v->p99_ns), S(v->time.name), N((uint64_t)(v->time.share * PER_MILLION)),
		N(v->time.mean_ns), S(v->variance.name),
		N((uint64_t)(v->variance.share * PER_MILLION)), N(v->variance.mean_ns),
	};

	return db_run(db, "INSERT OR REPLACE INTO requests VALUES(?,?,?,?,?,?,?,?,?,?,?,?,"
			  "?/1000000.0,?,?,?/1000000.0,?)", values, COUNT(values));
}

static void take_share(sqlite3_stmt *st, int column, struct live_share *ret)
{
	db_take_text(st, column, ret->name, sizeof(ret->name));
	ret->share = sqlite3_column_double(st, column + 1);
	ret->mean_ns = (uint64_t)sqlite3_column_int64(st, column + 2);
}

int db_requests(struct db *db, void (*each)(void *ctx, const struct db_request *r), void *ctx)
{
	sqlite3_stmt *st = NULL;
	int rc, step = SQLITE_DONE;

	if (db->version < 3)
		return 0;
	rc = db_prepare(db, "SELECT r.* FROM requests r JOIN requests d ON d.hash=r.hash AND "
			    "d.seconds=86400 ORDER BY d.cnt DESC, r.hash, r.seconds", NULL, 0, &st);
	while (rc == 0 && (step = sqlite3_step(st)) == SQLITE_ROW) {
		struct db_request r = {
			.hash = (uint64_t)sqlite3_column_int64(st, 0),
			.seconds = (uint32_t)sqlite3_column_int64(st, 1),
			.seen_ns = (uint64_t)sqlite3_column_int64(st, 4),
			.covered_ns = (uint64_t)sqlite3_column_int64(st, 5),
			.view = {
				.cnt = (uint64_t)sqlite3_column_int64(st, 6),
				.failed_cnt = (uint64_t)sqlite3_column_int64(st, 7),
				.mean_ns = (uint64_t)sqlite3_column_int64(st, 8),
				.p50_ns = (uint64_t)sqlite3_column_int64(st, 9),
				.p99_ns = (uint64_t)sqlite3_column_int64(st, 10),
			},
		};

		db_take_text(st, 2, r.service, sizeof(r.service));
		db_take_text(st, 3, r.name, sizeof(r.name));
		take_share(st, 11, &r.view.time);
		take_share(st, 14, &r.view.variance);
		each(ctx, &r);
	}
	sqlite3_finalize(st);
	return rc < 0 ? rc : db_code(db, step);
}

int db_request_sums_put(struct db *db, const struct db_request_sums *r)
{
	const struct db_value values[] = {
		N(r->hash), N(r->seconds), N(r->begin_ns), N(r->cnt), N(r->failed_cnt),
		N(r->p50_ns), N(r->p99_ns), BLOB(r->sums, r->sums_len),
	};

	return db_run(db, "INSERT OR REPLACE INTO request_sums VALUES(?,?,?,?,?,?,?,?)", values,
		      COUNT(values));
}

int db_request_sums(struct db *db, uint64_t hash, uint64_t since_ns,
		    void (*each)(void *ctx, const struct db_request_sums *r), void *ctx)
{
	const struct db_value values[] = {N(hash), N(since_ns)};
	sqlite3_stmt *st = NULL;
	int rc, step = SQLITE_DONE;

	if (db->version < 3)
		return 0;
	rc = db_prepare(db, "SELECT * FROM request_sums WHERE (?1=0 OR hash=?1) AND begin_ns>=?2 "
			    "ORDER BY hash,seconds,begin_ns", values, 2, &st);
	while (rc == 0 && (step = sqlite3_step(st)) == SQLITE_ROW) {
		struct db_request_sums r = {
			.hash = (uint64_t)sqlite3_column_int64(st, 0),
			.seconds = (uint32_t)sqlite3_column_int64(st, 1),
			.begin_ns = (uint64_t)sqlite3_column_int64(st, 2),
			.cnt = (uint64_t)sqlite3_column_int64(st, 3),
			.failed_cnt = (uint64_t)sqlite3_column_int64(st, 4),
			.p50_ns = (uint64_t)sqlite3_column_int64(st, 5),
			.p99_ns = (uint64_t)sqlite3_column_int64(st, 6),
			.sums = sqlite3_column_blob(st, 7),
			.sums_len = (size_t)sqlite3_column_bytes(st, 7),
		};

		each(ctx, &r);
	}
	sqlite3_finalize(st);
	return rc < 0 ? rc : db_code(db, step);
}

int db_request_edge_put(struct db *db, uint64_t hash, uint64_t edge, const char *name)
{
	const struct db_value values[] = {N(hash), N(edge), S(name)};

	return db_run(db, "INSERT OR REPLACE INTO request_edges VALUES(?,?,?)", values,
		      COUNT(values));
}

int db_request_edges(struct db *db,
		     void (*each)(void *ctx, uint64_t hash, uint64_t edge, const char *name),
		     void *ctx)
{
	sqlite3_stmt *st = NULL;
	int rc = db_prepare(db, "SELECT hash,edge,name FROM request_edges", NULL, 0, &st);
	int step = SQLITE_DONE;

	while (rc == 0 && (step = sqlite3_step(st)) == SQLITE_ROW) {
		char name[LIVE_EDGE_LEN];

		db_take_text(st, 2, name, sizeof(name));
		each(ctx, (uint64_t)sqlite3_column_int64(st, 0),
		     (uint64_t)sqlite3_column_int64(st, 1), name);
	}
	sqlite3_finalize(st);
	return rc < 0 ? rc : db_code(db, step);
}

int db_requests_forget(struct db *db, uint64_t before_ns, uint64_t minutes_before_ns)
{
	const struct db_value values[] = {N(before_ns), N(minutes_before_ns)};
	int rc = db_run(db, "DELETE FROM requests WHERE seen_ns<?1", values, 1);

	if (rc == 0)
		rc = db_run(db, "DELETE FROM request_sums WHERE begin_ns<?1 OR "
				"(seconds=60 AND begin_ns<?2)", values, 2);
	return rc < 0 ? rc : db_run(db, "DELETE FROM request_edges WHERE hash NOT IN "
					"(SELECT hash FROM requests)", NULL, 0);
}
