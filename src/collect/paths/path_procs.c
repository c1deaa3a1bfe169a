/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/paths/path_procs.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "reads/reads.h"

#define STATE_LISTEN 0x0a
#define HEAD_BYTES 16384	/* the linker's note stands near the begin */

static void ports_of_file(uint32_t tgid, const char *name, void (*port)(void *ctx, uint16_t port),
			  void *ctx)
{
	char path[64], line[512];

	snprintf(path, sizeof(path), "/proc/%u/net/%s", tgid, name);
	CLEANUP_FCLOSE FILE *f = fopen(path, "re");

	while (f && fgets(line, sizeof(line), f)) {
		unsigned lport, state;

		if (sscanf(line, " %*u: %*[0-9A-F]:%x %*[0-9A-F]:%*x %x", &lport, &state) == 2 &&
		    state == STATE_LISTEN)
			port(ctx, (uint16_t)lport);
	}
}

void path_procs_ports(const uint32_t *tgids, size_t cnt, void (*port)(void *ctx, uint16_t port),
		      void *ctx)
{
	struct hmap seen = {0};

	for (size_t i = 0; i < cnt; i++) {
		uint64_t ns = reads_ns(tgids[i], "net");

		if (hmap_get(&seen, ns, NULL))
			continue;
		hmap_put(&seen, ns, 1);
		ports_of_file(tgids[i], "tcp", port, ctx);
		ports_of_file(tgids[i], "tcp6", port, ctx);
	}
	hmap_release(&seen);
}

bool path_proc_switches(uint32_t tgid)
{
	static const char note[] = "\4\0\0\0Go\0";	/* with its NUL: type 4, name "Go" */
	char path[64], head[HEAD_BYTES];
	size_t len;

	snprintf(path, sizeof(path), "/proc/%u/exe", tgid);
	CLEANUP_FCLOSE FILE *f = fopen(path, "re");

	len = f ? fread(head, 1, sizeof(head), f) : 0;
	return len && memmem(head, len, note, sizeof(note)) != NULL;
}
