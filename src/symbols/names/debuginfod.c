/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loaded, not linked: the library brings a web client and its twenty others
 * with it, which a machine without debuginfod need not have.  The functions
 * are declared here as its interface has had them since 0.179.
 */
#include "symbols/names/debuginfod.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"

struct debuginfod_client;
typedef int progress_fn(struct debuginfod_client *client, long done, long all);
typedef void *get_user_data_fn(struct debuginfod_client *client);

struct debuginfod {
	struct debuginfod_client *client;
	uint64_t deadline_ns;
	uint64_t left_bytes, done_bytes; /* done: of the present file */
	bool over;			 /* it was given up for its size */
	int (*find)(struct debuginfod_client *, const unsigned char *, int, char **);
	void (*end)(struct debuginfod_client *);
};

bool debuginfod_wanted(void)
{
	const char *urls = getenv("DEBUGINFOD_URLS");

	return urls && *urls;
}

/* Called at each piece that comes, and several times a second; not 0 gives up. */
static int progress(struct debuginfod_client *client, long done, long all)
{
	get_user_data_fn *get = (get_user_data_fn *)dlsym(RTLD_DEFAULT, "debuginfod_get_user_data");
	struct debuginfod *d = get ? get(client) : NULL;

	if (!d)
		return 1;
	d->done_bytes = done > 0 ? (uint64_t)done : 0; /* a small number until it has a server */
	d->over = d->done_bytes > d->left_bytes || (all > 0 && (uint64_t)all > d->left_bytes);
	return d->over || clock_mono_ns() > d->deadline_ns;
}

struct debuginfod *debuginfod_new(uint64_t max_bytes)
{
	struct debuginfod_client *(*begin)(void);
	void (*set_progress)(struct debuginfod_client *, progress_fn *);
	void (*set_user_data)(struct debuginfod_client *, void *);
	struct debuginfod *d;
	/* global, so that progress finds its one function; never unloaded: curl keeps threads */
	void *lib = debuginfod_wanted() ? dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_GLOBAL)
					: NULL;

	if (!lib)
		return NULL;
	begin = (__typeof__(begin))dlsym(lib, "debuginfod_begin");
	set_progress = (__typeof__(set_progress))dlsym(lib, "debuginfod_set_progressfn");
	set_user_data = (__typeof__(set_user_data))dlsym(lib, "debuginfod_set_user_data");
	d = xcalloc(1, sizeof(*d));
	d->left_bytes = max_bytes;
	d->find = (__typeof__(d->find))dlsym(lib, "debuginfod_find_debuginfo");
	d->end = (__typeof__(d->end))dlsym(lib, "debuginfod_end");
	if (begin && set_progress && set_user_data && d->find && d->end)
		d->client = begin();
	if (!d->client) {
		free(d);
		return NULL;
	}
	set_user_data(d->client, d);
	set_progress(d->client, progress);
	return d;
}

void debuginfod_free(struct debuginfod *d)
{
	if (!d)
		return;
	d->end(d->client);
	free(d);
}

int debuginfod_open(struct debuginfod *d, const uint8_t *build_id, size_t len,
		    uint64_t deadline_ns, char **ret_path)
{
	char *path = NULL;
	int fd;

	d->deadline_ns = deadline_ns;
	d->done_bytes = 0;
	d->over = false;
	if (!d->left_bytes)
		return -EFBIG;
	fd = d->find(d->client, build_id, (int)len, &path);
	d->left_bytes -= d->done_bytes < d->left_bytes ? d->done_bytes : d->left_bytes;
	if (fd < 0 && d->over)
		return -EFBIG;
	if (fd < 0)
		return clock_mono_ns() > deadline_ns ? -ETIME : fd;
	*ret_path = path ? path : xstrdup("debuginfod");
	return fd;
}
