/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ADDRESS_H
#define ADDRESS_H
/* Addresses to listen on, as a person writes them: "127.0.0.1:4318", "[::1]:4318". */
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct err;

enum { ADDRESS_LEN = 80 };

struct address {
	char host[ADDRESS_LEN];
	uint16_t port;
	struct sockaddr_storage to;
	bool is_loopback;
};

/* -EINVAL for what is no number of an address and a port. */
int address_parse(const char *text, struct address *ret);

/* A socket that listens and does not block, or -errno. */
int address_listen(const struct address *at, struct err *err);

#endif /* ADDRESS_H */
