/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DB_INT_H
#define DB_INT_H
/* The statements of the store, for the files of this folder. */
#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

struct db {
	sqlite3 *sql;
	int64_t version;	/* of the file */
};

/* The tables of db_requests.h. */
#define DB_REQUESTS_SCHEMA                                                                    \
	"CREATE TABLE IF NOT EXISTS requests(hash INTEGER NOT NULL, seconds INTEGER NOT NULL," \
	"service TEXT NOT NULL, name TEXT NOT NULL, seen_ns INTEGER NOT NULL,"                \
	"covered_ns INTEGER NOT NULL, cnt INTEGER NOT NULL, failed INTEGER NOT NULL,"         \
	"mean_ns INTEGER NOT NULL, p50_ns INTEGER NOT NULL, p99_ns INTEGER NOT NULL,"         \
	"time_edge TEXT NOT NULL, time_share REAL NOT NULL, time_ns INTEGER NOT NULL,"        \
	"var_edge TEXT NOT NULL, var_share REAL NOT NULL, var_ns INTEGER NOT NULL,"           \
	"PRIMARY KEY(hash, seconds)) WITHOUT ROWID;"                                          \
	"CREATE TABLE IF NOT EXISTS request_sums(hash INTEGER NOT NULL,"                      \
	"seconds INTEGER NOT NULL, begin_ns INTEGER NOT NULL, cnt INTEGER NOT NULL,"          \
	"failed INTEGER NOT NULL, p50_ns INTEGER NOT NULL, p99_ns INTEGER NOT NULL,"          \
	"sums BLOB NOT NULL, PRIMARY KEY(hash, seconds, begin_ns)) WITHOUT ROWID;"            \
	"CREATE TABLE IF NOT EXISTS request_edges(hash INTEGER NOT NULL,"                     \
	"edge INTEGER NOT NULL, name TEXT NOT NULL, PRIMARY KEY(hash, edge)) WITHOUT ROWID;"

struct db_value {
	const char *s;		/* a text; NULL: n */
	const void *blob;	/* n bytes; NULL: none */
	uint64_t n;
};

#define N(x) {.n = (x)}
#define S(x) {.s = (x)}
#define BLOB(x, len) {.blob = (x), .n = (len)}

/* The library's codes as -errno. */
int db_code(struct db *db, int rc);

/* A statement with its values, to be stepped and finalized by the caller. */
int db_prepare(struct db *db, const char *text, const struct db_value *v, size_t cnt,
	       sqlite3_stmt **ret);

/* The same of one that gives nothing back. */
int db_run(struct db *db, const char *text, const struct db_value *v, size_t cnt);

void db_take_text(sqlite3_stmt *st, int column, char *ret, size_t size);

#endif /* DB_INT_H */
