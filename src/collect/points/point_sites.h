/* SPDX-License-Identifier: Apache-2.0 */
#ifndef POINT_SITES_H
#define POINT_SITES_H
/*
 * At which places of a file a tracepoint may stand: the first instruction of a
 * function, by the unwinding table's rule (the row that begins there has its CFA at
 * rsp + 8).  A part that is jumped into, a PLT entry and what has no table fail it.
 *
 *	point_file_open, point_file_site ..., point_file_close
 *
 * The file is hostile: its table is cfi.h's, with its bounds.
 */
#include <stdbool.h>
#include <stdint.h>

struct err;
struct point_file;

enum point_refusal {
	POINT_OK = 0,
	POINT_NO_TABLE,		/* nothing says where its functions begin */
	POINT_NO_ENTRY,		/* no function begins there, or it is jumped into */
	POINT_NOT_IN_FILE,	/* the bytes are not in the file */
	POINT_REFUSAL_CNT,
};

struct point_site {
	uint64_t file_off;
	bool slow;		/* its first instruction is single-stepped */
};

/* fd is duplicated. NULL with *err set for what is no ELF file. */
struct point_file *point_file_open(int fd, struct err *err);
/* NULL is fine. */
void point_file_close(struct point_file *f);

/* Borrowed. */
int point_file_fd(const struct point_file *f);

/* Functions that begin in the file by its table. */
uint32_t point_file_functions(const struct point_file *f);

/* pc: from the file's base, as in frames.  *ret is filled in for POINT_OK. */
enum point_refusal point_file_site(struct point_file *f, uint64_t pc, struct point_site *ret);

/* "no function begins there": for people. */
const char *point_refusal_words(enum point_refusal why);

#endif /* POINT_SITES_H */
