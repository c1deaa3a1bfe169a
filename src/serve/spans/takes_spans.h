/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TAKES_SPANS_H
#define TAKES_SPANS_H
/*
 * The process of `heldup serve` that takes spans in: whatever any program sends is
 * read here, without a capability, without files and without a way to open a
 * socket.  What it makes of them goes to the keeper as slices (span_link.h).
 */
struct err;

struct takes_spans_opts {
	const char *http, *grpc; /* "ADDRESS:PORT", "": not by it */
	const char *token;	 /* NULL: none is asked for */
	double cpu;		 /* share of one CPU; over it senders are asked to wait; 0: any */
};

/*
 * Returns when a stop was asked for: 0, or -errno when it cannot give its rights away.
 * link is the socket to the keeper.
 */
int takes_spans_run(const struct takes_spans_opts *opts, int link, struct err *err);

#endif /* TAKES_SPANS_H */
