/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CHANGE_H
#define CHANGE_H
/* One thing that changed between two runs (verdict/compare.h), in words and as JSON. */
struct buf;
struct change;
struct json;
struct verdict;

/* Appends "p99 of requests: 205 ms, was 57.3 ms". */
void change_text(const struct change *c, struct buf *out);

/* The keys "compared" and "changes". */
void changes_json(struct json *j, const struct verdict *v);

#endif /* CHANGE_H */
