/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IMPORT_CTF_H
#define IMPORT_CTF_H
/*
 * What the child that reads a CTF trace tells its parent: records of one
 * size, in the order of time.  Only the child loads libbabeltrace2.
 */
#include <stdbool.h>
#include <stdint.h>

enum ctf_what {
	CTF_ENTER = 1,	 /* text: name of the call */
	CTF_LEAVE = 2,	 /* and value */
	CTF_SWITCH = 3,	 /* tid left its CPU; value 0: it would have run on */
	CTF_LOST = 4,	 /* value: events the tracer could not write */
	CTF_FOREIGN = 5, /* text: an event that is none of these */
	CTF_FAILED = 6,	 /* text: why; the last */
	CTF_END = 7,	 /* the last */
};

#define CTF_TEXT_MAX 80

struct ctf_record {
	uint64_t ns;
	int64_t value;
	uint32_t tid, tgid;	/* tgid 0: not known */
	uint16_t cpu, what;
	uint32_t pad;
	char comm[16];
	char text[CTF_TEXT_MAX];
};

enum { CTF_DIRS_MAX = 16 };

struct import;

/* The parent's side: what the child sent so far. */
struct ctf_taker {
	struct import *import;
	uint64_t record_cnt;
	bool ended;
	char why[CTF_TEXT_MAX];	/* it ended early, "" not */
};

/* A record is anybody's: the child may have been taken over by the trace. */
void ctf_take(struct ctf_taker *t, struct ctf_record *r);

/* Reads the traces in dirs and writes to fd; never fails but by telling so. */
void ctf_child(int fd, const char *const *dirs, unsigned dir_cnt);

#endif /* IMPORT_CTF_H */
