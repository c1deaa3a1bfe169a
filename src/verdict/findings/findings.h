/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FINDINGS_H
#define FINDINGS_H
/*
 * The table of findings.  To add one:
 *
 *	1. context/finding.h: a value at the end of enum finding_class
 *	2. findings/find_X.c: its struct finding_def, with all of its parts
 *	3. findings.c: its line, at the place that its claims need, with the reason
 *
 * Then a program in tests/load that provokes it, and its name in docs/why.schema.json and
 * docs/why-brief.schema.json.  The unit test finding_defs says what was forgotten.
 */
#include "verdict/findings/finding_def.h"

/* In the order in which they claim causes and move demand. */
extern const struct finding_def *const findings_in_order[];
extern const size_t findings_cnt;

/* Never NULL for a class below FIND_CNT. */
const struct finding_def *finding_def(unsigned cls);

/* find_lock.c: the class of this lock: held too long, wanted too often, or a limit. */
unsigned lock_finding(const struct context *k, uint32_t lock);
/* find_unknown.c: fills v's candidates, and the summary of its last finding: is_hung. */
void hung_candidates(struct context *k, struct verdict *v);

#endif /* FINDINGS_H */
