/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CPYTHON_H
#define CPYTHON_H
/*
 * Inside symbols/runtimes: where things lie in CPython 3.8 to 3.13, and its
 * tables of lines.
 */
#include <stddef.h>
#include <stdint.h>

enum cpython_lines {
	CPYTHON_LNOTAB = 0,    /* 3.8, 3.9 */
	CPYTHON_PAIRS = 1,     /* 3.10: PEP 626 */
	CPYTHON_LOCATIONS = 2, /* 3.11 and later */
};

/* Bytes from the beginning of what the name begins with. */
struct cpython_layout {
	uint16_t minor;
	uint16_t runtime_interp;
	uint16_t interp_next, interp_threads;
	uint16_t thread_next, thread_pthread, thread_tid; /* tid 0: not kept */
	uint16_t step_cnt, steps[2];			  /* from the thread to its frames */
	uint16_t frame_len, frame_prev, frame_code, frame_at;
	uint16_t frame_entry, frame_owner; /* 0: there is none */
	uint16_t code_name, code_file, code_first_line, code_lines, code_bytes;
	uint16_t str_ascii, str_compact;
	uint16_t lines; /* enum cpython_lines */
};

/*
 * The line of the instruction that begins at byte `at` of a function whose
 * first line is `first`; 0 where the table has none, or is damaged.
 */
uint32_t cpython_line(enum cpython_lines kind, const uint8_t *table, size_t len, uint32_t first,
		      uint64_t at);

#endif /* CPYTHON_H */
