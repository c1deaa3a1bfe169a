/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "cfi_make.h"
#include "symbols/unwind/cfi.h"
#include "symbols/names/fde.h"
#include "symbols/files/image.h"
#include "symbols/names/symtab.h"

static const char *const REGS[] = {"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp",
				   "r8",  "r9",	 "r10", "r11", "r12", "r13", "r14", "r15"};

static void say_place(struct buf *out, const char *what, uint8_t base, int32_t off)
{
	static const char *const bases[] = {"c", "", "rsp", "rbp"};

	if (base == UNW_B_REG)
		buf_printf(out, " %s=%s", what, REGS[off]);
	else if (base != UNW_B_SAME)
		buf_printf(out, " %s=[%s%+d]", what, bases[base], off);
}

static void say_ext(struct buf *out, const struct unw_ext *x)
{
	buf_printf(out, x->flags & UNW_X_DEREF ? "*(%s%+d)" : "%s%+d", REGS[x->cfa_reg],
		   x->cfa_off);
	if (x->flags & UNW_X_PLT) {
		buf_printf(out, " plt>=%d", x->ra_off);
		return;
	}
	if (x->flags >> UNW_X_ADD)
		buf_printf(out, "+%d", (x->flags >> UNW_X_ADD) * 8);
	if (x->flags & UNW_X_SIGNAL)
		buf_adds(out, " signal");
	if (x->flags & UNW_X_RBX)
		buf_printf(out, " rbx%+d", x->ra_off);
	else
		say_place(out, "ra", x->ra_base, x->ra_off);
	say_place(out, "bp", x->rbp_base, x->rbp_off);
}

/* "0 rsp+8; 4 rbp+16 bp-16; 9 none": pc, CFA, where the caller's rbp is. */
static void say(struct buf *out, const struct cfi_table *t)
{
	for (size_t i = 0; i < t->row_cnt; i++) {
		const struct unw_row *r = &t->rows[i];

		buf_printf(out, "%s%u ", i ? "; " : "", r->pc);
		switch (r->kind & UNW_CFA_MASK) {
		case UNW_RSP:
		case UNW_RBP:
			buf_printf(out, r->kind & UNW_RBP ? "rbp+%d" : "rsp+%d",
				   r->cfa_off * 8);
			if (r->kind & UNW_RBP_SAVED)
				buf_printf(out, " bp%+d", r->rbp_off * 8);
			break;
		case UNW_EXT:
			say_ext(out, &t->exts[r->cfa_off]);
			break;
		default:
			buf_adds(out, r->kind == UNW_LAST ? "last" : "none");
		}
	}
}

static int build(struct cfi_make *c, struct cfi_table *t, struct err *err)
{
	struct elf_make e = {0};
	struct image *im = cfi_make_image(c, &e);
	int ret = cfi_build(im, t, err);

	if (ret == 0)
		EQ_I(cfi_check(t, err), 0);
	image_free(im);
	elf_make_release(&e);
	cfi_make_release(c);
	return ret;
}

#define PROG(text) text, sizeof(text) - 1

static const struct {
	const char *prog;
	size_t len;
	const char *want; /* of a function of 100 bytes at 0 */
} programs[] = {
	{PROG(""), "0 rsp+8; 100 none"},
	/* push rbp; mov rsp,rbp; ...; leave */
	{PROG("\x41\x0e\x10\x86\2\x43\x0d\6\x60\x0c\7\x08"),
	 "0 rsp+8; 1 rsp+16 bp-16; 4 rbp+16 bp-16; 36 rsp+8 bp-16; 100 none"},
	/* restore of one register, remembered states around an early return */
	{PROG("\x41\x0e\x10\x86\2\x0a\x42\x0e\x08\xc6\x41\x0b"),
	 "0 rsp+8; 1 rsp+16 bp-16; 3 rsp+8; 4 rsp+16 bp-16; 100 none"},
	/* all widths of advance; equal rules melt */
	{PROG("\2\1\x0e\x10\3\2\0\x0e\x18\4\3\0\0\0\x0e\x18\x41\x0e\x20"),
	 "0 rsp+8; 1 rsp+16; 3 rsp+24; 7 rsp+32; 100 none"},
	/* beyond the function's end */
	{PROG("\2\x63\x0e\x10\x41\x0e\x18"), "0 rsp+8; 99 rsp+16; 100 none"},
	/* other registers are stepped over */
	{PROG("\x41\x83\3\x8f\4\5\x0c\5\x11\x0d\x7b\7\1\x08\2\xc3\6\x0c\x2e\x10\x0e\x10"),
	 "0 rsp+8; 1 rsp+16; 100 none"},
	/* def_cfa_sf, def_cfa_offset_sf, offset_extended_sf, negative_offset_extended of rbp */
	{PROG("\x41\x12\6\x7e\x41\x13\x7d\x41\x11\6\2\x41\x2f\6\3"),
	 "0 rsp+8; 1 rbp+16; 2 rbp+24; 3 rbp+24 bp-16; 4 rbp+24 bp+24; 100 none"},
	/* GCC's realigned stack: r10, then *(rbp - 8), rbp saved at rbp */
	{PROG("\x45\x0c\x0a\0\x4b\x10\6\2\x76\0\x43\x0f\3\x76\x78\6"),
	 "0 rsp+8; 5 r10+0 ra=[c-8]; 16 r10+0 ra=[c-8] bp=[rbp+0]; "
	 "19 *(rbp-8) ra=[c-8] bp=[rbp+0]; 100 none"},
	/* ld.so's lazy resolver: with a CFA on rbx all rows say where the caller's is */
	{PROG("\x41\x0e\x10\x83\2\x43\x0d\3"),
	 "0 rsp+8 rbx+0; 1 rsp+16 rbx-16; 4 rbx+16 rbx-16; 100 none"},
	/* OpenSSL's */
	{PROG("\x41\x0f\6\x77\x98\1\6\x23\x08"), "0 rsp+8; 1 *(rsp+152)+8 ra=[c-8]; 100 none"},
	/* a PLT */
	{PROG("\x0e\x10\x46\x0e\x18\x4a\x0f\x0b\x77\x08\x80\0\x3f\x1a\x3b\x2a\x33\x24\x22"),
	 "0 rsp+16; 6 rsp+24; 16 rsp+8 plt>=11; 100 none"},
	/* vfork: the return address is popped into a register */
	{PROG("\x41\x0e\0\x09\x10\5"), "0 rsp+8; 1 rsp+0 ra=rdi; 100 none"},
	{PROG("\7\x10"), "0 last; 100 none"},
	/* too far away for a row: rbp 2 KiB below the CFA, a frame of 1 MiB + 4 */
	{PROG("\x41\x86\xff\1\x41\x0e\x84\x80\x40"),
	 "0 rsp+8; 1 rsp+8 ra=[c-8] bp=[c-2040]; 2 rsp+1048580 ra=[c-8] bp=[c-2040]; 100 none"},
	/* no form here: rsp elsewhere, an expression with an addition, a value */
	{PROG("\x41\x09\7\x08\x41"), "0 rsp+8; 1 none"},
	{PROG("\x41\x0f\4\x77\0\x31\x22"), "0 rsp+8; 1 none"},
	{PROG("\x41\x16\6\2\x77\0"), "0 rsp+8; 1 none"},
	{PROG("\x41\x0e\xff\xff\xff\xff\xff\xff\x7f"), "0 rsp+8; 1 none"},
	/* a change of the offset of what is no register and offset */
	{PROG("\x41\x0f\3\x77\0\6\x42\x0e\x10"), "0 rsp+8; 1 *(rsp+0) ra=[c-8]; 3 none"},
	/* damaged: nothing is known of it */
	{PROG("\x41\x0e\x10\x0b"), "0 none"},
	{PROG("\x41\x0e\x10\x3f"), "0 none"},
	{PROG("\x41\x0f\x7f"), "0 none"},
	{PROG("\xa\xa\xa\xa\xa\xa\xa\xa\xa\xa\xa\xa\xa\xa\xa\xa\xa"), "0 none"},
};

TEST(cfi_programs)
{
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		struct cfi_make c = {0};
		struct cfi_table t = {0};
		struct err err = {0};
		struct buf got = {0};

		ROW(i);
		cfi_make_fde(&c, cfi_make_cie(&c, "zR", 0x1b), 0, 100, programs[i].prog,
			     programs[i].len);
		EQ_I(build(&c, &t, &err), 0);
		say(&got, &t);
		EQ_S(buf_str(&got), programs[i].want);
		EQ_U(t.fde_cnt, 1);
		buf_release(&got);
		cfi_release(&t);
	}
}

TEST(cfi_encodings_and_augmentations)
{
	static const struct {
		const char *aug;
		uint8_t enc;
		bool debug;
		int want;
	} rows[] = {
		{"zR", 0x1b, false, 0}, {"zR", 0x1c, false, 0}, {"zR", 0x03, false, 0},
		{"zR", 0x00, false, 0}, {"zR", 0x04, false, 0}, {"", 0x00, false, 0},
		{"zPLR", 0x1b, false, 0}, {"zPR", 0x1b, false, 0}, {"", 0x00, true, 0},
		{"B", 0x00, true, 0},
		{"zR", 0x2b, false, -EBADMSG}, /* relative to .text */
		{"zR", 0x3b, false, -EBADMSG}, /* to data */
		{"eh", 0x00, false, -EBADMSG},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct cfi_make c = {.debug = rows[i].debug};
		struct cfi_table t = {0};
		struct err err = {0};
		struct buf got = {0};
		size_t cie = cfi_make_cie(&c, rows[i].aug, rows[i].enc);

		ROW(i);
		cfi_make_fde(&c, cie, 0x20, 100, PROG("\x41\x0e\x10"));
		EQ_I(build(&c, &t, &err), rows[i].want);
		if (rows[i].want == 0) {
			say(&got, &t);
			EQ_S(buf_str(&got), "32 rsp+8; 33 rsp+16; 132 none");
		}
		buf_release(&got);
		cfi_release(&t);
	}
}

TEST(cfi_signal_frame)
{
	/* glibc's __restore_rt, less the registers that are not followed */
	static const char prog[] = "\x0f\4\x77\xa0\1\6\x10\6\3\x77\xf8\0\x10\7\3\x77\xa0\1"
				   "\x10\x10\3\x77\xa8\1";
	struct cfi_make c = {0};
	struct cfi_table t = {0};
	struct err err = {0};
	struct buf got = {0};

	cfi_make_fde(&c, cfi_make_cie(&c, "zRS", 0x1b), 15, 10, prog, sizeof(prog) - 1);
	EQ_I(build(&c, &t, &err), 0);
	say(&got, &t);
	EQ_S(buf_str(&got), "15 *(rsp+160) signal ra=[rsp+168] bp=[rsp+120]; 25 none");
	buf_release(&got);
	cfi_release(&t);
}

/* Out of order, touching, apart, overlapping, twice, outside. */
TEST(cfi_order)
{
	struct cfi_make c = {0};
	struct cfi_table t = {0};
	struct err err = {0};
	struct buf got = {0};
	size_t cie = cfi_make_cie(&c, "zR", 0x1b);

	cfi_make_fde(&c, cie, 300, 100, PROG("\x0e\x18"));
	cfi_make_fde(&c, cie, 100, 50, PROG("\x0e\x20"));
	cfi_make_fde(&c, cie, 150, 50, PROG("\x0e\x28"));
	cfi_make_fde(&c, cie, 350, 10, PROG("\x0e\x30"));
	cfi_make_fde(&c, cie, 350, 90, PROG("\x0e\x38"));
	cfi_make_fde(&c, cie, 205, 10, PROG("\x0e\x40"));
	cfi_make_fde(&c, cie, CFI_MAKE_TEXT_LEN - 8, 10, PROG("\x0e\x48"));
	cfi_make_fde(&c, cie, (uint64_t)-8, 10, PROG("\x0e\x48"));
	EQ_I(build(&c, &t, &err), 0);
	say(&got, &t);
	EQ_S(buf_str(&got), "100 rsp+32; 150 rsp+40; 205 rsp+64; 215 none; 300 rsp+24; "
			    "350 rsp+48; 360 none");
	EQ_U(t.fde_cnt, 8);
	EQ_U(t.bad_cnt, 3);
	OK(!cfi_row(&t, 99));
	EQ_U(cfi_row(&t, 100)->pc, 100);
	EQ_U(cfi_row(&t, 299)->pc, 215);
	EQ_U(cfi_row(&t, UINT32_MAX)->pc, 360);
	buf_release(&got);
	cfi_release(&t);
}

/* Code compiled for .debug_frame beside objects that brought .eh_frame and its table. */
TEST(bounds_from_debug_frame)
{
	for (int with_eh = 0; with_eh < 2; with_eh++) {
		struct cfi_make eh = {0}, debug = {.debug = true};
		struct symtab_bounds *bounds = NULL;
		struct elf_make e = {0};
		struct err err = {0};
		struct image *im;
		size_t cnt = 0;
		size_t cie = cfi_make_cie(&debug, "", 0);

		ROW(with_eh);
		cfi_make_fde(&debug, cie, 0x300, 32, PROG(""));
		cfi_make_fde(&debug, cie, 0x200, 64, PROG(""));
		cfi_make_fde(&eh, cfi_make_cie(&eh, "zR", 0x1b), 0x100, 16, PROG(""));
		elf_make_begin(&e);
		elf_make_segment(&e, PT_LOAD, PF_R | PF_X, CFI_MAKE_TEXT, CFI_MAKE_TEXT_LEN);
		if (with_eh)
			elf_make_section(&e, ".eh_frame", SHT_PROGBITS, CFI_MAKE_FRAME,
					 eh.bytes.data, eh.bytes.len);
		elf_make_section(&e, ".debug_frame", SHT_PROGBITS, 0, debug.bytes.data,
				 debug.bytes.len);
		elf_make_end(&e);
		im = image_open_bytes(e.file.data, e.file.len, &err);
		OK(im);
		EQ_I(fde_bounds(im, &bounds, &cnt), 0);
		EQ_U(cnt, (size_t)2 + (size_t)with_eh);
		EQ_U(bounds[cnt - 2].pc, 0x200);
		EQ_U(bounds[cnt - 2].len, 64);
		EQ_U(bounds[cnt - 1].pc, 0x300);
		EQ_U(bounds[cnt - 1].len, 32);
		free(bounds);
		image_free(im);
		elf_make_release(&e);
		cfi_make_release(&eh);
		cfi_make_release(&debug);
	}
}

/*
 * lld's PLT has no FDE, GNU's has one that is not to be touched, but for a
 * static program's, whose entries only jump.
 */
TEST(cfi_plt_without_fde)
{
	static const uint8_t plain[48] = {0xff, 0x35};
	static const uint8_t endbr[48] = {0xff, 0x35, [16] = 0xf3, 0x0f, 0x1e, 0xfa};
	static const uint8_t jumps[48] = {0xff, 0x25, [8] = 0xff, 0x25};
	static const uint8_t endbr_jumps[48] = {0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25};
	static const struct {
		uint64_t fde_pc;
		const uint8_t *plt;
		const char *want;
	} rows[] = {
		{0x200, jumps, "256 rsp+8; 304 none; 512 rsp+8; 576 none"},
		{0x200, endbr_jumps, "256 rsp+8; 304 none; 512 rsp+8; 576 none"},
		{0x200, plain, "256 rsp+16; 262 rsp+24; 272 rsp+8 plt>=11; 304 none; "
			    "512 rsp+8; 576 none"},
		{0x200, endbr, "256 rsp+16; 262 rsp+24; 272 rsp+8 plt>=9; 304 none; "
			   "512 rsp+8; 576 none"},
		{0x100, plain, "256 rsp+8; 320 none"},
		{0xc8, plain, "200 rsp+8; 264 none"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct cfi_make c = {0};
		struct elf_make e = {0};
		struct cfi_table t = {0};
		struct err err = {0};
		struct buf got = {0};
		struct image *im;

		ROW(i);
		cfi_make_fde(&c, cfi_make_cie(&c, "zR", 0x1b), rows[i].fde_pc, 64, PROG(""));
		elf_make_begin(&e);
		elf_make_segment(&e, PT_LOAD, PF_R | PF_X, CFI_MAKE_TEXT, CFI_MAKE_TEXT_LEN);
		elf_make_section(&e, ".eh_frame", SHT_PROGBITS, CFI_MAKE_FRAME, c.bytes.data,
				 c.bytes.len);
		elf_make_section(&e, ".plt", SHT_PROGBITS, CFI_MAKE_TEXT + 0x100,
				 rows[i].plt, 48);
		elf_make_end(&e);
		im = image_open_bytes(e.file.data, e.file.len, &err);
		EQ_I(cfi_build(im, &t, &err), 0);
		say(&got, &t);
		EQ_S(buf_str(&got), rows[i].want);
		EQ_U(t.fde_cnt, 1);
		EQ_U(t.bad_cnt, 0);
		buf_release(&got);
		cfi_release(&t);
		image_free(im);
		elf_make_release(&e);
		cfi_make_release(&c);
	}
}

/* Every byte, changed in turn: a table that passes its check, or an error. */
TEST(cfi_survives_each_changed_byte)
{
	static const uint8_t values[] = {0, 1, 0x0b, 0x7f, 0x80, 0xff};
	struct cfi_make c = {0};
	struct elf_make e = {0};
	size_t ok_cnt = 0, cie = cfi_make_cie(&c, "zPLR", 0x1b);

	for (size_t i = 0; i < 4; i++)
		cfi_make_fde(&c, cie, 50 * i, 50, programs[i + 6].prog, programs[i + 6].len);
	image_free(cfi_make_image(&c, &e));
	for (size_t i = 0; i < e.file.len * sizeof(values); i++) {
		char *at = &e.file.data[i / sizeof(values)], old = *at;
		struct cfi_table t = {0};
		struct err err = {0};
		struct image *im;

		ROW(i);
		*at = (char)values[i % sizeof(values)];
		im = image_open_bytes(e.file.data, e.file.len, &err);
		if (im && cfi_build(im, &t, &err) == 0) {
			EQ_I(cfi_check(&t, &err), 0);
			ok_cnt++;
		}
		cfi_release(&t);
		image_free(im);
		*at = old;
	}
	OK(ok_cnt > e.file.len);
	cfi_make_release(&c);
	elf_make_release(&e);
}

/* A real file, damaged in 400 ways: a run of bytes of its headers or its .eh_frame. */
TEST(cfi_of_a_damaged_libc)
{
	int fd = open("/lib/x86_64-linux-gnu/libc.so.6", O_RDONLY);
	size_t len, ok_cnt = 0, bad_cnt = 0, at;
	struct err err = {0};
	struct image *im;
	uint64_t off, size;
	uint8_t *bytes, kept[8];

	if (fd < 0)
		SKIP("no x86-64 libc here");
	im = image_open(fd, &err);
	len = image_size(im);
	bytes = malloc(len);
	EQ_I(image_read(im, 0, bytes, len, &err), 0);
	off = image_find(im, ".eh_frame")->off;
	size = image_find(im, ".eh_frame")->size;
	image_free(im);
	srand(3);
	for (size_t i = 0; i < 400; i++) {
		struct cfi_table t = {0};

		ROW(i);
		at = i % 4 ? off + (size_t)rand() % (size - 8) : (size_t)rand() % 0x400;
		if (i % 8 == 4) /* section headers are at the end */
			at = len - 8 - (size_t)rand() % 0x1000;
		memcpy(kept, bytes + at, sizeof(kept));
		for (int b = 0; b < 1 + rand() % 8; b++)
			bytes[at + (size_t)b] = (uint8_t)rand();
		im = image_open_bytes(bytes, len, &err);
		if (im && cfi_build(im, &t, &err) == 0) {
			EQ_I(cfi_check(&t, &err), 0);
			ok_cnt++;
			bad_cnt += t.bad_cnt > 0;
		}
		cfi_release(&t);
		image_free(im);
		memcpy(bytes + at, kept, sizeof(kept));
	}
	OK(ok_cnt > 300 && bad_cnt > 20);
	free(bytes);
	close(fd);
}

TEST(cfi_of_libc)
{
	int fd = open("/lib/x86_64-linux-gnu/libc.so.6", O_RDONLY);
	struct cfi_table t = {0};
	struct err err = {0};
	struct image *im;

	if (fd < 0)
		SKIP("no x86-64 libc here");
	im = image_open(fd, &err);
	EQ_I(cfi_build(im, &t, &err), 0);
	EQ_I(cfi_check(&t, &err), 0);
	OK(t.fde_cnt > 1000 && t.row_cnt > t.fde_cnt);
	EQ_U(t.bad_cnt, 0);
	OK(t.odd_cnt < 10);
	image_free(im);
	cfi_release(&t);
	close(fd);
}
