/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LINES_H
#define LINES_H
/*
 * Files, lines and inlined functions from debug information (DWARF).  It is
 * read by libdw in a child process, since it is large, comes from files that
 * nobody vouches for, and the library was not made for such: the child has no
 * rights, bounded memory and bounded time, and when it dies of a file only the
 * lines are lost.
 *
 *	lines_new, lines_find ... lines_free
 */
#include <stdbool.h>
#include <stdint.h>

struct lines;

enum {
	LINES_FRAME_MAX = 16,	/* inlined into one another, the function itself included */
	LINES_TEXT_MAX = 512,	/* of a name or a file, longer ones are cut at the front */
	LINES_MEMORY_MAX = 768 << 20, /* address space of the child */
	LINES_ONE_MS = 2000,	/* for one address; the first one of a file takes longest */
};

struct lines_frame {
	char fn[LINES_TEXT_MAX];   /* linkage name where there is one, else the name; "" unknown */
	char file[LINES_TEXT_MAX]; /* "" unknown */
	uint32_t line;
};

struct lines_answer {
	uint32_t frame_cnt; /* 0: nothing is known */
	struct lines_frame frames[LINES_FRAME_MAX]; /* [0] the function itself, as symbol_name */
};

/*
 * The child starts at once, as nobody while there is the right to that; one that takes
 * its place later may be the caller, without rights.  budget_ms: of all questions.
 */
struct lines *lines_new(uint32_t budget_ms);
void lines_free(struct lines *l);

/*
 * fd: the file with the debug information; key: a number for it, always the
 * same; vaddr: ELF address.  -ETIME when the time is used up, -EIO the child
 * died (of this file: later questions about it are answered so at once),
 * -ENOTSUP not built in.
 */
int lines_find(struct lines *l, int fd, uint32_t key, uint64_t vaddr, struct lines_answer *ret);

#endif /* LINES_H */
