/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REQ_MAKE_H
#define REQ_MAKE_H
/*
 * Made-up requests for tests of src/requests: a tree of spans is written down
 * call by call, times and all, and handed out as a trace.
 *
 *	struct req_maker m = {0};
 *	req_begin(&m, id);
 *	root = req_span(&m, 0, "front", "GET /", 0, 100);
 *	req_span(&m, root, "db", "query", 10, 60);  req_num(&m, "rows", 5);
 *	requests_add(r, req_trace(&m));
 *	req_release(&m);
 */
#include "base/hash.h"
#include "base/vec.h"
#include "trace/points.h"
#include "trace/trace.h"

struct req_maker {
	struct strtab strings;
	struct points points;
	struct trace trace;
	VEC(struct span) spans;
	VEC(struct attr) attrs;
	uint64_t random;
};

void req_release(struct req_maker *m);
void req_begin(struct req_maker *m, uint64_t id);

/* Returns the span's id, for its children; times in microseconds. */
uint64_t req_span(struct req_maker *m, uint64_t parent, const char *service, const char *name,
		  int64_t begin_us, int64_t end_us);

/* Attributes of the last span. */
void req_num(struct req_maker *m, const char *key, double value);
void req_str(struct req_maker *m, const char *key, const char *value);

/* Borrowed until the next req_begin. */
const struct trace *req_trace(struct req_maker *m);

/* Below bound; the same sequence in each run. */
int64_t req_random(struct req_maker *m, int64_t bound);

struct requests_result;

/* Of all numbers and texts of an answer; names by text, not by number. */
uint64_t req_digest(const struct req_maker *m, const struct requests_result *result);

#endif /* REQ_MAKE_H */
