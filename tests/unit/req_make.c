/* SPDX-License-Identifier: Apache-2.0 */
#include "req_make.h"

void req_release(struct req_maker *m)
{
	strtab_release(&m->strings);
	points_release(&m->points);
	vec_release(&m->spans);
	vec_release(&m->attrs);
}

void req_begin(struct req_maker *m, uint64_t id)
{
	vec_clear(&m->spans);
	vec_clear(&m->attrs);
	m->trace = (struct trace){.id = {hash_u64(id), id}};
}

uint64_t req_span(struct req_maker *m, uint64_t parent, const char *service, const char *name,
		  int64_t begin_us, int64_t end_us)
{
	struct span s = {.id = m->spans.cnt + 1,
			 .parent = parent,
			 .begin_ns = begin_us * 1000,
			 .end_ns = end_us * 1000,
			 .service = strtab_add(&m->strings, service),
			 .name = strtab_add(&m->strings, name),
			 .kind = SPAN_SERVER,
			 .attr_idx = (uint32_t)m->attrs.cnt};

	vec_push(&m->spans, s);
	return s.id;
}

static void add_attr(struct req_maker *m, struct attr attr)
{
	vec_push(&m->attrs, attr);
	vec_last(&m->spans)->attr_cnt++;
}

void req_num(struct req_maker *m, const char *key, double value)
{
	add_attr(m, (struct attr){
			    .key = strtab_add(&m->strings, key), .type = ATTR_NUM, .num = value});
}

void req_str(struct req_maker *m, const char *key, const char *value)
{
	add_attr(m, (struct attr){.key = strtab_add(&m->strings, key),
				  .type = ATTR_STR,
				  .str = strtab_add(&m->strings, value)});
}

const struct trace *req_trace(struct req_maker *m)
{
	m->trace.spans = m->spans.items;
	m->trace.span_cnt = (uint32_t)m->spans.cnt;
	m->trace.attrs = m->attrs.items;
	m->trace.attr_cnt = (uint32_t)m->attrs.cnt;
	return &m->trace;
}

int64_t req_random(struct req_maker *m, int64_t bound)
{
	m->random += 0x9e3779b97f4a7c15u;
	return (int64_t)(hash_u64(m->random) % (uint64_t)bound);
}
