/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors that the intake waits for. */
#include <errno.h>
#include <sys/epoll.h>

#include "intake/intake_int.h"

int intake_watch(struct intake *in, int fd, uint32_t events, struct intake_watch *watch)
{
	struct epoll_event e = {.events = events, .data.ptr = watch};

	return epoll_ctl(in->epoll, EPOLL_CTL_ADD, fd, &e) < 0 ? -errno : 0;
}

void intake_watch_events(struct intake *in, int fd, uint32_t events, struct intake_watch *watch)
{
	struct epoll_event e = {.events = events, .data.ptr = watch};

	epoll_ctl(in->epoll, EPOLL_CTL_MOD, fd, &e);
}
