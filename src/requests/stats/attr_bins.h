/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ATTR_BINS_H
#define ATTR_BINS_H
/*
 * Values of keys by which the user separates requests: the bin of a
 * span's value becomes part of the span's tracepoint in the hash of the path.
 */
#include <stddef.h>
#include <stdint.h>

struct arena;
struct attr;
struct strtab;
struct trace;

/* A key that is to part requests: "queue=build_slots:1,4,16" or, bins empty, each value. */
struct key_spec {
	const char *name;	/* of the attribute; any tracepoint's */
	const char *bin_name;	/* what the bin is called in names; NULL: name */
	const double *bounds;	/* ascending; bin i is below bounds[i] */
	uint32_t bound_cnt;
};

struct key_specs {
	const struct key_spec *items;
	uint32_t cnt;
};

struct path_bin {		/* the keys that separate paths */
	uint32_t point;
	uint32_t label;		/* string id: "size<4096" */
};

struct path_bins {
	struct path_bin *items;	/* as VEC's */
	size_t cnt, cap;
};

/* Adds what the bins of one span of the path are called. */
void bins_name(const struct key_specs *keys, const struct trace *trace, uint32_t span,
	       uint32_t point, struct strtab *strings, struct arena *arena,
	       struct path_bins *ret);

/* By span, 0: none; NULL if no span has any.  Lives in arena. */
const uint64_t *bins_of(const struct key_specs *keys, const struct trace *trace,
			const struct strtab *strings, struct arena *arena);

#endif /* ATTR_BINS_H */
