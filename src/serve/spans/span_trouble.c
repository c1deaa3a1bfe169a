/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/spans/span_trouble.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/fmt.h"
#include "serve/keep/db.h"

#define TYPES_MAX 32		     /* slower at a time in one service; more are not counted */
#define AGAIN_NS (120 * NS_PER_SEC)  /* trouble that is back so soon is the same one */
#define SHIFT_SEEN_NS (15 * NS_PER_SEC) /* it began so long before it was noticed, about */
#define SURE 0.7		     /* of what requests take longer, in one edge */

struct trouble {
	char service[LIVE_SERVICE_LEN];
	struct db_finding finding;	/* end_ns 0: it lasts */
	uint64_t types[TYPES_MAX];	/* those slower now */
	uint32_t type_cnt;
	bool is_other;			/* it is the kernel's side's: its reason alone has ours */
};

struct span_troubles {
	struct db *db;
	span_say_fn say;
	void *ctx;
	struct trouble items[SPAN_TROUBLES_MAX];
	uint32_t cnt;
	uint64_t left_out_cnt;
};

struct span_troubles *span_troubles_new(struct db *db, span_say_fn say, void *ctx)
{
	struct span_troubles *t = xcalloc(1, sizeof(*t));

	t->db = db;
	t->say = say;
	t->ctx = ctx;
	return t;
}

void span_troubles_free(struct span_troubles *t)
{
	free(t);
}

uint64_t span_troubles_left_out(const struct span_troubles *t)
{
	return t->left_out_cnt;
}

/* The trouble of a service, NULL: there is no room for another. */
static struct trouble *trouble_of(struct span_troubles *t, const char *service)
{
	struct trouble *it = NULL;

	for (uint32_t i = 0; i < t->cnt; i++)
		if (strcmp(t->items[i].service, service) == 0)
			return &t->items[i];
	if (t->cnt < SPAN_TROUBLES_MAX)
		it = &t->items[t->cnt++];
	for (uint32_t i = 0; i < t->cnt && !it; i++)
		if (!t->items[i].type_cnt)
			it = &t->items[i];
	if (!it)
		return NULL;
	*it = (struct trouble){0};
	snprintf(it->service, sizeof(it->service), "%s", service);
	return it;
}

static bool add_type(struct trouble *it, uint64_t hash)
{
	for (uint32_t i = 0; i < it->type_cnt; i++)
		if (it->types[i] == hash)
			return false;
	if (it->type_cnt < TYPES_MAX)
		it->types[it->type_cnt++] = hash;
	return true;
}

static void drop_type(struct trouble *it, uint64_t hash)
{
	for (uint32_t i = 0; i < it->type_cnt; i++)
		if (it->types[i] == hash)
			it->types[i] = it->types[--it->type_cnt];
}

/* "GET /cart: p50 55 ms, usually 20 ms; in db SELECT +35 ms" */
static void describe(const struct span_trouble_type *type, const struct shift_found *found,
		     char *to, size_t size)
{
	char now[FMT_MAX], usual[FMT_MAX], more[FMT_MAX];

	snprintf(to, size, "%.64s: %s %s, usually %s%s%.80s%s%s", type->name,
		 found->tail ? "p99" : "p50", fmt_ns(now, found->now_ns),
		 fmt_ns(usual, found->usual_ns), *found->edge.name ? "; " : "", found->edge.name,
		 *found->edge.name ? " +" : "",
		 *found->edge.name ? fmt_ns(more, found->edge.mean_ns) : "");
}

static void fill(struct db_finding *f, const struct span_trouble_type *type,
		 const struct shift_found *found, uint64_t now_ns)
{
	char more[FMT_MAX], share[FMT_MAX];

	*f = (struct db_finding){.begin_ns = now_ns - SHIFT_SEEN_NS, .last_ns = now_ns};
	snprintf(f->service, sizeof(f->service), "%s", type->service);
	snprintf(f->rule, sizeof(f->rule), "shifted");
	describe(type, found, f->reason, sizeof(f->reason));
	snprintf(f->cls, sizeof(f->cls), "requests-slower");
	snprintf(f->title, sizeof(f->title), "requests became slower");
	snprintf(f->confidence, sizeof(f->confidence), "%s",
		 found->edge.share >= SURE ? "high" : *found->edge.name ? "medium" : "low");
	if (*found->edge.name)
		snprintf(f->summary, sizeof(f->summary),
			 "%s: %s a request longer than it was %s, %s of what these requests take "
			 "longer.", type->name, fmt_ns(more, found->edge.mean_ns),
			 found->edge.name, fmt_share(share, found->edge.share));
	else
		snprintf(f->summary, sizeof(f->summary), "%s: no one edge takes longer.",
			 type->name);
}

static void take_open(void *ctx, const struct db_finding *f)
{
	struct db_finding *ret = ctx;

	if (!f->end_ns && !ret->id)
		*ret = *f;
}

/* A finding of the kernel's side that lasts, of a service of the same name; id 0: none. */
static struct db_finding open_of(struct span_troubles *t, const char *service)
{
	const struct db_filter filter = {.service = service};
	struct db_finding f = {0};

	if (*service)
		db_findings(t->db, &filter, take_open, &f);
	if (strcmp(f.rule, "shifted") == 0)
		f.id = 0;
	return f;
}

static void begin(struct span_troubles *t, struct trouble *it,
		  const struct span_trouble_type *type, const struct shift_found *found,
		  uint64_t now_ns)
{
	struct db_finding *f = &it->finding, other = open_of(t, type->service);
	bool again = f->id && f->end_ns && now_ns - f->end_ns < AGAIN_NS;

	it->is_other = other.id != 0;
	if (it->is_other) {
		*f = other;
		describe(type, found, f->reason, sizeof(f->reason));
		t->say(t->ctx, "joins", f);
		return;
	}
	if (again) {
		f->again_cnt++;
		f->end_ns = 0;
		f->last_ns = now_ns;
	} else {
		fill(f, type, found, now_ns);
	}
	if (db_finding_put(t->db, f) == 0)
		t->say(t->ctx, "begins", f);
}

/* The kernel's side may have taken the finding over since. */
static bool is_ours(struct span_troubles *t, struct trouble *it)
{
	struct db_finding now;

	if (!it->is_other && db_finding(t->db, it->finding.id, &now) == 0)
		it->is_other = strcmp(now.rule, "shifted") != 0;
	return !it->is_other;
}

static void lasts(struct span_troubles *t, struct trouble *it, uint64_t now_ns)
{
	if (!is_ours(t, it))
		return;
	it->finding.last_ns = now_ns;
	db_finding_put(t->db, &it->finding);
}

static void ends(struct span_troubles *t, struct trouble *it, uint64_t now_ns)
{
	if (!is_ours(t, it))
		return;
	it->finding.end_ns = it->finding.last_ns = now_ns;
	db_finding_put(t->db, &it->finding);
	t->say(t->ctx, "ends", &it->finding);
}

void span_trouble_step(struct span_troubles *t, const struct span_trouble_type *type,
		       enum shift_step step, const struct shift_found *found, uint64_t now_ns)
{
	struct trouble *it;

	if (step == SHIFT_SOUND)
		return;
	it = trouble_of(t, type->service);
	if (!it) {
		t->left_out_cnt += step == SHIFT_BEGINS;
	} else if (step == SHIFT_ENDS) {
		drop_type(it, type->hash);
		if (!it->type_cnt && it->finding.id)
			ends(t, it, now_ns);
	} else if (add_type(it, type->hash) && it->type_cnt == 1) {
		begin(t, it, type, found, now_ns);
	} else {
		lasts(t, it, now_ns);
	}
}
