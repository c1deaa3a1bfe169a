/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes are a symbol: demangled and shortened, in both languages. */
#include "fuzz.h"

#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/buf.h"
#include "symbols/names/demangle.h"
#include "symbols/names/usdt.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *symbol = xstrndup((const char *)data, size);
	struct buf fn = {0}, full = {0};
	struct usdt_list list = {0};
	struct arena a = {0};

	demangle(symbol, &fn, &full);
	if (full.len > DEMANGLE_OUT_MAX + DEMANGLE_IN_MAX + 16 && full.len > size)
		__builtin_trap();
	demangle_shorten(symbol, false, &fn);
	demangle_shorten(symbol, true, &fn);
	usdt_parse(data, size, 4096, &a, &list);
	usdt_release(&list);
	arena_release(&a);
	buf_release(&fn);
	buf_release(&full);
	free(symbol);
	return 0;
}
