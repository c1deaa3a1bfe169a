/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NEGLIGIBLE_H
#define NEGLIGIBLE_H
/* Demand that is too little to hold anybody up. */
#include "verdict/context/context.h"

/* top explains most; not looked at where there is no demand. */
bool is_negligible(const struct context *k, const struct cand *top);

#endif /* NEGLIGIBLE_H */
