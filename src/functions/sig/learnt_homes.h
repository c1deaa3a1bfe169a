/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FUNCTIONS_LEARNT_HOMES_H
#define FUNCTIONS_LEARNT_HOMES_H
/* Signatures know where threads waited for work while they were learnt. */
#include <stdint.h>

struct homes;
struct sigs;

/* nr_of: by symbol, as sig_bind gives it. */
void homes_of_sigs(struct homes *h, const struct sigs *s, const uint16_t *nr_of);

#endif /* FUNCTIONS_LEARNT_HOMES_H */
