/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UTF8_H
#define UTF8_H
/*
 * Text that somebody else chose, on its way to a person or to another program.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The bytes of the code point at s, of which there are len, at least one; 0 for
 * what is not UTF-8: cut short, overlong, a surrogate, over U+10FFFF.
 */
size_t utf8_decode(const char *s, size_t len, uint32_t *ret_cp);

/* Moves the cursor, hides text or turns its direction: C0, C1, bidi and such. */
bool utf8_is_unsafe(uint32_t cp);

#endif /* UTF8_H */
