/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An answer as it reaches a program with lib/: whatever comes, it is read within its bytes, and
 * what is taken from it is within the limits.  The library's file itself is part of this one.
 */
#include "fuzz.h"

#include <stdlib.h>

#include "../../lib/answer.c"

static struct heldup_point made[] = {{"load cart", 0, 1}, {"slot wait", 0, 2}};
struct heldup_point *points[HELDUP_POINTS_MAX] = {&made[0], &made[1]};
uint32_t point_cnt = 2;

uint64_t text_hash(const char *text)
{
	return strlen(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct state st;
	struct terms terms = {0};
	char *own = malloc(len ? len : 1); /* as long as it is: no byte behind it */

	memcpy(own, data, len);
	if (state_parse(own, len, &st, &terms) == 0) {
		if (st.type_cnt > TYPES_MAX || !terms.lease_ms || terms.lease_ms > 60000 ||
		    terms.again_ms > terms.lease_ms)
			abort();
		for (uint32_t i = 0; i < st.type_cnt; i++)
			if (st.types[i].on[0] & ~UINT64_C(3) || st.types[i].share_ppm > 1000000)
				abort();
	}
	free(own);
	return 0;
}
