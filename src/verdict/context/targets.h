/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARGETS_H
#define TARGETS_H
/* The processes that the question is about. */
#include "verdict/context/context.h"

/* false of NO_IDX */
bool thread_is_target(const struct model *m, uint32_t thread);
bool proc_is_target(const struct model *m, uint32_t proc);
/* false of a process that is not known */
bool tgid_is_target(const struct model *m, uint32_t tgid);
/* A target that a target forked. */
bool is_child_of_target(const struct context *k, uint32_t tgid);

#endif /* TARGETS_H */
