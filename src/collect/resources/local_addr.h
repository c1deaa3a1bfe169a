/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LOCAL_ADDR_H
#define LOCAL_ADDR_H
/*
 * Whether an address belongs to this host, as a process sees it in its own
 * network namespace (/proc/PID/net/fib_trie and if_inet6).
 */
#include <stdbool.h>
#include <stdint.h>

/* addr: 4 bytes for AF_INET, 16 for AF_INET6; IPv4 inside IPv6 is understood. */
bool local_addr_is_loopback(uint16_t family, const uint8_t *addr);
bool local_addr_is_local(uint32_t tgid, uint16_t family, const uint8_t *addr);

/* Whether a fib_trie text has this IPv4 address as a local one. */
bool local_addr_in_fib_trie(const char *text, const uint8_t addr[4]);

/* Whether an if_inet6 text lists this address. */
bool local_addr_in_if_inet6(const char *text, const uint8_t addr[16]);

#endif /* LOCAL_ADDR_H */
