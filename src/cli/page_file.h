/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PAGE_FILE_H
#define PAGE_FILE_H
/*
 * A file that a command writes besides what it prints.  It is opened before
 * the watching, so that a wrong path costs no time, and written after it.
 *
 *	struct page_file f;
 *	page_file_open, page_file_write, page_file_close
 */
#include <stdbool.h>

struct buf;
struct cli;
struct err;

struct page_file {
	const char *path;	/* NULL: none was asked for, all calls do nothing */
	int fd;
	bool created;
	bool to_stdout;		/* path "-": then nothing else may be printed there */
};

int page_file_open(struct page_file *f, const char *path, struct err *err);
bool page_file_wanted(const struct page_file *f);
int page_file_write(struct page_file *f, const struct buf *bytes, struct err *err);

/* After a failure a file that was begun is removed; one that was there before is left. */
void page_file_close(struct page_file *f, bool failed);

/* A command's run that may write path: opens it, lets answer work, closes it; an enum cli_exit. */
int page_file_run(struct cli *cli, const char *path,
		  int (*answer)(struct cli *cli, struct page_file *page, struct err *err));

#endif /* PAGE_FILE_H */
