/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYMBOLS_DEMANGLE_H
#define SYMBOLS_DEMANGLE_H
/*
 * A symbol of C++ or Rust as its author wrote it, in full and short.  Plain
 * functions without state.  Symbols come from files that nobody vouches for:
 * one longer than DEMANGLE_IN_MAX, or whose full form would be longer than
 * DEMANGLE_OUT_MAX (a few bytes can name gigabytes), stays as it is.
 */
#include <stdbool.h>
#include <stddef.h>

struct buf;

enum {
	DEMANGLE_IN_MAX = 4096,
	DEMANGLE_OUT_MAX = 16384,
};

/*
 * Replaces both: ret_full "void ns::List<int>::add(int const&)", ret_short
 * "ns::List::add".  What compilers add for parts and copies of one function
 * (.cold, .part.0, .constprop.1 ...) is left out of the short form, and so is
 * a version (memcpy@@GLIBC_2.14).  False when the symbol was not mangled.
 */
bool demangle(const char *symbol, struct buf *ret_short, struct buf *ret_full);

/* The short form of a demangled name; rust: its syntax. */
void demangle_shorten(const char *full, bool rust, struct buf *ret_short);

#endif /* SYMBOLS_DEMANGLE_H */
