/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BUG_H
#define BUG_H
/*
 * Assertions for what only a mistake in this program can cause.  Not for
 * input: that is refused with an error at the border.  Always compiled in.
 */

/* Prints where and what, then aborts. */
void bug_abort(const char *file, int line, const char *what) __attribute__((noreturn, cold));

#define BUG(what) bug_abort(__FILE__, __LINE__, what)

#define BUG_ON(cond)                                       \
	do {                                               \
		if (__builtin_expect(!!(cond), 0))         \
			bug_abort(__FILE__, __LINE__, #cond); \
	} while (0)

#endif /* BUG_H */
