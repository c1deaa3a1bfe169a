/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes are Go's table of functions.  What it says must stay within it, and
 * the depths of the stack within their function.  (Where text starts is found by
 * fuzz_names, which takes whole files.)
 */
#include "fuzz.h"

#include <string.h>

#include "base/bug.h"
#include "symbols/names/gopcln.h"

enum { FN_MAX = 1000 }; /* one input has time for so many */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gopcln g;
	struct gopcln_fn fn;
	struct gopcln_sp it;

	if (gopcln_parse(data, size, &g) < 0)
		return 0;
	for (uint32_t i = 0; i < g.fn_cnt && i < FN_MAX; i++) {
		uint64_t end;

		if (!gopcln_fn(&g, i, &fn))
			continue;
		BUG_ON(fn.end <= fn.vaddr || !*gopcln_name(&g, &fn));
		BUG_ON(fn.name + strlen(gopcln_name(&g, &fn)) >= g.names_len);
		gopcln_sp_begin(&g, &fn, &it);
		for (end = fn.vaddr; gopcln_sp_next(&g, &it); end = it.end)
			BUG_ON(it.vaddr != end || it.end <= it.vaddr || it.end > fn.end);
	}
	BUG_ON(gopcln_fn(&g, g.fn_cnt, &fn));
	return 0;
}
