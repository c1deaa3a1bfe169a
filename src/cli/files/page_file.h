/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PAGE_FILE_H
#define PAGE_FILE_H
/*
 * A file that a command writes besides what it prints.  That it can be written is
 * looked at before the watching, so that a wrong path costs no time; it is written
 * after it, in place of an old one when all of it is there (replaced_file.h).
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
	int fd;			/* of standard output, -1: not that */
	bool to_stdout;		/* path "-": then nothing else may be printed there */
};

int page_file_open(struct page_file *f, const char *path, struct err *err);
bool page_file_wanted(const struct page_file *f);
int page_file_write(struct page_file *f, const struct buf *bytes, struct err *err);
void page_file_close(struct page_file *f);

/*
 * A command's run that may write path: opens it, lets answer work, closes it; an enum
 * cli_exit.  answer returns one, or -errno with err set.
 */
int page_file_run(struct cli *cli, const char *path,
		  int (*answer)(struct cli *cli, struct page_file *page, struct err *err));

#endif /* PAGE_FILE_H */
