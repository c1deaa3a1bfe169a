/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPython: _PyRuntime leads to the interpreters, these to their threads, a
 * thread to the frame that it runs, a frame to its caller and to its code.
 *
 * A call from Python to Python stays in one native frame of the loop (from 3.11
 * on): a flag, or a frame of its own, marks where that began.  The places below
 * are those of each version's headers; they did not change within one.  What
 * PyCode_Type says of its members is compared with them before they are used.
 */
#include "symbols/runtimes/cpython.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "symbols/runtimes/runtimes_int.h"

enum {
	INTERP_MAX = 16,       /* subinterpreters looked at */
	MEMBERS_AT = 240,      /* PyTypeObject.tp_members */
	MEMBER_LEN = 40, MEMBER_OFFSET_AT = 16, MEMBER_MAX = 32,
	TYPE_AT = 8,	       /* ob_type of any object */
	SIZE_AT = 16,	       /* length of a str or bytes */
	STATE_AT = 32,	       /* of a str */
	BYTES_AT = 32,	       /* where those of a bytes object begin */
	PTHREAD_TID_AT = 0x2d0, /* glibc 2.31 to 2.41, x86-64: tid in struct pthread */
	OWNER_CSTACK = 3,
};

static const struct cpython_layout layouts[] = {
	{8, 32, 0, 8, 8, 176, 0, 1, {24}, 112, 24, 32, 104, 0, 0,
	 112, 104, 40, 120, 0, 48, 72, CPYTHON_LNOTAB},
	{9, 32, 0, 8, 8, 176, 0, 1, {24}, 112, 24, 32, 104, 0, 0,
	 112, 104, 40, 120, 0, 48, 72, CPYTHON_LNOTAB},
	{10, 32, 0, 8, 8, 176, 0, 1, {24}, 104, 24, 32, 96, 0, 0,
	 112, 104, 40, 120, 0, 48, 72, CPYTHON_PAIRS},
	{11, 40, 0, 16, 8, 152, 160, 2, {56, 8}, 80, 48, 32, 56, 68, 69,
	 128, 112, 72, 136, 184, 48, 72, CPYTHON_LOCATIONS},
	{12, 40, 0, 72, 8, 136, 144, 2, {56, 0}, 80, 8, 0, 56, 0, 70,
	 128, 112, 68, 136, 192, 40, 56, CPYTHON_LOCATIONS},
	{13, 632, 7264, 7344, 8, 152, 160, 1, {72}, 80, 8, 0, 56, 0, 70,
	 128, 112, 68, 136, 200, 40, 56, CPYTHON_LOCATIONS},
};

struct cpython {
	const struct cpython_layout *at;
	uint64_t runtime, code_type, str_type, bytes_type;
};

static const struct cpython_layout *layout_of(unsigned minor)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
		if (layouts[i].minor == minor)
			return &layouts[i];
	return NULL;
}

static bool is_file(const char *name)
{
	return strncmp(name, "python3", 7) == 0 || strncmp(name, "libpython3", 10) == 0;
}

/* ---- opening */

/* Py_Version came with 3.11; before that the name of the file says it. */
static int version_of(struct runtime_proc *r, const struct runtime_file *f, uint64_t version_addr,
		      unsigned *ret_minor, struct err *err)
{
	const char *at = strstr(f->name, "python3.");
	uint32_t version;

	if (version_addr && runtime_read_u32(r, version_addr, &version) == 0) {
		snprintf(r->version, sizeof(r->version), "%u.%u.%u", version >> 24 & 255,
			 version >> 16 & 255, version >> 8 & 255);
		*ret_minor = version >> 24 == 3 ? version >> 16 & 255 : 0;
		return 0;
	}
	if (!at || sscanf(at, "python3.%3u", ret_minor) != 1)
		return err_set(err, -ENOTSUP, "Python of an unknown version");
	snprintf(r->version, sizeof(r->version), "3.%u", *ret_minor);
	return 0;
}

/* The place of a member of code objects, as the process has it; -ENOENT: not said. */
static int member_offset(const struct runtime_proc *r, uint64_t type, const char *name,
			 uint64_t *ret)
{
	uint64_t members, text;
	char have[32];

	if (runtime_read_u64(r, type + MEMBERS_AT, &members) < 0 || !members)
		return -ENOENT;
	for (unsigned i = 0; i < MEMBER_MAX; i++, members += MEMBER_LEN) {
		if (runtime_read_u64(r, members, &text) < 0 || !text)
			return -ENOENT;
		if (runtime_read(r, text, have, strlen(name) + 1) == 0 &&
		    memcmp(have, name, strlen(name) + 1) == 0)
			return runtime_read_u64(r, members + MEMBER_OFFSET_AT, ret);
	}
	return -ENOENT;
}

/* The table is used only where the process' own description of its objects agrees. */
static int check(const struct runtime_proc *r, const struct cpython *c, struct err *err)
{
	const struct {
		const char *name;
		uint64_t off;
	} members[] = {
		{c->at->minor >= 11 ? "co_qualname" : "co_name", c->at->code_name},
		{"co_filename", c->at->code_file},
		{"co_firstlineno", c->at->code_first_line},
	};
	uint64_t off, interp;

	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
		if (member_offset(r, c->code_type, members[i].name, &off) < 0 ||
		    off != members[i].off)
			return err_set(err, -ENOTSUP, "Python %s has its %s in another place than "
				       "known", r->version, members[i].name);
	if (runtime_read_u64(r, c->runtime + c->at->runtime_interp, &interp) < 0 || !interp)
		return err_set(err, -ENOTSUP, "Python %s has no interpreter yet", r->version);
	return 0;
}

/* 3.13 and later begin with a description of themselves. */
static int check_described(const struct runtime_proc *r, const struct cpython *c, struct err *err)
{
	uint64_t head[6]; /* cookie, version, free-threaded, then of _PyRuntime */

	if (c->at->minor < 13)
		return 0;
	if (runtime_read(r, c->runtime, head, sizeof(head)) < 0 ||
	    memcmp(head, "xdebugpy", 8) != 0)
		return err_set(err, -ENOTSUP, "Python %s does not describe itself", r->version);
	if (head[2])
		return err_set(err, -ENOTSUP, "Python %s without a GIL is not known", r->version);
	if (head[5] != c->at->runtime_interp)
		return err_set(err, -ENOTSUP, "Python %s has its interpreters in another place "
			       "than known", r->version);
	return 0;
}

static void shape_make(struct runtime_proc *r, const struct cpython_layout *at)
{
	r->shape = (struct chain_shape){
		.step_cnt = at->step_cnt, .elem_len = at->frame_len, .next_off = at->frame_prev,
	};
	for (uint32_t i = 0; i < at->step_cnt; i++)
		r->shape.steps[i] = at->steps[i];
	r->running = (struct runtime_running){
		.kept_cnt = at->minor < 11 ? 2 : 3,
		.kept = {at->frame_code, at->frame_at / 8 * 8u, at->frame_owner / 8 * 8u},
		.check_off = at->thread_pthread,
	};
}

static int open_it(struct runtime_proc *r, const struct runtime_file *f, struct image *im,
		   struct err *err)
{
	struct cpython *c = xcalloc(1, sizeof(*c));
	uint64_t version = 0, loop = 0, loop_len = 0;
	const struct runtime_symbol wanted[] = {
		{"_PyRuntime", &c->runtime, NULL}, {"PyCode_Type", &c->code_type, NULL},
		{"PyUnicode_Type", &c->str_type, NULL}, {"PyBytes_Type", &c->bytes_type, NULL},
		{"_PyEval_EvalFrameDefault", &loop, &loop_len}, {"Py_Version", &version, NULL},
	};
	unsigned minor = 0;
	int rc;

	r->own = c;
	runtime_symbols(im, r->bias, wanted, sizeof(wanted) / sizeof(wanted[0]));
	if (!c->runtime || !c->code_type)
		return err_set(err, -ENOENT, "no Python in this file");
	if (!loop || !c->str_type || !c->bytes_type)
		return err_set(err, -ENOTSUP, "Python without the symbols that are needed");
	rc = version_of(r, f, version, &minor, err);
	if (rc < 0)
		return rc;
	c->at = layout_of(minor);
	if (!c->at)
		return err_set(err, -ENOTSUP, "Python %s is not known (3.8 to 3.13 are)",
			       r->version);
	r->loops[r->loop_cnt++] = (struct runtime_range){loop, loop + loop_len};
	shape_make(r, c->at);
	rc = check_described(r, c, err);
	return rc < 0 ? rc : check(r, c, err);
}

/* ---- threads and frames */

static long interp_threads(struct runtime_proc *r, uint64_t interp, struct runtime_thread *ret,
			   size_t max)
{
	const struct cpython_layout *at = ((const struct cpython *)r->own)->at;
	const struct chain_shape shape = {
		.step_cnt = 1, .steps = {at->interp_threads}, .elem_len = 192,
		.next_off = at->thread_next,
	};
	CLEANUP(buf_release) struct buf list = {0};
	long cnt = r->mem.list(r->mem.ctx, &shape, interp, &list);
	size_t n = 0;

	for (long i = 0; i < cnt && n < max; i++) {
		const uint8_t *elem = (const uint8_t *)list.data + (size_t)i * (8 + 192);
		struct runtime_thread *t = &ret[n];

		t->anchor = runtime_u64(elem, 0);
		t->pthread = runtime_u64(elem + 8, at->thread_pthread);
		t->ns_tid = 0;
		if (at->thread_tid)
			t->ns_tid = runtime_u32(elem + 8, at->thread_tid);
		else if (runtime_read_u32(r, t->pthread + PTHREAD_TID_AT, &t->ns_tid) < 0)
			continue;
		n++;
	}
	return cnt < 0 ? cnt : (long)n;
}

static long threads(struct runtime_proc *r, struct runtime_thread *ret, size_t max)
{
	const struct cpython *c = r->own;
	uint64_t interp;
	long cnt = 0, got = runtime_read_u64(r, c->runtime + c->at->runtime_interp, &interp);

	for (unsigned i = 0; i < INTERP_MAX && got >= 0 && interp; i++) {
		got = interp_threads(r, interp, ret + cnt, max - (size_t)cnt);
		if (got < 0)
			break;
		cnt += got;
		if (runtime_read_u64(r, interp + c->at->interp_next, &interp) < 0)
			break;
	}
	return cnt ? cnt : got;
}

static bool frame(const struct runtime_proc *r, uint64_t addr, const uint8_t *elem,
		  struct runtime_frame *ret)
{
	const struct cpython_layout *at = ((const struct cpython *)r->own)->at;

	(void)addr;
	ret->code = runtime_u64(elem, at->frame_code);
	if (at->minor >= 11)
		ret->at = runtime_u64(elem, at->frame_at) - ret->code - at->code_bytes;
	else if (at->minor == 10)
		ret->at = (uint64_t)runtime_u32(elem, at->frame_at) * 2;
	else
		ret->at = runtime_u32(elem, at->frame_at);
	if (at->minor >= 12)
		ret->is_hidden = ret->ends_loop = elem[at->frame_owner] == OWNER_CSTACK;
	else
		ret->ends_loop = at->minor < 11 || elem[at->frame_entry] == 1;
	return ret->code != 0;
}

/* ---- names */

/* Characters of `kind` bytes each, as UTF-8. */
static void text_put(struct buf *out, const uint8_t *text, size_t cnt, unsigned kind)
{
	for (size_t i = 0; i < cnt; i++) {
		uint32_t cp = 0;

		memcpy(&cp, text + i * kind, kind);
		if (cp < 0x80) {
			buf_addch(out, cp ? (char)cp : '?');
		} else if (cp < 0x800) {
			buf_addch(out, (char)(0xc0 | cp >> 6));
			buf_addch(out, (char)(0x80 | (cp & 63)));
		} else if (cp < 0x10000) {
			buf_addch(out, (char)(0xe0 | cp >> 12));
			buf_addch(out, (char)(0x80 | (cp >> 6 & 63)));
			buf_addch(out, (char)(0x80 | (cp & 63)));
		} else {
			buf_addch(out, '?');
		}
	}
}

static int str_read(const struct runtime_proc *r, uint64_t obj, struct buf *out)
{
	const struct cpython *c = r->own;
	uint8_t head[40], text[RUNTIME_TEXT_MAX];
	uint64_t len;
	uint32_t state;
	unsigned kind;
	size_t cnt;
	int rc = runtime_read(r, obj, head, sizeof(head));

	if (rc < 0)
		return rc;
	len = runtime_u64(head, SIZE_AT);
	state = runtime_u32(head, STATE_AT);
	kind = state >> 2 & 7;
	if (runtime_u64(head, TYPE_AT) != c->str_type || !(state & 32) ||
	    (kind != 1 && kind != 2 && kind != 4))
		return -EBADMSG;
	cnt = len < sizeof(text) / kind ? (size_t)len : sizeof(text) / kind;
	rc = cnt ? runtime_read(r, obj + (state & 64 ? c->at->str_ascii : c->at->str_compact), text,
				cnt * kind) : 0;
	if (rc < 0)
		return rc;
	text_put(out, text, cnt, kind);
	if (cnt < len)
		buf_adds(out, "...");
	return 0;
}

static uint32_t line_at(const struct runtime_proc *r, const uint8_t *code, uint64_t at)
{
	const struct cpython *c = r->own;
	CLEANUP_FREE uint8_t *table = NULL;
	uint64_t obj = runtime_u64(code, c->at->code_lines), len;
	uint8_t head[BYTES_AT];

	if (runtime_read(r, obj, head, sizeof(head)) < 0 ||
	    runtime_u64(head, TYPE_AT) != c->bytes_type)
		return 0;
	len = runtime_u64(head, SIZE_AT);
	if (!len || len > RUNTIME_LINES_MAX)
		return 0;
	table = xmalloc(len);
	if (runtime_read(r, obj + BYTES_AT, table, len) < 0)
		return 0;
	return cpython_line(c->at->lines, table, len, runtime_u32(code, c->at->code_first_line),
			    at);
}

#define CODE_LEN 144 /* of a code object: up to its table of lines */

static int code_read(const struct runtime_proc *r, uint64_t addr, uint8_t *code, uint64_t *cookie)
{
	const struct cpython *c = r->own;
	int rc = runtime_read(r, addr, code, CODE_LEN);

	if (rc < 0)
		return rc;
	if (runtime_u64(code, TYPE_AT) != c->code_type)
		return -EBADMSG;
	*cookie = runtime_u64(code, c->at->code_name) * 31 +
		  runtime_u64(code, c->at->code_file) * 7 +
		  runtime_u32(code, c->at->code_first_line);
	return 0;
}

static int cookie(struct runtime_proc *r, uint64_t addr, uint64_t *ret)
{
	uint8_t code[CODE_LEN];

	return code_read(r, addr, code, ret);
}

/* Folders in which Python and its packages are installed, whatever the prefix. */
static bool is_library(const char *path)
{
	static const char *const parts[] = {
		"/lib/python3", "/lib64/python3", "/site-packages/", "/dist-packages/",
		"<frozen ",
	};

	return runtime_path_has(path, parts, sizeof(parts) / sizeof(parts[0]));
}

static int describe(struct runtime_proc *r, const struct runtime_frame *f, struct runtime_name *ret)
{
	const struct cpython *c = r->own;
	uint8_t code[CODE_LEN];
	int rc = code_read(r, f->code, code, &ret->cookie);

	if (rc == 0)
		rc = str_read(r, runtime_u64(code, c->at->code_name), &ret->fn);
	if (rc == 0)
		rc = str_read(r, runtime_u64(code, c->at->code_file), &ret->file);
	if (rc < 0)
		return rc;
	ret->def_line = runtime_u32(code, c->at->code_first_line);
	ret->line = line_at(r, code, f->at);
	ret->is_library = is_library(buf_str(&ret->file));
	return 0;
}

const struct runtime_lang runtime_cpython = {
	.name = "Python", .is_file = is_file, .open = open_it, .threads = threads,
	.frame = frame, .cookie = cookie, .describe = describe,
};
