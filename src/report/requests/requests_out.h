/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REQUESTS_OUT_H
#define REQUESTS_OUT_H
/*
 * Renders what requests/ found.  Each appends to out and computes nothing but
 * the waterfalls of the traces that the result holds.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "requests/graph/async_split.h"
#include "requests/graph/graph.h"
#include "requests/requests.h"
#include "requests/clocks/skew.h"
#include "requests/graph/synthetic_root.h"
#include "spans/assemble.h"
#include "spans/spans.h"

struct arena;
struct buf;
struct edge_key;
struct forest_view;
struct edge_rank_result;
struct json;
struct key_changes;
struct pen;
struct points;
struct requests_diff;
struct service_blames;
struct edge_rank_row;
struct strtab;

struct requests_file {		/* one input */
	const char *path;
	struct spans_stats stats;
	bool unread;		/* nothing of it could be read: stats.cut_at.why says why */
};

struct requests_live {		/* how running servers were followed */
	uint64_t watched_ns, followed_ns;	/* the same where the cost allows it */
	uint32_t slice_cnt;
	uint64_t call_cnt, unknown_cnt, likely_cnt;	/* calls to others: which request's */
	uint64_t refused_cnt;	/* would have been out of their request's time */
	uint64_t event_cnt, lost_cnt, bad_cnt;
	uint64_t cut_cnt;	/* requests not seen from begin to end */
	uint64_t shared_cnt;	/* requests on connections that carry several at once */
	uint64_t shared_trace_cnt;	/* the same, of those seen from begin to end */
	uint64_t shared_call_cnt;	/* calls on such connections: of unknown_cnt */
	uint64_t joined_cnt;	/* requests that are calls of another host's servers */
	uint64_t unrecorded_cnt;	/* events that did not fit into the file of --record */
	uint64_t setup_cnt;	/* exchanges of TLS handshakes: no requests */
	double cost_share;	/* of the CPU time in use */
	bool switches;		/* a runtime switches between tasks without the kernel */
};

struct requests_input {
	const struct requests_live *live;	/* NULL: of files */
	const struct requests_file *files;
	size_t file_cnt;
	struct assembler_stats assembled;
	struct skew_result clocks;	/* hosts whose times were moved */
	struct stand_in_stats rooted;
	struct detach_stats detached;
	uint64_t folded_cnt;	/* names with ids that became routes (spans/fold.h) */
	uint64_t trace_cnt;	/* handed on: fewer than assembled after a stop */
	bool stopped;		/* by the user: a part of it only */
};

struct requests_view {
	const struct requests_result *r;
	const struct requests_input *in;
	const struct strtab *strings;
	struct points *points;
	struct arena *arena;
	const bool *type_shown;		/* by type; NULL: all */
	size_t top;			/* edges and groups shown in text; 0: a few */
	/* --trace: */
	const struct trace *trace;	/* NULL: not asked for */
	const struct request_explain *explain;
	uint32_t trace_more_cnt;	/* requests of that trace beside the one shown */
	const struct forest_view *forest;	/* its way through this; NULL: not asked for */
	const struct edge_rank_result *rank;
	const struct service_blames *blames;	/* of rank */
	/* --diff: r is what is compared with base */
	const struct requests_diff *diff;
	const struct key_changes *diff_keys;	/* by type of diff */
	const struct requests_input *base_in;
};

/* Under two screens. */
void requests_text(const struct requests_view *v, struct pen *pen);

/* One object, docs/requests.schema.json; to file as it grows when that is not NULL. */
void requests_json(const struct requests_view *v, struct buf *out, FILE *file);

/* A page of its own. */
void requests_html(const struct requests_view *v, struct buf *out);

/*
 * "type;tracepoint;...;edge NANOSECONDS": the critical paths, each edge below
 * the spans that were open, summed over the members of each group.
 */
void requests_folded(const struct requests_view *v, struct buf *out);

/* Trace events of each group's typical, fast and slow request: its spans and its path. */
void requests_chrome(const struct requests_view *v, struct buf *out);

/* ---- words, for the renderers */

bool requests_type_shown(const struct requests_view *v, uint32_t type);

/* "service name" of a tracepoint; "other" for REQUEST_POINT_NONE. */
void requests_point_words(const struct requests_view *v, uint32_t point, struct buf *out);

/* "a → b", "a end → b", "in a": at most width columns (0: any), each name losing its middle. */
void requests_edge_words(const struct requests_view *v, const struct edge_key *k,
			 unsigned width, struct buf *out);

struct edge_key requests_rank_key(const struct edge_rank_row *row);

/* So much more than the first edge must all edges of a tracepoint make to be named instead. */
#define REQUESTS_OWNER_AHEAD 1.5

/* "in db query", or "while db query runs" of what runs on many edges: where most time goes. */
void requests_time_words(const struct requests_view *v, const struct request_group *g,
			 unsigned width, struct buf *out);

/* "; 62 % of the variance lies in db query" */
void requests_variance_words(const struct requests_view *v, const struct request_group *g,
			     struct buf *out);

/* Whether what runs on many edges together says more than the first edge does. */
bool requests_by_owner(const struct request_group *g);

/* "; tenant=acme in db query; through archive ask 4 times or more": common to its paths. */
void requests_what_words(const struct requests_view *v, const struct request_group *g,
			 struct buf *out);

/* Describes a problem with its service and place, in one sentence. */
void requests_problem_words(const struct requests_view *v, const struct request_problem *p,
			    struct buf *out);

/* "r = 0.93", "η² = 0.61, 4 values"; and how it goes: "1..4: 3.1 ms, 5..16: 9.9 ms". */
void requests_key_words(const struct requests_view *v, const struct request_key *k,
			struct buf *out);
void requests_key_values_words(const struct requests_view *v, const struct request_key *k,
			       struct buf *out);

/* "acme"; "tenant acme of api GET /orders" */
void requests_explain_value_words(const struct requests_view *v, const struct explain_key *k,
				  struct buf *out);
void requests_explain_key_words(const struct requests_view *v, const struct explain_key *k,
				struct buf *out);

/* The fields that say which value it is, in an open object. */
void requests_json_value(const struct requests_view *v, const struct key_value *x, struct json *j);
/* A number with so many decimals, null where there is none. */
void requests_json_num(struct json *j, const char *key, double value, int decimals);

/* "acme", "true", "5..16" of a key's values. */
void requests_value_words(const struct requests_view *v, uint32_t key,
			  const struct key_value *x, struct buf *out);

const char *request_problem_kind_name(uint8_t kind);	/* "variance", "slow", "paths" */
const char *request_level_name(uint8_t level);

/* One counted thing about the input, in words; NULL after the last of all kinds. */
struct requests_note {
	const char *what;	/* for machines: "bad_spans" */
	const char *words;	/* "spans not understood": a plural, a blank, more */
	uint64_t cnt;
};
enum { REQUESTS_NOTES_MAX = 48 };

/* Those that are not 0; returns how many. */
size_t requests_notes(const struct requests_view *v, struct requests_note *notes);

/* "clock of a: 3.20 s behind b's, corrected to 1.1 ms; of 512 calls ...". */
void requests_clock_words(const struct requests_view *v, const struct skew_host *h,
			  struct buf *out);
void requests_unsettled_words(const struct requests_view *v, const struct skew_unsettled *u,
			      struct buf *out);

/* The JSON schema as text: docs/requests.schema.json, put in by the Makefile. */
extern const char embed_requests_schema_json[];
extern const char embed_requests_js[];
extern const char embed_requests_css[];

#endif /* REQUESTS_OUT_H */
