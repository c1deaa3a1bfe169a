/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANSWER_TAIL_H
#define ANSWER_TAIL_H
/*
 * The tail in the answer: what holds up the slow requests, as text and JSON.
 */
struct answer;
struct json;
struct pen;

/* Nothing where no stall is worth naming.  Says what the first finding does not say already. */
void answer_tail_text(struct pen *p, const struct answer *a, int verbose);

/* Key "tail"; null where no requests were seen. */
void answer_tail_json(struct json *j, const struct answer *a);

#endif /* ANSWER_TAIL_H */
