/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes are a capture file.  Checksums stop most of what is changed, which
 * is what they are for; fuzz_events goes past them.
 */
#include "fuzz.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "collect/source.h"
#include "model/model.h"

static struct source *open_bytes(int fd)
{
	struct source *src = NULL;
	struct err err = {0};
	char path[40];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return source_file(path, &src, &err) == 0 ? src : NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("capture", MFD_CLOEXEC);
	struct model *m = model_new(NULL);
	struct event_sink sink = model_sink(m);
	struct source *src;
	struct err err = {0};

	if (fd < 0 || file_write_all(fd, data, size) < 0)
		return 0;
	src = open_bytes(fd);
	if (src) {
		while (source_step(src, &sink, &err) > 0)
			;
		model_finish(m);
		fuzz_answer(m);
	}
	source_free(src);
	model_free(m);
	close(fd);
	return 0;
}
