/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/file_rights.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "base/rights.h"
#include "cli/opt.h"

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

int file_rights_drop(char *const *args, char *const *plain, struct err *err)
{
	/* who has them from the file (setcap) may read what the user may, and no more */
	uint64_t keep = getuid() == 0 && geteuid() == 0 ? kept_of_root(args, plain)
								: RIGHTS_NONE;
	int rc = rights_keep(keep);

	if (rc < 0)
		return err_errno(err, rc, "give rights away");
	rc = rights_filter(RIGHTS_READS_FILES);
	if (rc < 0)
		log_debug("system calls are not filtered: %s", strerror(-rc));
	return 0;
}
