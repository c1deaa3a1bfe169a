/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/spans/packet.h"

#include <errno.h>
#include <sys/socket.h>

bool packet_put(int fd, const void *msg, size_t len)
{
	ssize_t put;

	do {
		put = send(fd, msg, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	} while (put < 0 && errno == EINTR);
	return put == (ssize_t)len;
}

int packet_get(int fd, void *msg, size_t len)
{
	ssize_t got;

	do {
		got = recv(fd, msg, len, MSG_DONTWAIT | MSG_TRUNC);
	} while (got < 0 && errno == EINTR);
	if (got == 0)
		return -EPIPE;
	if (got < 0)
		return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : -EPIPE;
	return got == (ssize_t)len ? 1 : -EBADMSG;
}
