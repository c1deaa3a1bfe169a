/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANSWER_BRIEF_H
#define ANSWER_BRIEF_H
/*
 * The verdict for an alert: one line of JSON under BRIEF_MAX bytes, whatever was
 * watched.  Long texts and lists are cut for it; numbers never are.
 *
 * Numbers of a sentence stand beside it, in the sentence's order and as exact as
 * it says them: times in ns, percentages as shares of 1, sizes in bytes, else the
 * word behind the number is the unit.
 */
#include <stddef.h>

struct answer;
struct buf;

enum { BRIEF_MAX = 8000, BRIEF_NUMBERS_MAX = 8 };

/* Schema "heldup/why-brief/1", described in docs/why-brief.schema.json. */
void answer_brief(const struct answer *a, struct buf *out);

struct brief_number {
	double value;
	char unit[24];
};

/* At most BRIEF_NUMBERS_MAX of them; how many. */
size_t brief_numbers(const char *sentence, struct brief_number *ret_numbers);

/* docs/why-brief.schema.json, put in by the Makefile. */
extern const char embed_why_brief_schema_json[];

#endif /* ANSWER_BRIEF_H */
