/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/names/usdt.h"

#include <elf.h>
#include <string.h>

#include "base/arena.h"
#include "symbols/files/image.h"

#define STAPSDT_TYPE 3
#define ADDRS_LEN 24 /* pc, base, semaphore */

/* The next string of a note, or NULL when it does not end in it or is too long. */
static const char *next_text(const char **at, const char *end)
{
	const char *start = *at;
	size_t len = start < end ? strnlen(start, (size_t)(end - start)) : 0;

	if (start >= end || start + len == end || len > USDT_TEXT_MAX)
		return NULL;
	*at = start + len + 1;
	return start;
}

/*
 * base_vaddr: where .stapsdt.base is in the file; a note has where it was when
 * the note was written, and when the file was moved by prelink since, both its
 * addresses moved with it.
 */
static bool parse_one(const uint8_t *desc, size_t len, uint64_t base_vaddr, struct arena *a,
		      struct usdt_probe *ret)
{
	const char *at = (const char *)desc + ADDRS_LEN, *end = (const char *)desc + len;
	uint64_t addrs[3];
	const char *provider, *name, *args;

	if (len < ADDRS_LEN)
		return false;
	memcpy(addrs, desc, sizeof(addrs));
	provider = next_text(&at, end);
	name = provider ? next_text(&at, end) : NULL;
	args = name ? next_text(&at, end) : NULL;
	if (!args || !*provider || !*name)
		return false;
	uint64_t shift = base_vaddr && addrs[1] ? base_vaddr - addrs[1] : 0;
	*ret = (struct usdt_probe){
		.provider = arena_strdup(a, provider),
		.name = arena_strdup(a, name),
		.args = arena_strdup(a, args),
		.vaddr = addrs[0] + shift,
		.semaphore = addrs[2] ? addrs[2] + shift : 0,
	};
	return true;
}

void usdt_parse(const uint8_t *data, size_t len, uint64_t base_vaddr, struct arena *a,
		struct usdt_list *list)
{
	size_t at = 0;

	while (len - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr n;
		struct usdt_probe p;
		size_t name = at + sizeof(n), desc;

		memcpy(&n, data + at, sizeof(n));
		desc = name + (((size_t)n.n_namesz + 3) & ~(size_t)3);
		if (desc > len || n.n_descsz > len - desc) {
			list->refused_cnt++;
			return;
		}
		if (n.n_type == STAPSDT_TYPE && n.n_namesz == 8 &&
		    memcmp(data + name, "stapsdt", 8) == 0) {
			if (list->probes.cnt < USDT_MAX &&
			    parse_one(data + desc, n.n_descsz, base_vaddr, a, &p))
				vec_push(&list->probes, p);
			else
				list->refused_cnt++;
		}
		at = desc + (((size_t)n.n_descsz + 3) & ~(size_t)3);
		if (at > len)
			return;
	}
}

void usdt_read(struct image *im, struct arena *a, struct usdt_list *list)
{
	const struct image_section *sec = image_find(im, ".note.stapsdt");
	const struct image_section *base = image_find(im, ".stapsdt.base");
	const uint8_t *data;
	size_t len;

	if (!sec || sec->type != SHT_NOTE)
		return;
	if (image_data(im, sec, &data, &len, NULL) < 0)
		list->refused_cnt++;
	else
		usdt_parse(data, len, base ? base->vaddr : 0, a, list);
}

void usdt_release(struct usdt_list *list)
{
	vec_release(&list->probes);
}

void usdt_exports_read(struct image *im, struct arena *a, struct usdt_exports *list)
{
	const struct image_section *sec = image_find(im, ".dynsym"), *strings;
	const uint8_t *data, *text;
	size_t len, text_len;

	if (!sec || sec->type != SHT_DYNSYM || sec->link >= image_section_cnt(im))
		return;
	strings = image_section(im, sec->link);
	if (image_data(im, sec, &data, &len, NULL) < 0 ||
	    image_data(im, strings, &text, &text_len, NULL) < 0) {
		list->refused_cnt++;
		return;
	}
	for (size_t i = 0; i < len / sizeof(Elf64_Sym); i++) {
		const Elf64_Sym *sym = (const Elf64_Sym *)(const void *)data + i;
		unsigned type = ELF64_ST_TYPE(sym->st_info), bind = ELF64_ST_BIND(sym->st_info);
		const char *name = (const char *)text + sym->st_name;

		if ((type != STT_FUNC && type != STT_GNU_IFUNC) || bind == STB_LOCAL ||
		    sym->st_shndx == SHN_UNDEF)
			continue;
		size_t room = sym->st_name < text_len ? text_len - sym->st_name : 0;
		if (list->items.cnt >= USDT_EXPORT_MAX ||
		    !memchr(name, '\0', room < USDT_TEXT_MAX ? room : USDT_TEXT_MAX)) {
			list->refused_cnt++;
			continue;
		}
		struct usdt_export e = {.symbol = arena_strdup(a, name), .vaddr = sym->st_value,
					.len = sym->st_size};
		vec_push(&list->items, e);
	}
}
