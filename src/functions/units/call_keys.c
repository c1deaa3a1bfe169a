/* SPDX-License-Identifier: Apache-2.0 */
#include "functions/units/call_keys.h"

#include "functions/units/feature_kinds.h"
#include "functions/units/normalize.h"

uint64_t call_key_bare(unsigned cls, uint16_t nr, unsigned kind, uint16_t before)
{
	uint64_t key = KEY_ANY | (uint64_t)nr << 32;

	if (cls == CALL_PLAIN || cls == CALL_END)
		return 0;
	if (cls == CALL_READ) /* of one that has not returned the kind may be unknown */
		key |= (uint64_t)kind << KEY_KIND_AT;
	if (cls == CALL_READ || cls == CALL_FUTEX)
		key |= before == SYM_NONE ? 0 : before + 1u;
	else
		key |= 1;
	return key;
}

uint64_t call_key_of_fn(uint32_t fn)
{
	return KEY_ANY | KEY_STACK | (fn + 1);
}

uint64_t call_key_known(uint64_t key)
{
	return key & KEY_STACK ? key & (KEY_ANY | KEY_STACK | KEY_BEFORE) : key;
}

bool call_key_has_fn(uint64_t key)
{
	return (key & KEY_STACK) != 0;
}
