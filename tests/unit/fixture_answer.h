/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FIXTURE_ANSWER_H
#define FIXTURE_ANSWER_H
/*
 * An answer built by hand, for the tests of the renderers: a held lock with
 * a chain of four steps, threads threads with slices and waits, and names
 * that try to break out of each kind of output.
 */
#include <stddef.h>

#include "report/answer.h"

struct arena;

enum fixture_kind { FIXTURE_LOCK, FIXTURE_HEALTHY, FIXTURE_UNKNOWN, FIXTURE_LONG, FIXTURE_EMPTY };

struct answer fixture_answer(struct arena *arena, enum fixture_kind kind, size_t threads);

#endif /* FIXTURE_ANSWER_H */
