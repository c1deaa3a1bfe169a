/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANSWER_DIFF_H
#define ANSWER_DIFF_H
/*
 * Two observations side by side: their requests and verdicts, and what differs.  The
 * second verdict was made with the first run as its baseline.
 */
struct answer;
struct buf;
struct pen;

struct answer_side {
	const struct answer *answer;
	const char *of;		/* "finding 3 of web" */
};

void answer_diff_text(const struct answer_side *a, const struct answer_side *b, int verbose,
		      struct pen *p);

/* One object, schema "heldup/diff/1": docs/diff.schema.json. */
void answer_diff_json(const struct answer_side *a, const struct answer_side *b,
		      struct buf *out);

#endif /* ANSWER_DIFF_H */
