/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TIMED_CALL_INT_H
#define TIMED_CALL_INT_H
/*
 * The inside of timed_call: the two kinds of processes behind it, and what goes
 * between them.
 *
 * The *keeper* keeps the rights that its parent had when it was forked, reads
 * nothing and so never hangs.  On an order it ends a *reader* and starts another,
 * whose socket and memory it sends back.  A reader answers one question at a
 * time.  Both end when their parent does.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/timed/timed_call.h"

struct timed_order {	/* to the keeper: end the reader that there is, start another */
	uint32_t nr;	/* of those asked for, from 1 */
};

struct timed_reader {	/* back, with its socket and its memory */
	int32_t pid;	/* or -errno, and nothing with it */
};

struct timed_question { /* to a reader */
	uint32_t op;
	uint32_t args_len; /* they follow */
};

struct timed_answer { /* back, with a descriptor where there is one; bytes lie in the memory */
	int64_t rc;
};

/* In a child that was just forked, with the other end of ctl in its parent.  Does not return. */
void timed_keeper_run(int ctl, const struct timed_ops *ops, int nice);

#define TIMED_FDS_MAX 2

/* One message with up to TIMED_FDS_MAX descriptors; those that do not come are -1. */
bool timed_send(int sock, const void *data, size_t len, const int *fds, size_t fd_cnt);
ssize_t timed_receive(int sock, void *data, size_t len, int fds[TIMED_FDS_MAX]);

#endif /* TIMED_CALL_INT_H */
