/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "symbols/names/demangle.h"

TEST(demangle_symbols)
{
	static const struct {
		const char *symbol, *fn, *full; /* full NULL: the symbol itself */
	} rows[] = {
		{"read", "read", NULL},
		{"", "", NULL},
		{"@x", "@x", NULL},
		{"memcpy@@GLIBC_2.14", "memcpy", NULL},
		{"pick.part.0", "pick", NULL},
		{"pick.constprop.0.isra.0", "pick", NULL},
		{".cold", ".cold", NULL},
		{"main.main", "main.main", NULL},
		{"runtime.(*mcache).refill", "runtime.(*mcache).refill", NULL},
		{"_Zzz", "_Zzz", NULL},
		{"_ZN3foo3barEi", "foo::bar", "foo::bar(int)"},
		{"_ZN3foo3barEi.cold", "foo::bar", "foo::bar(int) [.cold]"},
		{"_ZNSt6vectorIiSaIiEE9push_backERKi", "std::vector::push_back",
		 "std::vector<int, std::allocator<int> >::push_back(int const&)"},
		{"_ZlsRSoRK1X", "operator<<", "operator<<(std::ostream&, X const&)"},
		{"_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKc", "std::operator<<",
		 "std::basic_ostream<char, std::char_traits<char> >& std::operator<< "
		 "<std::char_traits<char> >(std::basic_ostream<char, std::char_traits<char> >&, "
		 "char const*)"},
		{"_ZNK1XclEv", "X::operator()", "X::operator()() const"},
		{"_ZN1XcvbEv", "X::operator bool", "X::operator bool()"},
		{"_ZN12_GLOBAL__N_13runEv", "(anonymous namespace)::run",
		 "(anonymous namespace)::run()"},
		{"_ZZ4mainENKUliE_clEi", "main::{lambda#1}::operator()",
		 "main::{lambda(int)#1}::operator()(int) const"},
		{"_ZN1AB5cxx11Ev", "A", "A[abi:cxx11]()"},
		{"_ZThn8_N1X1fEv", "X::f", "non-virtual thunk to X::f()"},
		{"_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt",
		 "core::fmt::Write::write_fmt"},
		{"_ZN66_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$core..ops..drop..Drop$GT$4drop"
		 "17h0123456789abcdefE",
		 "alloc::vec::Vec::drop", "<alloc::vec::Vec<T> as core::ops::drop::Drop>::drop"},
		{"_RNvCs1234_7mycrate3foo", "mycrate::foo", "mycrate::foo"},
		{"_RINvNtC3std3mem8align_ofdE", "std::mem::align_of", "std::mem::align_of::<f64>"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct buf fn = {0}, full = {0};
		ROW(i);
		bool mangled = demangle(rows[i].symbol, &fn, &full);
		EQ_I(mangled, rows[i].full != NULL);
		EQ_S(buf_str(&full), rows[i].full ? rows[i].full : rows[i].symbol);
		EQ_S(buf_str(&fn), rows[i].fn);
		buf_release(&fn);
		buf_release(&full);
	}
}

TEST(demangle_shortens_rust)
{
	static const struct {
		const char *full, *fn;
	} rows[] = {
		{"core::ptr::drop_in_place::<alloc::string::String>", "core::ptr::drop_in_place"},
		{"core::ptr::drop_in_place<alloc::string::String>", "core::ptr::drop_in_place"},
		{"<[T]>::len", "[T]::len"},
		{"core::fmt::num::<impl core::fmt::Debug for u32>::fmt",
		 "core::fmt::num::u32::fmt"},
		{"<&T as core::fmt::Display>::fmt", "T::fmt"},
		{"<<A as B>::C as D>::e", "A::C::e"},
		{"<A for as B>::c", "as B::c"}, /* the blank of one word is not that of the next */
		{"a::b::{{closure}}", "a::b::{{closure}}"},
		{"<F as core::ops::FnOnce<(A, B)>>::call_once", "F::call_once"},
		{"<unclosed", "<unclosed"},
		{"a>>>b", "a>>>b"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct buf fn = {0};
		ROW(i);
		demangle_shorten(rows[i].full, true, &fn);
		EQ_S(buf_str(&fn), rows[i].fn);
		buf_release(&fn);
	}
}

/* A few bytes whose full form doubles with each step. */
TEST(demangle_stops_names_that_grow)
{
	struct buf symbol = {0}, fn = {0}, full = {0};

	buf_adds(&symbol, "_Z1f1AIiiE");
	for (int k = 0; k < 36; k++) {
		char id = (char)(k < 10 ? '0' + k : 'A' + k - 10);

		buf_printf(&symbol, "S_IS%c_S%c_E", id, id);
		bool mangled = demangle(buf_str(&symbol), &fn, &full);
		OK(full.len <= DEMANGLE_OUT_MAX);
		OK(k > 3 || mangled);
		OK(k < 12 || !mangled);
	}
	buf_clear(&symbol);
	buf_adds(&symbol, "_Z");
	buf_addn(&symbol, 'P', DEMANGLE_IN_MAX + 1);
	OK(!demangle(buf_str(&symbol), &fn, &full));
	EQ_S(buf_str(&full), buf_str(&symbol));
	buf_release(&symbol);
	buf_release(&fn);
	buf_release(&full);
}
