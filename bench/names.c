/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long the names of a file take to load, with its pages in memory and not,
 * and how long one name takes after that.  Medians; separate debug files are
 * left out, so that the file itself is measured.
 *
 *	make build/bench/names && build/bench/names FILE...
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "timing.h"
#include "symbols/names/symbols.h"

enum { ROUNDS = 15, NAMES = 2000 };

/* From open to the tables; the object is the caller's. */
static struct symbols *load(const char *path, bool evicted, double *ret_ms,
			    struct symbols_module_info *ret_info)
{
	struct symbols_opts opts = {.no_debug_files = true, .max_bytes = UINT64_C(1) << 30};
	struct symbols *s = symbols_new(&opts);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint32_t id = 0;

	if (fd >= 0 && evicted)
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	*ret_ms = now_ms();
	if (fd < 0 || symbols_module(s, path, fd, NULL, &id, NULL) < 0 ||
	    symbols_module_info(s, id, ret_info) < 0) {
		symbols_free(s);
		s = NULL;
	}
	*ret_ms = now_ms() - *ret_ms;
	if (fd >= 0)
		close(fd);
	return s;
}

static double median(const char *path, bool evicted)
{
	struct symbols_module_info info;
	double ms[ROUNDS];

	for (int i = 0; i < ROUNDS; i++)
		symbols_free(load(path, evicted, &ms[i], &info));
	return median_of(ms, ROUNDS);
}

/* Microseconds for one name, over addresses all through the first 16 MiB. */
static double name_us(const char *path)
{
	struct symbols_module_info info;
	struct symbol_name name;
	double ms;
	struct symbols *s = load(path, false, &ms, &info);

	if (!s)
		return 0;
	ms = now_ms();
	for (uint64_t i = 0; i < NAMES; i++)
		symbols_name(s, 1, i * 7919 % (16 << 20), false, &name);
	ms = now_ms() - ms;
	symbols_free(s);
	return ms * 1e3 / NAMES;
}

int main(int argc, char **argv)
{
	struct rusage use;
	int status = 0;

	printf("%-24s %7s %8s %8s %8s %10s %8s\n", "file", "named", "unnamed", "KiB", "ms",
	       "from disk", "us/name");
	for (int i = 1; i < argc; i++) {
		struct symbols_module_info info;
		const char *base = strrchr(argv[i], '/');
		double ms;
		struct symbols *s = load(argv[i], false, &ms, &info);

		if (!s) {
			fprintf(stderr, "%s: cannot be read\n", argv[i]);
			status = 1;
			continue;
		}
		printf("%-24.24s %7u %8u %8.0f ", base ? base + 1 : argv[i], info.fn_cnt,
		       info.fde_cnt, (double)info.bytes / 1024);
		symbols_free(s);
		printf("%8.1f ", median(argv[i], false));
		printf("%10.1f %8.2f\n", median(argv[i], true), name_us(argv[i]));
	}
	getrusage(RUSAGE_SELF, &use);
	printf("peak memory %ld KiB\n", use.ru_maxrss);
	return status;
}
