/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SELECT_OPTS_H
#define SELECT_OPTS_H
/*
 * Which processes to look at, as the user wrote it.  Finding them is the
 * collector's work.
 */
#include <stdbool.h>

#include "cli/opts/opt.h"
#include "collect/select.h"

struct arena;
struct err;

enum { SELECT_PIDS_MAX = 256 };

extern const struct opt select_opt_table[];
extern const struct opt select_running_opt_table[]; /* the same without -- CMD */

/* How many words a command takes that selects by them: its max_args. */
enum { SELECT_WORDS_MAX = SELECT_PIDS_MAX };

/*
 * Words without an option before them: numbers are process ids, as after -p, and
 * one name is that of processes, as after --comm.  The path of a file is refused
 * with the option that reads it.
 */
int select_words(struct select_opts *s, int argc, char **argv, struct arena *arena,
		 struct err *err);

/* true when nothing was selected at all. */
bool select_is_empty(const struct select_opts *s);

/*
 * Exactly one way of selecting, or a line that says which ways there are.  Ids of threads
 * are named on stderr.
 */
int select_check(const struct select_opts *s, struct err *err);

#endif /* SELECT_OPTS_H */
