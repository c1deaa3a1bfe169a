/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIG_STORE_H
#define SIG_STORE_H
/*
 * What was learnt, kept where each command finds it by itself: a file of
 * signatures for each program, named after the build id of the module that most
 * of its functions are of.  In $XDG_STATE_HOME/heldup, else /var/lib/heldup for
 * root and ~/.local/state/heldup for others.
 *
 * Learning again adds to what is there.  Bounded: over 256 MiB the files that
 * were written longest ago go.
 */
struct arena;
struct err;
struct model;
struct sigs;

/* NULL: there is no home.  Lives in arena. */
const char *sig_store_dir(struct arena *arena);

/* Before long work: the directory is there, or is made, and is one's own. */
int sig_store_check(struct err *err);

/* The whole file is there or the old one.  *ret_path lives in arena. */
int sig_store_keep(const struct sigs *s, struct arena *arena, const char **ret_path,
		   struct err *err);

/* The stored signatures of the model's modules; NULL without any. Warns of a damaged file. */
const struct sigs *sig_store_find(const struct model *m, struct arena *arena);

#endif /* SIG_STORE_H */
