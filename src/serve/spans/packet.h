/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PACKET_H
#define PACKET_H
/* One message of a fixed size over a socket of packets that does not wait. */
#include <stdbool.h>
#include <stddef.h>

/* False: the socket is full or the other half is gone. */
bool packet_put(int fd, const void *msg, size_t len);

/* 1: msg is filled; 0: none waits; -EPIPE: the other half is gone; -EBADMSG: another size. */
int packet_get(int fd, void *msg, size_t len);

#endif /* PACKET_H */
