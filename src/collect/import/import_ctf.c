/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A directory of CTF traces as a source, as LTTng writes them.  A child reads
 * it with libbabeltrace2 (import_ctf_child.c), without rights beyond those of
 * the trace's owner and with bounded memory; what it tells is checked like
 * any other input, and when it dies of a trace the source says so.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/rights.h"
#include "base/timed/timed_call.h"
#include "collect/import/import.h"
#include "collect/import/import_ctf.h"
#include "collect/import/import_int.h"
#include "collect/source.h"

enum {
	DEPTH_MAX = 6,
	ENTRIES_MAX = 4096,	/* looked at for directories */
	CHILD_BYTES = 1 << 30,
	POLL_MS = 200,		/* until the signal to stop is looked at */
	STEP_RECORDS = 1 << 16,
};

struct ctf_source {
	struct ctf_taker taker;
	char *path;
	pid_t pid;
	int fd;
	volatile sig_atomic_t stopping;
	size_t at, len;		/* bytes of buffer */
	union {
		char bytes[256 * sizeof(struct ctf_record)];
		struct ctf_record align;
	} buffer;
};

struct dirs {
	char *names[CTF_DIRS_MAX];
	unsigned cnt, entries;
};

/* A trace is a directory with a file `metadata`; a session holds some of them. */
static void find_dirs(struct dirs *d, const char *path, int depth)
{
	char sub[4096];
	struct dirent *e;
	struct stat st;
	CLEANUP_CLOSEDIR DIR *dir = NULL;

	snprintf(sub, sizeof(sub), "%s/metadata", path);
	if (stat(sub, &st) == 0 && S_ISREG(st.st_mode)) {
		if (d->cnt < CTF_DIRS_MAX)
			d->names[d->cnt++] = xstrdup(path);
		return;
	}
	dir = depth < DEPTH_MAX ? opendir(path) : NULL;
	while (dir && (e = readdir(dir)) && d->entries++ < ENTRIES_MAX) {
		int len = snprintf(sub, sizeof(sub), "%s/%s", path, e->d_name);

		if (e->d_name[0] != '.' && len > 0 && (size_t)len < sizeof(sub) &&
		    lstat(sub, &st) == 0 && S_ISDIR(st.st_mode))
			find_dirs(d, sub, depth + 1);
	}
}

static void dirs_release(struct dirs *d)
{
	for (unsigned i = 0; i < d->cnt; i++)
		free(d->names[i]);
}

/* ---- the child */

static rlim_t own_bytes(void)
{
	CLEANUP_FCLOSE FILE *f = fopen("/proc/self/statm", "re");
	unsigned long long pages = 0;

	return f && fscanf(f, "%llu", &pages) == 1 ? pages * 4096 : 0;
}

/* As the trace's owner: who else may not read it keeps that right, and no other. */
static void drop_all(const char *dir)
{
	const struct {
		int what;
		rlim_t max;
	} limits[] = {
		{RLIMIT_AS, own_bytes() + CHILD_BYTES},
		{RLIMIT_CORE, 0},
		{RLIMIT_FSIZE, 0},
		{RLIMIT_NPROC, 0},
	};
	struct stat st;

	rights_bound();
	if (geteuid() == 0 && stat(dir, &st) == 0 && st.st_uid != 0 &&
	    (setgroups(0, NULL) < 0 || setresgid(st.st_gid, st.st_gid, st.st_gid) < 0 ||
	     setresuid(st.st_uid, st.st_uid, st.st_uid) < 0))
		_exit(1);
	if (rights_drop_child() < 0)
		_exit(1);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		struct rlimit r = {limits[i].max, limits[i].max};

		setrlimit((__rlimit_resource_t)limits[i].what, &r);
	}
	rights_filter(RIGHTS_ONLY_READS_FILES); /* where the kernel has none it must do without */
}

static int start_child(struct ctf_source *s, const struct dirs *d)
{
	int pair[2];

	if (pipe2(pair, O_CLOEXEC) < 0)
		return -errno;
	s->pid = fork();
	if (s->pid == 0) {
		int null = open("/dev/null", O_RDWR);

		/* of the parent's descriptors only this one is left */
		if (dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0 ||
		    dup2(pair[1], 3) != 3 || close_range(4, ~0u, 0) < 0)
			_exit(1);
		signal(SIGINT, SIG_IGN); /* Ctrl-C is for the parent, which ends us */
		signal(SIGPIPE, SIG_DFL);
		drop_all(d->names[0]);
		ctf_child(3, (const char *const *)d->names, d->cnt);
		_exit(0);
	}
	close(pair[1]);
	s->fd = pair[0];
	return s->pid < 0 ? -EAGAIN : 0;
}

static void stop_child(struct ctf_source *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
	if (s->pid <= 0)
		return;
	timed_call_end_child(s->pid);
	s->pid = 0;
}

/* ---- what it tells */

static void take_call(struct ctf_taker *s, const struct ctf_record *r)
{
	struct import *im = s->import;
	struct text text = {r->text, r->text + strlen(r->text)};
	struct import_thread *t = import_thread(im, r->tid);
	const char *name;
	size_t len = take_name(&text, &name);
	bool any = strcmp(r->text, "exit_syscall") == 0; /* of an old LTTng: any call's */
	int nr = len && text.at == text.end && !any ? import_nr(im, name, len) : -1;

	if (!t)
		return;
	if (nr < 0 && !(any && t->open)) {
		text = (struct text){r->text, r->text + strlen(r->text)};
		import_skip(im, &text, s->record_cnt);
		return;
	}
	t->cpu = r->cpu;
	import_task(im, t, r->tgid, r->comm, strlen(r->comm));
	if (r->what == CTF_ENTER)
		import_enter(im, t, nr, r->ns);
	else
		import_leave(im, t, nr, r->ns,
			     import_result(t->open ? t->call.nr : nr, r->value));
}

void ctf_take(struct ctf_taker *s, struct ctf_record *r)
{
	struct import *im = s->import;
	struct text text;

	r->comm[sizeof(r->comm) - 1] = r->text[sizeof(r->text) - 1] = '\0';
	text = (struct text){r->text, r->text + strlen(r->text)};
	s->record_cnt++;
	if (r->ns)
		import_time(im, r->ns);
	switch (r->what) {
	case CTF_ENTER:
	case CTF_LEAVE:
		take_call(s, r);
		break;
	case CTF_SWITCH:
		im->flags |= WINDOWF_SWITCHES;
		import_switch(im, r->tid, r->value == 0);
		break;
	case CTF_LOST:
		im->lost_cnt += r->value > 0 && r->value < INT32_MAX ? (uint64_t)r->value : 1;
		break;
	case CTF_FAILED:
		memcpy(s->why, r->text, sizeof(s->why));
		s->ended = true;
		break;
	case CTF_END:
		s->ended = true;
		break;
	default:
		import_skip(im, &text, s->record_cnt);
	}
}

/* true: there is a record. */
static bool have_record(struct ctf_source *s)
{
	struct pollfd p = {.fd = s->fd, .events = POLLIN};
	ssize_t got;

	while (s->len - s->at < sizeof(struct ctf_record) && !s->taker.ended && !s->stopping) {
		memmove(s->buffer.bytes, s->buffer.bytes + s->at, s->len - s->at);
		s->len -= s->at;
		s->at = 0;
		if (poll(&p, 1, POLL_MS) <= 0)
			continue;
		got = read(s->fd, s->buffer.bytes + s->len, sizeof(s->buffer.bytes) - s->len);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			snprintf(s->taker.why, sizeof(s->taker.why), "libbabeltrace2 died of it");
			s->taker.ended = true;
			break;
		}
		s->len += (size_t)got;
	}
	return s->len - s->at >= sizeof(struct ctf_record);
}

static int ctf_step(void *ctx, struct event_sink *sink, struct err *err)
{
	struct ctf_source *s = ctx;
	struct err early = {0};

	import_begin(s->taker.import, sink);
	for (int i = 0; !s->taker.ended && !s->stopping && s->taker.import->emit.error == 0; i++) {
		if (!have_record(s))
			break;
		ctf_take(&s->taker, (void *)(s->buffer.bytes + s->at));
		s->at += sizeof(struct ctf_record);
		if (i >= STEP_RECORDS || import_tick(s->taker.import))
			return s->taker.import->emit.error < 0 ? s->taker.import->emit.error : 1;
	}
	if (s->stopping)
		err_set(&early, -EINTR, "reading '%s' was stopped early", s->path);
	else if (s->taker.why[0])
		err_set(&early, -EBADMSG, "'%s' was read to event %llu: %s", s->path,
			(unsigned long long)s->taker.record_cnt, s->taker.why);
	import_finish(s->taker.import, early.code ? early.msg : NULL);
	if (s->taker.import->emit.error == 0)
		return 0;
	return err_errno(err, s->taker.import->emit.error, "take event %llu of '%s'",
			 (unsigned long long)s->taker.record_cnt, s->path);
}

static void ctf_stop(void *ctx)
{
	((struct ctf_source *)ctx)->stopping = 1;
}

static void ctf_free(void *ctx)
{
	struct ctf_source *s = ctx;

	stop_child(s);
	import_free(s->taker.import);
	free(s->path);
	free(s);
}

/* The first record tells whether it can be read at all. */
static int look(struct ctf_source *s, struct err *err)
{
	const struct ctf_record *first = &s->buffer.align;

	if (!have_record(s))
		return err_set(err, -EBADMSG, "'%s': libbabeltrace2 died of it", s->path);
	if (first->what == CTF_FAILED)
		return err_set(err, -EBADMSG, "'%s' holds no trace that can be read: %.*s", s->path,
			       CTF_TEXT_MAX, first->text);
	return 0;
}

int import_open_dir(const char *path, struct source **ret_src, struct err *err)
{
	static const struct source_ops ops = {.step = ctf_step, .stop = ctf_stop, .free = ctf_free};
	CLEANUP(dirs_release) struct dirs dirs = {.cnt = 0};
	struct ctf_source *s;
	int rc;

	find_dirs(&dirs, path, 0);
	if (dirs.cnt == 0)
		return err_set(err, -EISDIR, "'%s' is a directory, not a heldup capture, and no "
			       "trace of LTTng is in it", path);
#ifndef HAVE_BABELTRACE2
	return err_set(err, -ENOTSUP, "'%s' is a trace of LTTng and this heldup was built "
		       "without libbabeltrace2", path);
#endif
	s = xcalloc(1, sizeof(*s));
	s->path = xstrdup(path);
	s->fd = -1;
	s->taker.import = import_new("LTTng", s->path);
	rc = start_child(s, &dirs);
	rc = rc < 0 ? err_errno(err, rc, "read '%s'", path) : look(s, err);
	if (rc < 0) {
		ctf_free(s);
		return rc;
	}
	*ret_src = source_new(&ops, s);
	return 0;
}
