/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLOCK_FIT_H
#define CLOCK_FIT_H
/*
 * By how much one of two clocks is off against the other, over time: pieces,
 * within each of which it is off by a constant or drifts evenly.  Clocks are
 * set (a step), and run at other speeds until they are.
 *
 * A piece more must mend more bounds than CLOCK_PIECE_COST: chance alone
 * mends a few, since a piece has three numbers that are free.  Of the lines
 * through a piece, that without drift is preferred.  Times are on the clock of
 * which they come out cleaner: one that was set back shows some times twice.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	CLOCK_SAMPLES_MAX = 512,	/* bounds of a pair of clocks */
	CLOCK_SAMPLES_MIN = 20,		/* fewer do not move a clock */
	CLOCK_PIECES_MAX = CLOCK_SAMPLES_MAX / CLOCK_SAMPLES_MIN,
	CLOCK_PIECE_COST = CLOCK_SAMPLES_MIN / 2,
	CLOCK_LEFT_PCT = 1,	/* of all bounds, when one offset explains them */
	CLOCK_SHARE_PCT = 5,	/* bounds broken by other causes: timeouts, lost parents */
};

/* Slewing is at most so fast (adjtime, ntpd: 500 ppm), and no crystal is as bad. */
#define CLOCK_DRIFT_MAX 1e-3

/* So that differences do not overflow, whatever a file says. */
static inline int64_t clock_time(int64_t ns)
{
	return ns < INT64_MIN / 4 ? INT64_MIN / 4 : ns > INT64_MAX / 4 ? INT64_MAX / 4 : ns;
}

struct clock_sample {
	uint64_t hash;
	int64_t at[2];		/* clock_time of the two spans, as their clocks say */
	int64_t low, high;	/* of what must be added to the second clock */
	bool hard_low, hard_high;	/* it is impossible, not only odd, to be over that */
	int64_t tick_ns;	/* contradicted by no more than this it is not */
};

struct clock_piece {
	int64_t from;		/* on clock `axis` */
	int64_t other_from, other_to;	/* on the other one: first and last sample */
	int64_t at, offset_ns;	/* to be added to the second clock where `axis` shows `at` */
	double drift;		/* more of it by the nanosecond */
	int64_t sure_ns;	/* OFFSET_NO_HIGH: at least so much */
	uint32_t cnt;		/* bounds */
	uint32_t broken_before, broken_after;	/* contradicted */
	uint32_t impossible_before, impossible_after;
};

struct clock_fit {
	uint8_t axis;		/* 0 or 1: the clock whose time separates pieces */
	uint32_t cnt;
	struct clock_piece pieces[CLOCK_PIECES_MAX];	/* by time; at least one */
};

/* It leaves at most CLOCK_LEFT_PCT % contradicted: one that may be small is right then. */
bool clock_fit_is_sound(const struct clock_fit *fit);

/* One offset for all times.  Sorts samples, of which there is at least one. */
void clock_fit_one(struct clock_sample *samples, size_t cnt, struct clock_fit *ret);

/* Many bounds are left that it makes impossible. */
bool clock_fit_is_poor(const struct clock_fit *fit);

/* Or only contradicts: pieces may be of use. */
bool clock_fit_is_odd(const struct clock_fit *fit);

/* Pieces where they are of use, else as clock_fit_one. */
void clock_fit_pieces(struct clock_sample *samples, size_t cnt, struct clock_fit *ret);

/* That of the time on clock `which`. */
const struct clock_piece *clock_fit_at(const struct clock_fit *fit, int which, int64_t at);

/* Offset to add to the second clock when that of the fit's axis shows at. */
int64_t clock_piece_offset(const struct clock_piece *piece, int64_t at);

#endif /* CLOCK_FIT_H */
