/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/resources/file_locks.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"

#define PID_LIMIT (1 << 22) /* of the kernel */
#define TEXT_MAX (1 << 20) /* some 15,000 locks; what is behind is not looked at */

/* "1: POSIX  ADVISORY  WRITE 4711 08:01:123 0 EOF", "->" before the kind of one that waits. */
static bool line_read(const char *line, bool *ret_waits, uint32_t *ret_pid)
{
	const char *at = strchr(line, ':');
	char kind[16];
	long pid;
	int got;

	if (!at)
		return false;
	at += 1 + strspn(at + 1, " ");
	*ret_waits = strncmp(at, "->", 2) == 0;
	got = sscanf(at + (*ret_waits ? 2 : 0), "%15s %*s %*s %ld", kind, &pid);
	if (got != 2 || pid <= 0 || pid > PID_LIMIT)
		return false;
	*ret_pid = (uint32_t)pid;
	return true;
}

uint32_t file_locks_holder(const char *text, uint32_t pid)
{
	uint32_t holder = 0, one;
	bool waits;

	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		char copy[128];
		size_t len = strcspn(line, "\n");

		len = len < sizeof(copy) ? len : sizeof(copy) - 1;
		memcpy(copy, line, len);
		copy[len] = 0;
		if (!line_read(copy, &waits, &one))
			holder = strstr(copy, "->") ? holder : 0;
		else if (!waits)
			holder = one;
		else if (one == pid && holder != pid)
			return holder;
	}
	return 0;
}

uint32_t file_locks_ask(uint32_t pid)
{
	CLEANUP_FCLOSE FILE *file = fopen("/proc/locks", "re");
	CLEANUP_FREE char *text = NULL;
	size_t len;

	if (!file)
		return 0;
	text = xmalloc(TEXT_MAX + 1);
	len = fread(text, 1, TEXT_MAX, file);
	text[len] = 0;
	return file_locks_holder(text, pid);
}
