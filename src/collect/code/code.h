/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CODE_H
#define CODE_H
/*
 * What code the watched processes run, handed to the unwinder in the kernel: the
 * tables of each module, the executable mappings of each process.
 *
 *	struct code *c = code_new(&fds, symbols)
 *	code_scan (a process that is to be watched) ... code_commit ... code_ask (the kernel side
 *	met mappings that it does not know) ... code_step (answers those),
 *	code_announce (their events) ... code_free(c)
 *
 * A module is a file, whoever maps it.
 * Processes with equal mappings share one set of them.  A process is scanned
 * again at most every CODE_RESCAN_NS, less and less often where that finds
 * nothing new.
 *
 * Bounds: UNW_MODULE_MAX modules with tables, CODE_CHUNK_MAX chunks of all
 * tables, 4 s and 2 % of the time of opening files and making them, UNW_SET_MAX
 * sets, MAPPINGS_MAX mappings of a process.  What is over them is walked by
 * frame pointers, counted in code_stats and reported in a note.
 */
#include <stdint.h>

struct code;
struct emit;
struct symbols;
struct wire_maps;

#define CODE_CHUNK_MAX 32768 /* of 4 KiB: 128 MiB */
#define CODE_RESCAN_NS UINT64_C(100000000)

struct code_fds { /* maps of the BPF side, borrowed */
	int modules, tables, sets, procs, fresh, programs;
};

struct code_stats {
	uint32_t module_cnt;
	uint32_t table_cnt;	/* modules with a table */
	uint64_t row_cnt;
	uint64_t kernel_bytes;	/* memory of the tables and sets */
	uint64_t build_ns;	/* spent on reading and building tables */
	uint64_t scan_cnt;
	uint64_t refused_cnt;	/* modules over a bound or damaged */
	uint64_t unread_cnt;	/* files not opened: over the bound of time or number */
	uint64_t over_cnt;	/* of the refused: they would take too much memory */
	uint64_t cut_cnt;	/* scans of processes with more mappings than fit */
};

/* syms gives modules their ids and is borrowed. */
struct code *code_new(const struct code_fds *fds, struct symbols *syms);
void code_free(struct code *c);

/*
 * Reads the mappings of tgid now; the kernel side has them after code_commit.
 * A process that is gone is forgotten.
 */
void code_scan(struct code *c, uint32_t tgid, uint64_t now);

void code_commit(struct code *c);

/*
 * The process is to be scanned, and that committed, by a later code_step; what a
 * process not known yet maps goes to the kernel side at once.
 */
void code_ask(struct code *c, const struct wire_maps *w, uint64_t now);
void code_step(struct code *c, uint64_t now);

/* EV_MODULE of those found since the last call, and notes. */
void code_announce(struct code *c, struct emit *e, uint64_t now);
/* At the end: notes of what was not read for a bound, if there is any. */
void code_announce_unread(struct code *c, struct emit *e, uint64_t now);

/*
 * Walks a thread of tgid that sleeps with these registers.  Frames as in
 * EV_STACK, at most max, into ret_frames; returns enum unw_end.  Tables that
 * this needs are kept until code_rest.
 */
struct code_regs {
	uint64_t pc, sp, bp;
};
uint8_t code_walk(struct code *c, uint32_t tgid, const struct code_regs *regs,
		  uint64_t *ret_frames, uint32_t max, uint32_t *ret_cnt);
void code_rest(struct code *c);

/* A place in the code of tgid as frames have it. */
uint64_t code_frame(struct code *c, uint32_t tgid, uint64_t pc);

/* tgid ended or was replaced by exec: the names of its code go too. */
void code_forget(struct code *c, uint32_t tgid);

void code_stats(const struct code *c, struct code_stats *ret);

#endif /* CODE_H */
