/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <zlib.h>

#include "base/err.h"
#include "base/file.h"
#include "elf_make.h"
#include "symbols/files/image.h"

static const char NOTE[] = "\4\0\0\0\10\0\0\0\3\0\0\0GNU\0\1\2\3\4\5\6\7\x8";
static const char WORDS[] = "what stands in the section, stands in the section, and there";

static void make(struct elf_make *e)
{
	elf_make_begin(e);
	elf_make_segment(e, PT_LOAD, PF_R, 0x200000, 0x1000);
	elf_make_segment(e, PT_LOAD, PF_R | PF_X, 0x201230, 0x4000);
	elf_make_segment(e, PT_LOAD, PF_R | PF_X, 0x209000, 0x800);
	elf_make_section(e, ".note.gnu.build-id", SHT_NOTE, 0x200100, NOTE, sizeof(NOTE) - 1);
	elf_make_section(e, ".words", SHT_PROGBITS, 0, WORDS, sizeof(WORDS));
	elf_make_section(e, ".bss", SHT_NOBITS, 0, NULL, 0)->sh_size = 4096;
}

TEST(image_reads_headers_and_sections)
{
	struct elf_make e = {0};
	struct err err = {0};
	struct image *im;
	const uint8_t *data;
	size_t len;

	make(&e);
	elf_make_end(&e);
	im = image_open_bytes(e.file.data, e.file.len, &err);
	EQ_S(err.msg, "");
	EQ_U(image_machine(im), EM_X86_64);
	EQ_U(image_base_vaddr(im), 0x201000);
	EQ_U(image_text_len(im), 0x209800 - 0x201000);
	OK(memcmp(image_build_id(im, &len), "\1\2\3\4\5\6\7\x8", 8) == 0);
	EQ_U(len, 8);
	EQ_U(image_section_cnt(im), 5);
	OK(!image_find(im, ".none"));
	EQ_I(image_data(im, image_find(im, ".words"), &data, &len, &err), 0);
	EQ_U(len, sizeof(WORDS));
	EQ_S((const char *)data, WORDS);
	EQ_I(image_data(im, image_find(im, ".bss"), &data, &len, &err), -ENODATA);
	HAS(err.msg, ".bss");
	image_free(im);
	elf_make_release(&e);
}

/* claimed: what the header says it inflates to. */
static int inflated(uint64_t claimed, uint32_t type, size_t cut, struct err *err)
{
	struct elf_make e = {0};
	struct { Elf64_Chdr h; uint8_t body[256]; } z = {{type, 0, claimed, 1}, {0}};
	uLongf body = sizeof(z.body);
	struct image *im;
	const uint8_t *data;
	size_t len;
	int ret;

	compress2(z.body, &body, (const void *)WORDS, sizeof(WORDS), 9);
	elf_make_begin(&e);
	elf_make_section(&e, ".z", SHT_PROGBITS, 0, &z, sizeof(z.h) + body - cut)->sh_flags =
		SHF_COMPRESSED;
	elf_make_end(&e);
	im = image_open_bytes(e.file.data, e.file.len, err);
	ret = image_data(im, image_find(im, ".z"), &data, &len, err);
	if (ret == 0)
		OK(len == sizeof(WORDS) && memcmp(data, WORDS, len) == 0);
	image_free(im);
	elf_make_release(&e);
	return ret;
}

TEST(image_inflates_within_bounds)
{
	struct err err = {0};

	EQ_I(inflated(sizeof(WORDS), ELFCOMPRESS_ZLIB, 0, &err), 0);
	EQ_I(inflated(sizeof(WORDS), ELFCOMPRESS_ZLIB, 5, &err), -EBADMSG);
	EQ_I(inflated(sizeof(WORDS) - 1, ELFCOMPRESS_ZLIB, 0, &err), -EBADMSG);
	EQ_I(inflated(sizeof(WORDS) + 1, ELFCOMPRESS_ZLIB, 0, &err), -EBADMSG);
	EQ_I(inflated(UINT64_C(40) << 20, ELFCOMPRESS_ZLIB, 0, &err), -EBADMSG);
	HAS(err.msg, "cannot inflate");
	EQ_I(inflated(UINT64_MAX, ELFCOMPRESS_ZLIB, 0, &err), -E2BIG);
	EQ_I(inflated(sizeof(WORDS), 77, 0, &err), -ENOTSUP);
}

TEST(image_refuses_what_is_no_elf)
{
	struct elf_make e = {0};
	struct err err = {0};
	int fd = open("/dev/null", O_RDONLY);

	OK(!image_open(fd, &err));
	HAS(err.msg, "not a regular file");
	close(fd);
	OK(!image_open_bytes("", 0, &err));
	HAS(err.msg, "too short");
	make(&e);
	elf_make_end(&e);
	e.file.data[EI_CLASS] = ELFCLASS32;
	OK(!image_open_bytes(e.file.data, e.file.len, &err));
	HAS(err.msg, "64-bit");
	elf_make_release(&e);
}

/* Every byte of a small file, changed in turn: an error or an image, all of it readable. */
TEST(image_survives_each_changed_byte)
{
	static const uint8_t values[] = {0, 1, 0x7f, 0x80, 0xff};
	struct elf_make e = {0};
	const uint8_t *data;
	size_t len, read_cnt = 0;

	make(&e);
	elf_make_end(&e);
	for (size_t i = 0; i < e.file.len * 5; i++) {
		char old = e.file.data[i / 5];
		struct image *im;

		e.file.data[i / 5] = (char)values[i % 5];
		im = image_open_bytes(e.file.data, e.file.len, NULL);
		for (size_t s = 0; im && s < image_section_cnt(im); s++)
			read_cnt += image_data(im, image_section(im, s), &data, &len, NULL) == 0;
		image_free(im);
		e.file.data[i / 5] = old;
	}
	OK(read_cnt > e.file.len);
	elf_make_release(&e);
}

/* A section that is asked for after the file was cut, as by an upgrade in place. */
TEST(image_sees_the_file_shrink)
{
	int fd = memfd_create("elf", MFD_CLOEXEC);
	struct elf_make e = {0};
	struct err err = {0};
	const uint8_t *data;
	struct image *im;
	size_t len;

	make(&e);
	elf_make_end(&e);
	EQ_I(file_write_all(fd, e.file.data, e.file.len), 0);
	im = image_open(fd, &err);
	OK(im);
	EQ_I(ftruncate(fd, 100), 0);
	EQ_I(image_data(im, image_find(im, ".words"), &data, &len, &err), -ENODATA);
	HAS(err.msg, "shorter");
	image_free(im);
	elf_make_release(&e);
	close(fd);
}

TEST(image_of_this_program)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	struct err err = {0};
	struct image *im = image_open(fd, &err);
	uint64_t off, left;
	const uint8_t *data;
	uint8_t first[4];
	size_t len;

	EQ_S(err.msg, "");
	close(fd);
	OK(image_find(im, ".text"));
	EQ_I(image_data(im, image_find(im, ".text"), &data, &len, &err), 0);
	EQ_I(image_vaddr_off(im, image_find(im, ".text")->vaddr, &off, &left), 0);
	OK(left >= len);
	EQ_I(image_read(im, off, first, 4, &err), 0);
	OK(memcmp(first, data, 4) == 0);
	EQ_I(image_read(im, image_size(im) - 3, first, 4, &err), -ENODATA);
	image_free(im);
}
