/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FUNCTIONS_CHAIN_END_H
#define FUNCTIONS_CHAIN_END_H
/*
 * The function at which the wait chain ends stands first where calls tell of none.
 *
 *	chain_end_first, after the ranking and what it lacks are known
 */
#include <stdint.h>

struct arena;
struct functions_result;

struct chain_end {		/* the functions at which the wait chain ends, innermost first */
	const char *names[4], *modules[4];
	uint32_t cnt;
	double share;		/* of the requests' time, what the chain explains, 0 to 1 */
};

/* Nothing where some function stands out by its calls. */
void chain_end_first(struct functions_result *r, const struct chain_end *end, struct arena *arena);

#endif /* FUNCTIONS_CHAIN_END_H */
