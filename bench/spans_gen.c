/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes OTLP as a Collector's file exporter would have it of a busy site.
 *
 *	build/bench/spans_gen proto|json SPANS FILE
 *
 * Twelve services on thirty hosts serve eight kinds of requests, each a tree of
 * calls with a server's and a client's span, databases and steps inside; some
 * branches are taken by some requests only.  Each service sends what ended in
 * batches of 512 spans, so a trace is spread over many requests and sixty or so
 * traces are open at a time.  The same seed makes the same spans in both
 * formats.  Attributes are those of the semantic conventions, seven a span.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/pbout.h"
#include "base/vec.h"
#include "trace/trace.h"

enum {
	SERVICES = 12, HOSTS = 30, KINDS = 8, NODES = 24, BATCH = 512, OPEN = 64,
	ATTRS = 12, STR = 80,
};

enum gattr_type { G_STR, G_INT, G_BOOL, G_DOUBLE };

struct gattr {
	const char *key;
	enum gattr_type type;
	char str[STR];
	double num;
};

struct gspan {
	uint64_t trace_hi, trace_lo, id, parent;
	char name[STR];
	int kind;
	uint64_t begin_ns, end_ns;
	bool error, event;
	unsigned attr_cnt;
	struct gattr attrs[ATTRS];
};

struct node { /* of a kind of request: what is called */
	int parent, service, kind;
	unsigned percent; /* of the requests that do it */
	unsigned mean_us;
	bool beside; /* at the same time as the one before */
};

struct gen {
	uint64_t seed;
	bool json;
	FILE *out;
	struct node nodes[KINDS][NODES];
	VEC(struct gspan) batches[SERVICES];
	uint64_t now_ns, span_cnt, trace_cnt;
};

static uint64_t rnd64(struct gen *g)
{
	uint64_t z = g->seed += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static unsigned rnd(struct gen *g, unsigned below)
{
	return (unsigned)(rnd64(g) >> 32) % below;
}

static const char *const service_names[SERVICES] = {
	"frontend", "gateway", "cart", "catalog", "checkout", "payment", "shipping",
	"recommendation", "currency", "email", "account", "search"};
static const char *const ops[KINDS] = {"list", "show", "add", "remove", "pay", "login", "find",
				       "track"};

/* ---- kinds of requests */

static void make_kinds(struct gen *g)
{
	for (int k = 0; k < KINDS; k++) {
		struct node *n = g->nodes[k];

		n[0] = (struct node){-1, 0, SPAN_SERVER, 100, 800, false};
		for (int i = 1; i < NODES; i++) {
			int parent = (int)rnd(g, (unsigned)i);

			/* A client's span has one child, the server's, in another service. */
			while (n[parent].kind == SPAN_CLIENT && parent != i - 1)
				parent--;
			n[i].parent = parent;
			n[i].service = n[parent].service;
			n[i].percent = rnd(g, 4) ? 100 : 20 + rnd(g, 60);
			n[i].mean_us = 50 + rnd(g, 2000);
			n[i].beside = rnd(g, 4) == 0;
			n[i].kind = rnd(g, 3) ? SPAN_CLIENT : SPAN_INTERNAL;
			if (n[parent].kind == SPAN_CLIENT) {
				n[i].kind = SPAN_SERVER;
				n[i].percent = 100;
				n[i].service = (int)rnd(g, SERVICES);
			}
		}
	}
}

/* ---- spans */

static struct gattr *add(struct gspan *s, const char *key, enum gattr_type type)
{
	struct gattr *a = &s->attrs[s->attr_cnt++];

	a->key = key;
	a->type = type;
	return a;
}

#define add_str(s, key, ...) snprintf(add(s, key, G_STR)->str, STR, __VA_ARGS__)
#define add_num(s, key, v) (add(s, key, G_INT)->num = (v))

static void server_attrs(struct gen *g, struct gspan *s, int service, int kind)
{
	static const char *const methods[] = {"GET", "POST", "PUT"};

	add_str(s, "http.request.method", "%s", methods[kind % 3]);
	add_str(s, "http.route", "/%s/{id}/%s", service_names[service], ops[kind]);
	add_str(s, "url.path", "/%s/%u/%s", service_names[service], rnd(g, 100000), ops[kind]);
	add_num(s, "http.response.status_code", rnd(g, 200) ? 200 : 500);
	add_str(s, "client.address", "10.0.%u.%u", rnd(g, 4), rnd(g, 50));
	add_str(s, "user_agent.original", "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 %u",
		rnd(g, 20));
	add_str(s, "tenant", "tenant-%u", rnd(g, 1 + rnd(g, 60)));
	add_num(s, "thread.id", 20 + rnd(g, 64));
}

static void client_attrs(struct gen *g, struct gspan *s, int service)
{
	add_str(s, "rpc.system", "grpc");
	add_str(s, "rpc.service", "shop.v1.%s", service_names[service]);
	add_str(s, "server.address", "%s.shop.svc", service_names[service]);
	add_num(s, "server.port", 8080);
	add_num(s, "rpc.grpc.status_code", 0);
	add_num(s, "thread.id", 20 + rnd(g, 64));
}

static void inner_attrs(struct gen *g, struct gspan *s)
{
	add_str(s, "db.system.name", "postgresql");
	add_str(s, "db.collection.name", "table_%u", rnd(g, 12));
	add_num(s, "db.response.returned_rows", rnd(g, 100));
	add(s, "cache.hit", G_BOOL)->num = rnd(g, 2);
	add(s, "queue.wait_ms", G_DOUBLE)->num = rnd(g, 10000) / 64.0;
	add_num(s, "thread.id", 20 + rnd(g, 64));
}

static void fill(struct gen *g, struct gspan *s, const struct node *n, int kind)
{
	const char *service = service_names[n->service];

	s->kind = n->kind;
	s->error = rnd(g, 400) == 0;
	s->event = s->error;
	if (n->kind == SPAN_SERVER) {
		snprintf(s->name, STR, "%s /%s/{id}/%s", "GET", service, ops[kind]);
		server_attrs(g, s, n->service, kind);
	} else if (n->kind == SPAN_CLIENT) {
		snprintf(s->name, STR, "shop.v1.%s/%s", service, ops[(kind + n->parent) % KINDS]);
		client_attrs(g, s, n->service);
	} else {
		snprintf(s->name, STR, "%s %s", n->mean_us & 1 ? "SELECT" : "step",
			 ops[(kind + n->parent) % KINDS]);
		inner_attrs(g, s);
	}
}

static void flush(struct gen *g, int service);

static void send(struct gen *g, int service, const struct gspan *s)
{
	vec_push(&g->batches[service], *s);
	if (g->batches[service].cnt == BATCH)
		flush(g, service);
	g->span_cnt++;
}

/* Children one after the other, or beside the one before, each with its own time around. */
static uint64_t lay(struct gen *g, const struct node *nodes, struct gspan *spans, int at,
		    uint64_t begin_ns)
{
	uint64_t now = begin_ns + 1000 * (1 + rnd(g, nodes[at].mean_us / 4 + 1)), last = now;

	for (int i = at + 1; i < NODES; i++) {
		if (nodes[i].parent != at || !spans[i].id)
			continue;
		if (!nodes[i].beside)
			last = now;
		uint64_t end = lay(g, nodes, spans, i, last + 1000 * (1 + rnd(g, 20)));

		now = end > now ? end : now;
	}
	spans[at].begin_ns = begin_ns;
	spans[at].end_ns = now + 1000 * (1 + rnd(g, nodes[at].mean_us));
	return spans[at].end_ns;
}

static void make_trace(struct gen *g)
{
	int kind = (int)rnd(g, 1 + rnd(g, KINDS));
	const struct node *nodes = g->nodes[kind];
	struct gspan spans[NODES];
	uint64_t hi = rnd64(g), lo = rnd64(g);

	memset(spans, 0, sizeof(spans));
	for (int i = 0; i < NODES; i++) {
		if (i && (!spans[nodes[i].parent].id || rnd(g, 100) >= nodes[i].percent))
			continue;
		spans[i].trace_hi = hi;
		spans[i].trace_lo = lo;
		spans[i].id = rnd64(g) | 1;
		spans[i].parent = i ? spans[nodes[i].parent].id : 0;
		fill(g, &spans[i], &nodes[i], kind);
	}
	g->now_ns += 1000 * rnd(g, 2000);
	lay(g, nodes, spans, 0, g->now_ns);
	for (int i = NODES - 1; i >= 0; i--)
		if (spans[i].id)
			send(g, nodes[i].service, &spans[i]);
	g->trace_cnt++;
}

/* ---- protobuf */

struct scratch {
	struct buf value, kv, span, scope, resource, all;
};

static void proto_attr(struct scratch *x, struct buf *b, unsigned num, const struct gattr *a)
{
	double v = a->num;
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	if (a->type == G_STR)
		pbout_str(&x->value, 1, a->str);
	else if (a->type == G_DOUBLE)
		pbout_i64(&x->value, 4, bits);
	else
		pbout_num(&x->value, a->type == G_INT ? 3 : 2, (uint64_t)a->num);
	pbout_str(&x->kv, 1, a->key);
	pbout_msg(&x->kv, 2, &x->value);
	pbout_msg(b, num, &x->kv);
}

static void proto_span(struct scratch *x, const struct gspan *s)
{
	uint64_t trace[2] = {htobe64(s->trace_hi), htobe64(s->trace_lo)};
	uint64_t id = htobe64(s->id), parent = htobe64(s->parent);
	struct buf *b = &x->span;

	pbout_bytes(b, 1, trace, sizeof(trace));
	pbout_bytes(b, 2, &id, sizeof(id));
	if (parent)
		pbout_bytes(b, 4, &parent, sizeof(parent));
	pbout_str(b, 5, s->name);
	pbout_num(b, 6, (uint64_t)s->kind);
	pbout_i64(b, 7, s->begin_ns);
	pbout_i64(b, 8, s->end_ns);
	for (unsigned i = 0; i < s->attr_cnt; i++)
		proto_attr(x, b, 9, &s->attrs[i]);
	if (s->event) {
		pbout_i64(&x->value, 1, s->end_ns - 500);
		pbout_str(&x->value, 2, "exception");
		pbout_msg(b, 11, &x->value);
	}
	if (s->error) {
		pbout_num(&x->value, 3, 2);
		pbout_msg(b, 15, &x->value);
	}
	pbout_msg(&x->scope, 2, b);
}

/* ---- JSON */

static void json_attr(struct json *j, const struct gattr *a)
{
	static const char *const names[] = {"stringValue", "intValue", "boolValue", "doubleValue"};
	char text[32];

	json_obj(j);
	json_kstr(j, "key", a->key);
	json_kobj(j, "value");
	snprintf(text, sizeof(text), "%.0f", a->num);
	if (a->type == G_BOOL)
		json_kbool(j, names[a->type], a->num != 0);
	else if (a->type == G_DOUBLE)
		json_kf64(j, names[a->type], a->num);
	else
		json_kstr(j, names[a->type], a->type == G_STR ? a->str : text);
	json_obj_end(j);
	json_obj_end(j);
}

static void json_knum_str(struct json *j, const char *key, uint64_t v)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64, v);
	json_kstr(j, key, text);
}

static void json_id(struct json *j, const char *key, uint64_t hi, uint64_t lo, int parts)
{
	char text[40];

	if (parts == 2)
		snprintf(text, sizeof(text), "%016" PRIx64 "%016" PRIx64, hi, lo);
	else
		snprintf(text, sizeof(text), "%016" PRIx64, lo);
	json_kstr(j, key, lo ? text : "");
}

static void json_span(struct json *j, const struct gspan *s)
{
	json_obj(j);
	json_id(j, "traceId", s->trace_hi, s->trace_lo, 2);
	json_id(j, "spanId", 0, s->id, 1);
	json_id(j, "parentSpanId", 0, s->parent, 1);
	json_ku64(j, "flags", 257);
	json_kstr(j, "name", s->name);
	json_ku64(j, "kind", (uint64_t)s->kind);
	json_knum_str(j, "startTimeUnixNano", s->begin_ns);
	json_knum_str(j, "endTimeUnixNano", s->end_ns);
	json_karr(j, "attributes");
	for (unsigned i = 0; i < s->attr_cnt; i++)
		json_attr(j, &s->attrs[i]);
	json_arr_end(j);
	if (s->event) {
		json_karr(j, "events");
		json_obj(j);
		json_knum_str(j, "timeUnixNano", s->end_ns - 500);
		json_kstr(j, "name", "exception");
		json_obj_end(j);
		json_arr_end(j);
	}
	json_kobj(j, "status");
	if (s->error)
		json_ku64(j, "code", 2);
	json_obj_end(j);
	json_obj_end(j);
}

/* ---- a batch */

static unsigned resource_attrs(struct gen *g, int service, struct gattr *attrs)
{
	struct gspan s = {0};
	unsigned host = (unsigned)service * 5 % HOSTS + rnd(g, 3);

	add_str(&s, "service.name", "%s", service_names[service]);
	add_str(&s, "service.version", "1.%d.0", service);
	add_str(&s, "host.name", "node-%u", host);
	add_str(&s, "service.instance.id", "%s-%u", service_names[service], host);
	add_str(&s, "telemetry.sdk.language", "go");
	add_str(&s, "telemetry.sdk.name", "opentelemetry");
	memcpy(attrs, s.attrs, s.attr_cnt * sizeof(*attrs));
	return s.attr_cnt;
}

static void flush_proto(struct gen *g, int service, const struct gattr *attrs, unsigned cnt)
{
	static struct scratch x;
	uint32_t len;

	for (unsigned i = 0; i < cnt; i++)
		proto_attr(&x, &x.resource, 1, &attrs[i]);
	VEC_FOREACH(&g->batches[service], s)
		proto_span(&x, s);
	pbout_msg(&x.all, 1, &x.resource);
	pbout_msg(&x.all, 2, &x.scope);
	pbout_msg(&x.span, 1, &x.all);
	len = htobe32((uint32_t)x.span.len);
	fwrite(&len, sizeof(len), 1, g->out);
	fwrite(buf_str(&x.span), x.span.len, 1, g->out);
	buf_clear(&x.span);
}

static void flush_json(struct gen *g, int service, const struct gattr *attrs, unsigned cnt)
{
	static struct buf text;
	struct json j;

	json_init(&j, &text, JSON_COMPACT);
	json_to_file(&j, g->out);
	json_obj(&j);
	json_karr(&j, "resourceSpans");
	json_obj(&j);
	json_kobj(&j, "resource");
	json_karr(&j, "attributes");
	for (unsigned i = 0; i < cnt; i++)
		json_attr(&j, &attrs[i]);
	json_arr_end(&j);
	json_obj_end(&j);
	json_karr(&j, "scopeSpans");
	json_obj(&j);
	json_karr(&j, "spans");
	VEC_FOREACH(&g->batches[service], s)
		json_span(&j, s);
	json_arr_end(&j);
	json_obj_end(&j);
	json_arr_end(&j);
	json_obj_end(&j);
	json_arr_end(&j);
	json_obj_end(&j);
	json_finish(&j);
}

static void flush(struct gen *g, int service)
{
	struct gattr attrs[ATTRS];
	unsigned cnt = resource_attrs(g, service, attrs);

	if (g->json)
		flush_json(g, service, attrs, cnt);
	else
		flush_proto(g, service, attrs, cnt);
	vec_clear(&g->batches[service]);
}

int main(int argc, char **argv)
{
	struct gen g = {.seed = 1, .now_ns = UINT64_C(1760000000000000000)};
	uint64_t want = argc == 4 ? strtoull(argv[2], NULL, 10) : 0;
	bool failed;

	if (!want || (strcmp(argv[1], "json") != 0 && strcmp(argv[1], "proto") != 0)) {
		fprintf(stderr, "usage: spans_gen proto|json SPANS FILE\n");
		return 2;
	}
	g.json = argv[1][0] == 'j';
	g.out = fopen(argv[3], "w");
	if (!g.out) {
		fprintf(stderr, "spans_gen: %s: %s\n", argv[3], strerror(errno));
		return 1;
	}
	make_kinds(&g);
	while (g.span_cnt < want)
		make_trace(&g);
	for (int i = 0; i < SERVICES; i++) {
		if (g.batches[i].cnt)
			flush(&g, i);
		vec_release(&g.batches[i]);
	}
	failed = ferror(g.out) != 0;
	failed |= fclose(g.out) != 0;
	printf("spans %" PRIu64 "\ntraces %" PRIu64 "\n", g.span_cnt, g.trace_cnt);
	return failed;
}
