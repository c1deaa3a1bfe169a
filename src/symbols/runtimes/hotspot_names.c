/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a method to its name, file and line.  A Method is what calls go to, its
 * ConstMethod has the bytecode with a table of lines behind, and indexes into
 * the pool of its class, where the names are.
 */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/utf8.h"
#include "symbols/runtimes/hotspot.h"

#define NO_ZERO_MAJOR 20
#define HAS_LINES 1

/* ---- methods */

struct method {
	uint64_t body, body_len; /* its ConstMethod */
	uint64_t code, code_len; /* the bytecode */
	uint64_t pool, holder;
	uint32_t pool_len, name, flags;
};

static int u16_get(struct runtime_proc *r, uint64_t addr, uint32_t *ret)
{
	uint16_t value;
	int rc = hotspot_get(r, addr, &value, sizeof(value));

	if (rc == 0)
		*ret = value;
	return rc;
}

static int method_read(struct runtime_proc *r, uint64_t addr, struct method *m)
{
	const uint64_t *at = ((struct hotspot *)r->own)->at;
	uint32_t words = 0, code_len = 0;

	if (!addr || addr % sizeof(uint64_t) ||
	    hotspot_u64(r, addr + at[HS_METHOD_CONST], &m->body) < 0 ||
	    hotspot_u64(r, m->body + at[HS_CONST_POOL], &m->pool) < 0 ||
	    hotspot_u32(r, m->body + at[HS_CONST_WORDS], &words) < 0 ||
	    u16_get(r, m->body + at[HS_CONST_CODE_LEN], &code_len) < 0 ||
	    u16_get(r, m->body + at[HS_CONST_NAME], &m->name) < 0 ||
	    u16_get(r, m->body + at[HS_CONST_FLAGS], &m->flags) < 0 ||
	    hotspot_u64(r, m->pool + at[HS_POOL_HOLDER], &m->holder) < 0 ||
	    hotspot_u32(r, m->pool + at[HS_POOL_LEN], &m->pool_len) < 0)
		return -EFAULT;
	m->code = m->body + at[HS_CONST_HEAD_LEN];
	m->code_len = code_len;
	m->body_len = (uint64_t)words * sizeof(uint64_t);
	return m->name && m->name < m->pool_len &&
	       m->body_len >= at[HS_CONST_HEAD_LEN] + m->code_len ? 0 : -EBADMSG;
}

int hotspot_cookie(struct runtime_proc *r, uint64_t method, uint64_t *ret)
{
	struct method m;
	int rc = method_read(r, method, &m);

	if (rc == 0)
		*ret = hash_pair(hash_pair(m.body, m.pool), hash_pair(m.holder, m.name));
	return rc;
}

/* ---- texts */

/* Replaces bytes that are not UTF-8; a class's folders become packages. */
static void text_put(struct buf *out, const char *text, size_t len, bool is_class)
{
	for (size_t i = 0, n; i < len; i += n ? n : 1) {
		uint32_t cp;

		n = utf8_decode(text + i, len - i, &cp);
		if (!n || utf8_is_unsafe(cp))
			buf_addch(out, '?');
		else if (is_class && *(text + i) == '/')
			buf_addch(out, '.');
		else
			buf_add(out, text + i, n);
	}
}

/* A class that has no name of its own has its address in it: "C$$Lambda$1+0x7f01". */
static size_t without_address(const char *text, size_t len)
{
	for (size_t i = 1; i + 2 < len; i++)
		if ((text[i] == '+' || text[i] == '/') && text[i + 1] == '0' && text[i + 2] == 'x')
			return i;
	return len;
}

int hotspot_symbol(struct runtime_proc *r, uint64_t addr, bool is_class, struct buf *out)
{
	const uint64_t *at = ((struct hotspot *)r->own)->at;
	char text[RUNTIME_TEXT_MAX];
	uint32_t len = 0;
	int rc = -ENOTSUP;

	if (at[HS_SYMBOL_LEN] != HOTSPOT_NONE)
		rc = u16_get(r, addr + at[HS_SYMBOL_LEN], &len);
	else if (at[HS_SYMBOL_LEN_HIGH] != HOTSPOT_NONE)
		rc = u16_get(r, addr + at[HS_SYMBOL_LEN_HIGH] + 2, &len);
	if (rc < 0)
		return rc;
	if (!len)
		return -EBADMSG;
	rc = hotspot_get(r, addr + at[HS_SYMBOL_BODY], text,
			 len < sizeof(text) ? len : sizeof(text));
	if (rc < 0)
		return rc;
	if (len > sizeof(text)) {
		text_put(out, text, sizeof(text), is_class);
		buf_adds(out, "...");
	} else {
		text_put(out, text, is_class ? without_address(text, len) : len, is_class);
	}
	return 0;
}

static int pool_text(struct runtime_proc *r, const struct method *m, uint32_t index,
		     struct buf *out)
{
	const uint64_t *at = ((struct hotspot *)r->own)->at;
	uint64_t symbol;
	int rc;

	if (!index || index >= m->pool_len)
		return -EBADMSG;
	rc = hotspot_u64(r, m->pool + at[HS_POOL_HEAD_LEN] + index * sizeof(symbol), &symbol);
	return rc < 0 ? rc : hotspot_symbol(r, symbol & ~UINT64_C(1), false, out);
}

static uint32_t source_index(struct runtime_proc *r, const struct method *m)
{
	const uint64_t *at = ((struct hotspot *)r->own)->at;
	uint32_t index = 0;

	if (at[HS_POOL_SOURCE] != HOTSPOT_NONE)
		(void)u16_get(r, m->pool + at[HS_POOL_SOURCE], &index);
	else if (at[HS_CLASS_SOURCE] != HOTSPOT_NONE)
		(void)u16_get(r, m->holder + at[HS_CLASS_SOURCE], &index);
	return index;
}

/* ---- lines */

/* An interpreted frame has the address of its bytecode, a compiled one the index. */
static uint64_t bci_of(const struct method *m, uint64_t at)
{
	return at >= m->code && at - m->code < m->code_len ? at - m->code : at;
}

static void lines_read(struct runtime_proc *r, const struct method *m, uint64_t at,
		       struct runtime_name *ret)
{
	const struct hotspot *h = r->own;
	uint64_t begin = m->code + m->code_len, len = m->body + m->body_len - begin;
	uint64_t flag = h->at[HS_HAS_LINES] == HOTSPOT_NONE ? HAS_LINES : h->at[HS_HAS_LINES];
	uint64_t bci = bci_of(m, at);
	CLEANUP_FREE uint8_t *table = NULL;
	bool no_zero = h->major >= NO_ZERO_MAJOR;

	if (!(m->flags & flag) || bci >= m->code_len)
		return;
	len = len < RUNTIME_LINES_MAX ? len : RUNTIME_LINES_MAX;
	table = xmalloc(len + 1);
	if (hotspot_get(r, begin, table, len) < 0)
		return;
	ret->line = hotspot_line(table, len, (uint32_t)bci, no_zero);
	ret->def_line = hotspot_line(table, len, 0, no_zero);
}

/* Packages that come with Java; no program may have classes of the first. */
static bool is_library(const char *class)
{
	static const char *const packages[] = {"java.", "javax.", "jdk.", "sun.", "com.sun."};

	for (size_t i = 0; i < sizeof(packages) / sizeof(packages[0]); i++)
		if (strncmp(class, packages[i], strlen(packages[i])) == 0)
			return true;
	return false;
}

int hotspot_describe(struct runtime_proc *r, const struct runtime_frame *f,
		     struct runtime_name *ret)
{
	const uint64_t *at = ((struct hotspot *)r->own)->at;
	struct method m;
	uint64_t class;
	int rc = method_read(r, f->code, &m);

	if (rc == 0)
		rc = hotspot_cookie(r, f->code, &ret->cookie);
	if (rc == 0)
		rc = hotspot_u64(r, m.holder + at[HS_CLASS_NAME], &class);
	if (rc == 0)
		rc = hotspot_symbol(r, class, true, &ret->fn);
	if (rc < 0)
		return rc;
	ret->is_library = is_library(buf_str(&ret->fn));
	buf_addch(&ret->fn, '.');
	rc = pool_text(r, &m, m.name, &ret->fn);
	if (rc < 0)
		return rc;
	if (pool_text(r, &m, source_index(r, &m), &ret->file) < 0)
		buf_clear(&ret->file);
	lines_read(r, &m, f->at, ret);
	return 0;
}
