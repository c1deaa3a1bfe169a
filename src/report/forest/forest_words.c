/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "base/buf.h"
#include "base/hash.h"
#include "trace/points.h"
#include "report/forest/forest_out.h"
#include "requests/graph/graph.h"
#include "requests/graph/span_ends.h"

bool forest_tree_shown(const struct forest_view *v, uint32_t tree)
{
	if (v->walked && v->walked->tree != FOREST_NONE && v->walked->tree != tree)
		return false;
	return !v->tree_shown || v->tree_shown[tree];
}

bool forest_node_walked(const struct forest_view *v, uint32_t tree, uint32_t node)
{
	if (!v->walked || v->walked->tree != tree)
		return false;
	for (uint32_t i = 0; i < v->walked->node_cnt; i++)
		if (v->walked->nodes[i] == node)
			return true;
	return false;
}

void forest_point_words(const struct forest_view *v, uint32_t point, struct buf *out)
{
	const struct point *p;

	if (point >= v->points->items.cnt) {
		buf_adds(out, "?");
		return;
	}
	p = &v->points->items.items[point];
	buf_adds(out, strtab_str(v->strings, p->service));
	if (p->service && p->name)
		buf_addch(out, ' ');
	buf_adds(out, strtab_str(v->strings, p->name));
}

void forest_sided_words(const struct forest_view *v, uint32_t point, uint32_t sides,
			struct buf *out)
{
	if (sides == SIDE_BEGIN || sides == SIDE_END)
		buf_adds(out, sides == SIDE_BEGIN ? "begin of " : "end of ");
	forest_point_words(v, point, out);
}

void forest_tree_words(const struct forest_view *v, uint32_t tree, struct buf *out)
{
	const struct forest_tree *t = &v->f->trees[tree];

	forest_point_words(v, t->point, out);
	for (uint32_t i = 0; i < v->f->tree_cnt; i++)
		if (i != tree && v->f->trees[i].point == t->point) {
			buf_printf(out, " [%08x]", (unsigned)(t->type >> 32));
			return;
		}
}

static void event_words(const struct forest_view *v, const struct forest_event *e,
			struct buf *out)
{
	forest_point_words(v, e->point, out);
	if (e->kind == NODE_EXIT)
		buf_adds(out, " end");
}

void forest_edge_words(const struct forest_view *v, const struct forest_event *from,
		       const struct forest_event *to, bool ascii, struct buf *out)
{
	if (from->point == to->point && from->kind == NODE_ENTRY && to->kind == NODE_EXIT) {
		buf_adds(out, "in ");
		forest_point_words(v, from->point, out);
		return;
	}
	event_words(v, from, out);
	buf_adds(out, ascii ? " -> " : " → ");
	event_words(v, to, out);
}

const char *forest_status_name(uint8_t status)
{
	static const char *const names[] = {
		[HYP_OPEN] = "open",	       [HYP_EXPLORED] = "explored",
		[HYP_CALM] = "calm",	       [HYP_LOCALISED] = "localised",
		[HYP_USELESS] = "useless",     [HYP_STOPPED] = "stopped",
	};

	return status <= HYP_STOPPED ? names[status] : "unknown";
}

const char *forest_status_words(uint8_t status)
{
	static const char *const words[] = {
		[HYP_OPEN] = "more requests are needed",
		[HYP_EXPLORED] = "led to the hypotheses below",
		[HYP_CALM] = "neither varies nor is slow",
		[HYP_LOCALISED] = "localised",
		[HYP_USELESS] = "explained nothing: switched off",
		[HYP_STOPPED] = "a bound was reached",
	};

	return status <= HYP_STOPPED ? words[status] : "unknown";
}

const char *forest_decision_name(uint32_t kind)
{
	static const char *const names[] = {
		[DECIDE_ON] = "on",     [DECIDE_OFF] = "off",   [DECIDE_LOCALISED] = "localised",
		[DECIDE_CALM] = "calm", [DECIDE_WAIT] = "wait", [DECIDE_STOP] = "stop",
	};

	return kind <= DECIDE_STOP ? names[kind] : "unknown";
}

const char *forest_decision_words(uint32_t kind)
{
	static const char *const words[] = {
		[DECIDE_ON] = "switch on",     [DECIDE_OFF] = "switch off",
		[DECIDE_LOCALISED] = "found",  [DECIDE_CALM] = "leave",
		[DECIDE_WAIT] = "wait",	       [DECIDE_STOP] = "stop",
	};

	return kind <= DECIDE_STOP ? words[kind] : "unknown";
}

/* Begin of a bucket; that of FOREST_BUCKETS is where the last ends. */
static double forest_bucket_ns(unsigned bucket)
{
	return bucket ? 1e3 * exp2(bucket / 2.0) : 0;
}

double forest_times_under(const struct forest_times *t, double ns)
{
	double under = 0, all = 0;

	if (ns < t->min_ns)
		return 0;
	if (ns >= t->max_ns)
		return t->cnt ? 1 : 0;
	for (unsigned i = 0; i < FOREST_BUCKETS; i++) {
		double begin = forest_bucket_ns(i), end = forest_bucket_ns(i + 1);

		all += t->buckets[i];
		if (ns >= end)
			under += t->buckets[i];
		else if (ns > begin)
			under += t->buckets[i] * (ns - begin) / (end - begin);
	}
	return all > 0 ? under / all : 0;
}

const char *forest_seen_name(enum forest_seen seen)
{
	static const char *const names[] = {"not", "always", "on", "off"};

	return seen < sizeof(names) / sizeof(*names) ? names[seen] : "unknown";
}

const char *forest_seen_words(enum forest_seen seen)
{
	static const char *const words[] = {"never asked for", "always on", "switched on",
					    "on, and off again"};

	return seen < sizeof(words) / sizeof(*words) ? words[seen] : "unknown";
}
