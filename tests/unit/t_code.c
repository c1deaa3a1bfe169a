/* SPDX-License-Identifier: Apache-2.0 */
/* What the unwinder in the kernel is told: mappings and tables. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "collect/code/code_int.h"
#include "collect/emit.h"
#include "collect/proc/mappings.h"
#include "collect/code/unw_layout.h"
#include "symbols/names/symbols.h"
#include "unit.h"

TEST(mappings_lines)
{
	struct mappings m = {0};
	static const struct {
		const char *line;
		int rc;
	} rows[] = {
		{"55a0-55b0 r--p 00000000 fe:01 77                 /bin/x", 0},
		{"55000-57000 r-xp 00001000 fe:01 77                 /bin/x y (deleted)", 1},
		{"57000-58000 r-xp 00000000 00:00 0 ", 1},
		{"58000-59000 rwxp 00000000 00:00 0                  [anon:jit]", 1},
		{"5a000-5b000 r-xp 00000000 00:00 0                  [vdso]", 1},
		{"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]", 0},
		{"5a000-5c000 r-xp 00000000 00:00 0 ", -EINVAL}, /* overlaps */
		{"5d000-5d000 r-xp 00000000 00:00 0 ", -EINVAL},
		{"5d010-5e000 r-xp 00000000 00:00 0 ", -EINVAL},
		{"5d000-ffff800000000000 r-xp 00000000 00:00 0 ", -EINVAL},
		{"5d000-5e000 r-xp zz 00:00 0 ", -EINVAL},
		{"5d000-5e000 r-x", -EINVAL},
		{"", -EINVAL},
		{"5d000-5e000 r-xp 00000000 fe:01 9 /a\\012b", 1},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		ROW(i);
		EQ_I(mappings_add_line(&m, rows[i].line), rows[i].rc);
	}
	EQ_U(m.items.cnt, 4);
	EQ_S(m.items.items[0].path, "/bin/x y");
	OK(m.items.items[0].deleted && m.items.items[0].kind == MAPPING_FILE);
	EQ_U(m.items.items[0].off, 0x1000);
	EQ_U(m.items.items[0].ino, 77);
	/* two that touch and have no file are one */
	EQ_I(m.items.items[1].kind, MAPPING_CODE);
	EQ_U(m.items.items[1].end, 0x59000);
	EQ_I(m.items.items[2].kind, MAPPING_VDSO);
	EQ_S(m.items.items[3].path, "/a\nb");
	mappings_release(&m);
}

TEST(mappings_are_bounded)
{
	struct mappings m = {0};
	char line[100];

	for (unsigned i = 0; i < MAPPINGS_MAX + 5; i++) {
		snprintf(line, sizeof(line), "%x-%x r-xp 00000000 fe:01 7 /x", i << 13,
			 (i << 13) + 4096);
		mappings_add_line(&m, line);
	}
	EQ_U(m.items.cnt, MAPPINGS_MAX);
	EQ_U(m.cut_cnt, 5);
	mappings_release(&m);
}

TEST(mappings_of_this_process)
{
	struct mappings m = {0};
	bool opened = false;

	EQ_I(mappings_read((uint32_t)getpid(), &m), 0);
	EQ_U(m.odd_cnt, 0);
	VEC_FOREACH(&m.items, one) {
		uint64_t here = (uint64_t)(uintptr_t)&mappings_read;
		int fd;

		if (here < one->start || here >= one->end)
			continue;
		fd = mapping_open((uint32_t)getpid(), one);
		OK(fd >= 0);
		opened = true;
		close(fd);
	}
	OK(opened);
	mappings_release(&m);
	EQ_I(mappings_read(0x7fffffff, &m), -ESRCH);
}

/* The path now leads elsewhere: not to be opened in place of what is mapped. */
TEST(mappings_replaced_file)
{
	struct mapping m = {
		.start = 0x1000, .end = 0x2000, .ino = 1, .path = (char *)"/etc/passwd"};

	EQ_I(mapping_open((uint32_t)getpid(), &m), -ENOENT);
	m.path = (char *)"/dev/null";
	EQ_I(mapping_open((uint32_t)getpid(), &m), -ENOENT);
	m.deleted = true;
	EQ_I(mapping_open((uint32_t)getpid(), &m), -ENOENT);
}

static unsigned long rand_state = 1;

static unsigned rnd(unsigned below)
{
	rand_state = rand_state * 6364136223846793005ul + 1442695040888963407ul;
	return (unsigned)(rand_state >> 33) % below;
}

static void check_layout(const struct unw_row *rows, size_t cnt, uint32_t text_len)
{
	struct unw_layout l = {0};
	size_t at = 0;

	EQ_I(unw_layout_make(rows, cnt, NULL, 0, text_len, &l), 0);
	for (uint32_t off = 0; off < text_len; off++) {
		struct unw_row got = unw_layout_row(&l, off);

		while (at < cnt && rows[at].pc <= off)
			at++;
		if (at ? got.pc != rows[at - 1].pc || got.kind != rows[at - 1].kind
		       : got.kind != UNW_NONE)
			FAIL("%u of %u: row of %u", off, text_len, got.pc);
	}
	unw_layout_release(&l);
}

TEST(layout_finds_each_row)
{
	static const struct {
		unsigned cnt, gap_max, first;
	} shapes[] = {{1, 1, 0}, {1, 1, 5000}, {5000, 1, 0}, {3000, 3, 700}, {2000, 60, 100},
		      {900, 900, 1}, {60, 40000, 30000}};

	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		struct unw_row *rows = calloc(shapes[i].cnt, sizeof(*rows));
		uint32_t pc = shapes[i].first;

		ROW(i);
		OK(rows);
		for (unsigned k = 0; k < shapes[i].cnt; k++) {
			rows[k] = (struct unw_row){.pc = pc, .kind = (u8)(1 + k % 4)};
			pc += 1 + rnd(shapes[i].gap_max);
		}
		check_layout(rows, shapes[i].cnt, pc + 100);
		free(rows);
	}
}

TEST(layout_refuses)
{
	struct unw_row rows[] = {{.pc = 10, .kind = 1}, {.pc = 10, .kind = 1}, {.pc = 30}};
	struct unw_layout l = {0};

	EQ_I(unw_layout_make(rows, 0, NULL, 0, 100, &l), -ENODATA);
	EQ_I(unw_layout_make(rows, 2, NULL, 0, 100, &l), -EINVAL);
	rows[1].pc = 20;
	EQ_I(unw_layout_make(rows, 3, NULL, 0, 29, &l), -EINVAL);
	EQ_I(unw_layout_make(rows, 3, NULL, 1 << 17, 100, &l), -E2BIG);
	/* the last row may only end the one before */
	EQ_I(unw_layout_make(rows, 3, NULL, 0, 30, &l), 0);
	EQ_U(unw_layout_row(&l, 29).pc, 20);
	unw_layout_release(&l);
}

TEST(layout_keeps_rules)
{
	struct unw_row rows[] = {{.pc = 0, .kind = UNW_EXT, .cfa_off = 299}};
	struct unw_ext *exts = calloc(300, sizeof(*exts));
	struct unw_layout l = {0};

	OK(exts);
	exts[299].cfa_off = 77;
	EQ_I(unw_layout_make(rows, 1, exts, 300, 4096, &l), 0);
	EQ_U(l.module.ext_cnt, 300);
	EQ_I(l.chunks[l.module.ext_chunk + 299 / UNW_CHUNK_EXTS].exts[299 % UNW_CHUNK_EXTS].cfa_off,
	     77);
	EQ_U(l.chunk_cnt, l.module.ext_chunk + 2);
	unw_layout_release(&l);
	free(exts);
}

static const struct code_fds NO_FDS = {-1, -1, -1, -1, -1, -1};

static void use_set(struct code *c, uint32_t tgid, uint32_t set)
{
	vec_push(&c->new_procs, ((struct code_entry){tgid, {.set = set}}));
}

static struct code *all_sets_used(void)
{
	struct code *c = code_new(&NO_FDS, symbols_new(NULL));

	for (uint32_t i = 1; i < UNW_SET_MAX; i++)
		*vec_add(&c->sets) = (struct code_set){.hash = i, .used = true};
	return c;
}

static void done(struct code *c)
{
	symbols_free(c->syms);
	code_free(c);
}

/* The kernel side does not know yet of what is in the batch. */
TEST(code_set_is_given_out_once)
{
	struct code *c = all_sets_used();

	use_set(c, 100, 1);
	use_set(c, 101, 3);
	EQ_U(code_set_slot(c), 2);
	c->sets.items[1].used = true;
	EQ_U(code_set_slot(c), 4);
	done(c);
}

TEST(code_without_room_may_ask_again)
{
	struct code *c = all_sets_used();
	uint32_t tgid = (uint32_t)getpid();

	for (uint32_t i = 1; i < UNW_SET_MAX; i++)
		use_set(c, 100000 + i, i);
	code_scan(c, tgid, clock_mono_ns());
	EQ_U(c->new_procs.cnt, UNW_SET_MAX);
	EQ_U(c->new_procs.items[UNW_SET_MAX - 1].tgid, tgid);
	EQ_U(c->new_procs.items[UNW_SET_MAX - 1].proc.asked, 0);
	EQ_U(c->new_procs.items[UNW_SET_MAX - 1].proc.exec_vm, 0);
	OK(c->sets_full);
	done(c);
}

TEST(code_keeps_who_asked)
{
	struct code *c = code_new(&NO_FDS, symbols_new(NULL));
	uint64_t idx = 0;

	code_ask(c, &(struct wire_maps){.tgid = 7}, clock_mono_ns());
	for (uint32_t tgid = 100; c->procs.cnt < 65536; tgid++) {
		code_ask(c, &(struct wire_maps){.tgid = tgid}, clock_mono_ns());
		code_forget(c, tgid);
	}
	code_ask(c, &(struct wire_maps){.tgid = 8}, clock_mono_ns());
	EQ_U(c->procs.cnt, 2);
	OK(hmap_get(&c->proc_idx, 7, &idx));
	OK(c->procs.items[idx - 1].tgid == 7 && c->procs.items[idx - 1].asked);
	OK(hmap_get(&c->proc_idx, 8, &idx));
	OK(c->procs.items[idx - 1].tgid == 8 && c->procs.items[idx - 1].asked);
	done(c);
}

static int last_note(void *ctx, const struct event_hdr *h)
{
	char *text = ctx;

	if (h->kind == EV_STR) {
		const struct ev_str *e = (const void *)h;

		snprintf(text, 200, "%.*s", (int)e->len, (const char *)(e + 1));
	}
	return 0;
}

/* Many files that are slow to read: the time for all of them is bounded. */
TEST(code_leaves_files_unread)
{
	struct code *c = code_new(&NO_FDS, symbols_new(NULL));
	char text[200] = "";
	struct event_sink sink = {.put = last_note, .ctx = text};
	struct mappings maps = {0};
	struct emit emit = {0};
	uint64_t file_cnt = 0;

	EQ_I(mappings_read((uint32_t)getpid(), &maps), 0);
	c->stats.build_ns = 5 * NS_PER_SEC;
	for (int twice = 0; twice < 2; twice++) {
		file_cnt = 0;
		VEC_FOREACH(&maps.items, m) {
			file_cnt += m->kind == MAPPING_FILE || m->kind == MAPPING_VDSO;
			OK(!code_module(c, (uint32_t)getpid(), m));
		}
	}
	OK(file_cnt > 1);
	EQ_U(c->stats.unread_cnt, file_cnt);
	OK(c->full);
	emit_to(&emit, &sink);
	code_announce_unread(c, &emit, 1);
	OK(strstr(text, " files with code were not read, for reading "));
	emit_release(&emit);
	mappings_release(&maps);
	done(c);
}

/* What is left out for a bound is said. */
TEST(code_tells_what_it_leaves_out)
{
	struct code *c = code_new(&NO_FDS, symbols_new(NULL));
	char text[200] = "";
	struct event_sink sink = {.put = last_note, .ctx = text};
	struct emit emit = {0};

	emit_to(&emit, &sink);
	code_announce_unread(c, &emit, 1);
	EQ_S(text, "");
	c->stats.over_cnt = c->stats.refused_cnt = 2;
	code_announce_unread(c, &emit, 1);
	HAS(text, "2 files with code would take too much memory");
	c->stats.refused_cnt = 5;
	code_announce_unread(c, &emit, 1);
	HAS(text, "3 files with code are damaged or over a limit: stacks through them may be ");
	c->stats.over_cnt = c->stats.refused_cnt = 0;
	c->stats.cut_cnt = 3;
	code_announce_unread(c, &emit, 1);
	HAS(text, "over 16384 mappings with code in a process (seen 3 times)");
	emit_release(&emit);
	done(c);
}

/* The program, a library that both have, one that each has of its own. */
TEST(code_program_is_what_two_processes_agree_in)
{
	static const struct unw_map a[] = {
		{.start = 0x1000, .base = 0x1000, .page_cnt = 2, .module = 1},
		{.start = 0x70000, .base = 0x70000, .page_cnt = 3, .module = 2},
		{.start = 0x80000, .base = 0x7f000, .page_cnt = 4, .module = 3},
		{.start = 0x90000, .page_cnt = 1}, /* made at run time */
	};
	static const struct unw_map b[] = {
		{.start = 0x5000, .base = 0x5000, .page_cnt = 2, .module = 1},
		{.start = 0x60000, .base = 0x60000, .page_cnt = 3, .module = 4},
		{.start = 0x8a000, .base = 0x89000, .page_cnt = 4, .module = 3},
		{.start = 0x9a000, .page_cnt = 1},
	};
	struct unw_program x = {.start_code = 0x1000, .mmap_base = 0xa0000, .code.cnt = 4};
	struct unw_program y = {.start_code = 0x5000, .mmap_base = 0xaa000, .code.cnt = 4};
	struct unw_program both;

	memcpy(x.code.maps, a, sizeof(a));
	memcpy(y.code.maps, b, sizeof(b));
	OK(code_program_agree(&x, &y, &both));
	EQ_U(both.start_code, 0x1000);
	EQ_U(both.mmap_base, 0xa0000);
	EQ_U(both.code.cnt, 2);
	EQ_U(both.code.maps[0].module, 1);
	EQ_U(both.code.maps[1].module, 3);
	EQ_U(both.code.maps[1].start, 0x80000);
	OK(both.code.maps[2].start >= INT64_MAX);
	y.code.maps[0].page_cnt = 3; /* another file of the same name */
	y.code.maps[2].start += 0x1000;
	OK(!code_program_agree(&x, &y, &both));
}
