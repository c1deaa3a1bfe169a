/* SPDX-License-Identifier: Apache-2.0 */
#include "requests/stats/attr_bins.h"

#include <string.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/vec.h"
#include "trace/trace.h"

static const char *label_of_number(const struct key_spec *spec, const char *name, double num,
				   struct arena *arena)
{
	uint32_t bin = 0;

	while (bin < spec->bound_cnt && !(num < spec->bounds[bin]))
		bin++;
	if (!bin)
		return arena_printf(arena, "%s<%g", name, spec->bounds[0]);
	if (bin == spec->bound_cnt)
		return arena_printf(arena, "%s>=%g", name, spec->bounds[bin - 1]);
	return arena_printf(arena, "%g<=%s<%g", spec->bounds[bin - 1], name, spec->bounds[bin]);
}

/*
 * Name of the value's bin, as "size<4096", "size>=65536" or
 * "tenant=acme"; NULL if the attribute is not the spec's or is no number where
 * bounds are given.  Lives in arena.
 */
static const char *bin_label(const struct key_spec *spec, const struct attr *attr,
			     const struct strtab *strings, struct arena *arena)
{
	const char *name = spec->bin_name ? spec->bin_name : spec->name;

	if (strcmp(strtab_str(strings, attr->key), spec->name) != 0)
		return NULL;
	if (attr->type == ATTR_STR)
		return spec->bound_cnt ? NULL
				       : arena_printf(arena, "%s=%s", name,
						      strtab_str(strings, (uint32_t)attr->str));
	if (attr->num != attr->num)
		return NULL;
	if (spec->bound_cnt)
		return label_of_number(spec, name, attr->num, arena);
	return attr->decimals
		       ? arena_printf(arena, "%s=%.*f", name, attr->decimals, attr->num)
		       : arena_printf(arena, "%s=%g", name, attr->num);
}

/* Bin of the labels of all keys that the span has; order of its attributes does not matter. */
static uint64_t span_bin(const struct key_specs *keys, const struct trace *trace,
			 const struct span *span, const struct strtab *strings,
			 struct arena *arena)
{
	uint64_t bin = 0;

	for (uint32_t k = 0; k < keys->cnt; k++) {
		for (uint32_t a = 0; a < span->attr_cnt; a++) {
			const char *label = bin_label(&keys->items[k],
						      &trace->attrs[span->attr_idx + a], strings,
						      arena);

			if (!label)
				continue;
			bin = hash_pair(bin, hash_bytes(label, strlen(label)));
			break;
		}
	}
	return bin;
}

void bins_name(const struct key_specs *keys, const struct trace *trace, uint32_t span,
	       uint32_t point, struct strtab *strings, struct arena *arena,
	       struct path_bins *ret)
{
	const struct span *s = &trace->spans[span];

	for (uint32_t k = 0; k < keys->cnt; k++) {
		const char *label = NULL;

		for (uint32_t a = 0; a < s->attr_cnt && !label; a++)
			label = bin_label(&keys->items[k], &trace->attrs[s->attr_idx + a], strings,
					  arena);
		if (label)
			vec_push(ret, ((struct path_bin){.point = point,
							 .label = strtab_add(strings, label)}));
	}
}

const uint64_t *bins_of(const struct key_specs *keys, const struct trace *trace,
			const struct strtab *strings, struct arena *arena)
{
	uint64_t *bins;
	bool any = false;

	if (!keys->cnt)
		return NULL;
	bins = ARENA_ARRAY(arena, uint64_t, trace->span_cnt + 1);
	for (uint32_t i = 0; i < trace->span_cnt; i++) {
		bins[i] = span_bin(keys, trace, &trace->spans[i], strings, arena);
		any |= bins[i] != 0;
	}
	return any ? bins : NULL;
}
