/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JUDGE_H
#define JUDGE_H
/*
 * Judges captures: runs `heldup why -i` on each, in a child without rights that
 * may fail, hang or be killed without harm, one at a time.
 *
 *	judge_new, judge_add for a capture, judge_step now and then, judge_free
 *
 * Bounded: JUDGE_QUEUE captures wait, more are refused; JUDGE_NS for one.
 */
#include <stdbool.h>
#include <stdint.h>

struct cut_time;
struct judge;

enum { JUDGE_QUEUE = 16 };

#define JUDGE_NS UINT64_C(120000000000)

struct judge *judge_new(const char *state_dir);
/* One in progress is ended. */
void judge_free(struct judge *j);

/* time: which part of the capture is the trouble's (store/cut.h).  False: too many wait. */
bool judge_add(struct judge *j, uint64_t finding, const struct cut_time *time);

/*
 * True when one was finished since: its finding, and 0 or -errno.  Its answer is then in
 * the files of judge_path.
 */
bool judge_step(struct judge *j, uint64_t *ret_finding, int *ret_code);

enum judge_file { JUDGE_CAPTURE, JUDGE_JSON, JUDGE_PAGE };

/* Returns ret. */
char *judge_path(const char *state_dir, uint64_t finding, enum judge_file what, char *ret,
		 uint64_t size);

/*
 * Options of `heldup why` for a part of time, at most JUDGE_TIME_ARGS, in room; returns
 * how many.
 */
enum { JUDGE_TIME_ARGS = 4, JUDGE_TIME_LEN = 40 };
struct judge_time { char since[JUDGE_TIME_LEN], until[JUDGE_TIME_LEN]; };
unsigned judge_time_args(const struct cut_time *time, struct judge_time *room, char **ret_args);

#endif /* JUDGE_H */
