/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CHAINS_H
#define CHAINS_H
/*
 * Lists in the memory of another process, followed by the reader in one call:
 * frames of an interpreter, one after the other by a pointer in each.  It knows
 * no runtime; whoever asks says which steps lead to the first element, how long
 * one is and where the pointer to the next lies.
 *
 * A list that belongs to a thread is read only while that one sleeps: its
 * switches are counted before and after, and where they differ nothing is put
 * out.  So a list is whole, as the thread left it, or it is not there.
 *
 * Bounds: CHAIN_LEN_MAX elements of CHAIN_ELEM_MAX bytes, CHAIN_RANGES ranges
 * outside of which nothing is read, CHAIN_ITEMS lists in a call.
 */
#include <stddef.h>
#include <stdint.h>

#define CHAIN_STEPS 4
#define CHAIN_RANGES 256
#define CHAIN_ITEMS 96
#define CHAIN_LEN_MAX 512
#define CHAIN_ELEM_MAX 256

struct chain_shape {
	uint32_t steps[CHAIN_STEPS]; /* added to where one is: there lies the next pointer */
	uint32_t step_cnt;
	uint32_t elem_len;
	uint32_t next_off; /* in an element, or ... */
	uint32_t stride;   /* ... not 0: an array, to whose end `until` leads */
	uint32_t back;	   /* an array begins so many bytes before where the steps lead */
	uint32_t head_off, head_len; /* so many bytes of the anchor come first, as an element */
	/* An element's last ref_len bytes lie where its pointer at ref_off leads; NULL: zeros. */
	uint32_t ref_off, ref_len;
};

struct chain_range {
	uint64_t start, end;
};

struct chain_item {
	uint64_t anchor;
	uint64_t until;	   /* of an array: its end */
	uint64_t switches; /* of the thread when it was last read: if equal, CHAIN_SAME */
	uint32_t tid;	   /* 0: belongs to none, read as it is */
	uint32_t pad;
};

struct read_chains {
	uint32_t tid; /* whose memory */
	uint32_t range_cnt, item_cnt;
	uint32_t pad;
	struct chain_shape shape;
	struct chain_range ranges[CHAIN_RANGES]; /* ascending */
	struct chain_item items[CHAIN_ITEMS];
};

enum chain_state {
	CHAIN_READ = 0,
	CHAIN_SAME = 1,	 /* it did not run since it was last read */
	CHAIN_RUNS = 2,	 /* it runs, or ran meanwhile */
	CHAIN_GONE = 3,	 /* the thread ended */
	CHAIN_BAD = 4,	 /* a pointer leads out of the ranges, or in a circle, or too far */
};

/* Put out for each item, in order; of those read cnt elements follow, each after its address. */
struct chain_out {
	uint64_t begin_ns, end_ns; /* CLOCK_MONOTONIC: asleep at both, and between */
	uint64_t switches;
	uint32_t state; /* enum chain_state */
	uint32_t cnt;
};

/* Reads len bytes of a process' memory: all, or -errno. */
struct chain_mem {
	int (*read)(void *ctx, uint64_t addr, void *out, size_t len);
	void *ctx;
};

/*
 * One list; what stands above of elements goes to out, of cap bytes.  Their count,
 * or -EFAULT, -ELOOP, -E2BIG.
 */
long chain_follow(const struct chain_mem *mem, const struct read_chains *what,
		  const struct chain_item *item, char *out, size_t cap);

#endif /* CHAINS_H */
