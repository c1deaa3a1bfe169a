/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ELF_MAKE_H
#define ELF_MAKE_H
/*
 * Makes small ELF files in memory, for tests of what reads them.
 *
 * (Names of elf_* would be taken for libelf's by libbpf.)
 *
 *	struct elf_make e = {0};
 *	elf_make_begin(&e);  elf_make_segment, elf_make_section ...  elf_make_end(&e);
 *	image_open_bytes(e.file.data, e.file.len, ...)   elf_make_release(&e);
 */
#include <elf.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum { ELF_MAKE_MAX = 16 }; /* sections, and segments */

struct elf_make {
	struct buf file, names;
	Elf64_Phdr segments[ELF_MAKE_MAX];
	Elf64_Shdr sections[ELF_MAKE_MAX];
	size_t segment_cnt, section_cnt;
};

void elf_make_begin(struct elf_make *e);
void elf_make_segment(struct elf_make *e, uint32_t type, uint32_t flags, uint64_t vaddr,
		      uint64_t memsz);
/* The bytes are put at the next multiple of 16; the header may be changed until elf_end. */
Elf64_Shdr *elf_make_section(struct elf_make *e, const char *name, uint32_t type, uint64_t vaddr,
			const void *data, size_t len);
void elf_make_end(struct elf_make *e);
void elf_make_release(struct elf_make *e);

#endif /* ELF_MAKE_H */
