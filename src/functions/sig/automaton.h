/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AUTOMATON_H
#define AUTOMATON_H
/*
 * All episodes of all functions in one pass over a trace (Aho and Corasick,
 * 1975), in time linear in the trace and the matches.
 *
 *	automaton_new, automaton_run (or automaton_step and automaton_out), automaton_free
 *
 * A row of transitions for each state while that fits in AUTOMATON_DENSE
 * entries; else only those of the episodes and links to the next shorter
 * suffix, which is slower and still linear.  Does not change once made:
 * several threads may run one.
 */
#include <stddef.h>
#include <stdint.h>

struct automaton;
struct episode;

enum { AUTOMATON_DENSE = 1 << 23 }; /* 32 MiB */

/*
 * Episodes must be distinct; those of length 0 or with a symbol that has no
 * number are never found.  nr_of: by symbol, the number it has in the trace
 * (SYM_NONE: none), as sig_bind gives it; NULL: the same.  dense_max 0: the
 * default.  Copies what it needs.
 */
struct automaton *automaton_new(const struct episode *eps, uint32_t cnt, const uint16_t *nr_of,
				size_t dense_max);
void automaton_free(struct automaton *a);

/* id: idx in eps.  end: place of the last symbol.  Shorter ones after longer ones. */
typedef void automaton_match(void *ctx, uint32_t id, size_t end);

/* Begins anew; returns how many matches there were.  match may be NULL. */
uint64_t automaton_run(const struct automaton *a, const uint16_t *syms, size_t cnt,
		       automaton_match *match, void *ctx);

/* The same by hand: begin in state 0; ids of the episodes that end in a state. */
uint32_t automaton_step(const struct automaton *a, uint32_t state, uint16_t sym);
size_t automaton_out(const struct automaton *a, uint32_t state, const uint32_t **ret_ids);

size_t automaton_bytes(const struct automaton *a);

#endif /* AUTOMATON_H */
