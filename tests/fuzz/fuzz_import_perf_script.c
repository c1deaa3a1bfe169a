/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_import(&import_perf_script, data, size);
	return 0;
}
