/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/resources/local_addr.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "reads/reads.h"

#define NET_FILE_MAX (4 * 1024 * 1024)

/* The four bytes of an IPv4 address, also inside an IPv6 one; NULL for true IPv6. */
static const uint8_t *as_v4(uint16_t family, const uint8_t *addr)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	if (family == AF_INET)
		return addr;
	return family == AF_INET6 && memcmp(addr, mapped, sizeof(mapped)) == 0 ? addr + 12 : NULL;
}

bool local_addr_is_loopback(uint16_t family, const uint8_t *addr)
{
	static const uint8_t one[16] = {[15] = 1};
	const uint8_t *v4 = as_v4(family, addr);

	if (v4)
		return v4[0] == 127;
	return family == AF_INET6 && memcmp(addr, one, sizeof(one)) == 0;
}

/*
 * The address stands on a line "|-- 10.0.0.5", and its kind on the next:
 * "/32 host LOCAL".
 */
bool local_addr_in_fib_trie(const char *text, const uint8_t addr[4])
{
	char want[32];

	snprintf(want, sizeof(want), "|-- %u.%u.%u.%u\n", addr[0], addr[1], addr[2], addr[3]);
	for (const char *p = text; (p = strstr(p, want));) {
		p += strlen(want);
		size_t len = strcspn(p, "\n");
		const char *kind = strstr(p, "/32 host LOCAL");
		if (kind && kind < p + len)
			return true;
	}
	return false;
}

bool local_addr_in_if_inet6(const char *text, const uint8_t addr[16])
{
	char want[33];

	for (unsigned i = 0; i < 16; i++)
		snprintf(want + 2 * i, 3, "%02x", addr[i]);
	for (const char *line = text; line && *line;) {
		if (strncmp(line, want, 32) == 0)
			return true;
		line = strchr(line, '\n');
		if (line)
			line++;
	}
	return false;
}

bool local_addr_is_local(uint32_t tgid, uint16_t family, const uint8_t *addr)
{
	CLEANUP(buf_release) struct buf b = {0};
	const uint8_t *v4 = as_v4(family, addr);

	if (local_addr_is_loopback(family, addr))
		return true;
	reads_text(tgid, v4 ? "net/fib_trie" : "net/if_inet6", NET_FILE_MAX, &b);
	return v4 ? local_addr_in_fib_trie(buf_str(&b), v4)
		  : local_addr_in_if_inet6(buf_str(&b), addr);
}
