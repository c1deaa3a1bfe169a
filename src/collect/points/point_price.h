/* SPDX-License-Identifier: Apache-2.0 */
#ifndef POINT_PRICE_H
#define POINT_PRICE_H
/*
 * What a hit of a tracepoint costs on this host, measured on a child of our own
 * before any other process gets one: so it is also the proof that the kernel turns
 * tracepoints on and off, and that a program with them still does what it did.
 */
struct err;

struct point_price {
	double fast_ns, slow_ns;	/* by point_site.slow; the program counted in */
};

/*
 * Some 20 ms.  -ENOTSUP (ERR_RIGHTS) where the kernel has no such links, -EIO where
 * the child did not count as it should.
 */
int point_price(int prog_fd, struct point_price *ret, struct err *err);

#endif /* POINT_PRICE_H */
