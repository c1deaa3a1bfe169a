/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIG_INT_H
#define SIG_INT_H
/*
 * Between the parts that make a struct sigs.
 */
#include "functions/sig/sig.h"

/*
 * Modules, functions with all their episodes and episodes are there: fills in
 * having, specificity, chosen, each function's choice and the groups.
 */
void sig_derive(struct sigs *s, struct arena *arena);

/* Symbols of raw become map's; of equal keys one stays.  raw is changed. */
void sig_bases_finish(struct sigs *s, struct sig_base *raw, size_t cnt, const uint16_t *map,
		      struct arena *arena);

#endif /* SIG_INT_H */
