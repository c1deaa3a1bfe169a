/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IMPORT_INT_H
#define IMPORT_INT_H
/*
 * What the importers share: struct import takes calls, threads, names and
 * stacks as a format finds them and puts them out as events.
 *
 *	import_begin for each step, import_time for each line, then
 *	import_enter and import_leave (or import_call) of a thread, ...,
 *	import_tick, at the end import_finish; import_release
 *
 * All that comes in is anybody's.  Bounded: IMPORT_THREADS_MAX threads,
 * IMPORT_NAMES_MAX names of calls, EVENT_STACK_MAX stacks, IMPORT_FRAMES_MAX
 * names of frames, EMIT_STR_MAX texts; what is over is counted.
 */
#include "base/buf.h"
#include "base/hash.h"
#include "base/vec.h"
#include "collect/emit.h"
#include "collect/import/import_text.h"
#include "store/event_calls.h"

enum {
	IMPORT_THREADS_MAX = 1 << 16,
	IMPORT_NAMES_MAX = 1 << 15,
	IMPORT_MODULES_MAX = 4096,
	IMPORT_FRAMES_MAX = 1 << 18,
	IMPORT_STACK_FRAMES = 256,
};

#define IMPORT_NO_CPU 0xffff

struct import_thread {
	uint32_t tid, tgid;	/* tgid 0: not known */
	uint32_t comm;		/* string */
	uint16_t cpu;		/* it is on, where the format tells */
	bool told;		/* an EV_TASK with all this went out */
	bool open;		/* call has not returned */
	bool switched;		/* left its CPU since its last call */
	bool exited;
	bool makes_thread;	/* these two are of the format: what the open call will do */
	uint32_t new_comm;
	struct ev_call call;	/* while open */
};

struct import_calls {
	struct ev_calls head;
	struct ev_call calls[EVENT_CALLS_MAX];
};

struct import {
	struct emit emit;
	const char *what;	/* "strace", ... */
	const char *path;
	uint64_t first_ns, last_ns; /* seen */
	uint64_t begin_ns;	/* earliest begin of a call */
	uint64_t tick_ns;	/* end of the last batch */
	bool begun;		/* EV_META went out */
	uint32_t flags;		/* enum window_flags; some are made by import_finish */
	uint32_t cpu_cnt;
	uint64_t call_cnt, stack_cnt, skipped_cnt, lost_cnt, open_cnt, over_cnt;
	char skipped[120];	/* the first that was not understood */
	uint64_t skipped_line;
	VEC(struct import_thread) threads;
	struct hmap by_tid;	/* idx + 1 */
	struct hmap ended;	/* by tgid: when its process ended */
	struct strtab names;
	VEC(uint16_t) nrs;	/* by id of the name - 1 */
	uint16_t next_nr;
	uint64_t named[1 << 10]; /* bit: EV_CALL_NAME went out */
	struct import_calls calls;
	struct hmap stacks;	/* hash to id */
	struct hmap frames;	/* those with a name */
	struct strtab modules;
	uint32_t last_stack;
	/* the stack that is being read */
	uint32_t stack_tgid;
	uint16_t user_cnt, kernel_cnt;
	uint64_t user[IMPORT_STACK_FRAMES], kernel[IMPORT_STACK_FRAMES];
	struct buf short_name, full_name;
};

/* Events go to sink until the next begin; import_new's path is borrowed. */
struct import *import_new(const char *what, const char *path);
void import_free(struct import *im);
void import_begin(struct import *im, struct event_sink *sink);

/* Something happened at ns: what was put before belongs to a batch of its own when it is time. */
void import_time(struct import *im, uint64_t ns);

/* NULL over the bound.  Valid until the next one made. */
struct import_thread *import_thread(struct import *im, uint32_t tid);
/* Changes nothing for an argument that is 0 or NULL. */
void import_task(struct import *im, struct import_thread *t, uint32_t tgid, const char *comm,
		 size_t comm_len);
void import_exit(struct import *im, struct import_thread *t, uint64_t ns);

/* Its number, given on first sight: the machine's own if it has that name; -1 over the bound. */
int import_nr(struct import *im, const char *name, size_t len);
/* A number of the machine; -1 for one that cannot be. */
int import_nr_known(struct import *im, uint64_t nr);

/* One open call a thread: an older one that did not return ends here, unknown. */
void import_enter(struct import *im, struct import_thread *t, int nr, uint64_t ns);
/* nr -1: whatever is open.  Without a begin the call began before the trace. */
void import_leave(struct import *im, struct import_thread *t, int nr, uint64_t ns, int result);
/* A whole one. */
void import_call(struct import *im, const struct ev_call *call);
/* It left its CPU; runs: it would have run on. */
void import_switch(struct import *im, uint32_t tid_out, bool runs);

/* result for a value that a call returned; zero_is_none of syscall names like read. */
int import_result(int nr, int64_t value);
/* result for "3", "0x7f00", "-1 EAGAIN (...)", "? ERESTARTSYS (...)", "?", "0 (Timeout)". */
int import_result_text(int nr, struct text t, int64_t *ret_value);
bool import_never_returns(int nr); /* exit: import_enter puts it out at once */
/* enum res_kind for what strace -y and perf trace write between < and >. */
int import_kind(const struct text *t);

/* A stack, innermost first; end gives its id, 0 none.  fn, path may be empty. */
struct import_frame {
	struct text fn, path;
	uint64_t addr, off;	/* off: bytes from fn's begin */
	uint32_t depth;		/* of fn inlined at addr: names only */
	bool kernel;
};
void import_stack_begin(struct import *im, uint32_t tgid);
void import_stack_frame(struct import *im, const struct import_frame *f);
uint32_t import_stack_end(struct import *im);

/* A line that is not understood. */
void import_skip(struct import *im, const struct text *line, uint64_t number);

/* true: a batch ended; nothing may be put before the next import_begin. */
bool import_tick(struct import *im);
/* Open calls, the window, notes and the last tick.  early: why the trace is not whole, or NULL. */
void import_finish(struct import *im, const char *early);

/* A text format. */
struct import_format {
	const char *name;	/* "strace" */
	/* Does this line, one of the first, look like it?  0 no, 1 it could, 2 it must be. */
	int (*looks)(struct text line);
	void *(*open)(struct import *im, struct text peek);
	void (*line)(void *ctx, struct text line, uint64_t number);
	void (*end)(void *ctx);	/* what waits for more lines */
	void (*free)(void *ctx);
};

extern const struct import_format import_strace, import_perf_trace, import_perf_script;

#endif /* IMPORT_INT_H */
