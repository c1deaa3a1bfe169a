/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JSON_POINTS_H
#define JSON_POINTS_H
/*
 * What the reports on requests, replays and forests write alike: tracepoints,
 * hashes of paths, kinds of events.
 */
#include <stdint.h>

struct json;
struct points;
struct strtab;

/* "service" and "name" into an object that the caller opened. */
void json_point_names(struct json *j, const struct points *points, const struct strtab *strings,
		      uint32_t point);

/* As sixteen digits: JSON's numbers cannot hold it. */
void json_hash(struct json *j, const char *key, uint64_t hash);

/* "entry", "exit", "note", of an enum node_kind; "unknown" for what is none. */
const char *forest_kind_name(unsigned kind);

/* "begin", "end", "both", of enum sides. */
const char *forest_sides_name(uint32_t sides);

#endif /* JSON_POINTS_H */
