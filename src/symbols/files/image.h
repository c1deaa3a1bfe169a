/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IMAGE_H
#define IMAGE_H
/*
 * An ELF file that nobody vouches for: its headers, notes and sections, read
 * with pread so that a file which shrinks meanwhile gives an error and not
 * SIGBUS.  64-bit little-endian only.  Knows nothing of what is in a section.
 *
 *	image_open, image_*, image_free
 *
 * Bounds: IMAGE_*_MAX below; one over them is refused with its name.  Every
 * offset handed out lies in the file, every name ends.  Sections are read when
 * asked for and kept until image_free or image_drop.
 */
#include <stddef.h>
#include <stdint.h>

struct err;
struct image;

#define IMAGE_FILE_MAX    (UINT64_C(4) << 30)
#define IMAGE_SECTION_MAX (UINT64_C(512) << 20) /* inflated */
#define IMAGE_TOTAL_MAX   (UINT64_C(1) << 30)   /* all sections of one image, inflated */
/*
 * What a file may take in memory over its own size, all that is made of it
 * included: so much a database's host can spare.  A quarter of it is not for
 * sections; image_room is what these have left so far.
 */
#define IMAGE_OVER_MAX (UINT64_C(64) << 20)

enum {
	IMAGE_BUILD_ID_MAX = 20, /* longer ones are cut */
	IMAGE_SEGMENT_MAX = 1024,
	IMAGE_SECTION_CNT_MAX = 1 << 17,
};

struct image_segment { /* program header */
	uint32_t type;
	uint32_t flags;
	uint64_t off; /* filesz bytes from here are in the file */
	uint64_t vaddr;
	uint64_t filesz;
	uint64_t memsz;
};

struct image_section {
	const char *name; /* "" when it has none */
	uint32_t type;
	uint32_t link; /* an index that may not exist */
	uint32_t info;
	uint32_t entsize;
	uint64_t flags;
	uint64_t vaddr;
	uint64_t off;
	uint64_t size; /* in the file, so deflated; 0 bytes are there for SHT_NOBITS */
};

/* A duplicate of fd is kept.  NULL with *err set for what is no ELF file or is over a bound. */
struct image *image_open(int fd, struct err *err);

/* The same for bytes in memory (a vdso, an unpacked .gnu_debugdata), borrowed until image_free. */
struct image *image_open_bytes(const void *data, size_t len, struct err *err);

void image_free(struct image *im);

uint16_t image_machine(const struct image *im); /* EM_* */
uint64_t image_size(const struct image *im); /* of the file */

/* Borrowed bytes; NULL and *ret_len = 0 when there is none. */
const uint8_t *image_build_id(const struct image *im, size_t *ret_len);

/*
 * Where pc offsets count from: the lowest address of the executable PT_LOADs,
 * rounded down to a page; and how many bytes on the last of them ends.  Both 0
 * when nothing is executable.
 */
uint64_t image_base_vaddr(const struct image *im);
uint64_t image_text_len(const struct image *im);

size_t image_segment_cnt(const struct image *im);
const struct image_segment *image_segment(const struct image *im, size_t idx);
size_t image_section_cnt(const struct image *im);
const struct image_section *image_section(const struct image *im, size_t idx);

/* The first of that name, or NULL. */
const struct image_section *image_find(const struct image *im, const char *name);

/*
 * The section's bytes, inflated, borrowed until image_free; they need not be
 * aligned to more than 8.  -ENODATA when the file has none (SHT_NOBITS),
 * -E2BIG over a bound, -ENOTSUP for a compression this build lacks.
 */
int image_data(struct image *im, const struct image_section *sec, const uint8_t **ret_data,
	       size_t *ret_len, struct err *err);

/* Gives a section's bytes back before image_free; asked for again, they are read again. */
void image_drop(struct image *im, const struct image_section *sec);

/* Memory that may still be taken for this file, in bytes; see IMAGE_OVER_MAX. */
uint64_t image_room(const struct image *im);

/* Takes bytes of that for what the caller makes of the file. */
void image_reserve(struct image *im, uint64_t bytes);

/* All sections may take so much at most, where they are copies of what the caller holds. */
void image_limit(struct image *im, uint64_t max_bytes);

/* len bytes of the file; all or an error. */
int image_read(const struct image *im, uint64_t off, void *buf, size_t len, struct err *err);

/* The file offset of an address in a PT_LOAD's file part; *ret_left bytes follow it there. */
int image_vaddr_off(const struct image *im, uint64_t vaddr, uint64_t *ret_off, uint64_t *ret_left);

#endif /* IMAGE_H */
