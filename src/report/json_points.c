/* SPDX-License-Identifier: Apache-2.0 */
#include "report/json_points.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/hash.h"
#include "base/json.h"
#include "trace/points.h"
#include "requests/graph/graph.h"
#include "requests/graph/span_ends.h"

void json_point_names(struct json *j, const struct points *points, const struct strtab *strings,
		      uint32_t point)
{
	const struct point *p = &points->items.items[point];

	json_kstr(j, "service", strtab_str(strings, p->service));
	json_kstr(j, "name", strtab_str(strings, p->name));
}

void json_hash(struct json *j, const char *key, uint64_t hash)
{
	char text[17];

	snprintf(text, sizeof(text), "%016" PRIx64, hash);
	json_kstr(j, key, text);
}

const char *forest_sides_name(uint32_t sides)
{
	return sides == SIDE_BEGIN ? "begin" : sides == SIDE_END ? "end" : "both";
}

const char *forest_kind_name(unsigned kind)
{
	static const char *const kinds[] = {[NODE_ENTRY] = "entry", [NODE_EXIT] = "exit",
					    [NODE_NOTE] = "note"};

	return kind < sizeof(kinds) / sizeof(*kinds) ? kinds[kind] : "unknown";
}
