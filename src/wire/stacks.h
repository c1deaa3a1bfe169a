/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef WIRE_STACKS_H
#define WIRE_STACKS_H
/*
 * Input of the unwinder in the kernel (tables of
 * modules, mappings of processes) and its output (stacks, samples).  Include after wire.h or
 * ktypes.h and conf.h.
 *
 * A module's table is one array of 4 KiB chunks, so that a row costs one
 * look-up for its chunk and the search goes on inside it: first the page
 * index, then the rows, then the extended rules.  The rows of one page of
 * text never straddle two chunks.
 */
#include "wire/runtimes.h"

#define UNW_CHUNK_PAGES 1024u
#define UNW_CHUNK_ROWS 512u
#define UNW_CHUNK_EXTS 256u
#define UNW_PAGE_ROWS_MAX 256u	/* of one page of text: its smallest size is 256 bytes */
#define UNW_PAGE_ROWS_BITS 9	/* in an index entry: cnt << 23 | slot of the first row */
#define UNW_SLOT_MASK 0x7fffffu
#define UNW_SLOT_MAX (UNW_SLOT_MASK + 1) /* rows of one module, padding included */
#define UNW_MODULE_MAX 2048u	/* modules known to the kernel side; ids from 1 */
#define UNW_SET_MAX 4096u
#define UNW_MAPS_MAX 256u	/* executable mappings in one set, a power of two */
#define UNW_PARTS_MAX 64u	/* sets that one lists, a power of two */
#define UNW_USER_MAX 128u
#define UNW_KERNEL_MAX 32u
#define UNW_FRAME_MAX (UNW_USER_MAX + UNW_KERNEL_MAX)

struct unw_chunk {
	union {
		u32 pages[UNW_CHUNK_PAGES];
		struct unw_row rows[UNW_CHUNK_ROWS];
		struct unw_ext exts[UNW_CHUNK_EXTS];
	};
};
_Static_assert(sizeof(struct unw_chunk) == 4096, "unw_chunk");

struct unw_module {
	u32 text_len;	/* 0: no table, its frames are walked by frame pointers */
	u32 page_cnt;
	u32 row_chunk;	/* first chunk of rows, of exts */
	u32 ext_chunk;
	u32 ext_cnt;
	u32 page_shift;
};
_Static_assert(sizeof(struct unw_module) == 24, "unw_module");

/* Executable mapping: pc - base is the offset that rows and frames use. */
struct unw_map {
	u64 start;
	u64 base;
	u32 page_cnt;	/* of 4 KiB */
	u32 module;	/* 0: no file, code made at run time */
};
_Static_assert(sizeof(struct unw_map) == 24, "unw_map");

/* A set that has the mappings from start on, up to the next part's. */
struct unw_part {
	u64 start;
	u32 set;
	u32 pad;
};

/* Mappings of one process, or of several that were forked and share them. */
struct unw_set {
	u32 cnt;
	u32 cut;	/* there were more */
	u32 part_cnt;	/* not 0: it lists the sets that have them */
	u32 pad;
	union { /* ascending; entries after the last have a start above all others */
		struct unw_map maps[UNW_MAPS_MAX];
		struct unw_part parts[UNW_PARTS_MAX];
	};
};

/*
 * A process seen for the first time: its mappings at once, in a map that takes
 * them without waiting for the kernel's programs as a change of sets does.
 * Some live no longer than that.
 */
#define UNW_FRESH_PROCS 256u
#define UNW_FRESH_MAPS 64u /* a power of two; of processes with more only their set is used */
struct unw_fresh {
	u64 exec_vm;	/* pages of executable mappings when it was asked for */
	u32 cnt;
	u32 pad;
	struct unw_map maps[UNW_FRESH_MAPS]; /* ascending; entries after cnt have start ~0 */
};

/* Which program a process runs: the inode of its file; dev as major << 20 | minor. */
struct unw_exe {
	u64 ino;
	u32 dev;
	u32 pad;
};

/*
 * Where a program's code lies in all of its processes: the program by where it
 * begins, its libraries by where the kernel begins to map, both random.
 * Addresses are those of one process.
 */
struct unw_program {
	u64 start_code;
	u64 mmap_base;
	struct unw_fresh code;
};

enum unw_laid { /* does a process lie as its program's layout says? */
	UNW_LAID_UNKNOWN = 0,
	UNW_LAID_YES = 1,
	UNW_LAID_NO = 2,
};

struct unw_proc {
	u32 laid;	/* enum unw_laid */
	u32 pad;
	u32 set;	/* 0: not known yet */
	u32 asked;	/* a WIRE_MAPS is out and not answered */
	u64 exec_vm;	/* pages of executable mappings when set was made */
	u64 seen_vm;	/* and when it was asked for again */
};

/*
 * First sight of a stack: frames[user_cnt], innermost first, then frames[kernel_cnt], then
 * rt_cnt words of an interpreter's frames.
 */
struct wire_stack {
	struct wire_hdr hdr;
	u64 hash;
	u32 id;
	u32 tgid;
	u16 user_cnt;
	u16 kernel_cnt;
	u8 end;		/* enum unw_end */
	u8 rt_end;	/* enum rt_end */
	u16 rt_cnt;
	u64 frames[UNW_FRAME_MAX + RT_WORDS_MAX];
};
#define WIRE_STACK_BYTES (sizeof(struct wire_hdr) + 24)
_Static_assert(sizeof(struct wire_stack) == WIRE_STACK_BYTES + (UNW_FRAME_MAX + RT_WORDS_MAX) * 8,
	       "wire_stack");

/* A thread found running by the clock. */
struct wire_sample {
	struct wire_hdr hdr;
	u32 tgid;
	u32 stack;
	u32 cpu;
	u32 cnt;	/* samples that it stands for */
};
_Static_assert(sizeof(struct wire_sample) == 32, "wire_sample");

/* The mappings of hdr.tid's process are not known or have changed. */
struct wire_maps {
	struct wire_hdr hdr;
	u64 exec_vm;	/* pages of executable mappings that it has */
	u64 start_code;
	u64 mmap_base;
	struct unw_exe exe;
	u32 tgid;
	u32 pad;
};
_Static_assert(sizeof(struct wire_maps) == 64, "wire_maps");

/* Counts of the unwinder. */
enum unw_count {
	UNWC_STACKS = 0,   /* taken */
	UNWC_FRAMES = 1,   /* of these, user frames */
	UNWC_REUSED = 2,   /* known by their fingerprint */
	UNWC_BUDGET = 3,   /* not taken: over the budget */
	UNWC_DOUBT = 4,	   /* a fingerprint stood for two stacks */
	UNWC_SENT = 5,	   /* new ones, sent to user space */
	UNWC_NESTED = 6,   /* not taken: one was being taken on this CPU */
	UNWC_CALL_BUDGET = 7, /* of a system call, not taken: over the budget of those */
	UNWC_END = 8,	   /* + enum unw_end: how they ended */
	UNWC_RT = 16,	   /* + enum rt_end: how frames of interpreters ended */
	UNWC_RT_FRAMES = 20, /* ... words of them */
	UNWC_CNT = 32
};

#define UNW_SCRATCH_CNT 3 /* a walk may be interrupted by another */

/* Time for walks: of waits and wakers, of system calls. */
struct unw_budget {
	u64 refill_ns;
	s64 left_ns; /* below 0: the last walk took more than there was */
};

/* State of one CPU. */
struct unw_cpu {
	struct unw_budget waits, calls;
	u64 check_ns;	/* no fingerprint is checked before */
	u32 busy[UNW_SCRATCH_CNT];
	u64 cnt[UNWC_CNT];
};

#endif /* WIRE_STACKS_H */
