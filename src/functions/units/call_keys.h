/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FUNCTIONS_CALL_KEYS_H
#define FUNCTIONS_CALL_KEYS_H
/* Keys of places where calls wait: the call with its function, or without a stack its kind. */
#include <stdbool.h>
#include <stdint.h>

/* Bits of a key beside the call's number, its kind or function. */
#define KEY_ANY (UINT64_C(1) << 63)
#define KEY_STACK (UINT64_C(1) << 62)
#define KEY_BEFORE UINT64_C(0xffffffff)
#define KEY_KIND_AT 48
#define KEY_KIND (UINT64_C(0xff) << KEY_KIND_AT)

/* Without a stack, as call_key (units.h); cls: enum call_class, before: SYM_NONE for none. */
uint64_t call_key_bare(unsigned cls, uint16_t nr, unsigned kind, uint16_t before);

/* Key of any call that a function waits in, and the known facts of a key (work_waits_fn.h). */
uint64_t call_key_of_fn(uint32_t fn);
uint64_t call_key_known(uint64_t key);
bool call_key_has_fn(uint64_t key);

#endif /* FUNCTIONS_CALL_KEYS_H */
