/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANSWER_FUNCTIONS_H
#define ANSWER_FUNCTIONS_H
/*
 * The functions to blame as a part of the answer of `why`: the first few, and
 * where the rest is.  The whole of them is functions_out.h.
 */
struct answer;
struct json;
struct pen;

/* Eight lines at most, six where the terminal is wide. */
void answer_functions_text(struct pen *p, const struct answer *a);

/* The key "functions" and its object. */
void answer_functions_json(struct json *j, const struct answer *a);

#endif /* ANSWER_FUNCTIONS_H */
