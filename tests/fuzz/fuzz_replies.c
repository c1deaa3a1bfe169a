/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What goes between heldup's own processes, sent by one that was taken over.  The
 * first byte says which way: messages to the keeper of heldup serve (those of the
 * watcher, and questions of the socket), questions to a reader, and what readers
 * put out about descriptors and lists in memory.
 */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/bug.h"
#include "reads/chains.h"
#include "reads/ops.h"
#include "serve/ask.h"
#include "serve/link.h"

/* What the keeper does with texts of a message. */
static void match(const struct link_msg *msg)
{
	static const struct link_ask web = {.port = 80, .name = "web"};
	const char *what = msg->u.service.what;

	if (msg->kind == LINK_SERVICE) {
		BUG_ON(strlen(msg->u.service.name) >= LINK_NAME_LEN);
		BUG_ON(strlen(what) >= LINK_TEXT_LEN);
		ask_matches(&web, msg->u.service.name, what);
	}
	if (msg->kind == LINK_ASK)
		ask_matches(&msg->u.ask, "web", "unit web.service, port 80, 443, 3 processes");
}

static void to_the_keeper(const uint8_t *data, size_t size)
{
	struct link_msg msg;
	int pair[2];

	BUG_ON(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0);
	if (size && send(pair[0], data, size, MSG_DONTWAIT) == (ssize_t)size &&
	    link_get(pair[1], &msg) == 1)
		match(&msg);
	close(pair[0]);
	close(pair[1]);
}

/* Of this process alone: what others have is not for a fuzzer to look at. */
static void to_a_reader(const uint8_t *data, size_t size)
{
	_Alignas(16) static char args[TIMED_CALL_ARGS_MAX + 1];
	_Alignas(16) static char out[1 << 16];
	uint32_t op = size ? data[0] % READ_OP_CNT : 0, self = (uint32_t)getpid();
	const struct timed_op *it = &read_ops.list[op];
	int fd = -1;
	long rc;

	if (op == OPEN_DIAG || op == OPEN_STATS) /* of the network, of the kernel */
		return;
	memset(args, 0, sizeof(args));
	size = size && size - 1 < it->args_max ? size - 1 : it->args_max;
	memcpy(args, data + 1, size);
	memcpy(args, &self, sizeof(self));
	size = size < it->args_min ? it->args_min : size;
	rc = it->fn(args, size, out, sizeof(out), &fd);
	BUG_ON(rc > (long)sizeof(out));
	if (fd >= 0)
		close(fd);
}

static void descriptors(const uint8_t *data, size_t size)
{
	struct buf text = {0};
	struct read_fds_item item;

	buf_add(&text, data, size);
	if (read_fd_link(buf_str(&text), &item) == 0)
		BUG_ON(item.flags & ~(uint32_t)READ_FD_PIPE);
	buf_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2)
		return 0;
	switch (data[0] % 3) {
	case 0:
		to_the_keeper(data + 1, size - 1);
		break;
	case 1:
		to_a_reader(data + 1, size - 1);
		break;
	default:
		descriptors(data + 1, size - 1);
	}
	return 0;
}
