/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REQUESTS_INT_H
#define REQUESTS_INT_H
/*
 * What requests.c, requests_finish.c and those around them share.  A *leaf* is the finest set of
 * requests that is kept apart: one exact path, or, in a type that has more of
 * them than LEAVES_MAX, all paths of one coarser shape.  Groups are unions of
 * leaves of one type, chosen when the answer is asked for (tolerant.h).
 */
#include "base/arena.h"
#include "base/hash.h"
#include "base/vec.h"
#include "requests/stats/group_sums.h"
#include "requests/stats/attr_bins.h"
#include "requests/call_counts.h"
#include "requests/stats/exemplars.h"
#include "requests/graph/critical.h"
#include "requests/graph/graph.h"
#include "requests/requests.h"
#include "requests/stats/attr_samples.h"

enum {
	/*
	 * Leaves of one type.  Where there are more, the type's leaves become
	 * one level coarser, all of them: which they are then does not depend
	 * on what came first.
	 */
	LEAVES_MAX = 4096,
	/*
	 * Columns of a type's leaves that are summed up (group_sums.h), of about 3 kB
	 * each.  More, and leaves become coarser as well.
	 */
	LEAF_COLUMNS_MAX = 1 << 16,
};

struct leaf {
	uint64_t shape[CSHAPE_CNT];	/* from its type's level on */
	uint32_t group;			/* of the last answer, REQUEST_ALL: of none */
	struct path_bins bins;		/* of an exact path, by tracepoint and label */
	uint64_t failed_cnt;		/* members whose root says so */
	uint64_t message_cnt;		/* members whose root is a consumer */
	struct acc acc;
	struct samples samples;
	struct copies copies;
};

struct type {
	uint64_t hash;
	uint32_t point, detail;
	bool stood_in;			/* its root is synthetic, over several (synthetic_root.h) */
	uint32_t level;			/* enum cshape that separates leaves */
	VEC(struct leaf *) leaves;
	uint32_t column_cnt;		/* of leaves that are summed up */
	struct hmap by_shape;		/* to index of leaf */
	struct call_counts calls;
	struct type *united;		/* for the next answer: align_groups.c */
	uint32_t united_min_cnt;	/* members of its groups, in both */
	struct acc all;			/* of the last answer */
	VEC(struct acc *) groups;	/* of the last answer, by group; owned where made */
	VEC(struct acc *) owned;
};

struct requests {
	struct requests_opts opts;
	struct strtab *strings;
	struct points *points;
	struct arena scratch;		/* of one trace */
	VEC(struct type *) types;
	struct hmap by_hash;
	struct graph_stats graph_stats;
	struct requests_stats stats;
	struct key_vars vars;
	struct type *last;		/* of the trace added last; NULL: of none */
	uint64_t sample_limit;		/* hashes above it are in no sample */
	uint64_t sample_cnt;		/* kept in all leaves */
};

/* Which leaves of a type are a group. */
struct cut_group {
	uint64_t hash;
	uint32_t level;
	uint64_t cnt;			/* members */
	uint32_t *leaves;		/* indexes, in order of their shapes */
	uint32_t leaf_cnt;
	const struct path_rule *rules;
	uint32_t rule_cnt;
};

struct cut {
	VEC(struct cut_group) groups;
	VEC(struct request_level) levels;
};

/* Puts the type's leaves in an order that does not depend on that of the traces. */
void leaves_sort(struct type *type);

/* Frees what the last answer left in the type. */
void type_forget_answer(struct type *type);

uint64_t type_cnt(const struct type *type);

/* NULL is fine. */
void type_free(struct type *type);

/* The samples of leaves; the array lives in arena. */
const struct samples *const *leaves_samples(struct leaf *const *leaves, uint32_t cnt,
					    struct arena *arena);

/* The leaf of the shape at the type's level, added if there is none. */
struct leaf *leaf_of(struct type *type, const uint64_t *shape);

/* All leaves of the type one level coarser; in an order that is always the same. */
void coarsen(struct requests *r, struct type *type);

/* From leaves of type->united to those of type; groups it has none of are gone. */
void cut_translate(const struct type *type, struct cut *cut);

/* merge_paths.c: all but the structs themselves lives in arena. */
void cut_type(const struct type *type, const struct points *points,
	      const struct requests_opts *opts, struct arena *arena, struct cut *ret);
void cut_release(struct cut *cut);

/* group.c: what is known of a group from its sums; all is the whole type's. */
void group_fill(const struct acc *acc, const struct acc *all, const struct requests *r,
		struct arena *arena, struct request_group *ret);

/* exemplar_choice.c: the typical, the fast and the slow one; after group_fill. */
void examples_choose(struct requests *r, struct leaf *const *leaves, uint32_t cnt,
		     const struct acc *acc, struct arena *arena, struct request_group *ret);

/* problems.c: what a group is held against, but for requests that failed soon. */
struct others {
	const struct tails *const *sets;
	uint32_t set_cnt;
};

/* Returns how many requests they are; in arena. */
uint64_t others_of(const struct request_type *type, const struct type *from, uint32_t group,
		   struct arena *arena, struct others *ret);

void problems_find(const struct requests *r, struct requests_result *result,
		   struct arena *arena);

/* As quick_path, in r->scratch. */
int requests_path(struct requests *r, const struct trace *trace, struct graph *ret_graph,
		  struct cpath *ret_cpath);

#endif /* REQUESTS_INT_H */
