/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ruby: ruby_current_vm_ptr leads to the main thread, from which the list of all
 * goes round; a thread to the fiber that it runs, a fiber to its frames, which are
 * an array, to their functions (iseq), names and lines.
 *
 * A call from Ruby to Ruby stays in one native frame of the loop, rb_vm_exec; a
 * flag marks the frame that the loop was entered with.  It lies on another stack,
 * of values.  Functions of C have frames, but their names are in a table that no
 * symbol leads to: their native frames stand for them.  The places below are those
 * of each version's headers; the main thread must lie as they say before they are
 * used.  Threads of ractors but the main one are not looked for.
 */
#include "symbols/runtimes/ruby.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/err.h"
#include "symbols/runtimes/runtimes_int.h"

enum {
	FRAME_PC = 0, FRAME_VALUES = 32, FRAME_LEN = 40,
	FRAME_FLAGS = FRAME_LEN, /* of its values */
	THREAD_LEN = 96, NATIVE_LEN = 32,
	PTHREAD_SELF_AT = 0x10, PTHREAD_TID_AT = 0x2d0, /* glibc 2.31 to 2.41, x86-64 */
	BODY_WORDS = 4, BODY_FIRST_LINE = 88,
	LINES_CNT = 16, LINES_RANKS = 24, /* from body_lines on */
	STRING_LEN = 16, STRING_AT = 16, STRING_LONG_AT = 24,
	ARRAY_AT = 16, ARRAY_LONG_AT = 32,
};

#define FLAG_ENDS_LOOP 0x20u
#define FLAG_NATIVE    0x80u /* of C, or a block of it */
#define TYPE_STRING    5u
#define TYPE_ARRAY     7u
#define LONG_OR_SHORT  (UINT64_C(1) << 13)

static const struct ruby_layout layouts[] = {
	{2, 7, 56, 192, 24, 32, 0, 72, 0, 120, 8, false},
	{3, 0, 56, 40, 32, 40, 0, 80, 0, 120, 8, false},
	{3, 1, 64, 40, 32, 40, 0, 80, 88, 120, 12, false},
	{3, 2, 64, 40, 32, 48, 40, 8, 16, 112, 12, true},
	{3, 3, 56, 40, 32, 48, 40, 16, 24, 112, 12, true},
	{3, 4, 56, 40, 32, 48, 40, 16, 24, 112, 12, true},
};

struct ruby {
	const struct ruby_layout *at;
	uint64_t vm; /* where the pointer to it lies */
};

const struct ruby_layout *ruby_layout_of(const char *version)
{
	unsigned major, minor;

	if (sscanf(version, "%2u.%3u.", &major, &minor) != 2)
		return NULL;
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
		if (layouts[i].major == major && layouts[i].minor == minor)
			return &layouts[i];
	return NULL;
}

/* libruby-3.1.so.3.1, or ruby where it has no library of its own. */
static bool is_file(const char *name)
{
	return strncmp(name, "ruby", 4) == 0 || strncmp(name, "libruby", 7) == 0;
}

/* ---- threads */

/* glibc keeps it anew after a fork, Ruby need not. */
static uint32_t tid_of(const struct runtime_proc *r, uint64_t pthread, const uint8_t *native)
{
	const struct ruby_layout *at = ((const struct ruby *)r->own)->at;
	uint64_t self;
	uint32_t tid;

	if (runtime_read_u64(r, pthread + PTHREAD_SELF_AT, &self) == 0 && self == pthread &&
	    runtime_read_u32(r, pthread + PTHREAD_TID_AT, &tid) == 0)
		return tid;
	return at->native_tid ? runtime_u32(native, at->native_tid) : 0;
}

/* A thread as its bytes say.  false: it is none, or has no native thread now. */
static bool thread_make(const struct runtime_proc *r, uint64_t addr, uint64_t vm,
			const uint8_t *thread, struct runtime_thread *ret)
{
	const struct ruby *c = r->own;
	uint8_t ec[RUBY_EC_LEN], kept[NATIVE_LEN];
	const uint8_t *native = thread;

	if (runtime_u64(thread, c->at->thread_vm) != vm ||
	    runtime_read(r, runtime_u64(thread, c->at->thread_ec), ec, sizeof(ec)) < 0)
		return false;
	if (c->at->thread_nt) {
		native = kept;
		if (runtime_read(r, runtime_u64(thread, c->at->thread_nt), kept,
				 sizeof(kept)) < 0)
			return false;
	}
	ret->anchor = addr;
	ret->until = ruby_frames_end(c->at, ec);
	ret->pthread = runtime_u64(native, c->at->native_pthread);
	ret->ns_tid = tid_of(r, ret->pthread, native);
	return ret->ns_tid;
}

/* The list goes round; its head, which is no thread, lies between the last and the first. */
static long threads(struct runtime_proc *r, struct runtime_thread *ret, size_t max)
{
	const struct ruby *c = r->own;
	uint8_t thread[THREAD_LEN];
	uint64_t vm, first, addr;
	size_t cnt = 0;
	int rc = runtime_read_u64(r, c->vm, &vm);

	if (rc == 0)
		rc = runtime_read_u64(r, vm + c->at->vm_main, &first);
	if (rc < 0)
		return rc;
	addr = first;
	for (unsigned i = 0; i <= RUNTIME_THREAD_MAX && cnt < max; i++) {
		rc = runtime_read(r, addr, thread, sizeof(thread));
		if (rc < 0)
			return rc;
		cnt += thread_make(r, addr, vm, thread, &ret[cnt]);
		addr = runtime_u64(thread, 0);
		if (addr == first)
			break;
	}
	return (long)cnt;
}

/* ---- opening */

/* The main thread has to lie as the table says, its frames at their distance. */
static int check(struct runtime_proc *r, struct image *im, struct err *err)
{
	const struct ruby *c = r->own;
	struct ruby_main thread;
	uint64_t vm;
	int rc;

	if (runtime_read_u64(r, c->vm, &vm) < 0 || !vm)
		return err_set(err, -ENOTSUP, "Ruby %s has not started yet", r->version);
	rc = ruby_main_read(r, c->at, vm, &thread);
	if (rc == -ENOENT)
		return err_set(err, -ENOTSUP, "Ruby %s has its main thread in another place than "
			       "known", r->version);
	if (rc < 0)
		return err_set(err, -ENOTSUP, "Ruby %s has frames of another length than known",
			       r->version);
	if (!r->loops[0].start && ruby_find_loop(r, im, c->at, vm, &r->loops[0]) < 0)
		return err_set(err, -ENOTSUP, "Ruby %s has no loop that can be found", r->version);
	return 0;
}

static int version_read(struct runtime_proc *r, uint64_t addr, uint64_t len, struct err *err)
{
	char text[16] = "";

	if (addr && runtime_read(r, addr, text, len < sizeof(text) ? len : sizeof(text) - 1) == 0)
		snprintf(r->version, sizeof(r->version), "%.*s",
			 (int)strspn(text, "0123456789."), text);
	if (!r->version[0])
		return err_set(err, -ENOTSUP, "Ruby of an unknown version");
	((struct ruby *)r->own)->at = ruby_layout_of(r->version);
	if (!((struct ruby *)r->own)->at)
		return err_set(err, -ENOTSUP, "Ruby %s is not known (2.7 to 3.4 are)", r->version);
	return 0;
}

static int open_it(struct runtime_proc *r, const struct runtime_file *f, struct image *im,
		   struct err *err)
{
	struct ruby *c = xcalloc(1, sizeof(*c));
	uint64_t loop = 0, loop_len = 0, version = 0, version_len = 0;
	const struct runtime_symbol wanted[] = {
		{"ruby_current_vm_ptr", &c->vm, NULL}, {"rb_vm_exec", &loop, &loop_len},
		{"ruby_version", &version, &version_len},
	};
	int rc;

	(void)f;
	r->own = c;
	runtime_symbols(im, r->bias, wanted, sizeof(wanted) / sizeof(wanted[0]));
	if (!version && !loop && !c->vm)
		return err_set(err, -ENOENT, "no Ruby in this file");
	rc = version_read(r, version, version_len, err);
	if (rc < 0)
		return rc;
	if (!c->vm && ruby_find_vm(r, im, c->at, &c->vm) < 0)
		return err_set(err, -ENOTSUP, "Ruby %s has no virtual machine that can be found, "
			       "or has not started yet", r->version);
	r->loops[r->loop_cnt++] = (struct runtime_range){loop, loop + loop_len};
	r->shape = (struct chain_shape){
		.step_cnt = 2, .steps = {c->at->thread_ec, RUBY_EC_FRAME},
		.elem_len = FRAME_LEN + 8, .stride = c->at->frame_len,
		.ref_off = FRAME_VALUES, .ref_len = 8,
		.head_off = c->at->thread_ec, .head_len = 8,
	};
	return check(r, im, err);
}

/* ---- frames */

static bool frame_make(const uint8_t *elem, struct runtime_frame *ret)
{
	uint64_t flags = runtime_u64(elem, FRAME_FLAGS);

	*ret = (struct runtime_frame){.ends_loop = flags & FLAG_ENDS_LOOP,
				      .is_hidden = flags & FLAG_NATIVE};
	if (ret->is_hidden)
		return true;
	ret->code = runtime_u64(elem, RUBY_FRAME_FUNC);
	ret->at = runtime_u64(elem, FRAME_PC);
	return ret->code && ret->code % sizeof(uint64_t) == 0;
}

/*
 * First comes the fiber that the thread ran: the array ends where this one's does, unless the
 * thread changed to another since it was asked where that is.
 */
static long frames(struct runtime_proc *r, const uint8_t *elems, size_t cnt,
		   struct runtime_frame *ret)
{
	const struct ruby *c = r->own;
	size_t one = sizeof(uint64_t) + r->shape.elem_len;
	uint8_t ec[RUBY_EC_LEN];

	if (cnt < 2)
		return 0;
	if (cnt - 1 > RUNTIME_DEPTH_MAX)
		return -E2BIG;
	if (runtime_read(r, runtime_u64(elems, sizeof(uint64_t)), ec, sizeof(ec)) < 0 ||
	    runtime_u64(elems, (cnt - 1) * one) + c->at->frame_len != ruby_frames_end(c->at, ec))
		return -EBADMSG;
	for (size_t i = 1; i < cnt; i++)
		if (!frame_make(elems + i * one + sizeof(uint64_t), &ret[i - 1]))
			return -EBADMSG;
	return (long)cnt - 1;
}

/* ---- names */

static int string_read(const struct runtime_proc *r, uint64_t addr, struct buf *out)
{
	const struct ruby *c = r->own;
	char text[RUNTIME_TEXT_MAX];
	uint8_t head[32];
	uint64_t flags, len, at = addr + (c->at->long_strings ? STRING_LONG_AT : STRING_AT);
	size_t cnt;
	int rc = runtime_read(r, addr, head, sizeof(head));

	if (rc < 0)
		return rc;
	flags = runtime_u64(head, 0);
	len = runtime_u64(head, STRING_LEN);
	if ((flags & 31) != TYPE_STRING)
		return -EBADMSG;
	if (flags & LONG_OR_SHORT)
		at = runtime_u64(head, STRING_LONG_AT);
	else if (!c->at->long_strings)
		len = flags >> 14 & 31;
	if (len > UINT32_MAX)
		return -EBADMSG;
	cnt = len < sizeof(text) ? (size_t)len : sizeof(text);
	rc = cnt ? runtime_read(r, at, text, cnt) : 0;
	if (rc < 0)
		return rc;
	buf_add(out, text, strnlen(text, cnt));
	if (cnt < len)
		buf_adds(out, "...");
	return 0;
}

/* A string, or an array of the path as it was given and the real one. */
static int path_read(const struct runtime_proc *r, uint64_t addr, struct buf *out)
{
	uint8_t head[40];
	uint64_t flags, path;
	int rc = runtime_read_u64(r, addr, &flags);

	if (rc < 0)
		return rc;
	if ((flags & 31) != TYPE_ARRAY)
		return string_read(r, addr, out);
	rc = runtime_read(r, addr, head, sizeof(head));
	if (rc < 0)
		return rc;
	path = runtime_u64(head, ARRAY_AT);
	if (!(flags & LONG_OR_SHORT) &&
	    (rc = runtime_read_u64(r, runtime_u64(head, ARRAY_LONG_AT), &path)) < 0)
		return rc;
	return string_read(r, path, out);
}

static int cookie(struct runtime_proc *r, uint64_t addr, uint64_t *ret)
{
	uint8_t body[RUBY_BODY_LEN];

	return ruby_body_read(r, addr, body, ret);
}

/* The instruction that runs lies before the next one, but for the first. */
static uint32_t line_at(const struct runtime_proc *r, const uint8_t *body, uint64_t pc)
{
	const struct ruby_layout *at = ((const struct ruby *)r->own)->at;
	const struct ruby_lines lines = {
		.lines = runtime_u64(body, at->body_lines),
		.cnt = runtime_u32(body, at->body_lines + (size_t)LINES_CNT),
		.ranks = runtime_u64(body, at->body_lines + (size_t)LINES_RANKS),
		.line_len = at->line_len,
	};
	uint64_t off = pc - runtime_u64(body, RUBY_BODY_CODE);
	uint32_t words = runtime_u32(body, BODY_WORDS);

	if (off % 8 || off / 8 > words || words > INT32_MAX)
		return 0;
	return ruby_line(r, &lines, off ? (uint32_t)(off / 8 - 1) : 0);
}

static uint32_t first_line(const struct runtime_proc *r, const uint8_t *body)
{
	const struct ruby *c = r->own;
	uint64_t line = runtime_u64(body, BODY_FIRST_LINE);

	line = c->at->long_strings ? (uint32_t)line : line >> 1;
	return line <= INT32_MAX ? (uint32_t)line : 0;
}

/* Ruby's own folders, and those of gems. */
static bool is_library(const char *path)
{
	static const char *const parts[] = {
		"<internal:", "/lib/ruby/", "/gems/", "/vendor_ruby/", "/rubygems",
	};

	return runtime_path_has(path, parts, sizeof(parts) / sizeof(parts[0]));
}

static int describe(struct runtime_proc *r, const struct runtime_frame *f, struct runtime_name *ret)
{
	uint8_t body[RUBY_BODY_LEN];
	int rc = ruby_body_read(r, f->code, body, &ret->cookie);

	if (rc == 0)
		rc = string_read(r, runtime_u64(body, RUBY_BODY_LABEL), &ret->fn);
	if (rc == 0)
		rc = path_read(r, runtime_u64(body, RUBY_BODY_PATH), &ret->file);
	if (rc < 0)
		return rc;
	ret->def_line = first_line(r, body);
	ret->line = f->at ? line_at(r, body, f->at) : ret->def_line;
	ret->is_library = is_library(buf_str(&ret->file));
	return 0;
}

const struct runtime_lang runtime_ruby = {
	.name = "Ruby", .is_file = is_file, .open = open_it, .threads = threads,
	.frames = frames, .cookie = cookie, .describe = describe,
};
