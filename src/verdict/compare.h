/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COMPARE_H
#define COMPARE_H
/* Against a good run: what changed. */
#include "verdict/context/context.h"

/* Fills v->changes; bw of base. */
void compare(struct context *k, const struct model *base, const struct waits_result *bw,
	     struct verdict *v);

#endif /* COMPARE_H */
