/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNTIME_MAKE_H
#define RUNTIME_MAKE_H
/*
 * A process with a runtime, made up: its file with some exported symbols and
 * constants, and its memory, which a test fills as it likes.
 *
 *	struct runtime_make m = {.rodata = "...", .symbols = ..., .symbol_cnt = ...};
 *	runtime_make_put (its memory), runtime_make_open (its runtime), runtime_free
 */
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "symbols/runtimes/runtimes.h"

#define MAKE_BASE UINT64_C(0x100000) /* where its memory begins */
#define MAKE_BIAS UINT64_C(0x10000)  /* of its file */
#define MAKE_RODATA UINT64_C(0x8000) /* in the file: its constants */

struct runtime_make_symbol {
	const char *name;
	uint64_t value, size; /* in the file: MAKE_BIAS less than in memory */
};

struct runtime_make {
	const char *name; /* of the file */
	const char *rodata;
	size_t rodata_len; /* 0: up to its NUL, that included */
	const struct runtime_make_symbol *symbols;
	size_t symbol_cnt;
	uint64_t bss, bss_len;	/* its variables, in the file; 0: none */
	uint64_t loop, loop_len; /* a function that only its call frame information shows */
	struct err err;
	uint8_t mem[65536];
};

void runtime_make_put(struct runtime_make *m, uint64_t addr, uint64_t value);
void runtime_make_put_bytes(struct runtime_make *m, uint64_t addr, const void *data, size_t len);

/* NULL with m->err set. */
struct runtime_proc *runtime_make_open(struct runtime_make *m);

/*
 * The calls of the first thread as "name file:line" one a line, innermost first, ends of loops
 * with a "|" behind them; "bad" where the list is damaged.  The caller frees it.
 */
char *runtime_make_stack(struct runtime_make *m, struct runtime_proc *r);

/* The lock that the first thread waits for; false: none.  The caller releases its name. */
bool runtime_make_lock(struct runtime_make *m, struct runtime_proc *r, struct runtime_lock *ret);

#endif /* RUNTIME_MAKE_H */
