/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SPANS_INPUT_H
#define SPANS_INPUT_H
/*
 * The bytes of a file of spans: a window that slides over them, unpacked on
 * the way (gzip of any number of members, zstd; recognised by the first bytes).
 * Memory is bounded by the widest window asked for, at most IN_WINDOW_MAX,
 * however long the input is.
 *
 *	in_open or in_bytes
 *	while (in_fill(in, n) >= n) { ... in->at[0 .. n-1] ... in->at += n; }
 *	in_trouble;  in_free
 *
 * A reader looks at [at, end) and moves at; after end stand IN_PAD zero bytes,
 * so that a scan may run over.  Damage ends the input; in_trouble says so.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;

enum {
	IN_WINDOW = 1 << 18,		/* what is read at once */
	IN_WINDOW_MAX = 1 << 26,	/* no piece of a trace that must be seen whole is longer */
	IN_PAD = 64,
};

struct in_private;

struct spans_in {
	const uint8_t *at, *end;	/* at is the reader's to move, up to end */
	uint64_t end_off;		/* where end is in the unpacked bytes */
	struct in_private *p;
};

/* "-": standard input.  -errno with err when it cannot be opened or is a directory. */
int in_open(const char *path, struct spans_in **ret, struct err *err);

/* Over bytes of the caller's, borrowed; they may be packed too. */
struct spans_in *in_bytes(const void *data, size_t len);

void in_free(struct spans_in *in);

/*
 * Makes end - at at least want and returns end - at, which is less only where
 * the input ends or want is over IN_WINDOW_MAX.  May move what at points to.
 */
size_t in_fill(struct spans_in *in, size_t want);

/* Position of at in the unpacked bytes. */
static inline uint64_t in_off(const struct spans_in *in)
{
	return in->end_off - (uint64_t)(in->end - in->at);
}

/*
 * For who keeps a window of his own: at most cap bytes into buf; how many, 0
 * at the end.  in is a struct spans_in (so that it can be called back).
 */
ssize_t in_read(void *in, char *buf, size_t cap);

/* Passes over len bytes that need not be seen; false when the input ends before. */
bool in_skip(struct spans_in *in, uint64_t len);

/* Asked with each new piece, and often while there is none; false ends the input there. */
void in_on_progress(struct spans_in *in,
		    bool (*progress)(void *ctx, uint64_t done_bytes, uint64_t all_bytes),
		    void *ctx);

/* How far, in bytes of the file as it is (packed); all is 0 where nobody knows. */
uint64_t in_done_bytes(const struct spans_in *in);
uint64_t in_all_bytes(const struct spans_in *in);

/* "gzip", "zstd" or NULL; known after the first in_fill. */
const char *in_packed_as(const struct spans_in *in);

bool in_stopped(const struct spans_in *in);	/* by progress */

/* Why the input ended before its end, where in_off is then at or before; NULL: it did not. */
const char *in_trouble(const struct spans_in *in);

#endif /* SPANS_INPUT_H */
