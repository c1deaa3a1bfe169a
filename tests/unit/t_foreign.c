/* SPDX-License-Identifier: Apache-2.0 */
/* What files that nobody vouches for may take in memory: IMAGE_OVER_MAX over their size. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <zlib.h>
#ifdef HAVE_LZMA
#include <lzma.h>
#endif

#include "base/alloc.h"
#include "base/err.h"
#include "cfi_make.h"
#include "collect/code/unw_layout.h"
#include "symbols/unwind/cfi.h"
#include "symbols/files/image.h"
#include "symbols/names/symbols.h"
#include "unit.h"

#define MIB (UINT64_C(1) << 20)
#define SLACK MIB /* the allocator's own, and the stack */

/* Bytes of a line of /proc/self/status. */
static uint64_t status(const char *field)
{
	FILE *f = fopen("/proc/self/status", "re");
	size_t len = strlen(field);
	uint64_t kb = 0;
	char line[128];

	while (f && fgets(line, sizeof(line), f))
		if (strncmp(line, field, len) == 0)
			kb = strtoull(line + len, NULL, 10);
	if (f)
		fclose(f);
	return kb * 1024;
}

/* By how much memory grows at most while the file is used, in a process of its own. */
static uint64_t grown(void (*use)(int fd), int fd)
{
	uint64_t got = 0;
	int pair[2], child;

#ifdef __SANITIZE_ADDRESS__
	SKIP("a sanitizer's memory is not ours");
#endif
	OK(pipe(pair) == 0);
	child = fork();
	if (child == 0) {
		uint64_t before;

		int clear = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);

		if (clear < 0 || write(clear, "5", 1) != 1)
			_exit(1);
		before = status("VmHWM:");
		use(fd);
		got = status("VmHWM:") - before;
		_exit(write(pair[1], &got, sizeof(got)) != sizeof(got));
	}
	close(pair[1]);
	EQ_I(read(pair[0], &got, sizeof(got)), sizeof(got));
	waitpid(child, NULL, 0);
	close(pair[0]);
	return got;
}

static int file_of(const void *data, size_t len)
{
	int fd = memfd_create("foreign", MFD_CLOEXEC);

	OK(fd >= 0 && write(fd, data, len) == (ssize_t)len);
	return fd;
}

/* A file whose .debug_frame inflates to these bytes. */
static int file_of_frame(const void *frame, size_t len)
{
	uLongf room = compressBound(len);
	char *body = xmalloc(sizeof(Elf64_Chdr) + room);
	Elf64_Chdr head = {ELFCOMPRESS_ZLIB, 0, len, 1};
	struct elf_make e = {0};
	int fd;

	memcpy(body, &head, sizeof(head));
	compress2((Bytef *)body + sizeof(head), &room, frame, len, 9);
	elf_make_begin(&e);
	elf_make_segment(&e, PT_LOAD, PF_R | PF_X, CFI_MAKE_TEXT, UINT64_C(1) << 30);
	elf_make_section(&e, ".debug_frame", SHT_PROGBITS, 0, body, sizeof(head) + room)->sh_flags =
		SHF_COMPRESSED;
	elf_make_end(&e);
	fd = file_of(e.file.data, e.file.len);
	elf_make_release(&e);
	free(body);
	return fd;
}

/* So many bytes of FDEs, of which each begins where the one before ends, or all at one place. */
static int many_fdes(size_t bytes, bool apart)
{
	struct cfi_make c = {.debug = true};
	size_t cie = cfi_make_cie(&c, "", 0);
	int fd;

	for (uint64_t pc = 0; c.bytes.len < bytes; pc += apart)
		cfi_make_fde(&c, cie, pc * 16, 16, "\x41\x0e\x10", 3);
	fd = file_of_frame(c.bytes.data, c.bytes.len);
	cfi_make_release(&c);
	return fd;
}

/* One function, whose rule changes with each byte of it. */
static int many_rows(size_t bytes)
{
	struct cfi_make c = {.debug = true};
	size_t cie = cfi_make_cie(&c, "", 0);
	char *prog = xmalloc(bytes);
	int fd;

	for (size_t i = 0; i < bytes; i++)
		prog[i] = "\x41\x0e\x10\x41\x0e\x18"[i % 6];
	cfi_make_fde(&c, cie, 0, UINT64_C(1) << 30, prog, bytes);
	fd = file_of_frame(c.bytes.data, c.bytes.len);
	cfi_make_release(&c);
	free(prog);
	return fd;
}

static void as_tables(int fd)
{
	struct image *im = image_open(fd, NULL);
	struct unw_layout l = {0};
	struct cfi_table t = {0};

	if (cfi_build(im, &t, NULL) == 0)
		unw_layout_make(t.rows, t.row_cnt, t.exts, t.ext_cnt, t.text_len, &l);
	unw_layout_release(&l);
	cfi_release(&t);
	image_free(im);
}

static void as_names(int fd)
{
	struct symbols *s = symbols_new(NULL);
	struct symbol_name name;
	uint32_t id;

	if (symbols_module(s, "x", fd, NULL, &id, NULL) == 0)
		symbols_name(s, id, 0, false, &name);
	symbols_free(s);
}

static void check_bound(int fd)
{
	off_t size = lseek(fd, 0, SEEK_END);
	uint64_t most = (uint64_t)size + IMAGE_OVER_MAX + SLACK;
	uint64_t tables = grown(as_tables, fd), names = grown(as_names, fd);

	if (tables > most || names > most)
		FAIL("a file of %lld bytes takes %" PRIu64 " MiB for tables, %" PRIu64
		     " for names", (long long)size, tables / MIB, names / MIB);
	close(fd);
}

TEST(foreign_frames_take_bounded_memory)
{
	static const size_t sizes[] = {10 * MIB, 20 * MIB, 40 * MIB, 60 * MIB};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		ROW(i);
		check_bound(many_fdes(sizes[i], false));
		check_bound(many_fdes(sizes[i], true));
		check_bound(many_rows(sizes[i]));
	}
}

/* All files together have so much time; what is read no more is counted, and says why. */
TEST(foreign_files_are_read_in_bounded_time)
{
	int fds[] = {many_fdes(8 * MIB, true), many_fdes(7 * MIB, true)};
	struct symbols *s = symbols_new(&(struct symbols_opts){.read_ms = 1});
	struct symbols_module_info info;
	struct symbols_stats stats;
	struct symbol_name name;
	uint32_t first, second;

	EQ_I(symbols_module(s, "a", fds[0], NULL, &first, NULL), 0);
	EQ_I(symbols_module(s, "b", fds[1], NULL, &second, NULL), 0);
	symbols_name(s, first, 0, false, &name);
	for (int twice = 0; twice < 2; twice++) {
		symbols_name(s, second, 0x20, false, &name);
		EQ_U(name.frame_cnt, 1);
		HAS(name.frames[0].fn, "b+0x");
	}
	EQ_I(symbols_module_info(s, second, &info), 0);
	HAS(info.problem, "not read");
	symbols_stats(s, &stats);
	EQ_U(stats.late_cnt, 1);
	symbols_free(s);
	close(fds[0]);
	close(fds[1]);
}

#ifdef HAVE_LZMA
static int file_of_packed(size_t bytes)
{
	size_t room = lzma_stream_buffer_bound(bytes), at = 0;
	uint8_t *packed = xmalloc(room), *zeros = xcalloc(1, bytes);
	struct elf_make e = {0}, in = {0};
	int fd;

	elf_make_begin(&in);
	elf_make_section(&in, ".symtab", SHT_SYMTAB, 0, zeros, bytes / 2);
	elf_make_section(&in, ".strtab", SHT_STRTAB, 0, zeros, bytes / 2);
	in.sections[1].sh_entsize = sizeof(Elf64_Sym);
	in.sections[1].sh_link = 2;
	elf_make_end(&in);
	OK(lzma_easy_buffer_encode(0, LZMA_CHECK_NONE, NULL, (uint8_t *)in.file.data, in.file.len,
				   packed, &at, room) == LZMA_OK);
	elf_make_begin(&e);
	elf_make_segment(&e, PT_LOAD, PF_R | PF_X, CFI_MAKE_TEXT, CFI_MAKE_TEXT_LEN);
	elf_make_section(&e, ".gnu_debugdata", SHT_PROGBITS, 0, packed, at);
	elf_make_end(&e);
	fd = file_of(e.file.data, e.file.len);
	elf_make_release(&in);
	elf_make_release(&e);
	free(packed);
	free(zeros);
	return fd;
}

TEST(foreign_debugdata_takes_bounded_memory)
{
	static const size_t sizes[] = {8 * MIB, 16 * MIB, 48 * MIB, 120 * MIB};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		ROW(i);
		check_bound(file_of_packed(sizes[i]));
	}
}
#endif
