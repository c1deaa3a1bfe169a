/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JSON_PARTS_H
#define JSON_PARTS_H
/*
 * The parts of the answer object that `--json` and the data of the HTML page
 * share.  Each writes keys into an object that the caller opened; what they
 * mean is in docs/why.schema.json.
 */
#include <stddef.h>

struct answer;
struct finding;
struct json;

struct row_limits {	/* rows written at most, 0: all */
	size_t threads, resources, edges, causes, locks, ends, takers;
};

/* All keys of the answer; "omitted" counts the rows that limits cut. */
void json_answer_parts(struct json *j, const struct answer *a, const struct row_limits *limits);

/* Writes a finding with its share, but for its evidence and chain. */
void json_finding(struct json *j, const struct finding *f);

/* Writes a finding with its evidence and chain, but for its share. */
void json_finding_parts(struct json *j, const struct finding *f);

/* An array of whole findings. */
void json_findings(struct json *j, const char *key, const struct finding *list, size_t cnt);

void json_chain(struct json *j, const struct finding *f);
void json_strings(struct json *j, const char *key, const char **list, size_t cnt);

/* Used by json_answer_parts: the tables behind the verdict. */
void json_tables(struct json *j, const struct answer *a, const struct row_limits *limits);

#endif /* JSON_PARTS_H */
