/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SECOND_H
#define SECOND_H
/*
 * One second of one service, from the kernel's own view of its requests: what
 * the triggers judge and the store keeps.  A plain value that crosses from the
 * watcher to the keeper (link.h): fixed width, no pointer.
 */
#include <stddef.h>
#include <stdint.h>

#include "store/event.h"

struct second {
	uint64_t answer_cnt;	    /* requests answered in it */
	uint64_t service_ns;	    /* their time, summed */
	uint64_t hist[EVENT_HIST_CNT]; /* of answer times, as ev_end.hist */
	uint64_t open_oldest_ns;    /* age of the oldest request that is open at its end */
	uint64_t unread_oldest_ns;  /* and of the data that waits unread for longest */
	uint32_t open_cnt;	    /* requests open at its end */
	uint32_t unread_cnt;	    /* connections with data that the service has not read */
	uint32_t process_cnt;	    /* that live */
	uint32_t crash_cnt;	    /* processes that a signal of a failure ended */
	uint32_t backlog_cnt, backlog_max; /* of the fullest listening socket */
};

/* A quantile of a histogram of answers; 0 without any. */
uint64_t second_quantile_ns(const uint64_t *hist, double q);

#endif /* SECOND_H */
