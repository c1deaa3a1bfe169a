/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUBY_H
#define RUBY_H
/*
 * Inside symbols/runtimes: where things lie in Ruby 2.7 to 3.4, and its table
 * from instructions to lines.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct runtime_proc;

/* Bytes from the beginning of what the name begins with. */
struct ruby_layout {
	uint8_t major, minor;
	uint8_t frame_len;
	uint8_t vm_main;			 /* the main thread */
	uint8_t thread_vm, thread_ec, thread_nt; /* nt 0: there is none, its parts are */
	uint8_t native_pthread, native_tid;	 /* ... in the thread; tid 0: not kept */
	uint8_t body_lines;			 /* lines, of line_len bytes each */
	uint8_t line_len;
	bool long_strings; /* a string has its length at one place, whatever it is */
};

/* "3.1.2", or another of that minor version; NULL: not known. */
const struct ruby_layout *ruby_layout_of(const char *version);

struct ruby_lines { /* as a function has them: addresses in the process */
	uint64_t lines, ranks;
	uint32_t cnt, line_len;
};

/* The line of a function's instruction word; 0: there is none, or the table is damaged. */
uint32_t ruby_line(const struct runtime_proc *r, const struct ruby_lines *l, uint32_t word);

#endif /* RUBY_H */
