/* SPDX-License-Identifier: Apache-2.0 */
/* Memory: pages that are read back from disk, and threads that free some before they get some. */
#include "verdict/context/figures.h"
#include "verdict/context/say.h"
#include "verdict/evidence/memory_facts.h"
#include "verdict/evidence/request_lines.h"
#include "verdict/findings/findings.h"

static bool claims_memory(const struct context *k, const struct cause *c)
{
	(void)k;
	return c->kind == CAUSE_MEMORY;
}

/* A thread that computes to free memory does no work of its own. */
static double claims_reclaim(const struct context *k, const struct cause *c, unsigned cls)
{
	return cls == FIND_CPU_OWN ? reclaim_share(k->m, c->thread) : 0;
}

/* A cgroup at its limit explains more than the file that is read again and again. */
static void memory_limit_lines(struct context *k, struct finding *f)
{
	const struct cgroup *g = memory_full(k);

	if (g) {
		f->resource = arena_printf(k->arena, "memory limit of cgroup %s", g->path);
		f->res_kind = "memory";
		say_figures(k, f, "cgroup {}: {} of {} used, limit hit {} times", N_WORD(g->path),
			    N_MIB("memory_used", g->mem_used_bytes),
			    N_MIB("memory_limit", g->mem_limit_bytes),
			    N_CNT("limit_hit", g->mem_failcnt));
	}
}

static void reclaim_line(struct context *k, struct finding *f, const struct cause *c)
{
	double share = c ? reclaim_share(k->m, c->thread) : 0;

	if (c && share >= 0.01)
		say_figures(k, f, "{}: {} of the time that it ran went into freeing memory first "
			    "(direct reclaim)", N_WORD(thread_label(k, c->thread)),
			    N_SHARE("reclaim", share));
}

static void explain_memory(struct context *k, struct finding *f, const struct cand *c)
{
	const struct cause *t = c->top;

	f->resource = "memory";
	f->res_kind = "memory";
	if (t && t->res != NO_IDX && k->m->res[t->res].kind == RES_FILE) {
		f->resource = k->m->res[t->res].name;
		f->res_kind = "file";
	}
	memory_limit_lines(k, f);
	f->culprit = t ? party_of(k->m, t->thread) : f->culprit;
	f->summary = "It waits for memory: page faults that read from disk, or reclaim.";
	say_figures(k, f, "host: {} major faults, {} pages swapped in, {} out",
		    N_CNT("major_faults", k->m->host.maj_flt),
		    N_CNT("swapped_in", k->m->host.swap_in),
		    N_CNT("swapped_out", k->m->host.swap_out));
	reclaim_line(k, f, t);
	if (t)
		waits_line(k, f, t->thread, t->res);
}

static void reclaim_step(struct context *k, struct finding *f, const struct cand *c)
{
	(void)k;
	if (c->top->kind != CAUSE_MEMORY)
		f->chain[f->chain_len - 1].doing = "computes to free memory before it gets some "
						   "(direct reclaim)";
}

static void lacks_memory(struct context *k, struct finding *f, const struct cand *c)
{
	const struct ev_host *h = &k->m->host;

	if (!h->maj_flt && !h->swap_in && !memory_full(k) &&
	    (!c->top || reclaim_share(k->m, c->top->thread) <= 0))
		lack(k, f, 2, "no page was read in, and no limit of memory was met");
}

static const char *next_memory(struct context *k, const struct finding *f, const struct cand *c)
{
	const struct cgroup *g = memory_full(k);

	(void)f;
	(void)c;
	if (g)
		return arena_printf(k->arena, "raise the memory limit of cgroup %s (now %llu MiB), "
				    "or make it use less", g->path,
				    (unsigned long long)g->mem_limit_bytes >> 20);
	return arena_printf(k->arena, "give it more memory, or make it use less: %llu pages were "
			    "read back in", (unsigned long long)k->m->host.maj_flt);
}

const struct finding_def finding_memory = {
	.cls = FIND_MEMORY,
	.name = "memory",
	.title = "page faults or memory reclaim",
	.claims = claims_memory,
	.claims_part = claims_reclaim,
	.explain = explain_memory,
	.refuted_if = "the working set fits: the faults stop when the cache is warm",
	.chain_threads = reclaim_step,
	.lacks = lacks_memory,
	.next_step = next_memory,
	.keeps_lines = true,
};
