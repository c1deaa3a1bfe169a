/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes are what is inside of a file with a forest; head and checksum are
 * put around them.  What is accepted reads back as it is written, can be
 * merged with itself and shown.
 */
#include "fuzz.h"

#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/bug.h"
#include "base/err.h"
#include "base/hash.h"
#include "trace/points.h"
#include "report/forest/forest_out.h"
#include "report/lines/pen.h"
#include "requests/forest/forest_file.h"
#include "requests/forest/packed.h"

struct world {
	struct strtab strings;
	struct points points;
	struct arena arena;
	struct forest forest;
};

static int unpack(struct world *w, const struct buf *bytes)
{
	struct err err = {0};

	return forest_read(bytes->data, bytes->len, &w->points, &w->strings, &w->arena,
			   &w->forest, &err);
}

static void world_release(struct world *w)
{
	strtab_release(&w->strings);
	points_release(&w->points);
	arena_release(&w->arena);
}

static void show(struct world *w)
{
	struct buf out = {0};
	struct pen pen = {.out = &out, .columns = 100};
	uint32_t node = 0;
	struct forest_walked walked = {.total_ns = 1000000, .nodes = &node, .node_cnt = 1};
	struct forest_view v = {.f = &w->forest, .points = &w->points, .strings = &w->strings,
				.path = "fuzz", .walked = w->forest.tree_cnt ? &walked : NULL};

	forest_text(&v, &pen);
	buf_clear(&out);
	forest_html(&v, &out);
	buf_release(&out);
}

static void use(struct world *w)
{
	struct world other = {0};
	struct buf one = {0}, two = {0};
	struct forest both;

	forest_write(&w->forest, &w->points, &w->strings, &one);
	BUG_ON(unpack(&other, &one) < 0);
	forest_write(&other.forest, &other.points, &other.strings, &two);
	BUG_ON(one.len != two.len || memcmp(one.data, two.data, one.len) != 0);
	forest_merge(&w->forest, &w->forest, &w->points, &w->strings, &w->arena, &both);
	buf_clear(&two);
	forest_write(&both, &w->points, &w->strings, &two);
	BUG_ON(unpack(&other, &two) < 0);
	show(w);
	buf_release(&one);
	buf_release(&two);
	world_release(&other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct world w = {0};
	struct buf file = {0};
	struct packer p;

	packer_begin(&p, "forest", FOREST_FILE_VERSION, &w.points, &w.strings);
	buf_add(&p.out, data, size);
	packer_end(&p, &file);
	if (unpack(&w, &file) == 0)
		use(&w);
	buf_release(&file);
	world_release(&w);
	return 0;
}
