/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FACTS_H
#define FACTS_H
/*
 * Small readings of an answer that every renderer needs: which threads to
 * show first, what was lost, how a share of a state reads.  Judges nothing.
 */
#include <stddef.h>
#include <stdint.h>

#include "model/model.h"

struct answer;
struct arena;

/* A text that may be missing. */
static inline const char *given(const char *str)
{
	return str ? str : "";
}

/*
 * Indexes of the model's tracked threads, the least idle first; the array
 * lives in arena and *ret_cnt says how many there are.
 */
uint32_t *facts_busy_threads(const struct answer *a, struct arena *arena, size_t *ret_cnt);

/* Indexes of resources that were waited on or woken through, by time waited; as above. */
uint32_t *facts_waited_resources(const struct answer *a, struct arena *arena, size_t *ret_cnt);

/* Kernel side and reader, all kinds of loss together, but those of stacks. */
uint64_t facts_lost_cnt(const struct answer *a);

/* "ring", "task-storage", ...: stable; NULL past the last. */
const char *facts_loss_name(unsigned loss);

/* Own CPU time in cores, 0.01 = one per cent of one core: user side and BPF side. */
double facts_self_cpu(const struct answer *a);
double facts_self_bpf(const struct answer *a);

/* The window's length. */
uint64_t facts_window_ns(const struct answer *a);

/* One state's part of a thread's life in tenths of a per cent. */
struct state_part {
	uint8_t state;
	uint16_t permille;
	uint64_t ns;
};

/* The states of a thread that lasted, largest first; their permille add up to 1000. */
size_t facts_state_parts(const uint64_t ns[ST_CNT], struct state_part parts[ST_CNT]);

/* "requests" or "threads": whose time shares are of. */
const char *facts_demand_noun(const struct answer *a);

#endif /* FACTS_H */
