/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The work is libiberty's, which gives its text to a callback piece by piece:
 * the only place where a name that grows without end can be stopped is there,
 * by a jump, since the library keeps its state on the stack.
 */
#include "symbols/names/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <string.h>

#include "base/buf.h"

#define DEPTH_MAX 32 /* of names within names that are shortened; deeper ones are left out */

struct sink {
	struct buf *out;
	jmp_buf full;
};

static void take(const char *text, size_t len, void *ctx)
{
	struct sink *s = ctx;

	if (s->out->len + len > DEMANGLE_OUT_MAX)
		longjmp(s->full, 1); /* NOLINT(cert-err52-cpp): the library has no other way out */
	buf_add(s->out, text, len);
}

enum lang { LANG_NONE, LANG_CPP, LANG_RUST };

static int library(const char *symbol, enum lang lang, int options, struct sink *s)
{
	buf_clear(s->out);
	if (setjmp(s->full)) /* NOLINT(cert-err52-cpp) */
		return 0;
	if (lang == LANG_RUST)
		return rust_demangle_callback(symbol, options, take, s);
	return cplus_demangle_v3_callback(symbol, options, take, s);
}

static enum lang lang_of(const char *symbol)
{
	const char *p = symbol + strspn(symbol, "_");
	size_t len = strlen(symbol);

	if (p == symbol || p - symbol > 3)
		return LANG_NONE;
	if (*p == 'R')
		return LANG_RUST;
	if (*p != 'Z')
		return LANG_NONE;
	/* Rust's older form is C++ with a hash at the end: 17h, 16 digits, E */
	return len > 20 && strncmp(symbol + len - 20, "17h", 3) == 0 ? LANG_RUST : LANG_CPP;
}

/* Begin of what the compiler added for a part or a copy; the end when there is nothing. */
static size_t base_len(const char *symbol)
{
	static const char *const added[] = {
		".cold", ".part.", ".isra.", ".constprop.", ".lto_priv.", ".llvm.", ".localalias",
		".clone.", ".warm", ".__part.", ".resolver", ".avx", ".sse", ".arch_", ".default",
	};
	const char *at = symbol;

	while ((at = strchr(at + (at == symbol), '.'))) {
		for (size_t i = 0; i < sizeof(added) / sizeof(added[0]); i++) {
			if (at != symbol && strncmp(at, added[i], strlen(added[i])) == 0)
				return (size_t)(at - symbol);
		}
		at++;
	}
	return strlen(symbol);
}

static size_t version_at(const char *symbol)
{
	return *symbol ? 1 + strcspn(symbol + 1, "@") : 0;
}

bool demangle(const char *symbol, struct buf *ret_short, struct buf *ret_full)
{
	char base[DEMANGLE_IN_MAX + 1];
	struct sink s = {.out = ret_full};
	size_t len = version_at(symbol), base_end;
	enum lang lang;

	buf_clear(ret_short);
	buf_clear(ret_full);
	if (len > DEMANGLE_IN_MAX) {
		buf_adds(ret_short, symbol);
		buf_adds(ret_full, symbol);
		return false;
	}
	memcpy(base, symbol, len);
	base[len] = '\0';
	base_end = base_len(base);
	base[base_end] = '\0';
	lang = lang_of(base);
	if (lang == LANG_RUST && !library(base, lang, DMGL_PARAMS, &s))
		lang = base[strspn(base, "_")] == 'Z' ? LANG_CPP : LANG_NONE;
	if (lang == LANG_CPP && !library(base, lang, DMGL_PARAMS | DMGL_ANSI, &s))
		lang = LANG_NONE;
	if (lang == LANG_NONE) {
		buf_clear(ret_full);
		buf_adds(ret_full, symbol);
		buf_adds(ret_short, base);
		return false;
	}
	if (lang == LANG_CPP) {
		/* without parameters and what is returned, the name alone is left to shorten */
		struct buf name = {0};
		struct sink short_sink = {.out = &name};
		bool ok = library(base, lang, DMGL_NO_OPTS, &short_sink);

		demangle_shorten(ok ? buf_str(&name) : buf_str(ret_full), false, ret_short);
		buf_release(&name);
	} else {
		demangle_shorten(buf_str(ret_full), true, ret_short);
	}
	if (base_end < len)
		buf_printf(ret_full, " [%.*s]", (int)(len - base_end), symbol + base_end);
	return true;
}

/* ---- shortening */

/* The length of a bracketed part with its brackets; 0 when it does not end. */
static size_t bracketed(const char *text)
{
	size_t depth = 0;

	for (size_t i = 0; text[i]; i++) {
		if (strchr("<([{", text[i]))
			depth++;
		else if (strchr(")]}", text[i]) || (text[i] == '>' && i && text[i - 1] != '-' &&
						    text[i - 1] != '='))
			depth--;
		if (!depth)
			return i + 1;
	}
	return 0;
}

static bool is_word(char c)
{
	return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	       (c >= 'A' && c <= 'Z') || (unsigned char)c >= 0x80;
}

/* "operator<<" and its like, whose brackets are none; 0 when text is something else. */
static size_t operator_len(const char *text, char before)
{
	size_t len = strlen("operator");

	if (is_word(before) || strncmp(text, "operator", len) != 0 || is_word(text[len]))
		return 0;
	if (strncmp(text + len, "()", 2) == 0 || strncmp(text + len, "[]", 2) == 0)
		return len + 2;
	return len + strspn(text + len, "<>=-+*/%^&|~!,");
}

struct span {
	const char *at;
	size_t len;
};

/* X, the type that has the method, in "X as Trait" and "impl Trait for X" in brackets. */
static struct span rust_self(struct span in)
{
	size_t start = 0, end = in.len;

	for (size_t i = 0; i < in.len; i++) {
		size_t skip = strchr("<([{", in.at[i]) ? bracketed(in.at + i) : 0;

		if (skip) {
			if (skip > in.len - i)
				break;
			i += skip - 1;
		} else if (i >= start && in.len - i > 4 && strncmp(in.at + i, " as ", 4) == 0) {
			end = i;
			break;
		} else if (in.len - i > 5 && strncmp(in.at + i, " for ", 5) == 0) {
			start = i + 5;
		}
	}
	while (start < end && strchr("&*", in.at[start]))
		start++;
	return (struct span){in.at + start, end - start};
}

static void shorten(struct span in, bool rust, unsigned depth, struct buf *out);

/* "<Vec<T> as Drop>" at the start and "<impl Drop for Vec<T>>" name a type, "::<T>" none. */
static void rust_angle(struct span in, bool first, unsigned depth, struct buf *out)
{
	if (depth < DEPTH_MAX && (first || (in.len > 6 && strncmp(in.at + 1, "impl ", 5) == 0)))
		shorten(rust_self((struct span){in.at + 1, in.len - 2}), true, depth + 1, out);
	else if (out->len >= 2 && out->data[out->len - 1] == ':')
		buf_truncate(out, out->len - 2);
}

static void shorten(struct span in, bool rust, unsigned depth, struct buf *out)
{
	for (size_t i = 0; i < in.len;) {
		const char *at = in.at + i;
		size_t len = rust ? 0 : operator_len(at, i ? at[-1] : ':');
		size_t skip = strchr(rust ? "<(" : "<([", *at) ? bracketed(at) : 0;

		if (skip > in.len - i)
			skip = 0;
		if (strncmp(at, "(anonymous namespace)", 21) == 0 && in.len - i >= 21)
			len = 21;
		if (len && len <= in.len - i) {
			buf_add(out, at, len);
			/* "operator<< <int>", but "operator bool" */
			i += len + (i + len + 1 < in.len && strncmp(at + len, " <", 2) == 0);
		} else if (skip && rust && *at == '<' && (!i || at[-1] == ':')) {
			rust_angle((struct span){at, skip}, i == 0, depth, out);
			i += skip;
		} else if (skip) {
			i += skip;
		} else {
			buf_addch(out, *at);
			i++;
		}
	}
}

void demangle_shorten(const char *full, bool rust, struct buf *ret_short)
{
	static const char *const wraps[] = {"non-virtual thunk to ", "virtual thunk to "};

	for (size_t i = 0; i < sizeof(wraps) / sizeof(wraps[0]); i++) {
		if (strncmp(full, wraps[i], strlen(wraps[i])) == 0)
			full += strlen(wraps[i]);
	}
	buf_clear(ret_short);
	shorten((struct span){full, strlen(full)}, rust, 0, ret_short);
	if (!ret_short->len)
		buf_adds(ret_short, full);
}
