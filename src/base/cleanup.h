/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLEANUP_H
#define CLEANUP_H
/*
 * Release at the end of the scope.  Define and initialise in one statement;
 * a function uses these or goto, never both.
 *
 *	CLEANUP_FREE char *line = NULL;
 *	CLEANUP_CLOSE int fd = open(...);
 *	CLEANUP(buf_release) struct buf out = {0};
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* fn takes a pointer to the variable. */
#define CLEANUP(fn) __attribute__((cleanup(fn)))

static inline void cleanup_free(void *ptr)
{
	free(*(void **)ptr);
}

static inline void cleanup_close(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void cleanup_fclose(FILE **file)
{
	if (*file)
		fclose(*file);
}

static inline void cleanup_closedir(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

#define CLEANUP_FREE CLEANUP(cleanup_free)
#define CLEANUP_CLOSE CLEANUP(cleanup_close)
#define CLEANUP_FCLOSE CLEANUP(cleanup_fclose)
#define CLEANUP_CLOSEDIR CLEANUP(cleanup_closedir)

#endif /* CLEANUP_H */
