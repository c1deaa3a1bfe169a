/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TAIL_JUDGE_H
#define TAIL_JUDGE_H
/* Stalls: the slow requests and what holds them up. */
#include "verdict/context/context.h"

/* Sets v->tail, and the first finding where the mean is healthy and the tail is not. */
void tail_judge(struct context *k, struct verdict *v);

#endif /* TAIL_JUDGE_H */
