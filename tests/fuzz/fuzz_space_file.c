/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes are what is inside of a file with a search space; head and
 * checksum are put around them.  What is accepted is written again, reads back
 * as that, and can be added to itself.
 */
#include "fuzz.h"

#include <string.h>

#include "base/buf.h"
#include "base/bug.h"
#include "base/err.h"
#include "base/hash.h"
#include "model/points.h"
#include "requests/packed.h"
#include "requests/space.h"
#include "requests/space_file.h"

struct world {
	struct strtab strings;
	struct points points;
	struct space *space;
};

static int unpack(struct world *w, const struct buf *bytes)
{
	struct err err = {0};

	if (!w->space)
		w->space = space_new(&w->points, &w->strings);
	return space_read(bytes->data, bytes->len, &w->points, &w->strings, w->space, &err);
}

static void world_release(struct world *w)
{
	space_free(w->space);
	strtab_release(&w->strings);
	points_release(&w->points);
}

static void use(struct world *w)
{
	struct world other = {0};
	struct buf one = {0}, two = {0};

	space_write(w->space, &w->points, &w->strings, &one);
	BUG_ON(unpack(&other, &one) < 0);
	space_write(other.space, &other.points, &other.strings, &two);
	BUG_ON(one.len != two.len || memcmp(one.data, two.data, one.len) != 0);
	BUG_ON(unpack(&other, &one) < 0);
	buf_release(&one);
	buf_release(&two);
	world_release(&other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct world w = {0};
	struct buf file = {0};
	struct packer p;

	packer_begin(&p, "space", SPACE_FILE_VERSION, &w.points, &w.strings);
	buf_add(&p.out, data, size);
	packer_end(&p, &file);
	if (unpack(&w, &file) == 0)
		use(&w);
	buf_release(&file);
	world_release(&w);
	return 0;
}
