/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILE_ANSWERS_H
#define FILE_ANSWERS_H
/*
 * Does the file system of an input answer?  Opening a file of a dead one waits
 * for ever, and only a signal that kills ends that wait: a child tries first.
 */
#include <stddef.h>

struct err;

/*
 * 0, or -ETIMEDOUT with the path in *err: then none of paths may be opened.  What is
 * no file or folder, is not there or may not be read is for whoever opens it to say.
 */
int files_answer(char *const *paths, size_t cnt, struct err *err);

int file_answers(const char *path, struct err *err);

#endif /* FILE_ANSWERS_H */
