/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/points.h"

#include "unit.h"

TEST(points_numbers_hashes_and_order)
{
	struct strtab strings = {0};
	struct points points = {0};
	uint32_t front = strtab_add(&strings, "front"), cart = strtab_add(&strings, "cart");
	uint32_t get = strtab_add(&strings, "GET /"), put = strtab_add(&strings, "PUT /");
	uint32_t a = points_add(&points, &strings, front, get);
	uint32_t b = points_add(&points, &strings, cart, get);
	uint32_t c = points_add(&points, &strings, cart, put);

	EQ_U(points_add(&points, &strings, front, get), a);
	EQ_U(points.items.cnt, 3);
	EQ_U(points.items.items[a].hash, point_hash("front", "GET /"));
	OK(point_hash("a", "b") != point_hash("b", "a"));
	OK(point_hash("ab", "") != point_hash("a", "b"));
	OK(points_cmp(&points, &strings, a, b) > 0);
	OK(points_cmp(&points, &strings, b, c) < 0);
	EQ_I(points_cmp(&points, &strings, c, c), 0);
	points_release(&points);
	strtab_release(&strings);
}
