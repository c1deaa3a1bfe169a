/* SPDX-License-Identifier: Apache-2.0 */
/* The table of wait classes is whole: src/wire/wait_classes.h says how to add a row. */
#include <string.h>

#include "model/model.h"
#include "unit.h"

/* A hole would be a class without a name; values are on disk, so a name twice is a class moved. */
TEST(wait_classes_have_a_row_each)
{
	for (unsigned a = 0; a < WAIT_CLASS_CNT; a++) {
		ROW(a);
		OK(wait_class_name(a) && *wait_class_name(a));
		OK(wait_class_resource(a) < RES_KIND_CNT);
		for (unsigned b = 0; b < a; b++)
			OK(strcmp(wait_class_name(a), wait_class_name(b)) != 0);
	}
}

/* Captures of earlier versions have these. */
TEST(wait_classes_keep_their_values)
{
	EQ_U(WAIT_OTHER, 0);
	EQ_U(WAIT_FUTEX, 1);
	EQ_U(WAIT_RECLAIM, 11);
	EQ_U(WAIT_THROTTLE, 22);
	EQ_S(wait_class_name(WAIT_RECLAIM), "reclaim");
	EQ_S(wait_class_name(WAIT_CLASS_CNT), "?");
	EQ_U(wait_class_traits(WAIT_CLASS_CNT), 0);
}

/* What may be a lock is waited for in a call, or in the kernel; nobody is forced to. */
TEST(wait_classes_have_traits_that_agree)
{
	for (unsigned cls = 0; cls < WAIT_CLASS_CNT; cls++) {
		unsigned traits = wait_class_traits(cls);

		ROW(cls);
		OK(!(traits & WAITC_FORCED) || !(traits & (WAITC_LOCK | WAITC_WORK | WAITC_KEYED)));
		OK(!(traits & WAITC_KEYED) || wait_class_resource(cls) != RES_NONE);
		OK(!(traits & WAITC_LATCH) || traits & WAITC_WORK);
	}
}
