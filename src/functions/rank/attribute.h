/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FUNCTIONS_ATTRIBUTE_H
#define FUNCTIONS_ATTRIBUTE_H
/*
 * Harm and usual time, laid on the places that made the calls.  A site is a
 * stack with the call made there; time between two calls belongs to the pair
 * of their stacks, or to the stacks that samples found meanwhile.
 *
 *	blame_init, blame_units, hangs_find (which adds), blame_samples, blame_release
 */
#include "base/hash.h"
#include "base/vec.h"
#include "functions/rank/score_units.h"

struct site {
	uint32_t stack;		/* model stack idx, NO_IDX */
	uint32_t other;		/* nr NR_OWN: the stack of the call before, NO_IDX none */
	uint16_t nr;		/* of the call, or NR_OWN */
	bool sampled;		/* NR_OWN: a sample's stack, which ran itself */
	uint32_t last_unit;	/* plus one */
	uint32_t unit_cnt;	/* abnormal ones */
	uint64_t bad_cnt;	/* their calls */
	double harm_ns[DEV_KIND_CNT];
	double usual_ns;	/* in normal units */
};

struct hangs;
struct sigs;

struct bad_unit { uint32_t unit; double harm_ns; };

/* As many abnormal units are kept to show, those of most harm. */
enum { BAD_UNITS_MAX = 256 };

struct blame {
	struct judge *j;
	struct profile *p;
	const struct sigs *sigs; /* signatures, to name calls without a stack; NULL */
	VEC(struct site) sites;
	struct hmap by_key;
	VEC(struct bad_unit) bad; /* at most twice BAD_UNITS_MAX; sorted by blame_units */
	uint32_t *samples; uint32_t *sample_first; /* idx by thread, time; thread_cnt + 1 */
	uint64_t sampled_from_ns, sampled_to_ns; /* the first and the last one, of any thread */
	uint8_t *sample_bad;	/* by model sample idx: it carries harm */
	double no_stack_ns[DIMS_MAX]; /* of the present unit: harm in calls without a stack */
	double harm_ns, usual_ns;
	double class_harm[DEV_KIND_CNT];
	uint64_t abnormal_cnt;
	const struct hangs *hangs; /* hangs_find sets it */
	uint64_t *abnormal_of;	/* by cluster */
	uint64_t *thread_bad_ns, *thread_onset_ns; /* by thread: harm, first abnormal unit */
};

void blame_init(struct blame *b, struct judge *j, const struct sigs *sigs, struct arena *arena);
void blame_release(struct blame *b);

void blame_units(struct blame *b);

/* Samples that carry no harm, as usual time: last. */
void blame_samples(struct blame *b);

/* Which part of a judged unit's harm one of its calls has; i: from the unit's first. */
struct share { double ns; uint8_t kind; };
struct share blame_call(const struct blame *b, const struct unit *u, const struct judged *r,
			const struct vectors *v, uint32_t i);

/*
 * Who was seen running while the unit was, true: then its time between calls
 * is known, and with a call the time in it, unless it slept there and signatures know it.
 */
bool blame_sampled(const struct blame *b, const struct unit *u, const struct call *c);

/* stack or before: NO_IDX none. */
struct site *blame_site(struct blame *b, uint32_t stack, uint16_t nr, uint32_t before,
			bool sampled);

#endif /* FUNCTIONS_ATTRIBUTE_H */
