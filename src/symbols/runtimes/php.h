/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PHP_H
#define PHP_H
/*
 * Inside symbols/runtimes: where things lie in functions of PHP 7.4 to 8.4.
 */
#include <stddef.h>
#include <stdint.h>

/* Bytes from the beginning of a function that is written in PHP. */
struct php_layout {
	uint32_t api; /* of the engine: ZEND_MODULE_API_NO, one for each minor version */
	uint8_t major, minor;
	uint16_t op_cnt, opcodes;
	uint16_t file; /* behind it stand the first and the last line */
};

/* NULL: not known. */
const struct php_layout *php_layout_of(uint32_t api);

#endif /* PHP_H */
