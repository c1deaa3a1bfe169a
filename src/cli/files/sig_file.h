/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIG_FILE_H
#define SIG_FILE_H
/*
 * Files of signatures on disk.  One to write is opened before the watching,
 * so that a wrong path costs no time; what was there before stays until the
 * new one is complete.
 *
 *	struct sig_file f = {0};
 *	sig_file_open, sig_file_write, sig_file_close
 */
#include <stdbool.h>

struct arena;
struct err;
struct sigs;

/* The whole file, in arena; any file may be given. */
int sig_file_read(const char *path, struct arena *arena, struct sigs **ret_sigs,
		  struct err *err);

struct sig_file {
	char *path, *partial;	/* partial NULL: written in place */
	int fd;			/* 0: not open */
	bool to_stdout;
};

/* path "-": standard output.  -EEXIST for a file with something else in it. */
int sig_file_open(struct sig_file *f, const char *path, struct err *err);
int sig_file_write(struct sig_file *f, const struct sigs *s, struct err *err);

/* Fine on an all-zero one; what was not written is removed. */
void sig_file_close(struct sig_file *f);

#endif /* SIG_FILE_H */
