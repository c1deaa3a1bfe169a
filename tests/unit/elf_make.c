/* SPDX-License-Identifier: Apache-2.0 */
#include "elf_make.h"

#include <string.h>

#include "base/bug.h"

enum { HEADS = sizeof(Elf64_Ehdr) + ELF_MAKE_MAX * sizeof(Elf64_Phdr) };

static void pad(struct elf_make *e)
{
	while (e->file.len % 16)
		buf_addch(&e->file, '\0');
}

void elf_make_begin(struct elf_make *e)
{
	buf_addn(&e->file, '\0', HEADS);
	elf_make_section(e, "", SHT_NULL, 0, NULL, 0);
}

void elf_make_segment(struct elf_make *e, uint32_t type, uint32_t flags, uint64_t vaddr,
		      uint64_t memsz)
{
	BUG_ON(e->segment_cnt == ELF_MAKE_MAX);
	e->segments[e->segment_cnt++] = (Elf64_Phdr){
		.p_type = type, .p_flags = flags, .p_vaddr = vaddr, .p_memsz = memsz};
}

Elf64_Shdr *elf_make_section(struct elf_make *e, const char *name, uint32_t type, uint64_t vaddr,
			const void *data, size_t len)
{
	Elf64_Shdr *s = &e->sections[e->section_cnt++];

	BUG_ON(e->section_cnt == ELF_MAKE_MAX);
	pad(e);
	*s = (Elf64_Shdr){.sh_name = (uint32_t)e->names.len,
			  .sh_type = type,
			  .sh_addr = vaddr,
			  .sh_offset = type == SHT_NULL ? 0 : e->file.len,
			  .sh_size = len};
	buf_add(&e->names, name, strlen(name) + 1);
	if (type != SHT_NOBITS)
		buf_add(&e->file, data, len);
	return s;
}

void elf_make_end(struct elf_make *e)
{
	Elf64_Ehdr h = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
				    EV_CURRENT},
			.e_type = ET_DYN,
			.e_machine = EM_X86_64,
			.e_version = EV_CURRENT,
			.e_phoff = sizeof(h),
			.e_ehsize = sizeof(h),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_shentsize = sizeof(Elf64_Shdr)};
	Elf64_Shdr *names = elf_make_section(e, ".shstrtab", SHT_STRTAB, 0, NULL, 0);

	names->sh_size = e->names.len;
	buf_add(&e->file, e->names.data, e->names.len);
	pad(e);
	h.e_phnum = (uint16_t)e->segment_cnt;
	h.e_shnum = (uint16_t)e->section_cnt;
	h.e_shstrndx = (uint16_t)(e->section_cnt - 1);
	h.e_shoff = e->file.len;
	buf_add(&e->file, e->sections, e->section_cnt * sizeof(e->sections[0]));
	memcpy(e->file.data, &h, sizeof(h));
	memcpy(e->file.data + sizeof(h), e->segments, sizeof(e->segments));
}

void elf_make_release(struct elf_make *e)
{
	buf_release(&e->file);
	buf_release(&e->names);
}
