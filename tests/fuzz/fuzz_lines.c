/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes are an ELF file with debug information, asked about as heldup does:
 * libdw reads it in a child process, which may die of it (libdw 0.188 does), and
 * whatever that sends back, the answer here must be whole.
 */
#include "fuzz.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bug.h"
#include "symbols/names/lines.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t addrs[] = {0x1000, 0x1008, 0x1020, 0x1040, 0x401000, 0, UINT64_MAX};
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct lines *l = lines_new(10000);
	struct lines_answer a;

	BUG_ON(fd < 0 || write(fd, data, size) != (ssize_t)size);
	for (size_t i = 0; i < sizeof(addrs) / sizeof(addrs[0]); i++) {
		int ret = lines_find(l, fd, 1, addrs[i], &a);

		BUG_ON(a.frame_cnt > LINES_FRAME_MAX || (ret < 0 && a.frame_cnt));
		for (uint32_t k = 0; k < a.frame_cnt; k++)
			BUG_ON(!memchr(a.frames[k].fn, '\0', LINES_TEXT_MAX) ||
			       !memchr(a.frames[k].file, '\0', LINES_TEXT_MAX));
	}
	lines_free(l);
	close(fd);
	return 0;
}
