/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of Ruby in memory that was made up, as each version lays them out; and damaged ones. */
#include "unit.h"

#include <stdlib.h>

#include "cfi_make.h"
#include "runtime_make.h"
#include "symbols/runtimes/ruby.h"
#include "symbols/runtimes/runtimes_int.h"

#define VM_PTR (MAKE_BASE + 0x800)
#define VM (MAKE_BASE + 0x1000)
#define THREAD (MAKE_BASE + 0x1200)
#define HEAD (MAKE_BASE + 0x1300) /* of the list of threads */
#define EC (MAKE_BASE + 0x1400)
#define NATIVE (MAKE_BASE + 0x1500)
#define PTHREAD (MAKE_BASE + 0x1600)
#define STACK (MAKE_BASE + 0x2000)
#define STACK_LEN 0x1000
#define VALUES(n) (STACK + 0x100 + (n) * 8)
#define FUNC(n) (MAKE_BASE + 0x4000 + (n) * 0x40)
#define BODY(n) (MAKE_BASE + 0x5000 + (n) * 0x100)
#define TEXT(n) (MAKE_BASE + 0x6000 + (n) * 0x40)
#define BYTES (MAKE_BASE + 0x7000)
#define PATHS (MAKE_BASE + 0x7100)
#define CODE(n) (MAKE_BASE + 0x8000 + (n) * 0x100)
#define LINES (MAKE_BASE + 0x9000)
#define RANKS (MAKE_BASE + 0xc000)
#define FRAME_CNT 4
#define LONG (1u << 13)

static const struct runtime_make_symbol symbols[] = {
	{"ruby_current_vm_ptr", VM_PTR - MAKE_BIAS, 8}, {"rb_vm_exec", 0x500, 0x100},
	{"ruby_version", MAKE_BASE - MAKE_BIAS, 6}};

static uint64_t frame_addr(const struct ruby_layout *at, unsigned n)
{
	return STACK + STACK_LEN - (uint64_t)(FRAME_CNT + 1 - n) * at->frame_len;
}

/* In its own place where it is short; with its bytes elsewhere where it is not. */
static void text(struct runtime_make *m, const struct ruby_layout *at, uint64_t addr,
		 const char *s)
{
	uint64_t len = strlen(s), flags = 5;

	if (len > 15) {
		runtime_make_put(m, addr, flags | LONG);
		runtime_make_put(m, addr + 16, len);
		runtime_make_put(m, addr + 24, BYTES);
		runtime_make_put_bytes(m, BYTES, s, len);
		return;
	}
	runtime_make_put(m, addr, at->long_strings ? flags : flags | len << 14);
	if (at->long_strings)
		runtime_make_put(m, addr + 16, len);
	runtime_make_put_bytes(m, addr + (at->long_strings ? 24 : 16), s, len);
}

/* Of three words, the first on line 10, the others on line 12. */
static void func(struct runtime_make *m, const struct ruby_layout *at, unsigned n,
		 const char *name)
{
	uint64_t head = 3ull << 32, b = BODY(n);

	runtime_make_put(m, FUNC(n), 0x701a);
	runtime_make_put(m, FUNC(n) + 16, b);
	runtime_make_put(m, b, head);
	runtime_make_put(m, b + 8, CODE(n));
	runtime_make_put(m, b + 64, n ? PATHS : TEXT(8));
	runtime_make_put(m, b + 80, TEXT(n));
	runtime_make_put(m, b + 88, at->long_strings ? 9 : 19);
	runtime_make_put(m, b + at->body_lines, LINES);
	runtime_make_put(m, b + at->body_lines + 16, 2);
	runtime_make_put(m, b + at->body_lines + 24, RANKS);
	text(m, at, TEXT(n), name);
}

static void frame(struct runtime_make *m, const struct ruby_layout *at, unsigned n, uint64_t flags)
{
	uint64_t addr = frame_addr(at, n);

	runtime_make_put(m, addr, flags & 0x80 ? 0 : CODE(n) + (uint64_t)n * 8);
	runtime_make_put(m, addr + 16, flags & 0x80 ? 0 : FUNC(n));
	runtime_make_put(m, addr + 32, VALUES(n));
	runtime_make_put(m, VALUES(n), flags);
}

static void thread(struct runtime_make *m, const struct ruby_layout *at)
{
	uint64_t native = at->thread_nt ? NATIVE : THREAD;

	runtime_make_put(m, VM_PTR, VM);
	runtime_make_put(m, VM + at->vm_main, THREAD);
	runtime_make_put(m, THREAD, HEAD);
	runtime_make_put(m, HEAD, THREAD);
	runtime_make_put(m, THREAD + at->thread_vm, VM);
	runtime_make_put(m, THREAD + at->thread_ec, EC);
	if (at->thread_nt)
		runtime_make_put(m, THREAD + at->thread_nt, NATIVE);
	runtime_make_put(m, native + at->native_pthread, PTHREAD);
	runtime_make_put(m, PTHREAD + 0x10, PTHREAD);
	runtime_make_put(m, PTHREAD + 0x2d0, 4711);
	runtime_make_put(m, EC, STACK);
	runtime_make_put(m, EC + 8, STACK_LEN / 8);
	runtime_make_put(m, EC + 16, frame_addr(at, 0));
}

/* A function of C, called by a block, called by C out of the program. */
static struct runtime_make *shop(const char *version)
{
	static struct runtime_make m;
	const struct ruby_layout *at = ruby_layout_of(version);
	const uint64_t line_len = at ? at->line_len : 8;

	m = (struct runtime_make){.name = "libruby.so", .rodata = "", .symbols = symbols,
				  .symbol_cnt = 3};
	runtime_make_put_bytes(&m, MAKE_BASE, version, strlen(version));
	if (!at)
		return &m;
	thread(&m, at);
	func(&m, at, 1, "block in sell");
	func(&m, at, 3, "<main>");
	text(&m, at, TEXT(8), "/srv/shop/shop.rb");
	runtime_make_put(&m, PATHS, 7 | LONG);
	runtime_make_put(&m, PATHS + 16, TEXT(8));
	runtime_make_put(&m, LINES, 10);
	runtime_make_put(&m, LINES + line_len, 12);
	runtime_make_put(&m, RANKS, 1 | 2 << 7 | 2 << 14);
	frame(&m, at, 0, 0x55550081);
	frame(&m, at, 1, 0x22220021);
	frame(&m, at, 2, 0x55550081);
	frame(&m, at, 3, 0x77770021);
	return &m;
}

static void is_stack(struct runtime_make *m, struct runtime_proc *r, const char *want)
{
	char *got = runtime_make_stack(m, r);

	EQ_S(got, want);
	free(got);
}

#define WHOLE "\nblock in sell /srv/shop/shop.rb:10|\n\n<main> /srv/shop/shop.rb:12|\n"

TEST(ruby_frames_of_each_version)
{
	static const char *const versions[] = {"2.7.4", "3.0.1", "3.1.2", "3.2.3", "3.3.8",
					       "3.4.5"};

	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		struct runtime_make *m = shop(versions[i]);
		struct runtime_proc *r = runtime_make_open(m);
		struct runtime_thread t[4];

		ROW(i);
		OK(r);
		EQ_S(runtime_version(r), versions[i]);
		EQ_I(runtime_threads(r, t, 4), 1);
		EQ_U(t[0].ns_tid, 4711);
		is_stack(m, r, WHOLE);
		runtime_free(r);
	}
}

TEST(ruby_that_is_not_known_is_refused)
{
	static const struct row {
		const char *version;
		uint64_t addr, value;
		const char *err;
	} rows[] = {
		{"1.9.3", VM, 0, "is not known"},     {"9.9.9", VM, 0, "is not known"},
		{"x.y", VM, 0, "unknown version"},    {"3.1.2", VM_PTR, 0, "not started"},
		{"3.1.2", VM + 40, 0, "main thread"}, {"3.1.2", THREAD + 32, 1, "main thread"},
		{"3.1.2", EC + 16, STACK + 8, "another length"},
		{"3.1.2", EC + 8, UINT64_MAX / 8, "another length"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct runtime_make *m = shop(rows[i].version);

		ROW(i);
		runtime_make_put(m, rows[i].addr, rows[i].value);
		OK(!runtime_make_open(m));
		OK(strstr(m->err.msg, rows[i].err));
	}
}

/* Variables lead to the machine, instructions to the loop. */
static struct runtime_make *hidden(void)
{
	static const struct runtime_make_symbol version = {"ruby_version", MAKE_BASE - MAKE_BIAS,
							   6};
	struct runtime_make *m = shop("3.3.8");

	m->symbols = &version;
	m->symbol_cnt = 1;
	m->bss = VM_PTR - 0x103 - MAKE_BIAS;
	m->bss_len = 0x200;
	m->loop = CFI_MAKE_TEXT + 0x100;
	m->loop_len = 0x80;
	runtime_make_put(m, CODE(1), MAKE_BIAS + m->loop + 0x7f);
	runtime_make_put(m, VM_PTR - 8, THREAD); /* other variables */
	runtime_make_put(m, VM_PTR - 16, UINT64_MAX - 7);
	runtime_make_put(m, VM_PTR - 24, MAKE_BIAS + 8);
	return m;
}

TEST(ruby_without_symbols_is_found_by_what_it_has)
{
	struct runtime_make *m = hidden();
	struct runtime_proc *r = runtime_make_open(m);
	struct runtime_range loops[RUNTIME_LOOP_MAX];

	EQ_S(m->err.msg, "");
	EQ_U(runtime_loops(r, loops), 1);
	EQ_U(loops[0].start, MAKE_BIAS + m->loop);
	EQ_U(loops[0].end, MAKE_BIAS + m->loop + m->loop_len);
	is_stack(m, r, WHOLE);
	runtime_free(r);
	m = hidden();
	runtime_make_put(m, THREAD + 32, VM + 8); /* it does not lead back */
	OK(!runtime_make_open(m));
	OK(strstr(m->err.msg, "no virtual machine"));
	m = hidden();
	runtime_make_put(m, EC + 16, STACK + 8);
	OK(!runtime_make_open(m));
	m = hidden();
	runtime_make_put(m, CODE(1), MAKE_BIAS + m->loop + 0x80);
	OK(!runtime_make_open(m));
	OK(strstr(m->err.msg, "no loop"));
	m = hidden();
	m->bss_len = UINT64_MAX - m->bss; /* all pointers would be the library's own */
	OK(!runtime_make_open(m));
}

/* Each makes one thing other than it should be, after the process was opened. */
TEST(ruby_frames_that_are_damaged)
{
	static const struct row {
		uint64_t addr, value;
		const char *want;
	} rows[] = {
		{FUNC(1), 0x601a, "bad"},	     /* another internal object */
		{FUNC(1), 0, "bad"},
		{FUNC(1) + 16, 0x7fffffffff00, "bad"}, /* no body */
		{BODY(1) + 80, FUNC(1), "bad"},	     /* no string */
		{BODY(1) + 80, 3, "bad"},
		{TEXT(8) + 16, INT64_MAX, "bad"},    /* a length */
		{TEXT(8) + 24, 0x7fffffffff00, "bad"},
		{EC + 16, STACK, "bad"},	     /* zeros before the frames */
		{EC + 8, UINT64_MAX, ""},	     /* it ends before it begins */
		{PATHS + 16, PATHS, "bad"},	     /* an array in itself */
		{BODY(3) + 8, CODE(0), "\nblock in sell /srv/shop/shop.rb:10|\n\n"
				       "<main> /srv/shop/shop.rb:0|\n"},
		{RANKS, UINT64_MAX, "\nblock in sell /srv/shop/shop.rb:0|\n\n"
				    "<main> /srv/shop/shop.rb:0|\n"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct runtime_make *m = shop("3.1.2");
		struct runtime_proc *r = runtime_make_open(m);

		ROW(i);
		runtime_make_put(m, rows[i].addr, rows[i].value);
		is_stack(m, r, rows[i].want);
		runtime_free(r);
	}
}

TEST(ruby_lists_of_threads_end)
{
	struct runtime_make *m = shop("3.1.2");
	struct runtime_proc *r = runtime_make_open(m);
	static struct runtime_thread t[RUNTIME_THREAD_MAX];

	runtime_make_put(m, HEAD, HEAD); /* round, but never to the first */
	EQ_I(runtime_threads(r, t, RUNTIME_THREAD_MAX), 1);
	runtime_make_put(m, HEAD, 8);
	OK(runtime_threads(r, t, RUNTIME_THREAD_MAX) < 0);
	runtime_make_put(m, PTHREAD + 0x10, 0); /* no glibc: what Ruby kept */
	runtime_make_put(m, THREAD + 88, 4712);
	runtime_make_put(m, HEAD, THREAD);
	EQ_I(runtime_threads(r, t, 1), 1);
	EQ_U(t[0].ns_tid, 4712);
	runtime_free(r);
}

#define WORDS 3000u

/* Which words begin a line: irregular, so that no block is as another. */
static bool begins(uint32_t word)
{
	return word == 0 || word * 2654435761u >> 29 == 0;
}

static uint32_t begins_before(uint32_t word)
{
	uint32_t cnt = 0;

	for (uint32_t i = 0; i < word; i++)
		cnt += begins(i);
	return cnt;
}

static void ranks_make(struct runtime_make *m)
{
	for (uint32_t i = 0; i < 6; i++) {
		uint64_t word = 0;

		for (uint32_t k = 0; k < 9; k++)
			word |= (uint64_t)begins_before(i * 9 + k + 1) << k * 7;
		runtime_make_put(m, RANKS + i * 8, word);
	}
	for (uint32_t at = 54, i = 0; at < WORDS; at += 512, i++) {
		uint64_t block = RANKS + 48 + i * 80, sums = 0, first = begins_before(at);

		runtime_make_put(m, block, first);
		for (uint32_t k = 0; k < 8; k++) {
			uint64_t bits = 0;

			for (uint32_t b = 0; b < 64; b++)
				bits |= (uint64_t)begins(at + k * 64 + b) << b;
			runtime_make_put(m, block + 16 + k * 8, bits);
			if (k)
				sums |= (begins_before(at + k * 64) - first) << (k - 1) * 9;
		}
		runtime_make_put(m, block + 8, sums);
	}
}

TEST(ruby_lines_of_each_word)
{
	struct runtime_make *m = shop("3.1.2");
	struct runtime_proc *r = runtime_make_open(m);
	struct ruby_lines l = {LINES, RANKS, begins_before(WORDS), 12};

	ranks_make(m);
	for (uint32_t i = 0; i < l.cnt; i++)
		runtime_make_put(m, LINES + (uint64_t)i * 12, i + 1000);
	for (uint32_t i = 0; i < WORDS; i++) {
		ROW(i);
		EQ_U(ruby_line(r, &l, i), 999 + begins_before(i + 1));
	}
	l.cnt = 3; /* fewer lines than the table counts */
	EQ_U(ruby_line(r, &l, WORDS - 1), 0);
	EQ_U(ruby_line(r, &l, UINT32_MAX), 0);
	l.cnt = 0;
	EQ_U(ruby_line(r, &l, 0), 0);
	runtime_free(r);
}
