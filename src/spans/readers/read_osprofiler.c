/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree that `osprofiler trace show --json` writes.  Its own times are
 * milliseconds since the trace began; the microseconds stand in the events as
 * they were sent, under keys that begin with meta.raw_payload.  A node without
 * these keeps the milliseconds.
 */
#include "spans/readers/osprofiler.h"

#include <string.h>

#include "spans/pending.h"

enum { TREE_MAX = 60 };		/* nodes in each other; each is two levels of JSON */

#define MS INT64_C(1000000)

struct report {
	struct osp o;
	struct trace_id trace;	/* of nodes whose events do not say it */
	uint64_t base;
	unsigned depth;
};

struct node {
	struct osp_span s;
	int64_t started_ns, finished_ns;
	bool has_started, has_finished, failed;
	struct tok_str parent;
};

static void take_payload(struct report *rep, struct node *node)
{
	/* the node's own ids stay where the event has none */
	osp_event(&rep->o, &node->s);
	if (!rep->base) {
		rep->trace = node->s.m.trace;
		rep->base = node->s.base;
	}
}

static void take_info(struct report *rep, struct node *node)
{
	static const char payload[] = "meta.raw_payload.";
	const size_t len = sizeof(payload) - 1;
	struct jsontok *t = &rep->o.docs->t;
	struct docs_key key;
	struct tok_str v;

	if (!jsontok_obj(t))
		return;
	while (docs_key(t, &key)) {
		if (key.len > len && memcmp(key.s, payload, len) == 0)
			take_payload(rep, node);
		else if (tok_is(&key, "started"))
			node->has_started = json_time(t, MS, &node->started_ns);
		else if (tok_is(&key, "finished"))
			node->has_finished = json_time(t, MS, &node->finished_ns);
		else if (tok_is(&key, "name") && !*node->s.name && jsontok_str(t, &v))
			osp_copy(node->s.name, sizeof(node->s.name), &v);
		else if (tok_is(&key, "project") && jsontok_str(t, &v))
			osp_copy(node->s.project, sizeof(node->s.project), &v);
		else if (tok_is(&key, "service") && jsontok_str(t, &v))
			osp_copy(node->s.service, sizeof(node->s.service), &v);
		else if (tok_is(&key, "host") && jsontok_str(t, &v))
			node->s.m.span.host = reading_name(rep->o.r, v.s, v.len);
		else if (tok_is(&key, "exception") && jsontok_kind(t) == TOK_STR &&
			 jsontok_str(t, &v))
			node->failed = v.len && !tok_is(&v, "None");
	}
}

static int take_children(struct report *rep);

static int end_node(struct report *rep, struct node *node)
{
	struct osp_span *s = &node->s;

	if (!s->has_begin && !s->seen_start && node->has_started) {
		s->m.span.begin_ns = node->started_ns;
		s->has_begin = true;
		s->m.span.end_ns = node->finished_ns;
		s->has_end = node->has_finished;
	}
	if (!s->base && rep->base) {
		s->base = rep->base;
		s->m.trace = rep->trace;
	}
	s->m.span.flags |= node->failed ? SPANF_ERROR : 0;
	return osp_span_end(&rep->o, s);
}

static int take_node(struct report *rep)
{
	struct jsontok *t = &rep->o.docs->t;
	struct node node = {0};
	struct docs_key key;
	struct tok_str v;
	int rc = 0;

	osp_span_begin(&node.s, json_off(rep->o.docs));
	if (!jsontok_obj(t)) {
		json_span_bad(rep->o.docs, node.s.m.off, "node");
		return 0;
	}
	while (rc == 0 && docs_key(t, &key)) {
		if (tok_is(&key, "children")) {
			rc = take_children(rep);
		} else if (tok_is(&key, "info")) {
			take_info(rep, &node);
		} else if (tok_is(&key, "trace_id") && jsontok_str(t, &v)) {
			node.s.m.span.id = id_span(v.s, v.len);
		} else if (tok_is(&key, "parent_id") && jsontok_str(t, &v)) {
			node.s.m.span.parent = id_span(v.s, v.len);
			if (!rep->base && rep->depth == 1) { /* the parent of a root is the trace */
				rep->trace = id_trace(v.s, v.len);
				rep->base = node.s.m.span.parent;
			}
		} else if (tok_is(&key, "tracepoint_id") && jsontok_str(t, &v)) {
			osp_copy(node.s.tracepoint, sizeof(node.s.tracepoint), &v);
		}
	}
	if (rc == 0)
		rc = end_node(rep, &node);
	osp_span_release(&node.s);
	return rc;
}

static int take_children(struct report *rep)
{
	struct jsontok *t = &rep->o.docs->t;
	int rc = 0;

	if (rep->depth >= TREE_MAX) {
		reading_bad(rep->o.r, json_off(rep->o.docs),
			    "expected at most 60 nodes in each other, found more");
		jsontok_skip(t);
		return 0;
	}
	if (!jsontok_arr(t))
		return 0;
	rep->depth++;
	while (rc == 0 && jsontok_item(t))
		rc = take_node(rep);
	rep->depth--;
	return rc;
}

static int take_doc(struct json_docs *docs, void *ctx)
{
	struct report *rep = ctx;
	struct docs_key key;
	int rc = 0;

	rep->o.docs = docs;
	rep->base = 0;
	rep->trace = (struct trace_id){0};
	rep->depth = 0;
	if (!jsontok_obj(&docs->t))
		return 0;
	while (rc == 0 && docs_key(&docs->t, &key))
		if (tok_is(&key, "children"))
			rc = take_children(rep);
	return rc == 0 ? osp_join(&rep->o) : rc;
}

static int report_read(struct reading *r)
{
	struct report rep = {0};
	int rc;

	osp_init(&rep.o, r);
	rc = json_docs_read(r, take_doc, &rep);
	osp_release(&rep.o);
	return rc;
}

static bool report_matches(const char *head, size_t len)
{
	return head_is_json(head, len) && head_has_key(head, len, "children", 1) &&
	       (head_has_key(head, len, "info", 1) || head_has_key(head, len, "stats", 1));
}

const struct spans_reader reader_osprofiler = {SPANS_OSPROFILER, report_matches, report_read};
