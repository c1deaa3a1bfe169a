/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime_make.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bug.h"
#include "base/buf.h"
#include "cfi_make.h"
#include "reads/chains.h"
#include "runtime_image.h"

enum { SYMBOLS = 32, TEXT = 1024, ONE = 8 + CHAIN_ELEM_MAX };

void runtime_make_put_bytes(struct runtime_make *m, uint64_t addr, const void *data, size_t len)
{
	BUG_ON(addr < MAKE_BASE || addr - MAKE_BASE + len > sizeof(m->mem));
	memcpy(m->mem + (addr - MAKE_BASE), data, len);
}

void runtime_make_put(struct runtime_make *m, uint64_t addr, uint64_t value)
{
	runtime_make_put_bytes(m, addr, &value, sizeof(value));
}

static int mem_read(void *ctx, uint64_t addr, void *out, size_t len)
{
	const struct runtime_make *m = ctx;

	if (addr < MAKE_BASE || addr - MAKE_BASE > sizeof(m->mem) ||
	    len > sizeof(m->mem) - (addr - MAKE_BASE))
		return -EFAULT;
	memcpy(out, m->mem + (addr - MAKE_BASE), len);
	return 0;
}

static long follow(struct runtime_make *m, const struct chain_shape *shape,
		   const struct chain_item *item, struct buf *out)
{
	static char text[CHAIN_LEN_MAX * ONE];
	const struct chain_mem mem = {mem_read, m};
	const struct read_chains what = {.range_cnt = 1, .shape = *shape,
					 .ranges = {{MAKE_BASE, MAKE_BASE + sizeof(m->mem)}}};
	long cnt = chain_follow(&mem, &what, item, text, sizeof(text));

	if (cnt > 0)
		buf_add(out, text, (size_t)cnt * (8 + shape->elem_len));
	return cnt;
}

static long mem_list(void *ctx, const struct chain_shape *shape, uint64_t anchor, struct buf *out)
{
	return follow(ctx, shape, &(struct chain_item){.anchor = anchor}, out);
}

static void file_make(const struct runtime_make *m, struct elf_make *e)
{
	Elf64_Sym syms[SYMBOLS] = {0};
	struct cfi_make cfi = {0};
	char names[TEXT] = "";
	size_t names_len = 1, rodata_len = m->rodata_len;
	Elf64_Shdr *rodata;

	if (!rodata_len)
		rodata_len = strlen(m->rodata) + 1;
	BUG_ON(m->symbol_cnt >= SYMBOLS);
	for (size_t i = 0; i < m->symbol_cnt; i++) {
		const struct runtime_make_symbol *s = &m->symbols[i];

		BUG_ON(names_len + strlen(s->name) + 1 > sizeof(names));
		syms[i + 1] = (Elf64_Sym){.st_name = (uint32_t)names_len, .st_shndx = 1,
					  .st_value = s->value, .st_size = s->size};
		memcpy(names + names_len, s->name, strlen(s->name) + 1);
		names_len += strlen(s->name) + 1;
	}
	elf_make_begin(e);
	elf_make_segment(e, PT_LOAD, PF_R | PF_X, 0, CFI_MAKE_FRAME);
	e->segments[0].p_filesz = 256;
	elf_make_section(e, ".dynsym", SHT_DYNSYM, 0, syms,
			 (m->symbol_cnt + 1) * sizeof(syms[0]))->sh_link = 2;
	elf_make_section(e, ".dynstr", SHT_STRTAB, 0, names, names_len);
	rodata = elf_make_section(e, ".rodata", SHT_PROGBITS, MAKE_RODATA, m->rodata, rodata_len);
	elf_make_segment(e, PT_LOAD, PF_R, MAKE_RODATA, rodata_len);
	e->segments[1].p_offset = rodata->sh_offset;
	e->segments[1].p_filesz = rodata_len;
	elf_make_section(e, ".bss", SHT_NOBITS, m->bss, NULL, m->bss_len);
	if (m->loop_len) {
		size_t cie = cfi_make_cie(&cfi, "zR", 0x1b);

		cfi_make_fde(&cfi, cie, m->loop - CFI_MAKE_TEXT, m->loop_len, "", 0);
		buf_addn(&cfi.bytes, '\0', 4);
		elf_make_section(e, ".eh_frame", SHT_PROGBITS, CFI_MAKE_FRAME, cfi.bytes.data,
				 cfi.bytes.len);
	}
	elf_make_end(e);
	cfi_make_release(&cfi);
}

struct runtime_proc *runtime_make_open(struct runtime_make *m)
{
	const struct runtime_mem mem = {m, mem_read, mem_list};
	struct runtime_file file = {.name = m->name, .map_start = MAKE_BIAS};
	const struct runtime_lang *lang = runtime_lang_of(m->name);
	struct runtime_proc *r = NULL;
	struct elf_make e = {0};

	BUG_ON(!lang);
	runtime_image_keep(m);
	file_make(m, &e);
	file.fd = memfd_create("runtime", MFD_CLOEXEC);
	BUG_ON(write(file.fd, e.file.data, e.file.len) != (ssize_t)e.file.len);
	if (runtime_open(lang, &file, &mem, &r, &m->err) < 0)
		r = NULL;
	close(file.fd);
	elf_make_release(&e);
	return r;
}

static bool frame_put(struct runtime_proc *r, const struct runtime_frame *f, struct buf *out)
{
	struct runtime_name n = {0};
	bool ok = f->is_hidden || runtime_name(r, f, &n) == 0;

	if (ok && !f->is_hidden)
		buf_printf(out, "%s %s:%u", buf_str(&n.fn), buf_str(&n.file), n.line);
	if (ok)
		buf_adds(out, f->ends_loop ? "|\n" : "\n");
	runtime_name_release(&n);
	return ok;
}

char *runtime_make_stack(struct runtime_make *m, struct runtime_proc *r)
{
	static struct runtime_frame frames[RUNTIME_DEPTH_MAX];
	struct buf list = {0}, out = {0};
	struct runtime_thread t;
	long cnt = runtime_threads(r, &t, 1);

	if (cnt == 1)
		cnt = follow(m, runtime_shape(r),
			     &(struct chain_item){.anchor = t.anchor, .until = t.until}, &list);
	if (cnt > 0)
		cnt = runtime_frames(r, (uint8_t *)list.data, (size_t)cnt, frames);
	for (long i = 0; i < cnt; i++)
		if (!frame_put(r, &frames[i], &out))
			cnt = -1;
	if (cnt < 0) {
		buf_clear(&out);
		buf_adds(&out, "bad");
	}
	buf_release(&list);
	return buf_detach(&out);
}

bool runtime_make_lock(struct runtime_make *m, struct runtime_proc *r, struct runtime_lock *ret)
{
	struct buf list = {0};
	struct runtime_thread t;
	long cnt = runtime_threads(r, &t, 1);
	bool is_there;

	BUG_ON(cnt != 1);
	cnt = follow(m, runtime_shape(r),
		     &(struct chain_item){.anchor = t.anchor, .until = t.until}, &list);
	is_there = runtime_lock_of(r, (uint8_t *)list.data, cnt > 0 ? (size_t)cnt : 0, ret);
	buf_release(&list);
	return is_there;
}
