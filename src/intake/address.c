/* SPDX-License-Identifier: Apache-2.0 */
#include "intake/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"

#define BACKLOG 128

int address_parse(const char *text, struct address *ret)
{
	struct sockaddr_in *in4 = (void *)&ret->to;
	struct sockaddr_in6 *in6 = (void *)&ret->to;
	const char *colon = strrchr(text, ':');
	char *end;
	unsigned long port = colon ? strtoul(colon + 1, &end, 10) : 0;
	size_t len = colon ? (size_t)(colon - text) : 0;

	*ret = (struct address){0};
	if (!colon || *end || !port || port > 65535 || !len || len >= sizeof(ret->host))
		return -EINVAL;
	if (*text == '[' && text[len - 1] == ']')
		snprintf(ret->host, sizeof(ret->host), "%.*s", (int)len - 2, text + 1);
	else
		snprintf(ret->host, sizeof(ret->host), "%.*s", (int)len, text);
	ret->port = (uint16_t)port;
	if (inet_pton(AF_INET, ret->host, &in4->sin_addr) == 1) {
		in4->sin_family = AF_INET;
		in4->sin_port = htons(ret->port);
		ret->is_loopback = ntohl(in4->sin_addr.s_addr) >> 24 == 127;
	} else if (inet_pton(AF_INET6, ret->host, &in6->sin6_addr) == 1) {
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(ret->port);
		ret->is_loopback = IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr);
	} else {
		return -EINVAL;
	}
	return 0;
}

int address_listen(const struct address *at, struct err *err)
{
	bool v6 = at->to.ss_family == AF_INET6;
	socklen_t len = v6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
	int fd = socket(at->to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1;

	if (fd < 0)
		return err_errno(err, -errno, "make a socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (v6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	if (bind(fd, (const struct sockaddr *)&at->to, len) < 0 || listen(fd, BACKLOG) < 0) {
		int rc = err_errno(err, -errno, "listen on %s:%u", at->host, at->port);

		close(fd);
		return rc;
	}
	return fd;
}
