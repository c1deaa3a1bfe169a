/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SPAN_LINK_H
#define SPAN_LINK_H
/*
 * Messages from the process that takes spans in (takes_spans.h) to the keeper, as
 * link.h has those of the watcher: packets of a socket, plain values.  The keeper
 * takes what comes for hostile: span_link_get checks sizes, texts and sums.
 */
#include <stdbool.h>
#include <stdint.h>

#include "requests/live/live_types.h"

enum span_msg_kind {
	SPAN_MSG_SLICE = 1,	/* of one request type */
	SPAN_MSG_COUNTS = 2,	/* what was taken, lost and refused so far, behind the slices */
	SPAN_MSG_KIND_CNT
};

struct span_counts {
	uint64_t spans, requests, bytes;
	uint64_t refused_spans, bad_requests, large_requests, unsupported_requests;
	uint64_t denied_requests, busy_requests, broken_requests;
	uint64_t connections, refused_connections, lost_names;
	uint64_t traces, rootless_traces, early_traces, open_traces, bad_traces, left_out_traces;
	uint64_t joined_spans, late_spans, cut_spans;
	uint64_t lost_slices;	/* that the keeper did not take */
	uint64_t closed_ports;	/* that could not be listened on */
	uint64_t cpu_ns, rss_bytes;
};

struct span_msg {
	uint32_t kind, pad;
	uint64_t real_ns;	/* CLOCK_REALTIME: the end of the slice */
	union {
		struct live_slice slice;
		struct span_counts counts;
	} u;
};

/* False: the socket is full or the keeper is gone. */
bool span_link_put(int fd, const struct span_msg *msg);

/* 1: *ret has a message; 0: none waits; -EPIPE: the other half is gone; -EBADMSG: not one. */
int span_link_get(int fd, struct span_msg *ret);

#endif /* SPAN_LINK_H */
