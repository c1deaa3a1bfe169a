/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILE_RIGHTS_H
#define FILE_RIGHTS_H
/*
 * What a command keeps that only reads files: no capability, and no system call
 * that reaches beyond files.  Root keeps the right to read, replace and
 * give files to others where a path of its command line needs it, and that to become a
 * directory's owner where one of them is a directory (LTTng's traces).
 */
#include <stdint.h>

struct cmd;
struct err;
struct opt;
struct path_limit;

/* Does a command with this table and these parsed options read a file and no process? */
_Bool file_rights_reads_file(const struct opt *table, const void *opts);

/*
 * What a watch of root keeps to write the files that its options name, and those
 * that it keeps for later runs, once it gives its rights away.  Nothing where root
 * may write there without.
 */
uint64_t file_rights_of_outputs(const struct cmd *cmd, const void *opts);
uint64_t file_rights_of_path(const char *path);

/*
 * All that such a watch may write by path: those files, what is kept for later runs,
 * and extra (NULL: none).  It may read these, and what path_limit_allow_host names.
 * NULL where the kernel has no such limit, or debug files are fetched, which a library
 * does in places of its own.  To be closed.
 */
struct path_limit *file_rights_writes(const struct cmd *cmd, const void *opts,
				       const char *extra);

/* It may read path, too, and what is below; limit may be NULL. */
void file_rights_reads(struct path_limit *limit, const char *path);

/* For a command that only looks at processes, by what reads_start started (reads.h). */
int file_rights_look(const struct cmd *cmd, const void *opts, struct err *err);

/*
 * args: the command line after the command's name; plain: those of them that are
 * no options and so are only read.  Both end with NULL.
 */
int file_rights_drop(char *const *args, char *const *plain, struct err *err);

#endif /* FILE_RIGHTS_H */
