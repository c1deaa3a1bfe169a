/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/link.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

bool link_put(int fd, const struct link_msg *msg)
{
	ssize_t put;

	do {
		put = send(fd, msg, sizeof(*msg), MSG_DONTWAIT | MSG_NOSIGNAL);
	} while (put < 0 && errno == EINTR);
	return put == sizeof(*msg);
}

int link_get(int fd, struct link_msg *ret)
{
	struct link_msg msg;
	ssize_t got;

	do {
		got = recv(fd, &msg, sizeof(msg), MSG_DONTWAIT);
	} while (got < 0 && errno == EINTR);
	if (got == 0)
		return -EPIPE;
	if (got < 0)
		return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : -EPIPE;
	if (got != sizeof(msg) || !msg.kind || msg.kind >= LINK_KIND_CNT ||
	    msg.service >= LINK_SERVICES_MAX)
		return -EBADMSG;
	if (msg.kind == LINK_SERVICE) {
		msg.u.service.name[LINK_NAME_LEN - 1] = '\0';
		msg.u.service.what[LINK_TEXT_LEN - 1] = '\0';
	}
	if (msg.kind == LINK_ASK)
		msg.u.ask.name[LINK_NAME_LEN - 1] = '\0';
	*ret = msg;
	return 1;
}
