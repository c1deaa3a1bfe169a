/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REQUESTS_JSON_H
#define REQUESTS_JSON_H
/*
 * What the parts of the JSON of `heldup requests` share; for others there is
 * requests_out.h.
 */
#include "report/requests_out.h"

/* The object that is both the JSON and the page's data. */
void requests_object(const struct requests_view *v, struct json *j);

/* The keys that say which edge, into an open object. */
void requests_json_edge_key(const struct requests_view *v, const struct edge_key *k,
			    struct json *j);

/* The keys "trace" and "diff" with what they say, or null. */
void requests_json_explain(const struct requests_view *v, struct json *j);
void requests_json_diff(const struct requests_view *v, struct json *j);

/* The key "edges_to_blame". */
void requests_json_rank(const struct requests_view *v, struct json *j);

#endif /* REQUESTS_JSON_H */
