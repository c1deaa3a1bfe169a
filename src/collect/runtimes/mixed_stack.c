/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/runtimes/mixed_stack.h"

#include "store/event.h"

struct mix {
	const struct mixed_parts *p;
	uint64_t *out;
	size_t cnt, max, next;
	bool cut;
};

static void put(struct mix *m, uint64_t frame)
{
	if (m->cnt < m->max)
		m->out[m->cnt++] = frame;
	else
		m->cut = true;
}

/* pc is a return address but for the innermost: the call lies before it. */
static bool is_loop(const struct mixed_parts *p, size_t at)
{
	uint64_t pc = at ? p->native[at] - 1 : p->native[at];

	for (size_t i = 0; i < p->loop_cnt; i++)
		if (pc >= p->loops[i].start && pc < p->loops[i].end)
			return true;
	return false;
}

static bool is_interpreter(const struct mixed_parts *p, uint64_t frame)
{
	for (size_t i = 0; i < p->loop_cnt; i++)
		if (FRAME_MODULE(frame) == FRAME_MODULE(p->loops[i].start))
			return true;
	return false;
}

/* One at least, up to the next that ends a loop. */
static void put_run(struct mix *m)
{
	while (m->next < m->p->frame_cnt) {
		const struct mixed_frame *f = &m->p->frames[m->next++];

		if (f->frame)
			put(m, f->frame);
		if (f->ends_loop)
			return;
	}
}

/* Both ascend by their native frames. */
static void put_in_place(struct mix *m)
{
	for (size_t i = 0; i < m->p->native_cnt; i++) {
		uint64_t frame = 0;

		for (; m->next < m->p->frame_cnt && m->p->frames[m->next].native <= i; m->next++)
			if (m->p->frames[m->next].native == i)
				frame = m->p->frames[m->next].frame;
		put(m, frame ? frame : m->p->native[i]);
	}
}

size_t mixed_stack(const struct mixed_parts *p, uint64_t *ret, size_t max, bool *ret_cut)
{
	struct mix m = {.p = p, .out = ret, .max = max};
	bool inside = false, was_loop = false;

	if (p->by_native) {
		put_in_place(&m);
		*ret_cut = m.cut;
		return m.cnt;
	}

	for (size_t i = 0; i < p->native_cnt; i++) {
		bool loop = is_loop(p, i);

		if (loop && was_loop && p->loops_merge)
			continue;
		inside |= loop;
		if (loop)
			put_run(&m);
		else if (!inside || m.next >= p->frame_cnt || !is_interpreter(p, p->native[i]))
			put(&m, p->native[i]);
		was_loop = loop;
	}
	while (m.next < p->frame_cnt)
		put_run(&m);
	*ret_cut = m.cut;
	return m.cnt;
}
