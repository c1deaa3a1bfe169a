/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYMBOL_SOURCE_H
#define SYMBOL_SOURCE_H
/* The origin of a function's name: for symbols.h and what reads its tables. */

enum { SYMBOLS_NAME_MAX = 1024 }; /* bytes of a name, longer ones end in "..." */

enum symbol_source {
	SYMBOL_NONE = 0,	/* nothing: "file+0xADDRESS" */
	SYMBOL_FDE = 1,		/* bounds of the function only: "file+0xSTART" */
	SYMBOL_DYNSYM = 2,	/* exported names */
	SYMBOL_SYMTAB = 3,
	SYMBOL_DEBUGDATA = 4,	/* .gnu_debugdata */
	SYMBOL_DEBUG_FILE = 5,	/* found by build id or debug link */
	SYMBOL_DEBUGINFOD = 6,
	SYMBOL_PERF_MAP = 7,
	SYMBOL_PLT = 8,		/* jumps to a function of another file: "NAME@plt" */
	SYMBOL_GO = 9,		/* .gopclntab */
};

#endif /* SYMBOL_SOURCE_H */
