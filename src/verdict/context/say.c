/* SPDX-License-Identifier: Apache-2.0 */
#include "verdict/context/say.h"

#include <stdarg.h>

void say(struct context *k, struct finding *f, const char *fmt, ...)
{
	va_list ap;

	if (!f->evidence)
		f->evidence = ARENA_ARRAY(k->arena, const char *, FINDING_LINES);
	if (f->evidence_cnt == FINDING_LINES)
		return;
	va_start(ap, fmt);
	f->evidence[f->evidence_cnt++] = arena_vprintf(k->arena, fmt, ap);
	va_end(ap);
}

void refute(struct context *k, struct finding *f, const char *fmt, ...)
{
	va_list ap;

	if (!f->refute)
		f->refute = ARENA_ARRAY(k->arena, const char *, FINDING_LINES);
	if (f->refute_cnt == FINDING_LINES)
		return;
	va_start(ap, fmt);
	f->refute[f->refute_cnt++] = arena_vprintf(k->arena, fmt, ap);
	va_end(ap);
}

void lack(struct context *k, struct finding *f, unsigned by, const char *fmt, ...)
{
	va_list ap;

	if (by <= f->lacks)
		return;
	va_start(ap, fmt);
	f->lacks = (uint8_t)by;
	f->lack = arena_vprintf(k->arena, fmt, ap);
	va_end(ap);
}

const char *ns_text(struct context *k, double ns)
{
	if (ns >= 10e9)
		return arena_printf(k->arena, "%.0f s", ns / 1e9);
	if (ns >= 1e9)
		return arena_printf(k->arena, "%.1f s", ns / 1e9);
	if (ns >= 10e6)
		return arena_printf(k->arena, "%.0f ms", ns / 1e6);
	if (ns >= 1e6)
		return arena_printf(k->arena, "%.1f ms", ns / 1e6);
	return arena_printf(k->arena, "%.0f us", ns / 1e3);
}

const char *thread_label(struct context *k, uint32_t thread)
{
	const struct thread *t;

	if (thread == NO_IDX)
		return "an unknown thread";
	t = &k->m->threads[thread];
	/* an index below thread_cnt; NOLINTNEXTLINE(clang-analyzer-core.NullDereference) */
	if (t->tid == t->tgid)
		return arena_printf(k->arena, "%s (pid %u)", t->comm, t->tgid);
	return arena_printf(k->arena, "%s (tid %u of pid %u)", t->comm, t->tid, t->tgid);
}

struct party party_of(const struct model *m, uint32_t thread)
{
	const struct thread *t;

	if (thread == NO_IDX)
		return (struct party){ .comm = "" };
	t = &m->threads[thread];
	return (struct party){ .pid = t->tgid, .tid = t->tid, .comm = t->comm };
}

void name_res(struct context *k, struct finding *f, uint32_t res)
{
	const struct res *r;

	if (res == NO_IDX)
		return;
	r = &k->m->res[res];
	f->resource = r->name;
	f->res_kind = res_kind_name(r->kind);
}
