/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXPLORE_OUT_H
#define EXPLORE_OUT_H
/*
 * Renders what a search found (explore/explore.h): the function that holds requests up,
 * the values that explain it, what was tried, what it cost, and that all is off again.
 */
#include <stddef.h>
#include <stdint.h>

struct buf;
struct explore_graph;
struct explore_result;
struct json;
struct pen;

struct explore_view {
	const struct explore_graph *graph;
	const struct explore_result *r;
	const char *selection;
	uint16_t port;			/* 0: a unix socket */
	const char *asked;		/* address that was asked longest, "" none */
	uint64_t other_cnt;		/* requests on other ports */
	uint64_t took_ns, stacks_ns, sample_cnt;
	uint64_t followed_ns, lost_cnt;
	double cost_share, cost_may;	/* of the CPU time in use */
	uint64_t hit_cnt;
	double fast_ns, slow_ns;	/* of a hit, as measured on this host */
	uint32_t function_cnt;		/* of the files, whether on a stack or not */
	uint32_t seen_cnt, refused_cnt;	/* on stacks; of these: may have no tracepoint, */
	const char *refusals;		/* and why: "2: no function begins there" */
	uint64_t differ_bytes;
	uint32_t compared_cnt, uncompared_cnt, left_out_cnt;
};

void explore_text(const struct explore_view *v, struct pen *pen);
/* The same without the processes and the rounds: part of another answer. */
void explore_found_text(const struct explore_view *v, struct pen *pen);
/* An object as docs/explore.schema.json says. */
void explore_json(const struct explore_view *v, struct buf *out);
/* Its keys, for an object that is open. */
void explore_json_parts(struct json *j, const struct explore_view *v);

/* Column of the texts, beside the heads. */
#define EXPLORE_INDENT 12

/* ---- words of both */

/* "lock", "fdatasync", "page fault"; NULL: none. */
const char *explore_wait_words(uint32_t kind);
/* A function's name, or what stands for a part without one. */
const char *explore_top_words(const struct explore_view *v, uint32_t top);
/* "found", "rounds", "quiet", "time". */
const char *explore_end_word(unsigned end);

#endif /* EXPLORE_OUT_H */
