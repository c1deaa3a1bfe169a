/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REQUESTS_JSON_H
#define REQUESTS_JSON_H
/*
 * What the parts of the JSON of `heldup requests` share; for others there is
 * requests_out.h.
 */
#include "report/requests/requests_out.h"

/* The page's data (requests_page.c). */
void requests_page_object(const struct requests_view *v, struct json *j);

/* The keys "input" and "problems". */
void requests_json_input(const struct requests_view *v, struct json *j);
void requests_json_problems(const struct requests_view *v, struct json *j);

/* The keys that say which edge, into an open object. */
void requests_json_edge_key(const struct requests_view *v, const struct edge_key *k,
			    struct json *j);

/* The keys "trace" and "diff" with what they say, or null. */
void requests_json_explain(const struct requests_view *v, struct json *j);
void requests_json_diff(const struct requests_view *v, struct json *j);

/* The key "keys" of a type of v->diff. */
void requests_json_key_changes(const struct requests_view *v, struct json *j, uint32_t type);

/* The keys "service_to_blame" and "services_to_blame". */
void requests_json_blame(const struct requests_view *v, struct json *j);

/* The keys "structure_changed" and "structure_varies". */
void requests_json_structure(const struct requests_view *v, struct json *j);
void requests_json_aside(const struct requests_view *v, struct json *j);
void requests_json_splits(const struct requests_view *v, struct json *j);

/* The keys "edges_to_blame" and "called_more". */
void requests_json_rank(const struct requests_view *v, struct json *j);
void requests_json_calls(const struct requests_view *v, struct json *j);

#endif /* REQUESTS_JSON_H */
