/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes are the records of a capture, without the file around them: what
 * passes the border goes through the model and everything after it.  The
 * mutator mends the sizes of records, so that most of an input is reached.
 */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "model/model.h"
#include "store/check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t *copy = xmalloc(size + 8); /* records are aligned to 8 */
	struct event_check check = {0};
	struct model *m = model_new(NULL);
	struct event_sink sink = model_sink(m);

	memcpy(copy, data, size);
	for (size_t at = 0; at < size;) {
		const struct event_hdr *ev = (const void *)((const char *)copy + at);
		enum event_verdict v = event_check(&check, ev, size - at);

		if (v == EVENT_BROKEN)
			break;
		if (v == EVENT_PASS && sink.put(sink.ctx, ev) < 0)
			break;
		at += ev->size;
	}
	model_finish(m);
	fuzz_answer(m);
	model_free(m);
	event_check_release(&check);
	free(copy);
	return 0;
}

/* Each record gets the nearest size that can be; the last takes what is left. */
static size_t mend(uint8_t *data, size_t size)
{
	size_t at = 0;

	while (size - at >= sizeof(struct event_hdr)) {
		struct event_hdr h;

		memcpy(&h, data + at, sizeof(h));
		h.size = (uint16_t)((h.size + 7) & ~7);
		if (h.size < sizeof(h))
			h.size = sizeof(h);
		if (h.size > size - at)
			h.size = (uint16_t)((size - at) & ~(size_t)7);
		memcpy(data + at, &h, sizeof(h));
		at += h.size;
	}
	return at;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
	(void)seed;
	return mend(data, LLVMFuzzerMutate(data, size, max_size));
}
