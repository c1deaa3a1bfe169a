/* SPDX-License-Identifier: Apache-2.0 */
#include "functions/rank/external.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "functions/rank/stuck.h"
#include "model/calls/calls.h"

/* Most of the harm, most of the threads: two thirds. */
#define MOST (2.0 / 3)
/* Others' part of a device's or the CPUs' time from which they matter more than we do. */
#define OTHERS_SHARE 0.5
/* Time in the queue for a CPU, of the time on it and in the queue. */
#define QUEUED_SHARE 0.5
/* And of the harm: else something else is slow besides. */
#define HARM_QUEUED 0.5
/* No function has a higher score: those that were hit have nothing in common. */
#define COMMON_MAX 0.35
/* A neighbour on the CPUs slows whatever runs; one function far before the others is the cause. */
#define CPU_SCORE_MAX 0.6
/* So much of all time: less hits some function of most threads in any window. */
#define HARM_MIN 0.2
/* At once: the middle half of the threads hit first within this part of the window. */
#define AT_ONCE 0.05
enum { THREADS_MIN = 4 };	/* of fewer, "most" says nothing */

static bool is_disk_call(const char *name)
{
	static const char *const names[] = {
		"fsync", "fdatasync", "sync", "syncfs", "sync_file_range", "msync", "pread64",
		"pwrite64", "preadv", "pwritev", "preadv2", "pwritev2", "read", "write", "readv",
		"writev", "open", "openat", "creat", "unlink", "unlinkat", "rename", "renameat",
		"renameat2", "ftruncate", "truncate", "fallocate", "getdents", "getdents64",
		"stat", "lstat", "newfstatat", "statx", "io_submit", "io_getevents", "mkdir",
		"rmdir", "link", "symlink", "sendfile", "copy_file_range", "readahead"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

/* Share of the harm in slower calls that go to disk; more calls are the program's doing. */
static double disk_share(const struct blame *b)
{
	double sum = 0;

	VEC_FOREACH(&b->sites, s)
		if (s->nr != NR_OWN && is_disk_call(model_call_name(b->p->m, s->nr)))
			sum += s->harm_ns[DEV_SLOWER] + s->harm_ns[DEV_NEVER];
	return b->harm_ns > 0 ? sum / b->harm_ns : 0;
}

static bool is_ours(const struct model *m, uint32_t tgid)
{
	uint32_t p = model_proc_by_tgid(m, tgid);

	return p != NO_IDX && m->procs[p].target;
}

/* The process that used a disk most, when others used it more than we did. */
static const char *disk_neighbour(const struct model *m)
{
	uint64_t ours = 0, others = 0, most = 0;
	const char *who = NULL;

	for (size_t i = 0; i < m->disk_use_cnt; i++) {
		const struct disk_use *u = &m->disk_uses[i];

		if (is_ours(m, u->tgid)) {
			ours += u->lat_ns;
			continue;
		}
		others += u->lat_ns;
		if (u->lat_ns > most) {
			most = u->lat_ns;
			who = u->comm;
		}
	}
	return (double)others > OTHERS_SHARE * (double)(ours + others) ? who : NULL;
}

/* The process that had the CPUs most while ours waited for one, when ours waited long. */
static const char *cpu_neighbour(const struct model *m, double harm_ns)
{
	uint64_t run = 0, queued = 0, ours = 0, others = 0, most = 0;
	const char *who = NULL;

	for (size_t i = 0; i < m->thread_cnt; i++) {
		if (!is_ours(m, m->threads[i].tgid))
			continue;
		run += m->threads[i].ns[ST_RUN];
		queued += m->threads[i].ns[ST_RUNQ];
	}
	if ((double)queued < QUEUED_SHARE * (double)(run + queued) ||
	    (double)queued < HARM_QUEUED * harm_ns)
		return NULL;
	for (size_t i = 0; i < m->culprit_cnt; i++) {
		const struct culprit *c = &m->culprits[i];

		if (!is_ours(m, c->victim))
			continue;
		if (is_ours(m, c->culprit)) {
			ours += c->ns;
			continue;
		}
		others += c->ns;
		if (c->ns > most) {
			most = c->ns;
			who = c->comm;
		}
	}
	return (double)others > OTHERS_SHARE * (double)(ours + others) ? who : NULL;
}

static int cmp_u64(const void *pa, const void *pb)
{
	uint64_t a = *(const uint64_t *)pa, b = *(const uint64_t *)pb;

	return a < b ? -1 : a > b;
}

/* Threads that did work, those that were hit, and when they first were. */
static void hits_count(const struct blame *b, struct outside_report *ret)
{
	const struct model *m = b->p->m;
	CLEANUP_FREE uint64_t *onsets = xcalloc(m->thread_cnt + 1, sizeof(*onsets));

	for (uint32_t t = 0; t < m->thread_cnt; t++) {
		if (m->calls->runs[t].cnt < 2)
			continue;
		ret->thread_cnt++;
		if (b->thread_bad_ns[t])
			onsets[ret->hit_cnt++] = b->thread_onset_ns[t];
	}
	if (!ret->hit_cnt)
		return;
	qsort(onsets, ret->hit_cnt, sizeof(*onsets), cmp_u64);
	ret->onset_ns = onsets[ret->hit_cnt / 2];
	ret->spread_ns = onsets[ret->hit_cnt * 3 / 4] - onsets[ret->hit_cnt / 4];
}

void outside_find(const struct blame *b, double top_score, struct outside_report *ret,
		  struct arena *arena)
{
	const struct model *m = b->p->m;
	double disk = disk_share(b), window = (double)(m->calls->end_ns - m->calls->begin_ns);
	const char *who;

	*ret = (struct outside_report){.who = ""};
	hits_count(b, ret);
	if (b->harm_ns <= 0)
		return;
	if (disk >= MOST && (who = disk_neighbour(m))) {
		ret->kind = OUTSIDE_DISK;
		ret->share = disk;
		ret->who = arena_strdup(arena, who);
	} else if ((b->class_harm[DEV_OWN] + b->class_harm[DEV_SLOWER]) / b->harm_ns >= MOST &&
		   top_score < CPU_SCORE_MAX && (who = cpu_neighbour(m, b->harm_ns))) {
		ret->kind = OUTSIDE_CPU;
		ret->share = (b->class_harm[DEV_OWN] + b->class_harm[DEV_SLOWER]) / b->harm_ns;
		ret->who = arena_strdup(arena, who);
	} else if (ret->thread_cnt >= THREADS_MIN &&
		   (double)ret->hit_cnt >= MOST * ret->thread_cnt &&
		   (double)ret->spread_ns <= AT_ONCE * window && top_score < COMMON_MAX &&
		   b->harm_ns >= HARM_MIN * (b->harm_ns + b->usual_ns) && b->p->fns &&
		   b->class_harm[DEV_NEVER] + b->class_harm[DEV_SPINS] +
		   b->class_harm[DEV_MORE] < (1 - MOST) * b->harm_ns) {
		ret->kind = OUTSIDE_ALL;
		ret->share = 1;
	}
}

void outside_told(struct outside_report *r, const struct outside_report *told)
{
	if (told->kind == OUTSIDE_NONE && r->kind == OUTSIDE_ALL)
		return; /* that calls alone show */
	r->kind = told->kind;
	r->share = told->share;
	r->who = told->who;
	r->words = told->words;
}
