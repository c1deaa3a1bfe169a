/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"
#include "base/err.h"
#include "requests/search/control.h"
#include "requests/forest/space.h"
#include "requests/forest/space_file.h"
#include "trace_make.h"
#include "unit.h"

/* top calls one or the other, by id; the other is told by a reference. */
static const struct trace *shop(struct made *m, uint64_t id)
{
	int64_t x = (int64_t)(id * id % 97);

	made_clear(m);
	made_span(m, 1, 0, "s/top", 0, 1000000 + x);
	made_span(m, 2, 1, id % 3 ? "s/one" : "t/other", 100000, 900000 + x);
	made_span(m, 3, 1, "s/last", 950000, 990000);
	made_trace(m);
	m->trace.id = (struct trace_id){7, id};
	return &m->trace;
}

static struct space *learnt(struct made *m, uint64_t from, uint64_t to)
{
	struct space *s = space_new(&m->points, &m->strings);

	for (uint64_t i = from; i < to; i++)
		space_add(s, shop(m, i));
	return s;
}

static void pack(const struct space *s, struct made *m, struct buf *out)
{
	buf_clear(out);
	space_write(s, &m->points, &m->strings, out);
}

static int unpack(struct space *s, struct made *m, const struct buf *in)
{
	struct err err = {0};

	return space_read(in->data, in->len, &m->points, &m->strings, s, &err);
}

TEST(space_file_same_in_another_process)
{
	struct made here = {0}, there = {0};
	struct space *s = learnt(&here, 0, 300), *back;
	struct buf one = {0}, two = {0};

	strtab_add(&there.strings, "something else first");
	back = space_new(&there.points, &there.strings);
	pack(s, &here, &one);
	EQ_I(unpack(back, &there, &one), 0);
	pack(back, &there, &two);
	EQ_U(one.len, two.len);
	OK(memcmp(one.data, two.data, one.len) == 0);
	space_free(s);
	space_free(back);
	buf_release(&one);
	buf_release(&two);
	made_release(&here);
	made_release(&there);
}

/* Two files read into one space are what all would have been learnt as. */
TEST(space_file_two_add_up)
{
	struct made m = {0}, other = {0};
	struct space *all = learnt(&m, 0, 300), *a = learnt(&m, 0, 120), *b = learnt(&m, 120, 300);
	struct space *both = space_new(&other.points, &other.strings);
	struct buf one = {0}, two = {0};

	pack(b, &m, &one);
	EQ_I(unpack(both, &other, &one), 0);
	pack(a, &m, &one);
	EQ_I(unpack(both, &other, &one), 0);
	pack(all, &m, &one);
	pack(both, &other, &two);
	EQ_U(one.len, two.len);
	OK(memcmp(one.data, two.data, one.len) == 0);
	space_free(all);
	space_free(a);
	space_free(b);
	space_free(both);
	buf_release(&one);
	buf_release(&two);
	made_release(&m);
	made_release(&other);
}

TEST(space_file_damage_changes_nothing)
{
	struct made m = {0};
	struct space *s = learnt(&m, 0, 20), *into = learnt(&m, 20, 22);
	struct buf one = {0}, before = {0}, after = {0};

	pack(s, &m, &one);
	pack(into, &m, &before);
	for (size_t i = 0; i < one.len; i++) {
		struct buf cut = {.data = one.data, .len = i};

		ROW(i);
		OK(unpack(into, &m, &cut) < 0);
		one.data[i] ^= 4;
		OK(unpack(into, &m, &one) < 0);
		one.data[i] ^= 4;
	}
	pack(into, &m, &after);
	EQ_U(before.len, after.len);
	OK(memcmp(before.data, after.data, before.len) == 0);
	space_free(s);
	space_free(into);
	buf_release(&one);
	buf_release(&before);
	buf_release(&after);
	made_release(&m);
}

/* Another's file may have samples of tracepoints that it does not list. */
TEST(space_file_samples_of_what_is_not_listed)
{
	struct made m = {0}, there = {0};
	struct space *s = learnt(&m, 0, 20), *back = space_new(&there.points, &there.strings);
	struct space_view v;
	struct buf file = {0};
	struct control *c;

	space_view(s, &there.arena, &v);
	made_clear(&m);
	made_span(&m, 1, 0, "s/top", 0, 1000000);
	for (uint64_t i = 0; i < 300; i++) {
		char name[] = "s/odd.xx";	/* numbers are no part of a name */

		name[6] = (char)('a' + i / 20);
		name[7] = (char)('a' + i % 20);
		made_span(&m, i + 2, 1, name, (int64_t)(1000 * i), (int64_t)(1000 * i + 500));
	}
	made_trace(&m);
	m.trace.id = (struct trace_id){9, 9};
	space_put_sample(s, v.types[0].hash, &m.trace);
	pack(s, &m, &file);
	EQ_I(unpack(back, &there, &file), 0);
	c = control_new(back, NULL, &there.points, &there.strings);
	EQ_U(there.points.items.cnt, 304);
	for (uint32_t p = 0; p < there.points.items.cnt; p++)
		OK(!control_wants(c, p) || space_has(back, p));
	control_free(c);
	space_free(s);
	space_free(back);
	buf_release(&file);
	made_release(&m);
	made_release(&there);
}
