/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long tables for unwinding take: made anew, and from the cache, each with
 * the file's pages in memory and not.  Medians, in ms.
 *
 *	make build/bench/tables && build/bench/tables FILE...
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/err.h"
#include "timing.h"
#include "symbols/unwind/cfi.h"
#include "symbols/unwind/cfi_cache.h"
#include "symbols/files/image.h"

enum { ROUNDS = 15 };

/* One build from open to close; the table is the caller's. */
static int build(const char *path, struct cfi_cache *cache, struct cfi_table *ret, struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), code = -ENOENT;
	struct image *im = fd < 0 ? NULL : image_open(fd, err);

	if (im)
		code = cfi_cached(cache, im, ret, err);
	image_free(im);
	if (fd >= 0)
		close(fd);
	return code;
}

static void evict(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd >= 0) {
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
		close(fd);
	}
}

static double median(const char *path, struct cfi_cache *cache, bool evicted)
{
	double ms[ROUNDS];

	for (int i = 0; i < ROUNDS; i++) {
		struct cfi_table t = {0};
		struct err err = {0};

		if (evicted)
			evict(path);
		ms[i] = now_ms();
		build(path, cache, &t, &err);
		ms[i] = now_ms() - ms[i];
		cfi_release(&t);
	}
	return median_of(ms, ROUNDS);
}

static int measure(const char *path, struct cfi_cache *cache)
{
	struct cfi_table t = {0};
	struct err err = {0};
	size_t bytes;

	if (build(path, cache, &t, &err) < 0) {
		fprintf(stderr, "%s: %s\n", path, err.msg);
		return 1;
	}
	bytes = t.row_cnt * sizeof(*t.rows) + t.ext_cnt * sizeof(*t.exts);
	printf("%-16.16s %7u %8zu %5zu %5u %7.0f %8.2f %9.2f %8.2f\n", strrchr(path, '/') + 1,
	       t.fde_cnt, t.row_cnt, t.ext_cnt, t.odd_cnt, (double)bytes / 1024,
	       median(path, NULL, false), median(path, NULL, true), median(path, cache, false));
	cfi_release(&t);
	return 0;
}

int main(int argc, char **argv)
{
	char dir[] = "/tmp/heldup-bench-XXXXXX", *made = mkdtemp(dir);
	struct err err = {0};
	struct cfi_cache *cache = made ? cfi_cache_open(dir, &err) : NULL;
	struct cfi_cache_counts counts;
	struct rusage use;
	int status = 0;

	printf("%-16s %7s %8s %5s %5s %7s %8s %9s %8s\n", "file", "FDEs", "rows", "rules", "odd",
	       "KiB", "anew", "from disk", "cache");
	for (int i = 1; i < argc; i++)
		status |= measure(argv[i], cache);
	counts = cfi_cache_counts(cache);
	getrusage(RUSAGE_SELF, &use);
	printf("cache in %s: %llu hits, %llu built; peak memory %ld KiB\n",
	       made ? dir : "-", (unsigned long long)counts.hit_cnt,
	       (unsigned long long)counts.built_cnt, use.ru_maxrss);
	cfi_cache_free(cache);
	return status;
}
