/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGREEMENT_H
#define AGREEMENT_H
/*
 * The verdict on waits and the functions to blame, of one capture: they say the same, or
 * both say that they do not.  The rule, in this order:
 *
 *	the cause is outside	no function is to blame: what the verdict says holds
 *	no deviation		the function at which the wait chain ends is listed first
 *	nothing holds it up	they differ where calls took far more than usual
 *	it is not known		there is nothing to compare with
 *	else			one of the first five functions is on the wait chain, or they differ
 *
 * Where they differ the verdict is surer by one level less, and both reports have a sentence.
 *
 *	agreement_tell before functions_analyse, agreement_make after it
 */
#include <stddef.h>
#include <stdint.h>

struct arena;
struct functions_opts;
struct functions_result;
struct verdict;

enum agreement_kind {
	AGREE_NOTHING = 0,	/* to compare */
	AGREE_SAME = 1,
	AGREE_CHAIN = 2,	/* calls tell of no function: the chain's is first */
	AGREE_DIFFER = 3,
};

struct agreement {
	uint8_t kind;		/* enum agreement_kind */
	const char *verdict;	/* "lock-held" */
	const char *end;	/* function at which the wait chain ends, "" not known */
	const char *first;	/* function that is listed first, "" none */
	const char *words;	/* one sentence */
};

/* Sets what the waits know: opts->outside, opts->end. */
void agreement_tell(const struct verdict *v, struct functions_opts *opts, struct arena *arena);

/* Lowers the confidence of v's first finding where they differ. */
const struct agreement *agreement_make(struct verdict *v, const struct functions_result *r,
				       struct arena *arena);

/*
 * With what tracepoints showed after the watch (explore/explore.h): names are the function
 * in which requests are longer, its callee or callers that were on; the first one is what is
 * said.  They agree where one is on the chain of the first finding or of a stall.  Else they
 * differ, and the finding is surer by one level less: tracepoints time the requests
 * themselves, a chain says what threads waited for.  No names, or no chain with functions:
 * nothing to compare.
 */
const struct agreement *agreement_explored(struct verdict *v, const char *const *names, size_t cnt,
					   struct arena *arena);

/* "nothing", "same", "chain", "differ": stable. */
const char *agreement_name(unsigned kind);

#endif /* AGREEMENT_H */
