/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXPORTS_H
#define EXPORTS_H
/*
 * Stacks as other programs read them.  Each appends to out; modes is a set of
 * 1 << enum stacks_mode.  Names come from the watched processes: each format's
 * own separators are taken out of them.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct buf;
struct err;
struct model;
struct stacks_result;

/*
 * "process;thread;function;...;what was waited for NANOSECONDS", one line a
 * stack, as flamegraph.pl and speedscope take it; functions of the kernel end
 * in _[k], those of JIT code in _[j].  With several modes the first word is
 * the mode.
 */
void export_folded(const struct stacks_result *r, unsigned modes, struct arena *arena,
		   struct buf *out);

/* A name in it: a semicolon as ':', what is no UTF-8 or no character to be seen as '?'. */
void export_folded_name(const char *name, struct buf *out);

/*
 * profile.proto, gzip'd.  Addresses are those of the ELF file, mappings carry
 * build ids; labels: thread, tid, process, pid, state, resource, waker.  With
 * STACKS_WAKER alone the waker's functions lie inside the waiter's.  A wait
 * begins at the program's call; kernel: with the kernel's functions below it.
 */
int export_pprof(const struct stacks_result *r, unsigned modes, bool kernel, struct arena *arena,
		 struct buf *out, struct err *err);

/* speedscope's file format, a profile for each mode. */
void export_speedscope(const struct stacks_result *r, unsigned modes, struct buf *out);

/*
 * Trace events of the last at most window_ns: the threads' states, who woke
 * whom, samples.  *ret_ns: how much of the window is in it: as much as fits in
 * CHROME_BYTES_MAX, which goes with a mail and opens at once.
 */
enum { CHROME_BYTES_MAX = 8 << 20 };
void export_chrome(const struct stacks_result *r, uint64_t window_ns, struct buf *out,
		   uint64_t *ret_ns);

#endif /* EXPORTS_H */
