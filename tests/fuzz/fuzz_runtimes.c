/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file and the memory of a process with an interpreter, both hostile
 * (tests/unit/runtime_image.h): its threads, their frames, the names and lines of
 * these, and the lock that a thread waits for; frames of threads that run, likewise.
 */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "../unit/runtime_image.h"
#include "../unit/runtime_make.h"
#include "wire/runtimes.h"

#define RUNNING_FRAMES 4

static void ask(struct runtime_make *m, struct runtime_proc *r)
{
	struct runtime_range loops[RUNTIME_LOOP_MAX];
	struct runtime_thread threads[4];
	struct runtime_lock lock;
	long cnt = runtime_threads(r, threads, 4);

	BUG_ON(cnt > 4 || runtime_loops(r, loops) > RUNTIME_LOOP_MAX);
	if (cnt < 1)
		return;
	for (int times = 0; times < 2; times++) /* what is remembered is asked again */
		free(runtime_make_stack(m, r));
	if (runtime_make_lock(m, r, &lock))
		BUG_ON(lock.name.len > 2 * RUNTIME_TEXT_MAX);
	buf_release(&lock.name);
}

/* What the kernel side would hand over of threads that run: the memory's first words. */
static void ask_running(const struct runtime_make *m, struct runtime_proc *r)
{
	static struct runtime_frame frames[RUNTIME_DEPTH_MAX];
	uint64_t words[RT_KEPT * RUNNING_FRAMES];
	struct buf elems = {0};
	struct rt_shape shape;
	long cnt = 0;

	memcpy(words, m->mem, sizeof(words));
	if (runtime_kernel_shape(r, &shape))
		cnt = runtime_kept(r, words, (size_t)shape.kept_cnt * RUNNING_FRAMES, &elems);
	if (cnt > 0)
		cnt = runtime_frames(r, (const uint8_t *)elems.data, (size_t)cnt, frames);
	BUG_ON(cnt > RUNNING_FRAMES);
	for (long i = 0; i < cnt; i++) {
		struct runtime_name name;

		if (!frames[i].is_hidden && runtime_name(r, &frames[i], &name) == 0)
			BUG_ON(name.fn.len > 2 * RUNTIME_TEXT_MAX * RUNTIME_TEXT_MAX);
		if (!frames[i].is_hidden)
			runtime_name_release(&name);
	}
	buf_release(&elems);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct runtime_make m;
	struct runtime_proc *r;

	if (!runtime_image_take(data, size, &m) || !runtime_lang_of(m.name))
		return 0;
	r = runtime_make_open(&m);
	if (r) {
		ask(&m, r);
		ask_running(&m, r);
	}
	runtime_free(r);
	return 0;
}
