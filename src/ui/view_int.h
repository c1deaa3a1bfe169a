/* SPDX-License-Identifier: Apache-2.0 */
#ifndef VIEW_INT_H
#define VIEW_INT_H
/*
 * Shared by view*.c only: a view in the making.
 */
#include "base/hash.h"
#include "ui/view.h"

struct view_ctx {
	struct view *v;
	const struct model *m;
	uint64_t begin_ns, end_ns;
	uint32_t *res_row, *thread_row;	/* by model idx; NO_IDX */
};

/* Copy in the view's arena; "" for NULL. */
const char *view_str(struct view *v, const char *s);

/* The row of a model resource, made when new; NO_IDX for NO_IDX. */
uint32_t view_res_row(struct view_ctx *c, uint32_t res, uint8_t cls);

/* Pairs, and what follows from them: wakers, longest waits, who still waits. */
void view_add_pairs(struct view_ctx *c);

/* Then the wakers of rows are replaced by who was behind the waiting. */
void view_add_blame(struct view_ctx *c);

/* comm of a thread that has no row; never NULL. */
const char *view_task_comm(struct view_ctx *c, uint32_t tid);

#endif /* VIEW_INT_H */
