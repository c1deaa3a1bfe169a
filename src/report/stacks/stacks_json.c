/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "model/stack.h"
#include "report/facts.h"
#include "report/stacks/stacks_out.h"
#include "stacks/diff.h"
#include "stacks/tops.h"
#include "stacks/stack_tree.h"

/* A page is to open at once: lighter nodes than the heaviest so many are left out. */
enum { PAGE_NODES_MAX = 150000 };

static const char *const kind_names[] = {"user", "kernel", "jit", "process", "thread",
					 "resource", "woken-by", "none", "cut"};

static void json_window(struct json *j, const char *key, const struct model *m)
{
	time_t begin = (time_t)(m->meta.real_ns / NS_PER_SEC);
	struct tm tm = {0};
	char date[32] = "";

	if (gmtime_r(&begin, &tm))
		strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", &tm);
	json_kobj(j, key);
	json_ku64(j, "length_ns", m->end_ns - m->begin_ns);
	json_kstr(j, "begin", date);
	json_kstr(j, "selection", m->selection);
	json_kstr(j, "command", m->cmdline);
	json_kstr(j, "host", m->hostname);
	json_kstr(j, "kernel", m->kernel);
	json_ku64(j, "sample_ns", m->meta.sample_ns);
	json_obj_end(j);
}

static void json_fns(struct json *j, const struct stacks_result *r)
{
	json_karr(j, "functions");
	for (size_t i = 0; i < r->fn_cnt; i++) {
		json_obj(j);
		json_kstr(j, "name", r->fns[i].name);
		json_kstr(j, "module", r->fns[i].module);
		json_kstr(j, "file", r->fns[i].file);
		json_kstr(j, "kind", kind_names[r->fns[i].kind]);
		json_obj_end(j);
	}
	json_arr_end(j);
}

static void json_sum(struct json *j, const struct stacks_sum *s)
{
	json_ku64(j, "total_ns", s->total_ns);
	json_ku64(j, "covered_ns", s->covered_ns);
	json_ku64(j, "scaled_ns", s->scaled_ns);
	json_ku64(j, "idle_ns", s->idle_ns);
	json_ku64(j, "cut_ns", s->cut_ns);
	json_ku64(j, "count", s->cnt);
}

static void json_tops(struct json *j, const struct stacks_view *v, unsigned mode)
{
	size_t cnt;
	struct top_fn *tops = tops_make(v->r, mode, v->arena, &cnt);

	json_karr(j, "top");
	for (size_t i = 0; i < cnt; i++) {
		json_obj(j);
		json_ku64(j, "function", tops[i].fn);
		json_ku64(j, "self_ns", tops[i].self_ns);
		json_ku64(j, "total_ns", tops[i].total_ns);
		json_ku64(j, "count", tops[i].cnt);
		json_obj_end(j);
	}
	json_arr_end(j);
}

static void json_path(struct json *j, const char *key, const struct stacks_result *r,
		      uint32_t stack)
{
	if (stack == NO_IDX) {
		json_knull(j, key);
		return;
	}
	json_karr(j, key);
	for (uint32_t i = 0; i < r->paths[stack].cnt; i++)
		json_u64(j, r->paths[stack].fns[i]);
	json_arr_end(j);
}

static void json_thread(struct json *j, const char *key, const struct model *m, uint32_t thread)
{
	const struct thread *t;

	if (thread == NO_IDX) {
		json_knull(j, key);
		return;
	}
	t = &m->threads[thread];
	json_kobj(j, key);
	json_ku64(j, "pid", t->tgid);
	json_ku64(j, "tid", t->tid);
	json_kstr(j, "process", t->proc == NO_IDX ? "" : m->procs[t->proc].comm);
	json_kstr(j, "thread", t->comm);
	json_obj_end(j);
}

static void json_row(struct json *j, const struct stacks_result *r, const struct stack_row *row)
{
	const struct model *m = r->m;

	json_obj(j);
	json_thread(j, "thread", m, row->thread);
	json_kstr(j, "state", state_name(row->st));
	if (row->res == NO_IDX)
		json_knull(j, "resource");
	else
		json_kstr(j, "resource", m->res[row->res].name);
	json_kbool(j, "idle", row->idle);
	json_ku64(j, "ns", row->ns);
	json_ku64(j, "seen_ns", row->seen_ns);
	json_ku64(j, "count", row->cnt);
	json_kstr(j, "end", row->stack == NO_IDX ? "none"
						  : stack_end_name(m->stacks[row->stack].end));
	json_path(j, "frames", r, row->stack);
	if (row->mode == STACKS_WAKER) {
		json_thread(j, "waker", m, row->waker);
		json_path(j, "waker_frames", r, row->waker_stack);
	}
	json_obj_end(j);
}

static void json_diff(struct json *j, const struct stacks_view *v, unsigned mode)
{
	const struct stack_diff *d = diff_make(v->base, v->r, mode, v->arena);

	json_ku64(j, "base_total_ns", d->total_ns[0]);
	json_karr(j, "diff");
	for (size_t i = 0; i < d->row_cnt; i++) {
		json_obj(j);
		json_kstr(j, "name", d->fns[d->rows[i].fn].name);
		json_kstr(j, "module", d->fns[d->rows[i].fn].module);
		json_ku64(j, "self_ns", d->rows[i].self_ns[1]);
		json_ku64(j, "base_self_ns", d->rows[i].self_ns[0]);
		json_ku64(j, "total_ns", d->rows[i].total_ns[1]);
		json_ku64(j, "base_total_ns", d->rows[i].total_ns[0]);
		json_obj_end(j);
	}
	json_arr_end(j);
}

static void json_mode(struct json *j, const struct stacks_view *v, unsigned mode)
{
	const struct stacks_result *r = v->r;

	json_obj(j);
	json_kstr(j, "mode", stacks_mode_name(mode));
	json_sum(j, &r->sums[mode]);
	json_tops(j, v, mode);
	json_karr(j, "stacks");
	for (size_t i = r->first_row[mode]; i < r->first_row[mode + 1]; i++)
		json_row(j, r, &r->rows[i]);
	json_arr_end(j);
	if (v->base)
		json_diff(j, v, mode);
	json_obj_end(j);
}

static void json_losses(struct json *j, const struct model *m)
{
	json_kobj(j, "losses");
	for (unsigned i = 0; i < LOSS_CNT; i++)
		json_ku64(j, facts_loss_name(i), m->loss.cnt[i]);
	json_obj_end(j);
	json_ku64(j, "over_bounds", m->limit_cnt);
}

void stacks_json(const struct stacks_view *v, struct buf *out, FILE *file)
{
	struct json j;

	json_init(&j, out, JSON_PRETTY);
	if (file)
		json_to_file(&j, file);
	json_obj(&j);
	json_kstr(&j, "schema", "heldup/stacks/1");
	json_window(&j, "window", v->r->m);
	if (v->base)
		json_window(&j, "base", v->base->m);
	json_fns(&j, v->r);
	json_karr(&j, "modes");
	for (unsigned mode = 0; mode < STACKS_MODE_CNT; mode++)
		if (v->modes & 1u << mode)
			json_mode(&j, v, mode);
	json_arr_end(&j);
	json_losses(&j, v->r->m);
	json_obj_end(&j);
	json_finish(&j);
}

/* ---- trees for flame.js */

struct flame_out {
	const struct stack_tree *tree;
	uint32_t *ids;		/* from the tree's functions to those of the page */
	uint8_t *keep;		/* by node */
	bool was;
};

/* The least time a node must have for the page to stay small; nodes below a cut one are lighter. */
static uint64_t keep_from(const struct stack_tree *t, size_t max)
{
	uint64_t lo = 0, hi = t->total_ns[0] + t->total_ns[1];

	if (t->node_cnt <= max)
		return 0;
	while (lo + 1 < hi) {
		uint64_t mid = lo + (hi - lo) / 2;
		size_t cnt = 0;

		for (size_t i = 0; i < t->node_cnt; i++)
			cnt += t->nodes[i].ns[0] + t->nodes[i].ns[1] >= mid;
		if (cnt > max)
			lo = mid;
		else
			hi = mid;
	}
	return hi;
}

static void put_column(struct json *j, const char *key, const struct flame_out *f, int what)
{
	json_karr(j, key);
	for (size_t i = 0; i < f->tree->node_cnt; i++) {
		const struct tree_node *n = &f->tree->nodes[i];

		if (!f->keep[i])
			continue;
		json_u64(j, what == 0 ? n->depth : what == 1 ? f->ids[n->fn] : what == 2 ? n->st
			 : n->ns[what == 3 ? 0 : 1]);
	}
	json_arr_end(j);
}

/*
 * With a base the tree's first side is what is now: the page calls the other
 * "was"; without one the other is "idle", waits for work.
 */
static void put_tree(struct json *j, const struct stacks_view *v, unsigned mode,
		     struct flame_out *f)
{
	const struct stacks_sum *s = &v->r->sums[mode];
	size_t max = v->nodes_max ? v->nodes_max : PAGE_NODES_MAX;
	uint64_t from = keep_from(f->tree, max), hidden = 0;

	for (size_t i = 0; i < f->tree->node_cnt; i++) {
		f->keep[i] = f->tree->nodes[i].ns[0] + f->tree->nodes[i].ns[1] >= from;
		hidden += !f->keep[i];
	}
	json_obj(j);
	json_kstr(j, "mode", stacks_mode_name(mode));
	json_ku64(j, "total_ns", s->total_ns);
	json_ku64(j, "covered_ns", mode == STACKS_ON ? s->total_ns : s->covered_ns);
	json_ku64(j, "idle_ns", s->idle_ns);
	json_ku64(j, "hidden", hidden);
	put_column(j, "depth", f, 0);
	put_column(j, "fn", f, 1);
	put_column(j, "st", f, 2);
	put_column(j, "ns", f, 3);
	if (v->base)
		put_column(j, "was", f, 4);
	else if (v->idle && f->tree->total_ns[1])
		put_column(j, "idle", f, 4);
	json_obj_end(j);
}

static void put_page_fns(struct json *j, const struct stack_tree *const *trees)
{
	json_karr(j, "fns");
	for (unsigned mode = 0; mode < STACKS_MODE_CNT; mode++) {
		for (size_t i = 0; trees[mode] && i < trees[mode]->fn_cnt; i++) {
			const struct stack_fn *fn = &trees[mode]->fns[i];

			json_arr(j);
			json_str(j, fn->name);
			json_str(j, fn->module);
			json_u64(j, fn->kind);
			if (fn->libc)
				json_u64(j, 1);
			json_arr_end(j);
		}
	}
	json_arr_end(j);
}

static void put_seconds(struct json *j, const struct stacks_view *v)
{
	json_karr(j, "seconds");
	json_f64(j, (double)(v->r->m->end_ns - v->r->m->begin_ns) / 1e9);
	if (v->base)
		json_f64(j, (double)(v->base->m->end_ns - v->base->m->begin_ns) / 1e9);
	json_arr_end(j);
}

void flame_json(const struct stacks_view *v, struct json *j)
{
	const struct stack_tree *trees[STACKS_MODE_CNT] = {0};
	uint32_t first = 0;

	json_kobj(j, "flame");
	for (unsigned mode = 0; mode < STACKS_MODE_CNT; mode++)
		if (v->modes & 1u << mode)
			trees[mode] = tree_make(v->r, v->base ? v->base : v->idle, mode, v->arena);
	put_page_fns(j, trees);
	json_karr(j, "states");
	for (unsigned st = 0; st < ST_CNT; st++)
		json_str(j, state_name(st));
	json_arr_end(j);
	put_seconds(j, v);
	json_karr(j, "modes");
	for (unsigned mode = 0; mode < STACKS_MODE_CNT; mode++) {
		struct flame_out f = {.tree = trees[mode]};

		if (!f.tree)
			continue;
		f.ids = ARENA_ARRAY(v->arena, uint32_t, f.tree->fn_cnt + 1);
		f.keep = ARENA_ARRAY(v->arena, uint8_t, f.tree->node_cnt + 1);
		for (size_t i = 0; i < f.tree->fn_cnt; i++)
			f.ids[i] = first++;
		put_tree(j, v, mode, &f);
	}
	json_arr_end(j);
	json_obj_end(j);
}

void stacks_page_data(const struct stacks_view *v, struct buf *out)
{
	struct json j;

	json_init(&j, out, JSON_SHOWN);
	json_obj(&j);
	json_window(&j, "window", v->r->m);
	if (v->base)
		json_window(&j, "base", v->base->m);
	json_karr(&j, "unseen");
	for (size_t i = 0; i < v->r->m->note_cnt; i++)
		if (v->r->m->note_kinds[i] != NOTE_INFO)
			json_str(&j, v->r->m->notes[i]);
	json_arr_end(&j);
	flame_json(v, &j);
	json_obj_end(&j);
	json_finish(&j);
}
