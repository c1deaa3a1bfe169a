/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over /proc makes a table of processes; each way of choosing marks
 * rows in it; then descendants are marked through the parents' column.  What
 * starts between the pass and the moment the kernel side follows forks is
 * found by the kernel side's own first pass over all threads.
 */
#include "collect/target/target.h"

#include <errno.h>
#include <regex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/vec.h"
#include "collect/proc/cgroups.h"
#include "collect/proc/container.h"
#include "collect/proc/procfs.h"
#include "collect/select.h"
#include "collect/resources/sockdiag.h"

#define PIDS_MAX 1024	    /* given with -p */
#define INIT_PID_NS 0xEFFFFFFCu /* inode of the initial pid namespace, fixed in the kernel */
#define INIT_TIME_NS 0xEFFFFFFAu /* the same of time namespaces */
#define DEPTH_MAX 4096	    /* of a chain of parents */

enum mark { MARK_NONE, MARK_CHILD, MARK_CHOSEN };

struct row {
	uint32_t tgid, ppid, start_ticks;
	char comm[PROCFS_COMM_LEN];
	bool ended;
	bool kthread;
	enum mark mark;
};

struct resolver {
	const struct select_opts *opts;
	VEC(struct row) rows;
	struct hmap by_tgid;
	struct cgroups *cgroups;
	struct container container; /* the last that was looked up */
	uint32_t self;
	uint32_t tgids[TARGET_MAX]; /* answers of others */
	struct buf note;
	struct err *err;
};

static int add_row(void *ctx, uint32_t tgid)
{
	struct resolver *r = ctx;
	struct procfs_stat st;

	if (procfs_stat(tgid, &st) < 0)
		return 0;
	hmap_put(&r->by_tgid, tgid, r->rows.cnt);
	struct row *row = vec_add(&r->rows);
	row->tgid = tgid;
	row->ppid = st.ppid;
	row->start_ticks = (uint32_t)st.start_ticks;
	row->ended = procfs_has_ended(&st);
	row->kthread = procfs_is_kthread(&st);
	memcpy(row->comm, st.comm, sizeof(row->comm));
	return 0;
}

static struct row *row_of(struct resolver *r, uint32_t tgid)
{
	uint64_t idx;

	return hmap_get(&r->by_tgid, tgid, &idx) ? &r->rows.items[idx] : NULL;
}

static void __attribute__((format(printf, 2, 3))) add_note(struct resolver *r, const char *fmt, ...)
{
	va_list ap;

	if (r->note.len)
		buf_adds(&r->note, "; ");
	va_start(ap, fmt);
	buf_vprintf(&r->note, fmt, ap);
	va_end(ap);
}

static int no_such_pid(struct resolver *r, uint32_t pid)
{
	if (pid <= INT32_MAX && kill((pid_t)pid, 0) < 0 && errno == EPERM)
		return err_rights(r->err, -EPERM,
				  "pid %u is there, but /proc hides it (hidepid): run as root",
				  pid);
	return err_set(r->err, -ESRCH, "no process has pid %u: see ps -e for those that run", pid);
}

static int choose_pid(struct resolver *r, uint32_t pid)
{
	uint32_t tgid = pid ? procfs_tgid(pid) : 0;
	struct row *row = row_of(r, tgid);

	if (!pid)
		return err_usage(r->err, "0 is no process: give a pid from 1 up");
	if (!row)
		return no_such_pid(r, pid);
	if (tgid == r->self)
		return err_usage(r->err,
				 "pid %u is heldup itself, which waits for what it watches: "
				 "choose another process", pid);
	if (row->ended)
		return err_set(r->err, -ESRCH,
			       "pid %u (%s) has ended (zombie) and waits for its parent, pid %u, "
			       "to collect it: look at the parent with -p %u",
			       pid, row->comm, row->ppid, row->ppid);
	if (tgid != pid)
		add_note(r, "%u is a thread of pid %u (%s): the whole process is watched", pid,
			 tgid, row->comm);
	if (tgid == 1)
		add_note(r, "pid 1: only itself is watched, not what it started");
	if (row->kthread)
		add_note(r, "pid %u (%s) is a kernel thread: it serves others, so look at who "
			    "wakes it", pid, row->comm);
	row->mark = MARK_CHOSEN;
	return 0;
}

/* True when it may be chosen by anything but its number. */
static bool may_choose(const struct resolver *r, const struct row *row)
{
	return row && !row->kthread && !row->ended && row->tgid != r->self;
}

static size_t choose_tgids(struct resolver *r, size_t cnt)
{
	size_t chosen = 0;

	for (size_t i = 0; i < cnt; i++) {
		struct row *row = row_of(r, r->tgids[i]);
		if (may_choose(r, row)) {
			row->mark = MARK_CHOSEN;
			chosen++;
		}
	}
	return chosen;
}

static int choose_comm(struct resolver *r)
{
	char words[128], exe[256];
	regex_t re;
	size_t cnt = 0;
	int code = regcomp(&re, r->opts->comm, REG_EXTENDED | REG_NOSUB);

	if (code) {
		regerror(code, &re, words, sizeof(words));
		return err_usage(r->err, "--comm '%s': %s", r->opts->comm, words);
	}
	VEC_FOREACH(&r->rows, row) {
		if (!may_choose(r, row))
			continue;
		if (regexec(&re, row->comm, 0, NULL, 0) != 0 &&
		    regexec(&re, procfs_exe(row->tgid, exe, sizeof(exe)), 0, NULL, 0) != 0)
			continue;
		row->mark = MARK_CHOSEN;
		cnt++;
	}
	regfree(&re);
	return cnt ? 0 : err_set(r->err, -ESRCH, "no process has a name that matches '%s'",
				 r->opts->comm);
}

static int choose_cgroup(struct resolver *r, const char *path, const char *what)
{
	int cnt = cgroups_procs(r->cgroups, path, r->tgids, TARGET_MAX);

	if (cnt < 0)
		return err_set(r->err, -ENOENT,
			       "no cgroup '%s': give a directory below /sys/fs/cgroup, a path of "
			       "/proc/PID/cgroup or the end of one", path);
	if (!choose_tgids(r, (size_t)cnt))
		return err_set(r->err, -ESRCH, "no process runs in %s '%s'", what,
			       r->opts->unit ? r->opts->unit : path);
	return 0;
}

static int choose_unit(struct resolver *r)
{
	char dir[2048];
	int ret = cgroups_unit_dir(r->cgroups, r->opts->unit, dir, sizeof(dir));

	if (ret == -ENOTSUP)
		return err_set(r->err, -ENOENT,
			       "systemd does not run here, so there is no unit '%s': "
			       "choose with --comm, --port or -g", r->opts->unit);
	if (ret < 0)
		return err_set(r->err, -ENOENT,
			       "no unit '%s' runs: systemctl list-units names those that do",
			       r->opts->unit);
	return choose_cgroup(r, dir, "unit");
}

/* False: in none.  Names of the last one are kept, since most neighbours share it. */
static bool container_of(struct resolver *r, const struct row *row, struct container *ret)
{
	struct container c;

	if (!container_of_path(cgroups_path_of(r->cgroups, row->tgid), &c))
		return false;
	if (strcmp(c.id, r->container.id) != 0 || strcmp(c.pod_uid, r->container.pod_uid) != 0) {
		container_names(&c, "");
		r->container = c;
	}
	*ret = r->container;
	return true;
}

static int choose_container(struct resolver *r)
{
	struct container c, first = {0};
	size_t cnt = 0;

	VEC_FOREACH(&r->rows, row) {
		if (!may_choose(r, row) || !container_of(r, row, &c) ||
		    !container_is(&c, r->opts->container))
			continue;
		if (cnt && strcmp(c.id, first.id) != 0 &&
		    (!*c.pod_uid || strcmp(c.pod_uid, first.pod_uid) != 0))
			return err_usage(r->err, "'%s' is more than one container: %.12s and "
						 "%.12s", r->opts->container, first.id, c.id);
		first = cnt ? first : c;
		row->mark = MARK_CHOSEN;
		cnt++;
	}
	return cnt ? 0 : err_set(r->err, -ESRCH,
				 "no process runs in a container or pod '%s': give its name, its "
				 "id, or the path of its cgroup with -g", r->opts->container);
}

static int choose_port(struct resolver *r)
{
	uint16_t port = (uint16_t)r->opts->port;
	size_t cnt = sockdiag_port_owners(port, r->tgids, TARGET_MAX);

	if (choose_tgids(r, cnt))
		return 0;
	if (geteuid() != 0)
		return err_rights(r->err, -EPERM,
				  "no process of yours listens on port %u: run as root to see "
				  "those of others", port);
	return err_set(r->err, -ESRCH,
		       "no process listens on port %u (TCP or UDP, in any network namespace): "
		       "ss -ltnup names those that do", port);
}

static int choose(struct resolver *r)
{
	const struct select_opts *o = r->opts;
	int ret = 0;

	if (o->pids.cnt > PIDS_MAX)
		return err_set(r->err, -E2BIG, "-p takes at most %u ids", PIDS_MAX);
	for (size_t i = 0; i < o->pids.cnt && ret == 0; i++)
		ret = choose_pid(r, (uint32_t)o->pids.items[i]);
	if (ret == 0 && o->comm)
		ret = choose_comm(r);
	if (ret == 0 && o->cgroup)
		ret = choose_cgroup(r, o->cgroup, "cgroup");
	if (ret == 0 && o->unit)
		ret = choose_unit(r);
	if (ret == 0 && o->container)
		ret = choose_container(r);
	if (ret == 0 && o->port)
		ret = choose_port(r);
	if (ret == 0 && o->all) {
		VEC_FOREACH(&r->rows, row) {
			if (may_choose(r, row))
				row->mark = MARK_CHOSEN;
		}
	}
	return ret;
}

/* A chosen ancestor makes it a descendant, unless heldup or pid 1 is met first. */
static bool descends(struct resolver *r, const struct row *row)
{
	for (unsigned depth = 0; depth < DEPTH_MAX && row->ppid; depth++) {
		row = row_of(r, row->ppid);
		if (!row || row->tgid == 1 || row->tgid == r->self || row->kthread)
			return false;
		if (row->mark == MARK_CHOSEN)
			return true;
	}
	return false;
}

static void mark_descendants(struct resolver *r)
{
	size_t cnt = 0;

	VEC_FOREACH(&r->rows, row) {
		if (row->mark == MARK_NONE && may_choose(r, row) && descends(r, row)) {
			row->mark = MARK_CHILD;
			cnt++;
		}
	}
	if (cnt)
		add_note(r, "%zu descendant process%s watched too", cnt,
			 cnt == 1 ? " is" : "es are");
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* Elsewhere /proc has times that are not the kernel's own. */
static bool has_kernels_clock(void)
{
	struct stat st;

	return stat("/proc/self/ns/time", &st) < 0 || st.st_ino == INIT_TIME_NS;
}

static void collect_rows(struct resolver *r, struct target *t)
{
	t->tgids = xcalloc(TARGET_MAX, sizeof(*t->tgids));
	t->start_ticks = xcalloc(TARGET_MAX, sizeof(*t->start_ticks));
	t->chosen = xcalloc(TARGET_MAX, sizeof(*t->chosen));
	if (t->child) {
		t->tgids[t->cnt++] = (uint32_t)t->child;
		t->chosen[t->chosen_cnt++] = (uint32_t)t->child;
	}
	/* those that were meant come first when not all fit */
	for (int mark = MARK_CHOSEN; mark >= MARK_CHILD; mark--) {
		VEC_FOREACH(&r->rows, row) {
			if ((int)row->mark != mark)
				continue;
			if (t->cnt == TARGET_MAX) {
				t->dropped_cnt++;
				continue;
			}
			t->tgids[t->cnt++] = row->tgid;
			t->kthread_cnt += row->kthread;
			if (mark == MARK_CHOSEN)
				t->chosen[t->chosen_cnt++] = row->tgid;
		}
	}
	qsort(t->tgids, t->cnt, sizeof(*t->tgids), by_number);
	qsort(t->chosen, t->chosen_cnt, sizeof(*t->chosen), by_number);
	for (size_t i = 0; i < t->cnt && has_kernels_clock(); i++) {
		const struct row *row = row_of(r, t->tgids[i]);

		t->start_ticks[i] = row ? row->start_ticks : 0;
	}
	if (t->dropped_cnt)
		add_note(r, "%u processes over the bound of %u are not watched", t->dropped_cnt,
			 TARGET_MAX);
}

/* "pid 12 (nginx)", "port 80: nginx, 3 processes" */
static char *describe(struct resolver *r, const struct target *t)
{
	const struct select_opts *o = r->opts;
	struct buf b = {0};
	const struct row *first = t->chosen_cnt ? row_of(r, t->chosen[0]) : NULL;
	struct container c;

	if (o->command) {
		buf_printf(&b, "command '%s' (pid %d)", o->command[0], (int)t->child);
		return buf_detach(&b);
	}
	if (o->pids.cnt)
		buf_adds(&b, t->chosen_cnt == 1 ? "pid" : "pids");
	for (size_t i = 0; o->pids.cnt && i < t->chosen_cnt && i < 8; i++) {
		const struct row *row = row_of(r, t->chosen[i]);
		buf_printf(&b, "%s%u (%s)", i ? ", " : " ", t->chosen[i], row ? row->comm : "?");
	}
	if (o->pids.cnt && t->chosen_cnt > 8)
		buf_printf(&b, " and %zu more", t->chosen_cnt - 8);
	if (o->comm)
		buf_printf(&b, "%scomm /%s/", b.len ? " + " : "", o->comm);
	if (o->cgroup)
		buf_printf(&b, "%scgroup %s", b.len ? " + " : "", o->cgroup);
	if (o->unit)
		buf_printf(&b, "%sunit %s", b.len ? " + " : "", o->unit);
	if (o->container)
		buf_printf(&b, "%scontainer %s", b.len ? " + " : "", o->container);
	if (o->port)
		buf_printf(&b, "%sport %u", b.len ? " + " : "", (unsigned)o->port);
	if (o->all)
		buf_printf(&b, "%sall user processes", b.len ? " + " : "");
	if (o->all)
		buf_printf(&b, " (%zu)", t->cnt);
	else if (!o->pids.cnt && first)
		buf_printf(&b, ": %s%s, %zu process%s", first->comm,
			   t->chosen_cnt > 1 ? " ..." : "", t->cnt, t->cnt == 1 ? "" : "es");
	if (!o->all && first && container_of(r, first, &c)) {
		buf_adds(&b, ", in ");
		container_describe(&c, &b);
	}
	return buf_detach(&b);
}

static int check_namespace(struct err *err)
{
	uint64_t ns = procfs_ns((uint32_t)getpid(), "pid");

	if (ns == INIT_PID_NS || ns == 0)
		return 0;
	return err_rights(err, -ENOTSUP,
			  "heldup runs in a pid namespace of its own, where the kernel's thread "
			  "ids mean others: run it on the host (containers: --pid=host)");
}

static int resolve(struct resolver *r, struct target *t)
{
	const struct select_opts *o = r->opts;
	int ret = check_namespace(r->err);

	if (ret)
		return ret;
	if (!o->pids.cnt && !o->comm && !o->cgroup && !o->unit && !o->container &&
	    !o->port && !o->all && !o->command)
		return err_usage(r->err, "whom to watch? -p PID, --comm RE, --port N, -g CGROUP, "
					 "-u UNIT, --container NAME, -a or -- CMD");
	if (procfs_each_id(0, add_row, r) < 0 || !r->rows.cnt)
		return err_set(r->err, -ENOENT, "/proc cannot be read: mount -t proc proc /proc");
	ret = choose(r);
	if (ret == 0 && o->command)
		ret = target_launch(t, o->command, r->err);
	if (ret)
		return ret;
	mark_descendants(r);
	collect_rows(r, t);
	if (t->cnt == 0) {
		target_release(t);
		return err_set(r->err, -ESRCH, "no process is left to watch");
	}
	t->selection = describe(r, t);
	t->note = buf_detach(&r->note);
	return 0;
}

int target_resolve(const struct select_opts *opts, struct target *ret_target, struct err *err)
{
	struct resolver *r = xcalloc(1, sizeof(*r));
	struct target t = {0};

	r->opts = opts;
	r->err = err;
	r->self = (uint32_t)getpid();
	r->cgroups = cgroups_new();
	int ret = resolve(r, &t);
	if (ret == 0)
		*ret_target = t;
	vec_release(&r->rows);
	hmap_release(&r->by_tgid);
	cgroups_free(r->cgroups);
	buf_release(&r->note);
	free(r);
	return ret;
}

bool target_is_gone(const struct target *t, size_t idx)
{
	uint32_t began = t->start_ticks[idx];
	struct procfs_stat st;

	return procfs_stat(t->tgids[idx], &st) < 0 || procfs_has_ended(&st) ||
	       (began && began != (uint32_t)st.start_ticks);
}
