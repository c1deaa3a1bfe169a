/* SPDX-License-Identifier: Apache-2.0 */
#include "verdict/not_covered.h"

#include <string.h>

#include "model/calls/calls.h"
#include "verdict/context/context.h"
#include "verdict/evidence/shed.h"

static void unseen_add(struct context *k, struct verdict *v, const char *text)
{
	size_t cnt = v->unseen_cnt;
	const char **all = v->unseen;

	if (!(cnt & (cnt - 1))) { /* full: room for as many again */
		all = (const char **)arena_alloc_array(k->arena, cnt ? 2 * cnt : 1, sizeof(*all));
		for (size_t i = 0; i < cnt; i++)
			all[i] = v->unseen[i];
	}
	v->unseen = all;
	v->unseen[v->unseen_cnt++] = arena_strdup(k->arena, text);
}


static void calls_losses(struct context *k, struct verdict *v)
{
	const struct model_calls *c = k->m->calls;

	if (c->lost_cnt)
		unseen_add(k, v, arena_printf(k->arena, "%llu system calls lost",
					      (unsigned long long)c->lost_cnt));
	if (c->dropped_cnt)
		unseen_add(k, v, arena_printf(k->arena, "%llu system calls over the bound, the "
					      "oldest, left out",
					      (unsigned long long)c->dropped_cnt));
	if (c->skipped_cnt)
		unseen_add(k, v, arena_printf(k->arena, "%llu lines or records of calls not "
					      "understood",
					      (unsigned long long)c->skipped_cnt));
}

static void losses_list(struct context *k, struct verdict *v)
{
	static const char *const what[LOSS_CNT] = {
		[LOSS_RING] = "records lost because the ring buffer was full",
		[LOSS_TASK_STORAGE] = "threads that could not be tracked",
		[LOSS_RES_MAP] = "resources not described (map full)",
		[LOSS_END_MAP] = "conversations not counted (map full)",
		[LOSS_CULPRIT_MAP] = "CPU culprits not counted (map full)",
		[LOSS_DISK_MAP] = "disk requests not attributed (map full)",
		[LOSS_SEQ] = "gaps in the records of threads",
		[LOSS_STRINGS] = "names left out",
		[LOSS_PEERS] = "counterpart processes over the bound, not watched",
		[LOSS_MEMBERS] = "files of event sets not listed",
		[LOSS_SOCK_STORAGE] = "sockets that could not be tracked",
		[LOSS_KSTACK] = "kernel stacks not stored",
		[LOSS_MISSED] = "runs of BPF programs missed",
		[LOSS_STACK_MAP] = "stacks that end early (code not known yet)",
		[LOSS_STACK_CUT] = "stacks that end early (deeper than the limit)",
		[LOSS_STACK_READ] = "stacks that end early (memory not readable)",
		[LOSS_SAMPLES] = "samples of running threads not stored",
		[LOSS_SEARCHES] = "searches for a peer's process left out (bounds, rights)",
		[LOSS_FRAME_NAMES] = "frames of stacks without a name (too many)",
		[LOSS_RES_INDEX] = "resources whose other end is not known (too many)",
		[LOSS_BAD_RECORD] = "records of the kernel side not understood",
		[LOSS_MEMBER_SETS] = "event and poll sets whose files could not be read",
	};
	const struct model *m = k->m;
	const char *lines[SHED_LINES_MAX];
	size_t lines_cnt;

	for (unsigned i = 0; i < LOSS_CNT; i++) {
		if (m->loss.cnt[i] && what[i])
			unseen_add(k, v, arena_printf(k->arena, "%llu %s",
						      (unsigned long long)m->loss.cnt[i], what[i]));
	}
	lines_cnt = shed_lines(k, lines);
	for (size_t i = 0; i < lines_cnt; i++)
		unseen_add(k, v, lines[i]);
	if (m->bad_event_cnt + m->unknown_kind_cnt)
		unseen_add(k, v, arena_printf(k->arena, "%llu records not understood",
					      (unsigned long long)(m->bad_event_cnt +
								   m->unknown_kind_cnt)));
	if (k->w->folded_cnt)
		unseen_add(k, v, arena_printf(k->arena, "%llu waits without the threads they were "
					      "passed on by (too many combinations)",
					      (unsigned long long)k->w->folded_cnt));
	if (k->w->cut_cnt)
		unseen_add(k, v, arena_printf(k->arena, "%llu chains cut at %d hops",
					      (unsigned long long)k->w->cut_cnt, WAITS_MAX_DEPTH));
	for (size_t i = 0; i < m->note_cnt; i++) {
		if (m->note_kinds[i] != NOTE_INFO)
			unseen_add(k, v, m->notes[i]);
	}
}

/* Adds what the function lies in unless it is there: a file, or code without one. */
static void nameless_add(struct nameless *n, const char *module)
{
	module = *module ? module : NAMELESS_CODE;
	for (size_t i = 0; i < n->cnt; i++)
		if (strcmp(n->files[i], module) == 0)
			return;
	if (n->cnt < NAMELESS_MAX)
		n->files[n->cnt++] = module;
}

static void names_missing(struct verdict *v)
{
	const struct finding *f = &v->findings[0];
	struct nameless *none = &v->nameless;

	for (size_t i = 0; i < f->chain_len; i++) {
		const struct step *s = &f->chain[i];

		if (s->in_nameless_code) {
			nameless_add(none, "");
			none->pid = none->pid ? none->pid : s->who.pid;
		}
		for (size_t n = 0; n < s->fn_cnt; n++) {
			for (uint32_t at = 0; at < s->fns[n].name_cnt; at++)
				if (s->fns[n].nameless >> at & 1)
					nameless_add(none, s->fns[n].modules[at]);
			if (s->fns[n].nameless && !none->pid)
				none->pid = s->who.pid;
		}
	}
}

static const char *nameless_say(const struct nameless *n, const char *how, struct arena *a)
{
	return arena_printf(a, "names of functions in %s%s%s%s%s: %s", n->files[0],
			    n->cnt > 1 ? ", " : "", n->cnt > 1 ? n->files[1] : "",
			    n->cnt > 2 ? ", " : "", n->cnt > 2 ? n->files[2] : "", how);
}

static const char *nameless_text(const struct nameless *n, struct arena *a)
{
	return nameless_say(n, arena_printf(a, "`heldup symbols -p %u` says which package, debug "
					    "file or flag of a runtime gives them", n->pid), a);
}

void not_covered_add(struct context *k, struct verdict *v)
{
	names_missing(v);
	if (v->nameless.cnt) {
		v->nameless.at = v->unseen_cnt;
		unseen_add(k, v, nameless_text(&v->nameless, k->arena));
	}
	losses_list(k, v);
	calls_losses(k, v);
}

void verdict_unseen(struct verdict *v, const char *text, struct arena *arena)
{
	const char **all = (const char **)arena_alloc_array(arena, 2 * (v->unseen_cnt + 1),
							     sizeof(*all));

	all[0] = arena_strdup(arena, text);
	for (size_t i = 0; i < v->unseen_cnt; i++)
		all[i + 1] = v->unseen[i];
	v->unseen = all;
	v->unseen_cnt++;
	v->nameless.at++;
}

void verdict_names_by(struct verdict *v, const char *how, struct arena *arena)
{
	if (v->nameless.cnt && v->nameless.at < v->unseen_cnt)
		v->unseen[v->nameless.at] = nameless_say(&v->nameless, how, arena);
}
