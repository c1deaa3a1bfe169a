/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LOAD_LIFE_H
#define LOAD_LIFE_H
/*
 * The bodies of load.h's life cycle; include load.h.  The supervisor keeps its
 * signals blocked and takes them with sigtimedwait, so there is no handler and
 * no moment at which SIGTERM is lost.
 */

LOAD_FN __attribute__((noreturn, format(printf, 1, 2))) void load_die(const char *fmt, ...);

/* Value of `--name VALUE`, or def.  A flag without a value: load_flag. */
LOAD_FN const char *load_opt(const char *name, const char *def)
{
	for (int i = 1; i < load.argc; i++)
		if (!strcmp(load.argv[i], name))
			return i + 1 < load.argc ? load.argv[i + 1] : "";
	return def;
}

LOAD_FN long load_num(const char *name, long def)
{
	const char *s = load_opt(name, NULL);
	char *end;
	long v;

	if (!s)
		return def;
	errno = 0;
	v = strtol(s, &end, 10);
	if (errno || end == s || *end || v < 0) {
		fprintf(stderr, "%s: %s wants a number, not '%s'\n", load.name, name, s);
		exit(2);
	}
	return v;
}

LOAD_FN int load_flag(const char *name)
{
	return load_opt(name, NULL) != NULL;
}

LOAD_FN void load_rmdir(const char *dir)
{
	char path[384];
	struct dirent *d;
	DIR *h = opendir(dir);

	if (!h)
		return;
	while ((d = readdir(h))) {
		if (!strcmp(d->d_name, ".") || !strcmp(d->d_name, ".."))
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, d->d_name);
		unlink(path);
	}
	closedir(h);
	rmdir(dir);
}

/* A cgroup goes only when its last process has been reaped; that takes a moment. */
LOAD_FN void load_clean(void)
{
	for (int i = 0; i < load.kid_cnt; i++)
		kill(load.kids[i].pid, SIGKILL);
	for (int i = 0; i < load.kid_cnt; i++)
		waitpid(load.kids[i].pid, NULL, 0);
	load.kid_cnt = 0;
	if (load.at_end)
		load.at_end();
	for (int i = 0; load.cgroup[0] && rmdir(load.cgroup) && errno == EBUSY && i < 100; i++)
		load_sleep_us(20000);
	if (load.dir[0])
		load_rmdir(load.dir);
}

LOAD_FN __attribute__((noreturn)) void load_exit(int status)
{
	load_clean();
	fflush(stdout);
	exit(status);
}

LOAD_FN void load_die(const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "%s: ", load.name);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	load_exit(1);
}

LOAD_FN __attribute__((noreturn)) void load_skip(const char *reason)
{
	printf("skip %s\n", reason);
	load_exit(LOAD_SKIP);
}

/* In a child: what went wrong, then the end of that child; the supervisor sees it die. */
LOAD_FN __attribute__((noreturn)) void load_fail(const char *what)
{
	fprintf(stderr, "%s: %s: %s\n", load.name, what, strerror(errno));
	_exit(1);
}

LOAD_FN void load_calibrate(void)
{
	uint64_t t, best = 0;

	for (int i = 0; i < 5; i++) {
		t = load_clock_ns(CLOCK_THREAD_CPUTIME_ID);
		load_spin(200000);
		t = load_clock_ns(CLOCK_THREAD_CPUTIME_ID) - t;
		if (!best || t < best)
			best = t;
	}
	load.burn_per_ms = 200000ull * 1000000 / (best ? best : 1);
}

/* `options` is what --help prints beside --seconds; only words in it are taken. */
LOAD_FN void load_init(int argc, char **argv, const char *options)
{
	const char *base = strrchr(argv[0], '/');
	sigset_t set;
	long seconds;

	load.name = base ? base + 1 : argv[0];
	load.argc = argc;
	load.argv = argv;
	for (int i = 1; i < argc; i++) {
		if (argv[i][0] != '-' || !strcmp(argv[i], "--seconds") ||
		    (strcmp(argv[i], "--help") && strstr(options, argv[i])))
			continue;
		fprintf(stderr, "usage: %s [--seconds N] %s\n", load.name, options);
		exit(strcmp(argv[i], "--help") ? 2 : 0);
	}
	seconds = load_num("--seconds", 60);
	if (seconds > LOAD_MAX_SECONDS)
		seconds = LOAD_MAX_SECONDS;
	load.end_ns = load_now_ns() + (uint64_t)seconds * 1000000000u;
	load.page = mmap(NULL, sizeof(*load.page), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (load.page == MAP_FAILED)
		load_die("mmap: %s", strerror(errno));
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	load_calibrate();
}

#include "load_run.h"

#endif /* LOAD_LIFE_H */
