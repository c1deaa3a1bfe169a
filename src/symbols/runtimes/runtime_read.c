/* SPDX-License-Identifier: Apache-2.0 */
/* Symbols, numbers and texts of the process' memory, for all runtimes. */
#include <elf.h>
#include <errno.h>
#include <string.h>

#include "symbols/files/image.h"
#include "symbols/runtimes/runtimes_int.h"

static size_t one_table(struct image *im, const struct image_section *sec, uint64_t bias,
			const struct runtime_symbol *wanted, size_t cnt)
{
	const uint8_t *data, *text;
	size_t len, text_len, found = 0;

	if (!sec || sec->link >= image_section_cnt(im) ||
	    image_data(im, sec, &data, &len, NULL) < 0 ||
	    image_data(im, image_section(im, sec->link), &text, &text_len, NULL) < 0 || !text_len ||
	    text[text_len - 1])
		return 0;
	for (size_t i = 0; i < len / sizeof(Elf64_Sym) && found < cnt; i++) {
		const Elf64_Sym *sym = (const Elf64_Sym *)(const void *)data + i;

		if (sym->st_shndx == SHN_UNDEF || sym->st_name >= text_len)
			continue;
		for (size_t k = 0; k < cnt; k++) {
			if (*wanted[k].ret_addr ||
			    strcmp((const char *)text + sym->st_name, wanted[k].name) != 0)
				continue;
			*wanted[k].ret_addr = sym->st_value + bias;
			if (wanted[k].ret_size)
				*wanted[k].ret_size = sym->st_size;
			found++;
		}
	}
	return found;
}

size_t runtime_symbols(struct image *im, uint64_t bias, const struct runtime_symbol *wanted,
		       size_t cnt)
{
	size_t found = one_table(im, image_find(im, ".dynsym"), bias, wanted, cnt);

	if (found < cnt) /* those of a program that is not stripped */
		found += one_table(im, image_find(im, ".symtab"), bias, wanted, cnt);
	return found;
}

int runtime_text_after(struct image *im, const char *prefix, char *ret, size_t len)
{
	const struct image_section *sec = image_find(im, ".rodata");
	size_t all, prefix_len = strlen(prefix), cnt;
	const uint8_t *data, *at;

	if (!sec || image_data(im, sec, &data, &all, NULL) < 0)
		return -ENOENT;
	at = memmem(data, all, prefix, prefix_len);
	if (!at)
		return -ENOENT;
	at += prefix_len;
	cnt = strnlen((const char *)at, (size_t)(data + all - at));
	cnt = cnt < len ? cnt : len - 1;
	memcpy(ret, at, cnt);
	ret[cnt] = '\0';
	return 0;
}

int runtime_read_u64(const struct runtime_proc *r, uint64_t addr, uint64_t *ret)
{
	return runtime_read(r, addr, ret, sizeof(*ret));
}

int runtime_read_u32(const struct runtime_proc *r, uint64_t addr, uint32_t *ret)
{
	return runtime_read(r, addr, ret, sizeof(*ret));
}

uint64_t runtime_u64(const uint8_t *bytes, size_t off)
{
	uint64_t value;

	memcpy(&value, bytes + off, sizeof(value));
	return value;
}

uint32_t runtime_u32(const uint8_t *bytes, size_t off)
{
	uint32_t value;

	memcpy(&value, bytes + off, sizeof(value));
	return value;
}

bool runtime_path_has(const char *path, const char *const *parts, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		if (strstr(path, parts[i]))
			return true;
	return false;
}
