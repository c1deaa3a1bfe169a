/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/opts/file_rights.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/rights.h"
#include "base/timed/timed_fork.h"
#include "base/path_limit.h"
#include "cli/opts/cmd.h"
#include "cli/opts/opt.h"
#include "reads/reads.h"
#include "symbols/names/debuginfod.h"
#include "symbols/unwind/cfi_cache.h"

bool file_rights_reads_file(const struct opt *table, const void *opts)
{
	for (const struct opt *o = table; o && o->type != OPT_TYPE_END; o++) {
		const char *at = (const char *)opts + o->off;

		if (o->type == OPT_TYPE_GROUP && file_rights_reads_file(o->group, at))
			return true;
		if (o->type == OPT_STRING && o->long_name && strcmp(o->long_name, "input") == 0 &&
		    *(const char *const *)at)
			return true;
	}
	return false;
}

static bool is_allowed(const char *path, int mode)
{
	return faccessat(AT_FDCWD, path, mode, AT_EACCESS) == 0 || errno == ENOENT ||
	       errno == ENOTDIR;
}

/* Reading it, and putting another one in its place. */
static bool is_reached(const char *path)
{
	CLEANUP_FREE char *folder = xstrdup(path);
	char *slash = strrchr(folder, '/');

	if (!is_allowed(path, R_OK))
		return false;
	if (!slash)
		return is_allowed(".", W_OK | X_OK);
	slash[slash == folder] = '\0';
	return is_allowed(folder, W_OK | X_OK);
}

/* An argument, or what stands behind = in one. */
static const char *path_in(const char *arg)
{
	const char *equal = *arg == '-' ? strchr(arg, '=') : NULL;

	return equal ? equal + 1 : arg;
}

static bool is_among(const char *arg, char *const *args)
{
	for (size_t i = 0; args[i]; i++)
		if (args[i] == arg)
			return true;
	return false;
}

struct named {
	char *const *args, *const *plain;
};

enum { KEEP_USERS = 1 << 0, KEEP_OWNERS = 1 << 1, KEEP_PATHS = 1 << 2 };

/* In a child, for what is named may lie on a file system that is dead: KEEP_*. */
static int kept_of_root(const void *ctx, int talk, struct err *err)
{
	const struct named *n = ctx;
	struct stat st;
	int keep = 0;

	(void)talk;
	(void)err;
	for (size_t i = 0; n->args[i]; i++) {
		if (stat(path_in(n->args[i]), &st) < 0)
			continue;
		if (S_ISDIR(st.st_mode))
			keep |= KEEP_USERS;
		/* it may be to be replaced */
		if (st.st_uid != 0 && !is_among(n->args[i], n->plain))
			keep |= KEEP_OWNERS;
	}
	rights_effective(false);
	for (size_t i = 0; n->args[i]; i++) {
		const char *path = path_in(n->args[i]);

		/* an option, or a word that is no path: nothing is kept for its sake */
		if (*path && *path != '-' && !is_reached(path))
			keep |= KEEP_PATHS;
	}
	rights_effective(true);
	return keep;
}

static uint64_t rights_of(int keep)
{
	return (keep & KEEP_USERS ? rights_of_users() : RIGHTS_NONE) |
	       (keep & KEEP_OWNERS ? rights_of_owners() : RIGHTS_NONE) |
	       (keep & KEEP_PATHS ? rights_of_paths() : RIGHTS_NONE);
}

static bool is_root(void)
{
	/* who has them from the file (setcap) may read what the user may, and no more */
	return getuid() == 0 && geteuid() == 0;
}

static int kept_of_path(const char *path)
{
	struct stat st;
	int keep = 0;

	if (!*path || strcmp(path, "-") == 0)
		return 0;
	if (stat(path, &st) == 0 && st.st_uid != 0)
		keep |= KEEP_OWNERS;
	rights_effective(false);
	if (!is_reached(path))
		keep |= KEEP_PATHS;
	rights_effective(true);
	return keep;
}

static bool is_file(const struct opt *o)
{
	return o->type == OPT_STRING && o->metavar && strcmp(o->metavar, "FILE") == 0;
}

static int of_options(const struct opt *table, const void *opts)
{
	int keep = 0;

	for (const struct opt *o = table; o && o->type != OPT_TYPE_END; o++) {
		const char *at = (const char *)opts + o->off;
		const char *path;

		if (o->type == OPT_TYPE_GROUP)
			keep |= of_options(o->group, at);
		if (!is_file(o))
			continue;
		path = *(const char *const *)at;
		keep |= path ? kept_of_path(path) : 0;
	}
	return keep;
}

struct outputs {
	const struct cmd *cmd;
	const void *opts;
	const char *path;
};

/* In a child, as kept_of_root. */
static int kept_of_outputs(const void *ctx, int talk, struct err *err)
{
	/* where signatures and debug files are kept, when it is said to be elsewhere than root's */
	static const char *const places[] = {"XDG_STATE_HOME", "XDG_CACHE_HOME",
					     "DEBUGINFOD_CACHE_PATH", "HOME"};
	const struct outputs *out = ctx;
	int keep = out->path ? kept_of_path(out->path) : of_options(out->cmd->opts, out->opts);

	(void)talk;
	(void)err;
	for (size_t i = 0; !out->path && i < sizeof(places) / sizeof(places[0]); i++) {
		const char *dir = getenv(places[i]);
		CLEANUP_FREE char *path = dir ? xasprintf("%s/heldup", dir) : NULL;

		if (path && (debuginfod_wanted() || strcmp(places[i], "XDG_STATE_HOME") == 0))
			keep |= kept_of_path(path);
	}
	return keep;
}

/* Writes nothing to a file system that does not answer, and keeps no right for it. */
static uint64_t look_at_outputs(const struct outputs *out)
{
	int keep = is_root() ? timed_fork(kept_of_outputs, out, TIMED_FORK_LOOK_NS, NULL) : 0;

	return keep > 0 ? rights_of(keep) : RIGHTS_NONE;
}

uint64_t file_rights_of_outputs(const struct cmd *cmd, const void *opts)
{
	return look_at_outputs(&(struct outputs){.cmd = cmd, .opts = opts});
}

uint64_t file_rights_of_path(const char *path)
{
	return look_at_outputs(&(struct outputs){.path = path});
}

/* A disk answers in a tenth of it; who waits longer has no cache either (cfi_cache.c). */
#define CACHE_LIMIT_NS (500 * NS_PER_MS)

struct writes {
	struct path_limit *limit;
	const struct cmd *cmd;
	const void *opts;
	const char *extra;
};

static void allow(const struct writes *w, const char *path)
{
	int rc = *path && strcmp(path, "-") != 0 ? path_limit_allow(w->limit, path) : 0;

	if (rc < 0)
		log_debug("'%s' cannot be written during the watch: %s", path, strerror(-rc));
}

static void allow_options(const struct writes *w, const struct opt *table, const void *opts)
{
	for (const struct opt *o = table; o && o->type != OPT_TYPE_END; o++) {
		const char *at = (const char *)opts + o->off;

		if (o->type == OPT_TYPE_GROUP)
			allow_options(w, o->group, at);
		if (is_file(o) && *(const char *const *)at)
			allow(w, *(const char *const *)at);
	}
}

/* In a child, as kept_of_root. */
static int allow_outputs(const void *ctx, int talk, struct err *err)
{
	const struct writes *w = ctx;

	(void)talk;
	(void)err;
	allow_options(w, w->cmd->opts, w->opts);
	path_limit_allow_host(w->limit);
	allow(w, "/dev/null");
	if (w->extra)
		allow(w, w->extra);
	return 0;
}

/* In a child of its own: a cache that does not answer costs a watch no more than its rule. */
static int allow_cache(const void *ctx, int talk, struct err *err)
{
	const struct writes *w = ctx;
	const char *cache = getenv("HELDUP_CACHE");

	(void)talk;
	(void)err;
	if (!cache) /* as cfi_cache_open does, so that nothing above it is allowed */
		mkdir(CFI_CACHE_DIR, 0700);
	allow(w, cache ? cache : CFI_CACHE_DIR);
	return 0;
}

struct path_limit *file_rights_writes(const struct cmd *cmd, const void *opts, const char *extra)
{
	struct writes w = {debuginfod_wanted() ? NULL : path_limit_new(true), cmd, opts, extra};

	if (!w.limit)
		return NULL;
	path_limit_share(w.limit);
	timed_fork(allow_outputs, &w, TIMED_FORK_LOOK_NS, NULL);
	timed_fork(allow_cache, &w, CACHE_LIMIT_NS, NULL);
	path_limit_unshare(w.limit);
	return w.limit;
}

static int allow_reading(const void *ctx, int talk, struct err *err)
{
	const struct writes *w = ctx;

	(void)talk;
	(void)err;
	return path_limit_allow_reading(w->limit, w->extra);
}

void file_rights_reads(struct path_limit *limit, const char *path)
{
	struct writes w = {.limit = limit, .extra = path};

	if (!limit)
		return;
	path_limit_share(limit);
	timed_fork(allow_reading, &w, TIMED_FORK_LOOK_NS, NULL);
	path_limit_unshare(limit);
}

static void filtered(int rc)
{
	if (rc < 0)
		log_debug("system calls are not filtered: %s", strerror(-rc));
}

int file_rights_drop(char *const *args, char *const *plain, struct err *err)
{
	const struct named named = {args, plain};
	int keep = 0, rc;

	if (is_root())
		keep = timed_fork(kept_of_root, &named, TIMED_FORK_LOOK_NS, err);
	if (keep < 0)
		return err_prefix(err, "look at the files that are named");
	rc = rights_keep(rights_of(keep));
	if (rc < 0)
		return err_errno(err, rc, "give rights away");
	filtered(rights_filter(RIGHTS_READS_FILES));
	return 0;
}

int file_rights_look(const struct cmd *cmd, const void *opts, struct err *err)
{
	int rc = rights_keep(file_rights_of_outputs(cmd, opts));

	if (rc < 0)
		return err_errno(err, rc, "give rights away");
	reads_apart();
	filtered(debuginfod_wanted() ? rights_filter_watch(RIGHTS_LET_NET)
				     : rights_filter(RIGHTS_READS_FILES));
	return 0;
}
