/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/link.h"

#include <errno.h>

#include "serve/spans/packet.h"

bool link_put(int fd, const struct link_msg *msg)
{
	return packet_put(fd, msg, sizeof(*msg));
}

int link_get(int fd, struct link_msg *ret)
{
	struct link_msg msg;
	int rc = packet_get(fd, &msg, sizeof(msg));

	if (rc <= 0)
		return rc;
	if (!msg.kind || msg.kind >= LINK_KIND_CNT || msg.service >= LINK_SERVICES_MAX)
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
