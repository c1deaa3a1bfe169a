/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LOAD_RUN_H
#define LOAD_RUN_H
/*
 * Children, threads, the ready line and the stat lines; include load.h.
 */

/* Bind the calling thread (and what it starts) to one of the CPUs it may use: 0 is the first. */
LOAD_FN void load_pin(int nth)
{
	cpu_set_t have, one;
	int last = 0;

	CPU_ZERO(&one);
	if (sched_getaffinity(0, sizeof(have), &have))
		return;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &have))
			continue;
		last = cpu;
		if (nth-- == 0)
			break;
	}
	CPU_SET(last, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

LOAD_FN pid_t load_fork(const char *name, void (*fn)(void *), void *arg)
{
	pid_t pid, parent = getpid();
	sigset_t none;

	fflush(stdout);
	if (load.kid_cnt == LOAD_MAX_KIDS)
		load_die("too many children");
	pid = fork();
	if (pid < 0)
		load_die("fork: %s", strerror(errno));
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
		prctl(PR_SET_NAME, name);
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		load.kid_cnt = 0;
		fn(arg);
		_exit(0);
	}
	load.kids[load.kid_cnt++] = (struct load_kid){ pid, name };
	return pid;
}

LOAD_FN pthread_t load_thread(const char *name, void *(*fn)(void *), void *arg)
{
	pthread_attr_t attr;
	pthread_t t;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 256 * 1024);
	errno = pthread_create(&t, &attr, fn, arg);
	if (errno)
		load_fail("pthread_create");
	pthread_setname_np(t, name);
	pthread_attr_destroy(&attr);
	return t;
}

/* A child that is gone is forgotten first, so that its number is not killed when it is reused. */
LOAD_FN void load_reap(void)
{
	int status;
	pid_t dead;

	while ((dead = waitpid(-1, &status, WNOHANG)) > 0) {
		for (int i = 0; i < load.kid_cnt; i++) {
			struct load_kid kid = load.kids[i];

			if (kid.pid != dead)
				continue;
			load.kids[i] = load.kids[--load.kid_cnt];
			load_die("%s ended by itself (wait status 0x%x)", kid.name, status);
		}
	}
}

/* Supervisor only.  Ends the program on SIGTERM, at its end time, or when a child has died. */
LOAD_FN void load_pause_ms(uint64_t ms)
{
	uint64_t end = load_now_ns() + ms * 1000000, now;
	struct timespec ts;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGCHLD);
	while ((now = load_now_ns()) < end) {
		if (now >= load.end_ns)
			load_exit(0);
		ts.tv_sec = (time_t)((end - now) / 1000000000);
		ts.tv_nsec = (long)((end - now) % 1000000000);
		switch (sigtimedwait(&set, NULL, &ts)) {
		case SIGTERM:
		case SIGINT:
			load_exit(0);
		case SIGCHLD:
			load_reap();
		}
	}
}

LOAD_FN int load_await(_Atomic int *word)
{
	for (int i = 0; i < 1500 && !*word; i++)
		load_pause_ms(10);
	if (!*word)
		load_die("a child did not get ready in 15 s");
	return *word;
}

/* Let the problem build up under load before saying that it is there. */
LOAD_FN void load_settle(uint64_t ms)
{
	load_pause_ms(ms);
}

LOAD_FN __attribute__((format(printf, 1, 2))) void load_ready(const char *fmt, ...)
{
	va_list ap;

	printf("ready ");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
}

LOAD_FN int load_bucket(uint64_t ns)
{
	uint64_t us = ns / 1000 + 1;
	int log = 63 - __builtin_clzll(us);
	int sub = (int)(log >= 3 ? (us >> (log - 3)) & 7 : (us << (3 - log)) & 7);
	int b = log * 8 + sub;

	return b < LOAD_BUCKETS ? b : LOAD_BUCKETS - 1;
}

LOAD_FN void load_count(uint64_t latency_ns)
{
	load.page->done_cnt++;
	load.page->hist[load_bucket(latency_ns)]++;
}

LOAD_FN double load_quantile_ms(const uint64_t *hist, uint64_t cnt, double q)
{
	uint64_t seen = 0;

	for (int b = 0; b < LOAD_BUCKETS; b++) {
		seen += hist[b];
		if (seen && (double)seen >= q * (double)cnt)
			return (double)(8 + b % 8 + 1) / 8 * (double)(1ull << (b / 8)) / 1000;
	}
	return 0;
}

/* One line for the last interval; last[] holds the counts at its start. */
LOAD_FN void load_stat(uint64_t *last, double seconds)
{
	uint64_t diff[LOAD_BUCKETS], cnt = 0, v;

	for (int b = 0; b < LOAD_BUCKETS; b++) {
		v = load.page->hist[b];
		diff[b] = v - last[b];
		last[b] = v;
		cnt += diff[b];
	}
	printf("stat rps=%.1f p50_ms=%.2f p99_ms=%.2f\n", (double)cnt / seconds,
	       load_quantile_ms(diff, cnt, 0.5), load_quantile_ms(diff, cnt, 0.99));
	fflush(stdout);
}

/* Does not return while there is something to supervise. */
LOAD_FN __attribute__((noreturn)) void load_run(void)
{
	uint64_t last[LOAD_BUCKETS] = { 0 }, t0 = load_now_ns(), t1;

	for (int b = 0; b < LOAD_BUCKETS; b++)
		last[b] = load.page->hist[b];
	for (;;) {
		load_pause_ms(1000);
		t1 = load_now_ns();
		load_stat(last, (double)(t1 - t0) / 1e9);
		t0 = t1;
	}
}

#endif /* LOAD_RUN_H */
