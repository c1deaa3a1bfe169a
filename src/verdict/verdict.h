/* SPDX-License-Identifier: Apache-2.0 */
#ifndef VERDICT_H
#define VERDICT_H
/*
 * The verdict: findings from the engines' results, each with what was seen,
 * what would refute it and how sure it is.  Says "unknown" and gives two
 * candidates when the evidence does not decide.
 *
 *	verdict_make: results in, struct verdict in the caller's arena
 *
 * findings/findings.h says how to add one.  All text is plain UTF-8 without colour or
 * layout; report/ renders it.
 */
#include "verdict/context/finding.h"

struct arena;
struct model;
struct waits_result;

/*
 * base/base_waits: a good run to compare with, or NULL both.  The functions of
 * the steps come from the model's stacks.
 */
struct verdict *verdict_make(const struct model *m, const struct waits_result *w,
			     const struct model *base, const struct waits_result *base_waits,
			     struct arena *arena);

#endif /* VERDICT_H */
