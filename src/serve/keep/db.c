/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/keep/db.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/err.h"
#include "base/log.h"
#include "serve/keep/db_int.h"

#define VERSION 3
#define BUSY_MS 2000 /* a reader that checkpoints, a slow disk */

/* Since version 2. */
#define TIME_ADDED(name) name " INTEGER NOT NULL DEFAULT 0"
#define TIMES_ADDED                                                                      \
	"," TIME_ADDED("capture_from_ns") "," TIME_ADDED("capture_until_ns")              \
	"," TIME_ADDED("judged_from_ns") "," TIME_ADDED("judged_until_ns")

static const char from_1[] =
	"ALTER TABLE findings ADD " TIME_ADDED("capture_from_ns") ";"
	"ALTER TABLE findings ADD " TIME_ADDED("capture_until_ns") ";"
	"ALTER TABLE findings ADD " TIME_ADDED("judged_from_ns") ";"
	"ALTER TABLE findings ADD " TIME_ADDED("judged_until_ns") ";";

static const char schema[] =
	"CREATE TABLE IF NOT EXISTS findings("
	"id INTEGER PRIMARY KEY AUTOINCREMENT, service TEXT NOT NULL, rule TEXT NOT NULL,"
	"reason TEXT NOT NULL, begin_ns INTEGER NOT NULL, last_ns INTEGER NOT NULL,"
	"end_ns INTEGER NOT NULL, again INTEGER NOT NULL, bytes INTEGER NOT NULL,"
	"class TEXT NOT NULL, title TEXT NOT NULL, confidence TEXT NOT NULL,"
	"summary TEXT NOT NULL, note TEXT NOT NULL" TIMES_ADDED ");"
	"CREATE INDEX IF NOT EXISTS findings_last ON findings(last_ns);"
	"CREATE TABLE IF NOT EXISTS services(name TEXT PRIMARY KEY, what TEXT NOT NULL,"
	"pid INTEGER NOT NULL, seen_ns INTEGER NOT NULL, answers INTEGER NOT NULL,"
	"p50_ns INTEGER NOT NULL, p99_ns INTEGER NOT NULL, open INTEGER NOT NULL) WITHOUT ROWID;"
	"CREATE TABLE IF NOT EXISTS minutes(service TEXT NOT NULL, minute_ns INTEGER NOT NULL,"
	"answers INTEGER NOT NULL, service_ns INTEGER NOT NULL, p50_ns INTEGER NOT NULL,"
	"p99_ns INTEGER NOT NULL, open_max INTEGER NOT NULL, oldest_ns INTEGER NOT NULL,"
	"PRIMARY KEY(service, minute_ns)) WITHOUT ROWID;"
	"CREATE TABLE IF NOT EXISTS facts(name TEXT PRIMARY KEY, value INTEGER NOT NULL)"
	"WITHOUT ROWID;" DB_REQUESTS_SCHEMA;

#define FINDING_COLUMNS                                                                       \
	"id,service,rule,reason,begin_ns,last_ns,end_ns,again,bytes,class,title,confidence,"  \
	"summary,note,"

/* All of them; of a file that is read only and older without those that it has not. */
static const char *finding_columns(const struct db *db)
{
	return db->version < 2 ? FINDING_COLUMNS "0,0,0,0"
			       : FINDING_COLUMNS "capture_from_ns,capture_until_ns,"
						 "judged_from_ns,judged_until_ns";
}

int db_code(struct db *db, int rc)
{
	if (rc == SQLITE_OK || rc == SQLITE_DONE || rc == SQLITE_ROW)
		return 0;
	log_debug("store: %s", sqlite3_errmsg(db->sql));
	switch (rc & 0xff) {
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_NOTADB:
	case SQLITE_CORRUPT:
		return -EBADMSG;
	case SQLITE_READONLY:
	case SQLITE_CANTOPEN:
	case SQLITE_PERM:
		return -EACCES;
	default:
		return -EIO;
	}
}

static int64_t version_of(sqlite3 *sql)
{
	sqlite3_stmt *st;
	int64_t version = -1;

	if (sqlite3_prepare_v2(sql, "PRAGMA user_version", -1, &st, NULL) != SQLITE_OK)
		return -1;
	if (sqlite3_step(st) == SQLITE_ROW)
		version = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return version;
}

static int setup(struct db *db, bool write, const char *path, struct err *err)
{
	int64_t version = db->version = version_of(db->sql);
	int rc = SQLITE_OK;

	sqlite3_busy_timeout(db->sql, BUSY_MS);
	if (version < 0)
		return err_set(err, -EBADMSG, "'%s': %s", path, sqlite3_errmsg(db->sql));
	if (version > VERSION)
		return err_set(err, -EINVAL,
			       "'%s' is of a newer heldup (version %lld of the store, this one "
			       "knows %d): nothing was changed", path, (long long)version, VERSION);
	if (!write)
		return version ? 0 : err_set(err, -EBADMSG, "'%s' holds nothing yet", path);
	rc = sqlite3_exec(db->sql, "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;", NULL,
			  NULL, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db->sql, "BEGIN IMMEDIATE", NULL, NULL, NULL);
	if (rc == SQLITE_OK && version == 1)
		rc = sqlite3_exec(db->sql, from_1, NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db->sql, schema, NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db->sql, "PRAGMA user_version=3; COMMIT", NULL, NULL, NULL);
	db->version = VERSION;
	return rc == SQLITE_OK ? 0 : err_set(err, db_code(db, rc), "'%s': %s", path,
					     sqlite3_errmsg(db->sql));
}

int db_open(const char *state_dir, bool write, struct db **ret, struct err *err)
{
	char path[4096];
	struct stat st;
	struct db *db;
	int rc;

	snprintf(path, sizeof(path), "%s/heldup.db", state_dir);
	if (!write && stat(path, &st) < 0)
		return err_errno(err, -errno, "open '%s'", path);
	db = xcalloc(1, sizeof(*db));
	rc = sqlite3_open_v2(path, &db->sql,
			     write ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
				   : SQLITE_OPEN_READONLY, NULL);
	rc = rc == SQLITE_OK ? setup(db, write, path, err)
			     : err_set(err, db_code(db, rc), "open '%s': %s", path,
				       sqlite3_errmsg(db->sql));
	if (rc < 0) {
		db_close(db);
		return rc;
	}
	*ret = db;
	return 0;
}

void db_close(struct db *db)
{
	if (!db)
		return;
	sqlite3_close(db->sql);
	free(db);
}

void db_begin(struct db *db)
{
	sqlite3_exec(db->sql, "BEGIN", NULL, NULL, NULL);
}

void db_commit(struct db *db)
{
	if (sqlite3_exec(db->sql, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
		sqlite3_exec(db->sql, "ROLLBACK", NULL, NULL, NULL);
}

/* ---- statements */

int db_prepare(struct db *db, const char *text, const struct db_value *v, size_t cnt,
	       sqlite3_stmt **ret)
{
	int rc = sqlite3_prepare_v2(db->sql, text, -1, ret, NULL);

	for (size_t i = 0; i < cnt && rc == SQLITE_OK; i++)
		if (v[i].blob)
			rc = sqlite3_bind_blob64(*ret, (int)i + 1, v[i].blob, v[i].n,
						 SQLITE_STATIC);
		else
			rc = v[i].s ? sqlite3_bind_text(*ret, (int)i + 1, v[i].s, -1,
							SQLITE_STATIC)
				    : sqlite3_bind_int64(*ret, (int)i + 1, (int64_t)v[i].n);
	return db_code(db, rc);
}

int db_run(struct db *db, const char *text, const struct db_value *v, size_t cnt)
{
	sqlite3_stmt *st = NULL;
	int rc = db_prepare(db, text, v, cnt, &st);

	if (rc == 0)
		rc = db_code(db, sqlite3_step(st));
	sqlite3_finalize(st);
	return rc;
}

void db_take_text(sqlite3_stmt *st, int column, char *ret, size_t size)
{
	const char *text = (const char *)sqlite3_column_text(st, column);

	snprintf(ret, size, "%s", text ? text : "");
}

static void take_finding(sqlite3_stmt *st, struct db_finding *f)
{
	*f = (struct db_finding){
		.id = (uint64_t)sqlite3_column_int64(st, 0),
		.begin_ns = (uint64_t)sqlite3_column_int64(st, 4),
		.last_ns = (uint64_t)sqlite3_column_int64(st, 5),
		.end_ns = (uint64_t)sqlite3_column_int64(st, 6),
		.again_cnt = (uint64_t)sqlite3_column_int64(st, 7),
		.capture_bytes = (uint64_t)sqlite3_column_int64(st, 8),
		.capture_from_ns = (uint64_t)sqlite3_column_int64(st, 14),
		.capture_until_ns = (uint64_t)sqlite3_column_int64(st, 15),
		.judged_from_ns = (uint64_t)sqlite3_column_int64(st, 16),
		.judged_until_ns = (uint64_t)sqlite3_column_int64(st, 17),
	};
	db_take_text(st, 1, f->service, sizeof(f->service));
	db_take_text(st, 2, f->rule, sizeof(f->rule));
	db_take_text(st, 3, f->reason, sizeof(f->reason));
	db_take_text(st, 9, f->cls, sizeof(f->cls));
	db_take_text(st, 10, f->title, sizeof(f->title));
	db_take_text(st, 11, f->confidence, sizeof(f->confidence));
	db_take_text(st, 12, f->summary, sizeof(f->summary));
	db_take_text(st, 13, f->note, sizeof(f->note));
}

int db_finding_put(struct db *db, struct db_finding *f)
{
	const struct db_value v[] = {
		S(f->service), S(f->rule), S(f->reason), N(f->begin_ns), N(f->last_ns),
		N(f->end_ns), N(f->again_cnt), N(f->capture_bytes), S(f->cls), S(f->title),
		S(f->confidence), S(f->summary), S(f->note), N(f->capture_from_ns),
		N(f->capture_until_ns), N(f->judged_from_ns), N(f->judged_until_ns), N(f->id),
	};
	int rc;

	if (f->id)
		return db_run(db, "UPDATE findings SET service=?,rule=?,reason=?,begin_ns=?,"
				  "last_ns=?,end_ns=?,again=?,bytes=?,class=?,title=?,"
				  "confidence=?,summary=?,note=?,capture_from_ns=?,"
				  "capture_until_ns=?,judged_from_ns=?,judged_until_ns=? "
				  "WHERE id=?", v, 18);
	rc = db_run(db, "INSERT INTO findings(service,rule,reason,begin_ns,last_ns,end_ns,again,"
		     "bytes,class,title,confidence,summary,note,capture_from_ns,capture_until_ns,"
		     "judged_from_ns,judged_until_ns) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
		 v, 17);
	if (rc == 0)
		f->id = (uint64_t)sqlite3_last_insert_rowid(db->sql);
	return rc;
}

int db_finding_judge(struct db *db, struct db_finding *f, const char *json, size_t len)
{
	static const char text[] =
		"SELECT json_extract(?1,'$.verdict.class'),json_extract(?1,'$.verdict.title'),"
		"json_extract(?1,'$.verdict.confidence'),json_extract(?1,'$.verdict.summary')";
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(db->sql, text, -1, &st, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_bind_text64(st, 1, json, len, SQLITE_STATIC, SQLITE_UTF8);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(st);
	if (rc == SQLITE_ROW) {
		db_take_text(st, 0, f->cls, sizeof(f->cls));
		db_take_text(st, 1, f->title, sizeof(f->title));
		db_take_text(st, 2, f->confidence, sizeof(f->confidence));
		db_take_text(st, 3, f->summary, sizeof(f->summary));
	}
	sqlite3_finalize(st);
	return db_code(db, rc);
}

int db_finding(struct db *db, uint64_t id, struct db_finding *ret)
{
	const struct db_value v[] = {N(id)};
	sqlite3_stmt *st = NULL;
	char text[400];
	int rc;

	snprintf(text, sizeof(text), "SELECT %s FROM findings WHERE id=?", finding_columns(db));
	rc = db_prepare(db, text, v, 1, &st);

	if (rc == 0)
		rc = sqlite3_step(st) == SQLITE_ROW ? 0 : -ENOENT;
	if (rc == 0)
		take_finding(st, ret);
	sqlite3_finalize(st);
	return rc;
}

int db_findings(struct db *db, const struct db_filter *filter,
		void (*each)(void *ctx, const struct db_finding *f), void *ctx)
{
	const struct db_value v[] = {
		N(filter->since_ns), S(filter->service ? filter->service : ""),
		N(filter->max_cnt ? filter->max_cnt : UINT32_MAX),
	};
	sqlite3_stmt *st = NULL;
	struct db_finding f;
	char text[400];
	int rc, step = SQLITE_DONE;

	snprintf(text, sizeof(text), "SELECT %s FROM findings WHERE last_ns>=?1 AND "
		 "instr(service,?2)>0 ORDER BY id DESC LIMIT ?3", finding_columns(db));
	rc = db_prepare(db, text, v, 3, &st);
	while (rc == 0 && (step = sqlite3_step(st)) == SQLITE_ROW) {
		take_finding(st, &f);
		each(ctx, &f);
	}
	sqlite3_finalize(st);
	return rc < 0 ? rc : db_code(db, step);
}

int db_service_put(struct db *db, const struct db_service *s)
{
	const struct db_value v[] = {S(s->name), S(s->what), N(s->pid), N(s->seen_ns),
				  N(s->answer_cnt), N(s->p50_ns), N(s->p99_ns), N(s->open_cnt)};

	return db_run(db, "INSERT OR REPLACE INTO services VALUES(?,?,?,?,?,?,?,?)", v, 8);
}

int db_services(struct db *db, void (*each)(void *ctx, const struct db_service *s), void *ctx)
{
	sqlite3_stmt *st = NULL;
	int rc = db_prepare(db, "SELECT name,what,pid,seen_ns,answers,p50_ns,p99_ns,open "
			     "FROM services ORDER BY name", NULL, 0, &st);
	int step = SQLITE_DONE;

	while (rc == 0 && (step = sqlite3_step(st)) == SQLITE_ROW) {
		struct db_service s = {
			.pid = (uint32_t)sqlite3_column_int64(st, 2),
			.seen_ns = (uint64_t)sqlite3_column_int64(st, 3),
			.answer_cnt = (uint64_t)sqlite3_column_int64(st, 4),
			.p50_ns = (uint64_t)sqlite3_column_int64(st, 5),
			.p99_ns = (uint64_t)sqlite3_column_int64(st, 6),
			.open_cnt = (uint64_t)sqlite3_column_int64(st, 7),
		};

		db_take_text(st, 0, s.name, sizeof(s.name));
		db_take_text(st, 1, s.what, sizeof(s.what));
		each(ctx, &s);
	}
	sqlite3_finalize(st);
	return rc < 0 ? rc : db_code(db, step);
}

int db_minute_put(struct db *db, const char *service, const struct db_minute *m)
{
	const struct db_value v[] = {S(service), N(m->minute_ns), N(m->answer_cnt),
				     N(m->service_ns), N(m->p50_ns), N(m->p99_ns), N(m->open_max),
				     N(m->oldest_max_ns)};

	return db_run(db, "INSERT INTO minutes VALUES(?,?,?,?,?,?,?,?) "
			  "ON CONFLICT(service,minute_ns) DO UPDATE SET "
			  "p50_ns=(p50_ns*answers+excluded.p50_ns*excluded.answers)/"
			  "MAX(answers+excluded.answers,1),"
			  "p99_ns=MAX(p99_ns,excluded.p99_ns),"
			  "answers=answers+excluded.answers,"
			  "service_ns=service_ns+excluded.service_ns,"
			  "open_max=MAX(open_max,excluded.open_max),"
			  "oldest_ns=MAX(oldest_ns,excluded.oldest_ns)", v, 8);
}

#define MINUTES                                                                              \
	"SELECT minute_ns,answers,service_ns,p50_ns,p99_ns,open_max,oldest_ns FROM minutes m " \
	"WHERE service=?1 AND minute_ns>=?2 "

static int minutes(struct db *db, const char *text, const struct db_value *v,
		   void (*each)(void *ctx, const struct db_minute *m), void *ctx)
{
	sqlite3_stmt *st = NULL;
	int rc = db_prepare(db, text, v, 2, &st);
	int step = SQLITE_DONE;

	while (rc == 0 && (step = sqlite3_step(st)) == SQLITE_ROW) {
		struct db_minute m = {
			.minute_ns = (uint64_t)sqlite3_column_int64(st, 0),
			.answer_cnt = (uint64_t)sqlite3_column_int64(st, 1),
			.service_ns = (uint64_t)sqlite3_column_int64(st, 2),
			.p50_ns = (uint64_t)sqlite3_column_int64(st, 3),
			.p99_ns = (uint64_t)sqlite3_column_int64(st, 4),
			.open_max = (uint64_t)sqlite3_column_int64(st, 5),
			.oldest_max_ns = (uint64_t)sqlite3_column_int64(st, 6),
		};

		each(ctx, &m);
	}
	sqlite3_finalize(st);
	return rc < 0 ? rc : db_code(db, step);
}

int db_minutes(struct db *db, const char *service, uint64_t since_ns,
	       void (*each)(void *ctx, const struct db_minute *m), void *ctx)
{
	const struct db_value v[] = {S(service), N(since_ns)};

	return minutes(db, MINUTES "ORDER BY minute_ns", v, each, ctx);
}

int db_sound_minutes(struct db *db, const char *service, uint64_t since_ns,
		     void (*each)(void *ctx, const struct db_minute *m), void *ctx)
{
	const struct db_value v[] = {S(service), N(since_ns)};

	return minutes(db, MINUTES "AND NOT EXISTS(SELECT 1 FROM findings f WHERE "
				   "f.service=m.service AND f.begin_ns<m.minute_ns+60000000000 "
				   "AND f.last_ns>=m.minute_ns) ORDER BY minute_ns", v, each, ctx);
}

int db_fact_put(struct db *db, const char *name, uint64_t value)
{
	const struct db_value v[] = {S(name), N(value)};

	return db_run(db, "INSERT OR REPLACE INTO facts VALUES(?,?)", v, 2);
}

int db_facts(struct db *db, void (*each)(void *ctx, const char *name, uint64_t value), void *ctx)
{
	sqlite3_stmt *st = NULL;
	int rc = db_prepare(db, "SELECT name,value FROM facts ORDER BY name", NULL, 0, &st);
	int step = SQLITE_DONE;

	while (rc == 0 && (step = sqlite3_step(st)) == SQLITE_ROW) {
		char name[64];

		db_take_text(st, 0, name, sizeof(name));
		each(ctx, name, (uint64_t)sqlite3_column_int64(st, 1));
	}
	sqlite3_finalize(st);
	return rc < 0 ? rc : db_code(db, step);
}

int db_close_open(struct db *db, uint64_t now_ns)
{
	const struct db_value v[] = {N(now_ns)};

	return db_run(db, "UPDATE findings SET end_ns=MIN(?1,MAX(last_ns,begin_ns+1)),"
		       "note=CASE note WHEN '' THEN 'heldup serve ended before it did' "
		       "ELSE note END WHERE end_ns=0", v, 1);
}

int db_forget(struct db *db, uint64_t before_ns)
{
	const struct db_value v[] = {N(before_ns)};
	int rc = db_run(db, "DELETE FROM findings WHERE end_ns>0 AND last_ns<?", v, 1);

	return rc < 0 ? rc : db_run(db, "DELETE FROM minutes WHERE minute_ns<?", v, 1);
}

uint64_t db_oldest_captured(struct db *db)
{
	sqlite3_stmt *st = NULL;
	uint64_t id = 0;
	int rc = db_prepare(db, "SELECT MIN(id) FROM findings WHERE bytes>0 AND end_ns>0", NULL, 0,
			 &st);

	if (rc == 0 && sqlite3_step(st) == SQLITE_ROW)
		id = (uint64_t)sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return id;
}
