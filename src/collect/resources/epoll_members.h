/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EPOLL_MEMBERS_H
#define EPOLL_MEMBERS_H
/*
 * The files inside an epoll set (from /proc/PID/fdinfo) and inside a poll or
 * select call in progress (from its arguments and the caller's memory).
 * All of it is the target's own text and memory: bounded and checked.
 */
#include <stdint.h>

struct emit;
struct names;
struct resindex;
struct wire_res;

#define MEMBERS_MAX 256	   /* per set; the rest is counted */

struct members_stat {
	uint64_t emitted_cnt;
	uint64_t over_cnt;  /* over MEMBERS_MAX: add to LOSS_MEMBERS */
	uint64_t failed_cnt;/* sets that could not be read: add to LOSS_MEMBER_SETS */
};

/* set: the WIRE_RES of an epoll file, with tgid and fd.  Emits EV_MEMBER. */
void members_epoll(struct emit *e, struct names *n, const struct resindex *x,
		   const struct wire_res *set, uint64_t ts_ns, struct members_stat *stat);

/* tid: a thread of set->tgid that is inside poll, ppoll, select or pselect6 now. */
void members_poll(struct emit *e, struct names *n, const struct resindex *x,
		  const struct wire_res *set, uint32_t tid, uint64_t ts_ns,
		  struct members_stat *stat);

/* One line of fdinfo, "tfd: 5 events: 19 data: 5 pos:0 ino:61af sdev:7"; 0 or -EINVAL. */
struct member_line {
	int32_t fd;
	uint32_t events;
	uint32_t dev;	    /* kernel dev_t */
	uint64_t ino;
};
int members_parse_tfd(const char *line, struct member_line *ret_line);

#endif /* EPOLL_MEMBERS_H */
