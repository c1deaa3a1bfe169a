/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Headers are checked once, at image_open: after that a section's or segment's
 * bytes are known to lie in the file as it was then.  A file that shrinks later
 * fails in image_read.  libelf is not used: it maps files, keeps sizes we could
 * not bound, and trusts more than a hostile container's binary deserves.
 */
#include "symbols/files/image.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/bug.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "symbols/files/inflate.h"

enum {
	NAMES_MAX = 16 << 20, /* section names; a big C++ object file has 1 MiB */
	NOTES_MAX = 1 << 20,  /* one note section or segment; more is not looked at */
	PAGE = 4096,
};

struct image {
	int fd;		      /* -1 when bytes is set */
	const uint8_t *bytes; /* borrowed */
	uint64_t size;
	uint64_t kept_bytes; /* of all data[] */
	uint64_t max_bytes;  /* that they may have */
	uint64_t all_bytes;  /* with what is made of them */
	Elf64_Ehdr ehdr;
	struct image_segment *segments;
	struct image_section *sections;
	uint8_t **data; /* by section, NULL until asked for */
	size_t *data_len;
	char *names;
	size_t names_len;
	size_t segment_cnt, section_cnt;
	uint64_t base_vaddr, text_len;
	uint8_t build_id[IMAGE_BUILD_ID_MAX];
	size_t build_id_len;
};

static bool in_file(const struct image *im, uint64_t off, uint64_t len)
{
	return off <= im->size && len <= im->size - off;
}

int image_read(const struct image *im, uint64_t off, void *buf, size_t len, struct err *err)
{
	size_t at = 0;

	if (!in_file(im, off, len))
		return err_set(err, -ENODATA, "%zu bytes at %#llx are past the end", len,
			       (unsigned long long)off);
	if (im->bytes) {
		memcpy(buf, im->bytes + off, len);
		return 0;
	}
	while (at < len) {
		ssize_t got = pread(im->fd, (char *)buf + at, len - at, (off_t)(off + at));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return err_errno(err, -errno, "read at %#llx", (unsigned long long)off);
		if (got == 0)
			return err_set(err, -ENODATA, "the file became shorter");
		at += (size_t)got;
	}
	return 0;
}

/* len was checked against a bound; no memory is asked for what cannot be there. */
static void *read_new(const struct image *im, uint64_t off, size_t len, struct err *err)
{
	char *data;

	if (!in_file(im, off, len)) {
		image_read(im, off, NULL, len, err);
		return NULL;
	}
	data = alloc_big(len + 1);
	if (!data) {
		err_set(err, -ENOMEM, "no memory for %zu bytes", len);
		return NULL;
	}
	if (image_read(im, off, data, len, err) < 0) {
		free(data);
		return NULL;
	}
	data[len] = '\0';
	return data;
}

static int ehdr_read(struct image *im, struct err *err)
{
	const Elf64_Ehdr *h = &im->ehdr;

	if (im->size < sizeof(*h) || image_read(im, 0, &im->ehdr, sizeof(*h), NULL) < 0)
		return err_set(err, -ENOEXEC, "too short for an ELF file");
	if (memcmp(h->e_ident, ELFMAG, SELFMAG) != 0)
		return err_set(err, -ENOEXEC, "not an ELF file");
	if (h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_ident[EI_DATA] != ELFDATA2LSB)
		return err_set(err, -ENOEXEC, "not a 64-bit little-endian ELF file");
	if (h->e_phnum && h->e_phentsize != sizeof(Elf64_Phdr))
		return err_set(err, -ENOEXEC, "program headers of %u bytes", h->e_phentsize);
	if (h->e_shoff && h->e_shentsize != sizeof(Elf64_Shdr))
		return err_set(err, -ENOEXEC, "section headers of %u bytes", h->e_shentsize);
	return 0;
}

static int segments_read(struct image *im, struct err *err)
{
	size_t cnt = im->ehdr.e_phnum;
	CLEANUP_FREE Elf64_Phdr *raw = NULL;

	if (cnt > IMAGE_SEGMENT_MAX)
		return err_set(err, -E2BIG, "%zu program headers, limit %d", cnt,
			       IMAGE_SEGMENT_MAX);
	if (cnt == 0)
		return 0;
	raw = read_new(im, im->ehdr.e_phoff, cnt * sizeof(*raw), err);
	if (!raw)
		return err_prefix(err, "program headers");
	im->segments = xcalloc(cnt, sizeof(*im->segments));
	for (size_t i = 0; i < cnt; i++) {
		const Elf64_Phdr *p = &raw[i];
		struct image_segment *s = &im->segments[i];
		/* a debug file keeps the headers of what it left out */
		bool there = in_file(im, p->p_offset, p->p_filesz);

		*s = (struct image_segment){.type = p->p_type,
					    .flags = p->p_flags,
					    .off = there ? p->p_offset : 0,
					    .vaddr = p->p_vaddr,
					    .filesz = there ? p->p_filesz : 0,
					    .memsz = p->p_memsz};
		if (p->p_memsz > UINT64_MAX - p->p_vaddr)
			return err_set(err, -ENOEXEC, "program header %zu wraps", i);
	}
	im->segment_cnt = cnt;
	return 0;
}

static void text_find(struct image *im)
{
	uint64_t lo = UINT64_MAX, hi = 0;

	for (size_t i = 0; i < im->segment_cnt; i++) {
		const struct image_segment *s = &im->segments[i];

		if (s->type != PT_LOAD || !(s->flags & PF_X))
			continue;
		if (s->vaddr < lo)
			lo = s->vaddr;
		if (s->vaddr + s->memsz > hi)
			hi = s->vaddr + s->memsz;
	}
	if (lo < hi) {
		im->base_vaddr = lo & ~(uint64_t)(PAGE - 1);
		im->text_len = hi - im->base_vaddr;
	}
}

/* Takes the counts from section 0 where they do not fit in 16 bits. */
static int section_counts(const struct image *im, uint64_t *ret_cnt, uint32_t *ret_names,
			  struct err *err)
{
	Elf64_Shdr first;
	int ret = image_read(im, im->ehdr.e_shoff, &first, sizeof(first), err);

	if (ret < 0)
		return ret;
	*ret_cnt = im->ehdr.e_shnum ? im->ehdr.e_shnum : first.sh_size;
	*ret_names = im->ehdr.e_shstrndx == SHN_XINDEX ? first.sh_link : im->ehdr.e_shstrndx;
	if (*ret_cnt > IMAGE_SECTION_CNT_MAX)
		return err_set(err, -E2BIG, "%llu sections, limit %d",
			       (unsigned long long)*ret_cnt, IMAGE_SECTION_CNT_MAX);
	return 0;
}

static void names_read(struct image *im, const Elf64_Shdr *sh)
{
	if (sh->sh_type == SHT_NOBITS || sh->sh_size > NAMES_MAX)
		return; /* nameless, then: programs without names still have segments */
	im->names = read_new(im, sh->sh_offset, sh->sh_size, NULL);
	im->names_len = im->names ? sh->sh_size : 0;
}

static int sections_read(struct image *im, struct err *err)
{
	CLEANUP_FREE Elf64_Shdr *raw = NULL;
	uint64_t cnt = 0;
	uint32_t names = 0;
	int ret;

	if (!im->ehdr.e_shoff)
		return 0;
	ret = section_counts(im, &cnt, &names, err);
	if (ret < 0)
		return err_prefix(err, "section headers");
	raw = read_new(im, im->ehdr.e_shoff, cnt * sizeof(*raw), err);
	if (!raw)
		return err_prefix(err, "section headers");
	if (names < cnt)
		names_read(im, &raw[names]);
	im->sections = xcalloc(cnt + 1, sizeof(*im->sections));
	im->data = xcalloc(cnt + 1, sizeof(*im->data));
	im->data_len = xcalloc(cnt + 1, sizeof(*im->data_len));
	for (size_t i = 0; i < cnt; i++) {
		const Elf64_Shdr *s = &raw[i];

		im->sections[i] = (struct image_section){
			.name = s->sh_name < im->names_len ? im->names + s->sh_name : "",
			.type = s->sh_type,
			.link = s->sh_link,
			.info = s->sh_info,
			.entsize = s->sh_entsize > UINT32_MAX ? 0 : (uint32_t)s->sh_entsize,
			.flags = s->sh_flags,
			.vaddr = s->sh_addr,
			.off = s->sh_offset,
			.size = s->sh_size};
	}
	im->section_cnt = cnt;
	return 0;
}

/* Notes are padded to 4 bytes, in segments aligned to 8 to 8 (the property note). */
static bool notes_scan(struct image *im, const uint8_t *p, size_t len, size_t align)
{
	size_t at = 0;

	while (len - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr n;
		size_t name, desc;

		memcpy(&n, p + at, sizeof(n));
		name = at + sizeof(n);
		if (n.n_namesz > len - name)
			return false;
		desc = (name + n.n_namesz + align - 1) & ~(align - 1);
		if (desc > len || n.n_descsz > len - desc)
			return false;
		if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 && n.n_descsz &&
		    memcmp(p + name, "GNU", 4) == 0) {
			im->build_id_len = n.n_descsz > IMAGE_BUILD_ID_MAX ? IMAGE_BUILD_ID_MAX
									   : n.n_descsz;
			memcpy(im->build_id, p + desc, im->build_id_len);
			return true;
		}
		at = (desc + n.n_descsz + align - 1) & ~(align - 1);
		if (at > len)
			return false;
	}
	return false;
}

/* *left: how much of all notes may still be read; many may lie at one place. */
static bool notes_read(struct image *im, uint64_t off, uint64_t len, uint64_t *left)
{
	CLEANUP_FREE uint8_t *p = NULL;

	if (len > *left)
		return false;
	*left -= len;
	p = read_new(im, off, len, NULL);
	return p && (notes_scan(im, p, len, 4) || notes_scan(im, p, len, 8));
}

/* Sections first: in a debug file the segments' offsets lead nowhere. */
static void build_id_find(struct image *im)
{
	uint64_t left = NOTES_MAX;

	for (size_t i = 0; i < im->section_cnt; i++)
		if (im->sections[i].type == SHT_NOTE &&
		    notes_read(im, im->sections[i].off, im->sections[i].size, &left))
			return;
	for (size_t i = 0; i < im->segment_cnt; i++)
		if (im->segments[i].type == PT_NOTE &&
		    notes_read(im, im->segments[i].off, im->segments[i].filesz, &left))
			return;
}

static struct image *image_new(struct image *im, struct err *err)
{
	if (im->size > IMAGE_FILE_MAX)
		err_set(err, -E2BIG, "%llu bytes, limit %llu", (unsigned long long)im->size,
			(unsigned long long)IMAGE_FILE_MAX);
	else if (ehdr_read(im, err) == 0 && segments_read(im, err) == 0 &&
		 sections_read(im, err) == 0) {
		text_find(im);
		build_id_find(im);
		im->all_bytes = im->size + IMAGE_OVER_MAX;
		im->max_bytes = IMAGE_TOTAL_MAX;
		image_reserve(im, 0);
		return im;
	}
	image_free(im);
	return NULL;
}

struct image *image_open(int fd, struct err *err)
{
	struct image *im;
	struct stat st;
	int own;

	if (fstat(fd, &st) < 0) {
		err_errno(err, -errno, "stat");
		return NULL;
	}
	if (!S_ISREG(st.st_mode)) { /* a read of a pipe or device could hang */
		err_set(err, -ENOEXEC, "not a regular file");
		return NULL;
	}
	own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (own < 0) {
		err_errno(err, -errno, "duplicate descriptor");
		return NULL;
	}
	im = xcalloc(1, sizeof(*im));
	im->fd = own;
	im->size = (uint64_t)st.st_size;
	return image_new(im, err);
}

struct image *image_open_bytes(const void *data, size_t len, struct err *err)
{
	struct image *im = xcalloc(1, sizeof(*im));

	im->fd = -1;
	im->bytes = data;
	im->size = len;
	return image_new(im, err);
}

void image_free(struct image *im)
{
	if (!im)
		return;
	for (size_t i = 0; i < im->section_cnt; i++)
		free(im->data[i]);
	free(im->data);
	free(im->data_len);
	free(im->sections);
	free(im->segments);
	free(im->names);
	if (im->fd >= 0)
		close(im->fd);
	free(im);
}

uint16_t image_machine(const struct image *im)
{
	return im->ehdr.e_machine;
}

uint64_t image_size(const struct image *im)
{
	return im->size;
}

const uint8_t *image_build_id(const struct image *im, size_t *ret_len)
{
	*ret_len = im->build_id_len;
	return im->build_id_len ? im->build_id : NULL;
}

uint64_t image_base_vaddr(const struct image *im)
{
	return im->base_vaddr;
}

uint64_t image_text_len(const struct image *im)
{
	return im->text_len;
}

size_t image_segment_cnt(const struct image *im)
{
	return im->segment_cnt;
}

const struct image_segment *image_segment(const struct image *im, size_t idx)
{
	BUG_ON(idx >= im->segment_cnt);
	return &im->segments[idx];
}

size_t image_section_cnt(const struct image *im)
{
	return im->section_cnt;
}

const struct image_section *image_section(const struct image *im, size_t idx)
{
	BUG_ON(idx >= im->section_cnt);
	return &im->sections[idx];
}

const struct image_section *image_find(const struct image *im, const char *name)
{
	for (size_t i = 0; i < im->section_cnt; i++)
		if (strcmp(im->sections[i].name, name) == 0)
			return &im->sections[i];
	return NULL;
}

static uint64_t left(const struct image *im)
{
	return im->max_bytes - im->kept_bytes;
}

/* SHF_COMPRESSED: an Elf64_Chdr, then the stream. */
static uint8_t *data_inflate(const struct image *im, const uint8_t *raw, size_t raw_len,
			     size_t *ret_len, struct err *err)
{
	uint64_t max = left(im) < IMAGE_SECTION_MAX ? left(im) : IMAGE_SECTION_MAX;
	Elf64_Chdr h;

	if (raw_len < sizeof(h)) {
		err_set(err, -EBADMSG, "compressed, without a header");
		return NULL;
	}
	memcpy(&h, raw, sizeof(h));
	if (max > image_room(im) - raw_len) /* both are there for a while */
		max = image_room(im) - raw_len;
	if (h.ch_size > max) {
		err_set(err, -E2BIG, "%llu bytes inflated, of which a file of %llu may take %llu",
			(unsigned long long)h.ch_size, (unsigned long long)im->size,
			(unsigned long long)max);
		return NULL;
	}
	*ret_len = h.ch_size;
	return inflate_new(h.ch_type, raw + sizeof(h), raw_len - sizeof(h), h.ch_size, err);
}

static uint8_t *data_new(const struct image *im, const struct image_section *sec, size_t *ret_len,
			 struct err *err)
{
	uint64_t max = left(im) < IMAGE_SECTION_MAX ? left(im) : IMAGE_SECTION_MAX;
	CLEANUP_FREE uint8_t *raw = NULL;

	if (sec->type == SHT_NOBITS) {
		err_set(err, -ENODATA, "its bytes are not in this file");
		return NULL;
	}
	if (sec->size > max) {
		err_set(err, -E2BIG, "%llu bytes, limit %llu", (unsigned long long)sec->size,
			(unsigned long long)max);
		return NULL;
	}
	raw = read_new(im, sec->off, sec->size, err);
	if (raw && !(sec->flags & SHF_COMPRESSED)) {
		uint8_t *data = raw;

		raw = NULL;
		*ret_len = sec->size;
		return data;
	}
	return raw ? data_inflate(im, raw, sec->size, ret_len, err) : NULL;
}

int image_data(struct image *im, const struct image_section *sec, const uint8_t **ret_data,
	       size_t *ret_len, struct err *err)
{
	size_t idx = (size_t)(sec - im->sections), len = 0;
	struct err why = {0};
	uint8_t *data;

	BUG_ON(idx >= im->section_cnt);
	if (!im->data[idx]) {
		data = data_new(im, sec, &len, &why);
		if (!data)
			return err_set(err, why.code, "section %s: %s", sec->name, why.msg);
		im->data[idx] = data;
		im->data_len[idx] = len;
		im->kept_bytes += len;
	}
	*ret_data = im->data[idx];
	*ret_len = im->data_len[idx];
	return 0;
}

void image_drop(struct image *im, const struct image_section *sec)
{
	size_t idx = (size_t)(sec - im->sections);

	BUG_ON(idx >= im->section_cnt);
	if (!im->data[idx])
		return;
	im->kept_bytes -= im->data_len[idx];
	free(im->data[idx]);
	im->data[idx] = NULL;
}

uint64_t image_room(const struct image *im)
{
	return im->all_bytes - im->kept_bytes;
}

void image_reserve(struct image *im, uint64_t bytes)
{
	uint64_t room = image_room(im);

	im->all_bytes -= bytes < room ? bytes : room;
	room = im->all_bytes > IMAGE_OVER_MAX / 4 ? im->all_bytes - IMAGE_OVER_MAX / 4 : 0;
	image_limit(im, room);
}

void image_limit(struct image *im, uint64_t max_bytes)
{
	if (max_bytes < im->kept_bytes)
		max_bytes = im->kept_bytes;
	if (max_bytes < im->max_bytes)
		im->max_bytes = max_bytes;
}

int image_vaddr_off(const struct image *im, uint64_t vaddr, uint64_t *ret_off, uint64_t *ret_left)
{
	for (size_t i = 0; i < im->segment_cnt; i++) {
		const struct image_segment *s = &im->segments[i];

		if (s->type != PT_LOAD || vaddr < s->vaddr || vaddr - s->vaddr >= s->filesz)
			continue;
		*ret_off = s->off + (vaddr - s->vaddr);
		*ret_left = s->filesz - (vaddr - s->vaddr);
		return 0;
	}
	return -ENODATA;
}
