/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/file_rights.h"

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
#include "base/err.h"
#include "base/log.h"
#include "base/rights.h"
#include "cli/cmd.h"
#include "reads/reads.h"
#include "symbols/debuginfod.h"

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

static uint64_t kept_of_root(char *const *args, char *const *plain)
{
	uint64_t keep = RIGHTS_NONE;
	struct stat st;

	for (size_t i = 0; args[i]; i++) {
		if (stat(path_in(args[i]), &st) < 0)
			continue;
		if (S_ISDIR(st.st_mode))
			keep |= rights_of_users();
		if (st.st_uid != 0 && !is_among(args[i], plain)) /* it may be to be replaced */
			keep |= rights_of_owners();
	}
	rights_effective(false);
	for (size_t i = 0; args[i]; i++) {
		const char *path = path_in(args[i]);

		/* an option, or a word that is no path: nothing is kept for its sake */
		if (*path && *path != '-' && !is_reached(path))
			keep |= rights_of_paths();
	}
	rights_effective(true);
	return keep;
}

static bool is_root(void)
{
	/* who has them from the file (setcap) may read what the user may, and no more */
	return getuid() == 0 && geteuid() == 0;
}

uint64_t file_rights_of_path(const char *path)
{
	uint64_t keep = RIGHTS_NONE;
	struct stat st;

	if (!is_root() || !*path || strcmp(path, "-") == 0)
		return RIGHTS_NONE;
	if (stat(path, &st) == 0 && st.st_uid != 0)
		keep |= rights_of_owners();
	rights_effective(false);
	if (!is_reached(path))
		keep |= rights_of_paths();
	rights_effective(true);
	return keep;
}

static uint64_t of_options(const struct opt *table, const void *opts)
{
	uint64_t keep = RIGHTS_NONE;

	for (const struct opt *o = table; o && o->type != OPT_TYPE_END; o++) {
		const char *at = (const char *)opts + o->off;
		const char *path;

		if (o->type == OPT_TYPE_GROUP)
			keep |= of_options(o->group, at);
		if (o->type != OPT_STRING || !o->metavar || strcmp(o->metavar, "FILE") != 0)
			continue;
		path = *(const char *const *)at;
		keep |= path ? file_rights_of_path(path) : RIGHTS_NONE;
	}
	return keep;
}

uint64_t file_rights_of_outputs(const struct cmd *cmd, const void *opts)
{
	/* where signatures and debug files are kept, when it is said to be elsewhere than root's */
	static const char *const places[] = {"XDG_STATE_HOME", "XDG_CACHE_HOME",
					     "DEBUGINFOD_CACHE_PATH", "HOME"};
	uint64_t keep = of_options(cmd->opts, opts);

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		const char *dir = getenv(places[i]);
		CLEANUP_FREE char *path = dir ? xasprintf("%s/heldup", dir) : NULL;

		if (path && (debuginfod_wanted() || strcmp(places[i], "XDG_STATE_HOME") == 0))
			keep |= file_rights_of_path(path);
	}
	return keep;
}

static void filtered(int rc)
{
	if (rc < 0)
		log_debug("system calls are not filtered: %s", strerror(-rc));
}

int file_rights_drop(char *const *args, char *const *plain, struct err *err)
{
	uint64_t keep = is_root() ? kept_of_root(args, plain) : RIGHTS_NONE;
	int rc = rights_keep(keep);

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
