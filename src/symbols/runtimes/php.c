/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PHP: executor_globals leads to the call that runs, a call to its caller and to
 * its function, which has its name, its class, its file and its instructions.
 *
 * A call from PHP to PHP stays in one native frame of the loop, execute_ex; a
 * flag marks the call that the loop was entered with.  Functions written in C
 * have calls of their own, and run in no loop.  The places below are those of
 * each version's headers; strings, functions and instructions are checked as
 * they are read.
 */
#include "symbols/runtimes/php.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/err.h"
#include "symbols/files/image.h"
#include "symbols/runtimes/runtimes_int.h"

enum {
	VM_STACK_AT = 456, /* in executor_globals: top, end, stack, size of a page */
	CURRENT_AT = 488,  /* the call that runs */
	CALL_LEN = 56, CALL_FUNC = 24, CALL_INFO = 40, CALL_PREV = 48,
	CALL_TYPE = CALL_LEN, CALL_NAME = CALL_LEN + 8, CALL_REF_LEN = 16, /* of its function */
	FUNC_NAME = 8, FUNC_CLASS = 16, FUNC_LEN = 192,
	CLASS_NAME = 8,
	STRING_TYPE = 4, STRING_LEN = 16, STRING_AT = 24, IS_STRING = 6,
	OP_LEN = 32, OP_LINE = 24,
	PAGE_MIN = 4096, PAGE_MAX = 1 << 26, /* of a stack of calls */
};

#define CALL_TOP (UINT32_C(1) << 17)

enum { FUNC_INTERNAL = 1, FUNC_USER = 2, FUNC_EVAL = 4 }; /* types of functions */

static const struct php_layout layouts[] = {
	{20190902, 7, 4, 60, 64, 136},   {20200930, 8, 0, 68, 72, 144},
	{20210902, 8, 1, 68, 72, 144},   {20220829, 8, 2, 80, 88, 152},
	{20230831, 8, 3, 76, 80, 144},   {20240924, 8, 4, 96, 104, 168},
};

struct php {
	const struct php_layout *at;
	uint64_t globals;
};

const struct php_layout *php_layout_of(uint32_t api)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
		if (layouts[i].api == api)
			return &layouts[i];
	return NULL;
}

/* php8.2, php-fpm, php-cgi8.4; libphp8.1.so in a web server. */
static bool is_file(const char *name)
{
	return strncmp(name, "php", 3) == 0 || strncmp(name, "libphp", 6) == 0;
}

/* ---- opening */

/* "API20220829,NTS" is in each build, and "X-Powered-By: PHP/8.2.36". */
static int version_of(struct runtime_proc *r, struct image *im, struct err *err)
{
	struct php *p = r->own;
	char text[32];
	unsigned api = 0;

	if (runtime_text_after(im, "X-Powered-By: PHP/", text, sizeof(text)) == 0)
		snprintf(r->version, sizeof(r->version), "%.*s",
			 (int)strspn(text, "0123456789."), text);
	if (runtime_text_after(im, "API20", text, sizeof(text)) < 0 ||
	    sscanf(text, "%6u", &api) != 1)
		return err_set(err, -ENOTSUP, "PHP of an unknown version");
	p->at = php_layout_of(20000000 + api);
	if (!p->at)
		return err_set(err, -ENOTSUP, "PHP %s is not known (7.4 to 8.4 are)", r->version);
	if (!r->version[0])
		snprintf(r->version, sizeof(r->version), "%u.%u", p->at->major, p->at->minor);
	return 0;
}

/* Before the call that runs stand the bounds of the stack of calls; all are 0 at first. */
static int check(const struct runtime_proc *r, const struct php *p, struct err *err)
{
	uint64_t vm[4], page;

	if (runtime_read(r, p->globals + VM_STACK_AT, vm, sizeof(vm)) < 0)
		return err_set(err, -ENOTSUP, "PHP %s could not be read", r->version);
	page = vm[3];
	if (!vm[0] && !vm[1] && !vm[2] && !page)
		return 0;
	if (page < PAGE_MIN || page > PAGE_MAX || page & (page - 1) || vm[2] > vm[0] ||
	    vm[0] > vm[1])
		return err_set(err, -ENOTSUP, "PHP %s has its stack in another place than known",
			       r->version);
	return 0;
}

static int open_it(struct runtime_proc *r, const struct runtime_file *f, struct image *im,
		   struct err *err)
{
	struct php *p = xcalloc(1, sizeof(*p));
	uint64_t loop = 0, loop_len = 0, size = 0, threads = 0;
	const struct runtime_symbol wanted[] = {
		{"executor_globals", &p->globals, &size}, {"execute_ex", &loop, &loop_len},
		{"executor_globals_offset", &threads, NULL},
	};
	int rc;

	(void)f;
	r->own = p;
	runtime_symbols(im, r->bias, wanted, sizeof(wanted) / sizeof(wanted[0]));
	if (!loop)
		return err_set(err, -ENOENT, "no PHP in this file");
	rc = version_of(r, im, err);
	if (rc < 0)
		return rc;
	if (threads)
		return err_set(err, -ENOTSUP, "PHP %s with threads (ZTS) is not known",
			       r->version);
	if (!p->globals || size < CURRENT_AT + sizeof(uint64_t))
		return err_set(err, -ENOTSUP, "PHP without the symbols that are needed");
	r->loops[r->loop_cnt++] = (struct runtime_range){loop, loop + loop_len};
	r->shape = (struct chain_shape){.step_cnt = 1, .steps = {CURRENT_AT},
					.elem_len = CALL_LEN + CALL_REF_LEN,
					.next_off = CALL_PREV, .ref_off = CALL_FUNC,
					.ref_len = CALL_REF_LEN};
	r->running = (struct runtime_running){
		.kept_cnt = 5, .kept = {0, CALL_FUNC, CALL_INFO, CALL_TYPE, CALL_NAME}};
	return check(r, p, err);
}

/* ---- calls */

/* Without ZTS the process' first thread is the only one that runs PHP. */
static long threads(struct runtime_proc *r, struct runtime_thread *ret, size_t max)
{
	const struct php *p = r->own;

	if (!max)
		return 0;
	ret[0] = (struct runtime_thread){.anchor = p->globals};
	return 1;
}

/*
 * A call without a function: C called PHP with none that runs, or a generator another.  A
 * function of C without a name: where a fiber begins.
 */
static bool frame(const struct runtime_proc *r, uint64_t addr, const uint8_t *elem,
		  struct runtime_frame *ret)
{
	(void)r;
	(void)addr;
	ret->code = runtime_u64(elem, CALL_FUNC);
	ret->is_hidden = !ret->code || (elem[CALL_TYPE] == FUNC_INTERNAL &&
					!runtime_u64(elem, CALL_NAME));
	if (ret->is_hidden)
		return true;
	if (elem[CALL_TYPE] != FUNC_INTERNAL) {
		ret->at = runtime_u64(elem, 0);
		ret->ends_loop = runtime_u32(elem, CALL_INFO) & CALL_TOP;
	}
	return ret->code % sizeof(uint64_t) == 0;
}

/* ---- names */

/* A class without a name is "class@anonymous", then a NUL and where it stands. */
static int string_read(const struct runtime_proc *r, uint64_t addr, struct buf *out)
{
	char text[RUNTIME_TEXT_MAX];
	uint8_t head[STRING_AT];
	uint64_t len;
	size_t cnt;
	int rc = runtime_read(r, addr, head, sizeof(head));

	if (rc < 0)
		return rc;
	len = runtime_u64(head, STRING_LEN);
	if ((runtime_u32(head, STRING_TYPE) & 15) != IS_STRING || len >= UINT32_MAX)
		return -EBADMSG;
	cnt = len < sizeof(text) ? (size_t)len + 1 : sizeof(text);
	rc = runtime_read(r, addr + STRING_AT, text, cnt);
	if (rc < 0)
		return rc;
	if (len < sizeof(text) && text[len])
		return -EBADMSG;
	buf_add(out, text, strnlen(text, cnt));
	if (len >= sizeof(text))
		buf_adds(out, "...");
	return 0;
}

static int func_read(const struct runtime_proc *r, uint64_t addr, uint8_t *func, uint64_t *cookie)
{
	const struct php *p = r->own;
	size_t len = FUNC_LEN;
	int rc = runtime_read(r, addr, func, 1);

	if (rc < 0)
		return rc;
	if (func[0] == FUNC_INTERNAL)
		len = FUNC_CLASS + sizeof(uint64_t);
	else if (func[0] != FUNC_USER && func[0] != FUNC_EVAL)
		return -EBADMSG;
	rc = runtime_read(r, addr, func, len);
	if (rc < 0)
		return rc;
	*cookie = func[0] + runtime_u64(func, FUNC_NAME) * 31 + runtime_u64(func, FUNC_CLASS) * 7;
	if (func[0] != FUNC_INTERNAL)
		*cookie += runtime_u64(func, p->at->opcodes) * 3 +
			   runtime_u64(func, p->at->file);
	return 0;
}

static int cookie(struct runtime_proc *r, uint64_t addr, uint64_t *ret)
{
	uint8_t func[FUNC_LEN];

	return func_read(r, addr, func, ret);
}

/* The instruction has its line; while an exception is thrown it is none of the function's. */
static uint32_t line_at(const struct runtime_proc *r, const uint8_t *func, uint64_t at)
{
	const struct php *p = r->own;
	uint64_t off = at - runtime_u64(func, p->at->opcodes);
	uint32_t line;

	if (off % OP_LEN || off / OP_LEN >= runtime_u32(func, p->at->op_cnt) ||
	    runtime_read_u32(r, at + OP_LINE, &line) < 0 || line > INT32_MAX)
		return 0;
	return line;
}

/* "Class::function", or as PHP itself says it of code outside functions. */
static int name_read(const struct runtime_proc *r, const uint8_t *func, struct buf *out)
{
	uint64_t name = runtime_u64(func, FUNC_NAME), class = runtime_u64(func, FUNC_CLASS);
	int rc;

	if (!name) {
		buf_adds(out, func[0] == FUNC_EVAL ? "{eval}" : "{main}");
		return func[0] == FUNC_INTERNAL ? -EBADMSG : 0;
	}
	if (class) {
		if (runtime_read_u64(r, class + CLASS_NAME, &class) < 0)
			return -EFAULT;
		rc = string_read(r, class, out);
		if (rc < 0)
			return rc;
		buf_adds(out, "::");
	}
	return string_read(r, name, out);
}

/* Composer's folder, and those where distributions install packages. */
static bool is_library(const char *path)
{
	static const char *const parts[] = {"/vendor/", "/share/php/", "/share/pear/"};

	return runtime_path_has(path, parts, sizeof(parts) / sizeof(parts[0]));
}

static int describe(struct runtime_proc *r, const struct runtime_frame *f, struct runtime_name *ret)
{
	const struct php *p = r->own;
	uint8_t func[FUNC_LEN];
	int rc = func_read(r, f->code, func, &ret->cookie);

	if (rc == 0)
		rc = name_read(r, func, &ret->fn);
	if (rc < 0)
		return rc;
	ret->is_library = func[0] == FUNC_INTERNAL;
	if (ret->is_library)
		return 0;
	rc = string_read(r, runtime_u64(func, p->at->file), &ret->file);
	if (rc < 0)
		return rc;
	ret->def_line = runtime_u32(func, p->at->file + 8);
	ret->line = line_at(r, func, f->at);
	ret->is_library = is_library(buf_str(&ret->file));
	return 0;
}

const struct runtime_lang runtime_php = {
	.name = "PHP", .is_file = is_file, .open = open_it, .threads = threads,
	.frame = frame, .cookie = cookie, .describe = describe,
};
