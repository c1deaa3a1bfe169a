/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file and the memory of a process with an interpreter, both hostile
 * (tests/unit/runtime_image.h): its threads, their frames, the names and lines of
 * these, and the lock that a thread waits for.
 */
#include "fuzz.h"

#include <stdlib.h>

#include "base/bug.h"
#include "../unit/runtime_image.h"
#include "../unit/runtime_make.h"

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct runtime_make m;
	struct runtime_proc *r;

	if (!runtime_image_take(data, size, &m) || !runtime_lang_of(m.name))
		return 0;
	r = runtime_make_open(&m);
	if (r)
		ask(&m, r);
	runtime_free(r);
	return 0;
}
