/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SEQUENTIAL_H
#define SEQUENTIAL_H
/*
 * Looking again and again at growing evidence without being fooled: each look
 * may spend a part of the whole search's chance of a wrong decision, less and
 * less, so that all looks there can ever be stay under it.
 *
 * What may have been spent depends on the evidence, not on how often it was
 * looked at: many looks at little come to as much as a few at much.
 */
struct sequential {		/* all-zero: nothing seen */
	double seen;		/* evidence, in looks' worth */
	double at;		/* when it was looked at last */
	double part;		/* of the whole chance, which that look may spend */
};

/* So much evidence is new.  It is a look of its own once there is half more than at the last. */
void sequential_add(struct sequential *s, double looks);

/* Part of alpha that the look may spend. */
double sequential_alpha(const struct sequential *s, double alpha);

/* Chance of a z as great or greater; 1 for one that is unknown. */
double sequential_p(double value, double error);

#endif /* SEQUENTIAL_H */
