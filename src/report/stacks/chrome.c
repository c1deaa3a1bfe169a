/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chrome's trace events, which Perfetto opens too: a track for each thread,
 * with what it was in (running, waiting for a CPU, asleep on what), an arrow
 * from each waker to the thread it woke, and a mark for each sample.  Only a
 * short window: such viewers do not take millions of events.
 */
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "model/stack.h"
#include "report/exports.h"
#include "stacks/stacks.h"

enum { FNS_SHOWN = 24 };

struct chrome {
	const struct stacks_result *r;
	const struct model *m;
	struct json j;
	uint64_t from_ns;
	uint64_t flow;		/* last id of an arrow */
};

static double us(const struct chrome *c, uint64_t ns)
{
	return (double)(ns - c->m->begin_ns) / 1e3;
}

/* An event is open afterwards: more keys, then json_obj_end. */
static void event(struct chrome *c, const char *ph, const char *name, const struct thread *t,
		  uint64_t ts_ns)
{
	json_obj(&c->j);
	json_kstr(&c->j, "ph", ph);
	json_kstr(&c->j, "name", name);
	json_ku64(&c->j, "pid", t->tgid);
	json_ku64(&c->j, "tid", t->tid);
	json_kf64_dec(&c->j, "ts", us(c, ts_ns), 3);
}

static void put_meta(struct chrome *c, const char *what, uint32_t pid, uint32_t tid,
		     const char *name)
{
	json_obj(&c->j);
	json_kstr(&c->j, "ph", "M");
	json_kstr(&c->j, "name", what);
	json_ku64(&c->j, "pid", pid);
	if (tid)
		json_ku64(&c->j, "tid", tid);
	json_kobj(&c->j, "args");
	json_kstr(&c->j, "name", name);
	json_obj_end(&c->j);
	json_obj_end(&c->j);
}

static void put_names(struct chrome *c)
{
	for (size_t i = 0; i < c->m->proc_cnt; i++)
		put_meta(c, "process_name", c->m->procs[i].tgid, 0, c->m->procs[i].comm);
	for (size_t i = 0; i < c->m->thread_cnt; i++)
		if (c->m->threads[i].tracked)
			put_meta(c, "thread_name", c->m->threads[i].tgid, c->m->threads[i].tid,
				 c->m->threads[i].comm);
}

/* "inner < caller < ...", the innermost first. */
static void put_stack(struct chrome *c, const char *key, uint32_t stack)
{
	CLEANUP(buf_release) struct buf b = {0};
	const struct stack_path *p;
	uint32_t cnt = 0;

	if (stack == NO_IDX || !c->r->paths[stack].cnt)
		return;
	p = &c->r->paths[stack];
	for (uint32_t i = p->cnt; i-- > 0 && cnt < FNS_SHOWN; cnt++)
		buf_printf(&b, "%s%s", cnt ? " < " : "", c->r->fns[p->fns[i]].name);
	json_kstr(&c->j, key, buf_str(&b));
}

static void put_span(struct chrome *c, const struct thread *t, const char *name, uint64_t from_ns,
		     uint64_t to_ns, const struct wait *w)
{
	from_ns = from_ns > c->from_ns ? from_ns : c->from_ns;
	if (to_ns <= from_ns)
		return;
	event(c, "X", name, t, from_ns);
	json_kf64_dec(&c->j, "dur", (double)(to_ns - from_ns) / 1e3, 3);
	json_kobj(&c->j, "args");
	if (w) {
		put_stack(c, "stack", w->ustack);
		put_stack(c, "woken in", w->waker_stack);
		if (w->waker != NO_IDX)
			json_kstr(&c->j, "woken by", c->m->threads[w->waker].comm);
		else
			json_kstr(&c->j, "woken from", waker_ctx_name(w->waker_ctx));
	}
	json_obj_end(&c->j);
	json_obj_end(&c->j);
}

static void put_arrow(struct chrome *c, const struct thread *t, const struct wait *w)
{
	if (w->waker == NO_IDX || w->wake_ns < c->from_ns || w->flags & WAITF_PENDING)
		return;
	event(c, "s", "wakes", &c->m->threads[w->waker], w->wake_ns);
	json_kstr(&c->j, "cat", "wake");
	json_ku64(&c->j, "id", ++c->flow);
	json_obj_end(&c->j);
	event(c, "f", "wakes", t, w->wake_ns);
	json_kstr(&c->j, "cat", "wake");
	json_kstr(&c->j, "bp", "e");
	json_ku64(&c->j, "id", c->flow);
	json_obj_end(&c->j);
}

static const char *wait_text(const struct chrome *c, const struct wait *w)
{
	return w->res == NO_IDX ? wait_class_name(w->cls) : c->m->res[w->res].name;
}

static void put_thread(struct chrome *c, const struct thread *t)
{
	uint64_t at = t->begin_ns > c->m->waits_begin_ns ? t->begin_ns : c->m->waits_begin_ns;

	for (uint32_t i = 0; i < t->wait_len; i++) {
		const struct wait *w = &c->m->waits[t->first_wait + i];

		if (w->end_ns <= c->from_ns) {
			at = w->end_ns;
			continue;
		}
		put_span(c, t, "runs", at, w->off_ns, NULL);
		if (!(w->flags & WAITF_PREEMPTED))
			put_span(c, t, wait_text(c, w), w->off_ns, w->wake_ns, w);
		put_span(c, t, "waits for a CPU", w->wake_ns, w->end_ns, NULL);
		put_arrow(c, t, w);
		at = w->end_ns;
	}
	put_span(c, t, "runs", at, t->end_ns, NULL);
}

static void put_samples(struct chrome *c)
{
	for (size_t i = 0; i < c->m->sample_cnt; i++) {
		const struct sample *s = &c->m->samples[i];
		const struct stack_path *p = s->stack == NO_IDX ? NULL : &c->r->paths[s->stack];

		if (s->ts_ns < c->from_ns || !p || !p->cnt)
			continue;
		event(c, "i", c->r->fns[p->fns[p->cnt - 1]].name, &c->m->threads[s->thread],
		      s->ts_ns);
		json_kstr(&c->j, "s", "t");
		json_kobj(&c->j, "args");
		put_stack(c, "stack", s->stack);
		json_obj_end(&c->j);
		json_obj_end(&c->j);
	}
}

static void put_window(struct chrome *c, struct buf *out)
{
	json_init(&c->j, out, JSON_SHOWN);
	json_obj(&c->j);
	json_kstr(&c->j, "displayTimeUnit", "ns");
	json_karr(&c->j, "traceEvents");
	put_names(c);
	for (size_t i = 0; i < c->r->m->thread_cnt && out->len <= CHROME_BYTES_MAX; i++)
		if (c->m->threads[i].tracked)
			put_thread(c, &c->m->threads[i]);
	if (out->len <= CHROME_BYTES_MAX)
		put_samples(c);
	json_arr_end(&c->j);
	json_obj_end(&c->j);
	json_finish(&c->j);
}

/* A window that is too large is written again, shorter. */
void export_chrome(const struct stacks_result *r, uint64_t window_ns, struct buf *out,
		   uint64_t *ret_ns)
{
	enum { SHORTEST_NS = 1000 };
	uint64_t all = r->m->end_ns - r->m->waits_begin_ns;

	if (window_ns > all)
		window_ns = all;
	for (;;) {
		struct chrome c = {.r = r, .m = r->m, .from_ns = r->m->end_ns - window_ns};
		CLEANUP(buf_release) struct buf part = {0};

		put_window(&c, &part);
		if (part.len <= CHROME_BYTES_MAX || window_ns <= SHORTEST_NS) {
			buf_add(out, part.data, part.len);
			break;
		}
		window_ns -= window_ns / 4;
	}
	*ret_ns = window_ns;
}
