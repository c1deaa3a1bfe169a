/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes are a perf map, read in two halves as one that grows; then names
 * at and around what its lines say.
 */
#include "fuzz.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "symbols/names/perfmap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("map", MFD_CLOEXEC);
	struct perfmap m = {0};
	struct buf name = {0};

	if (fd < 0)
		return 0;
	if (pwrite(fd, data, size / 2, 0) >= 0)
		perfmap_load_fd(&m, fd, NULL, NULL);
	if (pwrite(fd, data, size, 0) >= 0)
		perfmap_load_fd(&m, fd, NULL, NULL);
	for (size_t i = 0; i < m.entries.cnt && i < 64; i++) {
		uint64_t addr = m.entries.items[i].start;

		for (uint64_t at = addr - 1; at != addr + 2; at++) {
			const struct perfmap_entry *e = perfmap_find(&m, at);

			if (e)
				perfmap_name(&m, e, &name);
		}
	}
	/* cut while it is open: names are gone, nothing else */
	if (ftruncate(fd, 0) == 0 && m.entries.cnt)
		perfmap_name(&m, &m.entries.items[0], &name);
	perfmap_load_fd(&m, fd, NULL, NULL);
	perfmap_release(&m);
	buf_release(&name);
	close(fd);
	return 0;
}
