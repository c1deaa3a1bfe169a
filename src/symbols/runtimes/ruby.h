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

struct image;
struct runtime_proc;
struct runtime_range;

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

enum {
	RUBY_EC_FRAME = 16, RUBY_EC_LEN = 24, /* a fiber's stack and frames */
	RUBY_FRAME_FUNC = 16,
	RUBY_BODY_CODE = 8, RUBY_BODY_PATH = 64, RUBY_BODY_LABEL = 80, RUBY_BODY_LEN = 152,
};

/* ---- ruby_read.c */

struct ruby_main { /* the main thread's frames: addresses of the innermost, and behind the last */
	uint64_t frame, end;
};

/* The end of a fiber's frames, by its RUBY_EC_LEN bytes; the outermost is not the program's. */
uint64_t ruby_frames_end(const struct ruby_layout *at, const uint8_t *ec);

/* That of the machine at vm.  -ENOENT: there is none, -EBADMSG: its frames lie otherwise. */
int ruby_main_read(const struct runtime_proc *r, const struct ruby_layout *at, uint64_t vm,
		   struct ruby_main *ret);

/* The RUBY_BODY_LEN bytes that a function has; -errno: it is none. */
int ruby_body_read(const struct runtime_proc *r, uint64_t addr, uint8_t *body, uint64_t *cookie);

/* The first instruction word of a frame's function.  -errno: it is no function of Ruby. */
int ruby_frame_word(const struct runtime_proc *r, uint64_t frame, uint64_t *ret);

/* ---- ruby_hidden.c */

/* The place of the pointer to the machine, and the loop, without symbols.  -ENOENT: nowhere. */
int ruby_find_vm(const struct runtime_proc *r, struct image *im, const struct ruby_layout *at,
		 uint64_t *ret);
int ruby_find_loop(const struct runtime_proc *r, struct image *im, const struct ruby_layout *at,
		   uint64_t vm, struct runtime_range *ret);

/* ---- ruby_lines.c */

struct ruby_lines { /* as a function has them: addresses in the process */
	uint64_t lines, ranks;
	uint32_t cnt, line_len;
};

/* The line of a function's instruction word; 0: there is none, or the table is damaged. */
uint32_t ruby_line(const struct runtime_proc *r, const struct ruby_lines *l, uint32_t word);

#endif /* RUBY_H */
