/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/files/sig_store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "cli/files/sig_file.h"
#include "functions/sig/sig.h"
#include "model/model.h"

#define STORE_MAX_BYTES (256ull << 20)
#define SUFFIX ".sig"

const char *sig_store_dir(struct arena *arena)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

	if (state && state[0] == '/')
		return arena_printf(arena, "%s/heldup", state);
	if (geteuid() == 0)
		return "/var/lib/heldup";
	return home && home[0] == '/' ? arena_printf(arena, "%s/.local/state/heldup", home) : NULL;
}

/* Those above it too, as the directories of a new user are not there yet. */
static int make_dirs(const char *dir)
{
	CLEANUP_FREE char *path = xstrdup(dir);

	for (char *at = path + 1; *at; at++) {
		if (*at != '/')
			continue;
		*at = '\0';
		if (mkdir(path, 0755) < 0 && errno != EEXIST)
			return -errno;
		*at = '/';
	}
	return mkdir(path, 0755) < 0 && errno != EEXIST ? -errno : 0;
}

/* Names of functions are believed: nobody else may put a file there. */
static int check_owner(const char *dir, struct err *err)
{
	struct stat st;

	if (stat(dir, &st) < 0)
		return err_errno(err, -errno, "look at '%s'", dir);
	if (!S_ISDIR(st.st_mode) || (st.st_uid != geteuid() && st.st_uid != 0) ||
	    st.st_mode & 022)
		return err_set(err, -EPERM, "'%s': others may write to it (chmod 755, chown)", dir);
	return 0;
}

int sig_store_check(struct err *err)
{
	CLEANUP(arena_release) struct arena arena = {0};
	const char *dir = sig_store_dir(&arena);
	int code;

	if (!dir)
		return err_usage(err, "there is no place to keep it: give the file, -o FILE");
	code = make_dirs(dir);
	if (code < 0)
		return err_errno(err, code, "make '%s'", dir);
	code = check_owner(dir, err);
	if (code == 0 && access(dir, W_OK | X_OK) < 0)
		code = err_errno(err, -errno, "write to '%s'", dir);
	return code;
}

static const char *path_of(const struct sig_module *mod, struct arena *arena)
{
	char hex[2 * SIG_BUILD_ID_MAX + 1] = "";
	const char *dir = sig_store_dir(arena);

	for (unsigned i = 0; i < mod->build_id_len; i++)
		snprintf(hex + (size_t)2 * i, 3, "%02x", mod->build_id[i]);
	return dir && hex[0] ? arena_printf(arena, "%s/%s" SUFFIX, dir, hex) : NULL;
}

/* The module that most functions are of. */
static const struct sig_module *main_module(const struct sigs *s)
{
	CLEANUP_FREE uint32_t *cnt = xcalloc((size_t)s->module_cnt + 1, sizeof(*cnt));
	const struct sig_module *best = NULL;
	uint32_t most = 0;

	for (uint32_t i = 0; i < s->fn_cnt; i++) {
		uint32_t mod = s->fns[i].module;

		if (mod == SIG_NO_MODULE || !s->modules[mod].build_id_len || ++cnt[mod] <= most)
			continue;
		most = cnt[mod];
		best = &s->modules[mod];
	}
	return best;
}

struct stored { char *path; uint64_t bytes; time_t when; };

/* Over the bound the oldest goes, until there is room.  A failure only leaves more. */
static void trim(const char *dir)
{
	for (unsigned i = 0; i < 64; i++) {
		DIR *d = opendir(dir);
		struct stored oldest = {0};
		uint64_t all = 0;

		for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
			size_t len = strlen(e->d_name);
			struct stat st;

			if (len < sizeof(SUFFIX) ||
			    strcmp(e->d_name + len + 1 - sizeof(SUFFIX), SUFFIX) != 0 ||
			    fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
				continue;
			all += (uint64_t)st.st_size;
			if (oldest.path && st.st_mtime >= oldest.when)
				continue;
			free(oldest.path);
			oldest = (struct stored){xasprintf("%s/%s", dir, e->d_name),
					       (uint64_t)st.st_size, st.st_mtime};
		}
		if (d)
			closedir(d);
		if (all > STORE_MAX_BYTES && oldest.path)
			unlink(oldest.path);
		free(oldest.path);
		if (all <= STORE_MAX_BYTES)
			return;
	}
}

int sig_store_keep(const struct sigs *s, struct arena *arena, const char **ret_path,
		   struct err *err)
{
	CLEANUP(sig_file_close) struct sig_file f = {0};
	const struct sig_module *mod = main_module(s);
	const char *path = mod ? path_of(mod, arena) : NULL;
	struct sigs *old;
	struct err bad = {0};
	int code;

	if (!path)
		return err_set(err, -ENODATA, "the program has no build id to keep it by: give the "
			       "file, -o FILE");
	if (access(path, F_OK) == 0 && sig_file_read(path, arena, &old, &bad) == 0)
		s = sig_merge(old, s, arena);
	code = sig_file_open(&f, path, err);
	if (code == 0)
		code = sig_file_write(&f, s, err);
	if (code < 0)
		return code;
	trim(sig_store_dir(arena));
	*ret_path = path;
	return 0;
}

static bool seen_before(const struct sig_module *mods, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (mods[i].build_id_len == mods[at].build_id_len &&
		    memcmp(mods[i].build_id, mods[at].build_id, mods[at].build_id_len) == 0)
			return true;
	return false;
}

const struct sigs *sig_store_find(const struct model *m, struct arena *arena)
{
	size_t cnt;
	const struct sig_module *mods = sig_modules(m, arena, &cnt);
	const char *dir = sig_store_dir(arena);
	struct sigs *all = NULL, *s;
	struct err err = {0};

	if (!dir || access(dir, R_OK | X_OK) < 0)
		return NULL;
	if (check_owner(dir, &err) < 0) {
		log_warn("%s", err.msg);
		return NULL;
	}
	for (size_t i = 0; i < cnt; i++) {
		const char *path = mods[i].build_id_len && !seen_before(mods, i)
					   ? path_of(&mods[i], arena) : NULL;

		if (!path || access(path, F_OK) < 0)
			continue;
		if (sig_file_read(path, arena, &s, &err) < 0)
			log_warn("%s", err.msg);
		else
			all = all ? sig_merge(all, s, arena) : s;
	}
	return all;
}
