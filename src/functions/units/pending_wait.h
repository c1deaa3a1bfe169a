/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FUNCTIONS_PENDING_WAIT_H
#define FUNCTIONS_PENDING_WAIT_H
/* Whom a thread still waits for when the window ends. */
#include <stdint.h>

struct model;
struct wait;

/* The wait that has not ended; NULL: none. */
const struct wait *pending_wait(const struct model *m, uint32_t thread);

/* Index of the thread that this one waits for when the window ends; NO_IDX: none. */
uint32_t hangs_waits_for(const struct model *m, uint32_t thread);

#endif /* FUNCTIONS_PENDING_WAIT_H */
