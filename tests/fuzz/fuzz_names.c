/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes are an ELF file: its symbol tables, PLT, bounds of functions, notes
 * and exports, as heldup symbols and heldup tracepoints read them.
 */
#include "fuzz.h"

#include "base/arena.h"
#include "symbols/files/image.h"
#include "symbols/names/symbols.h"
#include "symbols/names/usdt.h"

static void ask(struct symbols *s, uint32_t id, uint64_t pc)
{
	struct symbol_name name;

	symbols_name(s, id, pc, false, &name);
	symbols_name(s, id, pc, true, &name);
	if (!name.frame_cnt || !name.frames[0].fn || !name.frames[0].full)
		__builtin_trap(); /* there is always a name */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct symbols *s = symbols_new(NULL);
	struct image *im = image_open_bytes(data, size, NULL);
	struct usdt_exports exports = {0};
	struct usdt_list usdt = {0};
	struct arena a = {0};
	uint32_t id;
	uint64_t pc;

	if (im) {
		usdt_read(im, &a, &usdt);
		usdt_exports_read(im, &a, &exports);
	}
	if (im && symbols_module_bytes(s, "fuzz", data, size, &id, NULL) == 0) {
		for (size_t i = 0; i < exports.items.cnt && i < 256; i++)
			ask(s, id, exports.items.items[i].vaddr - image_base_vaddr(im));
		for (uint64_t at = 0; at < 4096; at += 13)
			ask(s, id, at);
		ask(s, id, UINT64_MAX);
		symbols_pc_of(s, id, size / 2, &pc);
	}
	usdt_release(&usdt);
	vec_release(&exports.items);
	arena_release(&a);
	image_free(im);
	symbols_free(s);
	return 0;
}
