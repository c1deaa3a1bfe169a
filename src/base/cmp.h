/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMP_H
#define CMP_H
/*
 * For functions that qsort calls: one CMP for each key, the first key first,
 * then what is left to say of equal ones.
 *
 *	CMP(a->thread, b->thread);
 *	CMP(b->ns, a->ns);	the greater one first
 *	return 0;
 */

/* Returns from the function that uses it if the two differ. */
#define CMP(a, b)                                  \
	do {                                       \
		if ((a) != (b))                    \
			return (a) < (b) ? -1 : 1; \
	} while (0)

#endif /* CMP_H */
