/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANSWER_BRIEF_H
#define ANSWER_BRIEF_H
/*
 * The verdict for an alert: one line of JSON under BRIEF_MAX bytes, whatever was
 * watched.  Long texts and lists are cut for it; numbers never are.
 *
 * The numbers that a sentence is made of (struct figure) stand beside it, in its
 * order and as they were measured, each with a key that says what of.
 */
#include <stddef.h>

struct answer;
struct buf;

enum { BRIEF_MAX = 8000, BRIEF_NUMBERS_MAX = 8 };

/* Schema "heldup/why-brief/1", described in docs/why-brief.schema.json. */
void answer_brief(const struct answer *a, struct buf *out);

/* docs/why-brief.schema.json, put in by the Makefile. */
extern const char embed_why_brief_schema_json[];

#endif /* ANSWER_BRIEF_H */
