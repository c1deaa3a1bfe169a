/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What another process decides of the unwinder's input: the first byte says
 * which.  0: the lines are /proc/PID/maps.  Else: rows of a table, whose layout
 * must give for each address the row that a search of the rows gives.
 */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "collect/proc/mappings.h"
#include "collect/code/unw_layout.h"

static void maps(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), *rest = text, *line;
	struct mappings m = {0};
	uint64_t end = 0;

	if (!text)
		return;
	memcpy(text, data, size);
	text[size] = '\0';
	while ((line = strsep(&rest, "\n")))
		mappings_add_line(&m, line);
	VEC_FOREACH(&m.items, one) {
		if (one->start < end || one->end <= one->start)
			abort();
		end = one->end;
	}
	mappings_release(&m);
	free(text);
}

static void layout(const uint8_t *data, size_t size)
{
	size_t cnt = size / 4 < 4096 ? size / 4 : 4096;
	struct unw_row *rows = calloc(cnt + 1, sizeof(*rows));
	struct unw_layout l = {0};
	uint32_t pc = 0;

	for (size_t i = 0; rows && i < cnt; i++) {
		pc += data[4 * i] | (data[4 * i + 1] & 3) << 8;
		rows[i] = (struct unw_row){.pc = pc, .kind = data[4 * i + 2]};
	}
	if (rows && unw_layout_make(rows, cnt, NULL, 0, pc + 1 + data[0], &l) == 0) {
		size_t at = 0;

		for (uint32_t off = 0; off <= pc; off++) {
			while (at < cnt && rows[at].pc <= off)
				at++;
			if (at && unw_layout_row(&l, off).pc != rows[at - 1].pc)
				abort();
		}
		unw_layout_release(&l);
	}
	free(rows);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 5)
		return 0;
	if (data[0])
		layout(data + 1, size - 1);
	else
		maps(data + 1, size - 1);
	return 0;
}
