/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which kind of request it was.  Its root's tracepoint says; where that name
 * would fit any request (a bare method, a wildcard) its route does, and where
 * it has none, what it asked another service for first, else the first thing
 * it did itself.  Found by time and not by way of the children in between, so
 * that it stays the same when those are not recorded.
 */
#include <ctype.h>
#include <string.h>

#include "base/hash.h"
#include "trace/points.h"
#include "requests/graph/graph_int.h"

/*
 * Keys of OpenTelemetry and OpenTracing for the pattern of a request; bounded in
 * number by design.
 */
static const char *const type_keys[] = {
	"http.route", "url.template", "graphql.operation.name", "rpc.method", "resource.name",
	"messaging.destination.template",
};

/* Words of protocols and of serving as such. */
static const char *const bare_words[] = {
	"get", "head", "post", "put", "patch", "delete", "options", "trace", "connect",
	"http", "https", "http2", "grpc", "rpc", "web", "server", "client", "request", "requests",
	"handle", "handler", "receive", "received", "incoming", "inbound", "ingress", "root",
	"span", "unknown", "undefined", "null", "none", "all", "default",
};

static bool word_is_bare(const char *word, size_t len)
{
	for (size_t i = 0; i < sizeof(bare_words) / sizeof(*bare_words); i++) {
		/* each request is asked for: most words begin with another letter */
		if ((*bare_words[i] ^ *word) & ~0x20)
			continue;
		if (!strncasecmp(bare_words[i], word, len) && !bare_words[i][len])
			return true;
	}
	return false;
}

/* true for "GET", "http request", a wildcard: it distinguishes no request from another. */
static bool graph_name_is_bare(const char *name)
{
	const char *at = name, *path = strchr(name, '/');

	if (path && !path[1])	/* the front page is one page */
		return false;
	while (*at) {
		size_t len = 0;

		while (isalnum((unsigned char)at[len]) || (unsigned char)at[len] >= 0x80)
			len++;
		if (len && !word_is_bare(at, len))
			return false;
		at += len + !len;
	}
	return true;
}

static uint32_t route_of(const struct tree_ctx *ctx, const struct trace *trace, uint32_t span)
{
	const struct span *has = &trace->spans[span];

	for (size_t k = 0; k < sizeof(type_keys) / sizeof(*type_keys); k++) {
		for (uint32_t i = 0; i < has->attr_cnt; i++) {
			const struct attr *attr = &trace->attrs[has->attr_idx + i];

			if (attr->type == ATTR_STR && attr->str &&
			    !strcmp(strtab_str(ctx->strings, attr->key), type_keys[k]) &&
			    !graph_name_is_bare(strtab_str(ctx->strings, (uint32_t)attr->str)))
				return (uint32_t)attr->str;
		}
	}
	return 0;
}

/* Name that the span gives the request; 0: none. */
static uint32_t said_by(const struct tree_ctx *ctx, const struct trace *trace, uint32_t span)
{
	uint32_t route = route_of(ctx, trace, span), name = trace->spans[span].name;

	if (route)
		return route;
	return graph_name_is_bare(strtab_str(ctx->strings, name)) ? 0 : name;
}

static uint32_t detail_find(const struct tree_ctx *ctx, const struct span_tree *tree,
			    uint32_t *ret_span)
{
	const struct span *spans = tree->trace->spans;
	uint32_t best = TREE_NONE, ret = route_of(ctx, tree->trace, tree->root);
	bool best_asked = false;

	*ret_span = tree->root;
	if (ret)
		return ret;
	for (uint32_t i = 0; i < tree->order_cnt; i++) {
		uint32_t at = tree->order[i], said;
		bool asked = spans[at].service != spans[tree->root].service;

		if (tree->nodes[at].flags & (TNODE_ASYNC | TNODE_POINT) || at == tree->root ||
		    asked < best_asked ||
		    (asked == best_asked && best != TREE_NONE && span_tree_cmp(tree, at, best) > 0))
			continue;
		said = said_by(ctx, tree->trace, at);
		if (!said)
			continue;
		ret = said;
		best = at;
		best_asked = asked;
	}
	if (best != TREE_NONE)
		*ret_span = best;
	return ret;
}

static void type_find(const struct tree_ctx *ctx, const struct span_tree *tree, struct graph *ret)
{
	const struct tnode *root = &tree->nodes[tree->root];
	const char *detail;

	ret->type = root->point;
	ret->type_span = tree->root;
	ret->type_hash = hash_u64(root->hash);
	if (!graph_name_is_bare(strtab_str(ctx->strings, tree->trace->spans[tree->root].name)))
		return;
	ret->type_detail = detail_find(ctx, tree, &ret->type_span);
	if (!ret->type_detail)
		return;
	detail = strtab_str(ctx->strings, ret->type_detail);
	ret->type_hash = hash_pair(root->hash, hash_bytes(detail, strlen(detail)));
}

void graph_type_find(const struct tree_ctx *ctx, const struct span_tree *tree, struct graph *ret)
{
	type_find(ctx, tree, ret);
	ret->type_point = tree->nodes[ret->type_span].point;
}
