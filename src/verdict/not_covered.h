/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NOT_COVERED_H
#define NOT_COVERED_H
/* Drops, limits and names of functions that the verdict does without. */
struct arena;
struct context;
struct verdict;

/* Fills v->nameless, and v->unseen with a line for each. */
void not_covered_add(struct context *k, struct verdict *v);

/* Says in v->unseen how names are to be had: "apt install redis-server-dbgsym". */
void verdict_names_by(struct verdict *v, const char *how, struct arena *arena);

/* Puts text, copied, before all others in v->unseen; once the verdict is made. */
void verdict_unseen(struct verdict *v, const char *text, struct arena *arena);

#endif /* NOT_COVERED_H */
