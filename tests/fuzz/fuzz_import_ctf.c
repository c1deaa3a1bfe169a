/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes are the records of the child that reads a CTF trace, which a
 * hostile trace may have taken over.  The library in the child is not ours.
 */
#include "fuzz.h"

#include <string.h>

#include "collect/import/import_ctf.h"
#include "import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_import f;
	struct ctf_taker taker = {0};

	fuzz_import_begin(&f, "LTTng");
	taker.import = f.import;
	for (size_t at = 0; size - at >= sizeof(struct ctf_record) && !taker.ended;
	     at += sizeof(struct ctf_record)) {
		struct ctf_record r;

		memcpy(&r, data + at, sizeof(r));
		r.what %= CTF_END + 2; /* others are all alike */
		ctf_take(&taker, &r);
		fuzz_import_tick(&f);
	}
	fuzz_import_end(&f);
	return 0;
}
