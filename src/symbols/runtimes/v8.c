/* SPDX-License-Identifier: Apache-2.0 */
/*
 * V8: each function of JavaScript has a native frame of its own, in code that V8
 * brings along or made at run time, and in that frame, beside the frame pointer,
 * the function.  So there is no list: the kernel side hands over what lies in
 * the frames that it leaves by their frame pointers.  What lies where in V8's
 * objects its programs export, for debuggers that look at a core file.
 *
 * A frame of interpreted code has its instructions and where in them it is.
 * Compiled code has neither: its line is that of the function's beginning, and
 * functions that it has inlined are not seen.
 */
#include "symbols/runtimes/v8.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/err.h"

enum {
	STRING_ONE_BYTE = 8, STRING_SHAPE = 7,
	STRING_SEQ = 0, STRING_CONS = 1, STRING_THIN = 5,
	STRING_TYPES = 128,   /* instance types below are strings and symbols */
	STRING_PARTS = 8,     /* of one that was put together */
	SHARED_CODE = 8,      /* of a function: its instructions, or compiled code */
	SCOPE_AT = 8, SCOPE_LOOK = 6, SCOPE_LOCALS_MAX = 75, /* more are kept elsewhere */
	FRAME_BACK = 48, FRAME_LEN = 64, /* what is read of a frame: to the return address */
	WORD_SHARED = FRAME_LEN, WORD_NATIVE = (RT_ELEM_WORDS - 1) * 8,
};

/* Several names: they changed with the types of fields.  One of each is there. */
static const struct {
	uint8_t value;
	const char *name; /* without v8dbg_ */
} names[] = {
	{V8_FP_CONTEXT, "off_fp_context"},
	{V8_FP_FUNCTION, "off_fp_function"},
	{V8_FP_BYTECODES, "off_fp_bytecode_array"},
	{V8_FP_OFFSET, "off_fp_bytecode_offset"},
	{V8_FUNCTION_SHARED, "class_JSFunction__shared__SharedFunctionInfo"},
	{V8_SHARED_NAME, "class_SharedFunctionInfo__name_or_scope_info__Object"},
	{V8_SHARED_NAME, "class_SharedFunctionInfo__name_or_scope_info__Tagged_Object_"},
	{V8_SHARED_NAME, "class_SharedFunctionInfo__name_or_scope_info__Tagged_NameOrScopeInfoT_"},
	{V8_SHARED_SCRIPT, "class_SharedFunctionInfo__script_or_debug_info__HeapObject"},
	{V8_SHARED_SCRIPT, "class_SharedFunctionInfo__script__Tagged_HeapObject_"},
	{V8_SCRIPT_NAME, "class_Script__name__Object"},
	{V8_SCRIPT_SOURCE, "class_Script__source__Object"},
	{V8_STRING_LEN, "class_String__length__int32_t"},
	{V8_STRING_CHARS, "class_SeqOneByteString__chars__char"},
	{V8_CONS_FIRST, "class_ConsString__first__String"},
	{V8_CONS_SECOND, "class_ConsString__second__String"},
	{V8_THIN_ACTUAL, "class_ThinString__actual__String"},
	{V8_MAP_TYPE, "class_Map__instance_type__uint16_t"},
	{V8_SCOPE_LOCALS, "scopeinfo_idx_ncontextlocals"},
	{V8_SCOPE_VARS, "scopeinfo_idx_first_vars"},
	{V8_BYTECODES_DATA, "class_BytecodeArray__data__uintptr_t"},
	{V8_BYTECODES_WRAPPER, "class_BytecodeArray__wrapper__Tagged_BytecodeWrapper_"},
	{V8_TYPE_SHARED, "type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE"},
	{V8_TYPE_SCRIPT, "type_Script__SCRIPT_TYPE"},
	{V8_TYPE_SCOPE, "type_ScopeInfo__SCOPE_INFO_TYPE"},
	{V8_TYPE_BYTECODES, "type_BytecodeArray__BYTECODE_ARRAY_TYPE"},
	{V8_TYPE_BYTES, "type_ByteArray__BYTE_ARRAY_TYPE"},
	{V8_TYPE_TRUSTED_BYTES, "type_TrustedByteArray__TRUSTED_BYTE_ARRAY_TYPE"},
};
#define NAME_CNT (sizeof(names) / sizeof(names[0]))
#define NAME_MAX 96

static bool is_file(const char *name)
{
	return strcmp(name, "node") == 0 || strcmp(name, "nodejs") == 0 ||
	       strncmp(name, "libnode.so", 10) == 0;
}

static void own_release(struct runtime_proc *r)
{
	struct v8 *v = r->own;

	for (size_t i = 0; v && i < V8_SOURCES; i++)
		vec_release(&v->sources[i].lines);
}

/* ---- opening */

static int values_read(struct runtime_proc *r, struct image *im, struct err *err)
{
	struct v8 *v = r->own;
	struct runtime_symbol wanted[NAME_CNT];
	char (*texts)[NAME_MAX] = xcalloc(NAME_CNT, sizeof(*texts));
	uint64_t addrs[NAME_CNT] = {0};
	size_t found;

	for (size_t i = 0; i < NAME_CNT; i++) {
		snprintf(texts[i], sizeof(texts[i]), "v8dbg_%s", names[i].name);
		wanted[i] = (struct runtime_symbol){texts[i], &addrs[i], NULL};
	}
	found = runtime_symbols(im, r->bias, wanted, NAME_CNT);
	free(texts);
	if (!found)
		return err_set(err, -ENOENT, "no V8 in this file");
	for (size_t i = 0; i < V8_VALUE_CNT; i++)
		v->at[i] = V8_NONE;
	for (size_t i = 0; i < NAME_CNT; i++) {
		uint32_t value;

		if (addrs[i] && runtime_read_u32(r, addrs[i], &value) == 0)
			v->at[names[i].value] = (int32_t)value;
	}
	return 0;
}

static int check(const struct runtime_proc *r, struct err *err)
{
	const int32_t *at = ((const struct v8 *)r->own)->at;

	for (size_t i = 0; i < V8_REQUIRED; i++)
		if (at[i] == V8_NONE)
			return err_set(err, -ENOTSUP, "V8 %s does not say all of its objects that "
				       "is needed", r->version);
	if (at[V8_TYPE_SHARED] == V8_NONE || at[V8_TYPE_SCRIPT] == V8_NONE ||
	    at[V8_TYPE_SCOPE] == V8_NONE || at[V8_TYPE_BYTECODES] == V8_NONE)
		return err_set(err, -ENOTSUP, "V8 %s does not say the types of its objects",
			       r->version);
	if (at[V8_FP_CONTEXT] != -8 || at[V8_FP_FUNCTION] != -16 || at[V8_FP_BYTECODES] != -32 ||
	    at[V8_FP_OFFSET] != -40)
		return err_set(err, -ENOTSUP, "V8 %s has frames of an unknown shape", r->version);
	for (size_t i = V8_FUNCTION_SHARED; i < V8_REQUIRED; i++)
		if (at[i] < 0 || at[i] > 256)
			return err_set(err, -ENOTSUP, "V8 %s has odd objects", r->version);
	return 0;
}

static int open_it(struct runtime_proc *r, const struct runtime_file *f, struct image *im,
		   struct err *err)
{
	struct v8 *v = xcalloc(1, sizeof(*v));
	uint64_t major = 0, minor = 0, build = 0;
	const struct runtime_symbol wanted[] = {
		{"_ZN2v88internal7Version6major_E", &major, NULL},
		{"_ZN2v88internal7Version6minor_E", &minor, NULL},
		{"_ZN2v88internal7Version6build_E", &build, NULL},
	};
	uint32_t nr[3];
	int rc;

	(void)f;
	r->own = v;
	rc = values_read(r, im, err);
	if (rc < 0)
		return rc;
	runtime_symbols(im, r->bias, wanted, sizeof(wanted) / sizeof(wanted[0]));
	if (major && runtime_read_u32(r, major, &nr[0]) == 0 &&
	    runtime_read_u32(r, minor, &nr[1]) == 0 && runtime_read_u32(r, build, &nr[2]) == 0)
		snprintf(r->version, sizeof(r->version), "%u.%u.%u", nr[0], nr[1], nr[2]);
	rc = check(r, err);
	if (rc < 0)
		return rc;
	r->shape = (struct chain_shape){.elem_len = RT_ELEM_WORDS * 8};
	r->running = (struct runtime_running){
		.kept_cnt = 5,
		.kept = {FRAME_BACK - 40, FRAME_BACK - 32, FRAME_BACK - 8, WORD_SHARED,
			 WORD_NATIVE},
		.native_len = FRAME_LEN, .back = FRAME_BACK, .ref_off = FRAME_BACK - 16,
		.ref_add = v->at[V8_FUNCTION_SHARED] - 1,
	};
	return 0;
}

/* ---- objects */

/* One piece of a string, appended as it is, what is not ASCII as '?'. */
static int chars_read(const struct runtime_proc *r, uint64_t at, uint32_t len, bool one_byte,
		      struct buf *out)
{
	uint8_t text[RUNTIME_TEXT_MAX];
	size_t size = one_byte ? 1 : 2, cnt = len < sizeof(text) / size ? len : sizeof(text) / size;
	int rc = cnt ? runtime_read(r, at, text, cnt * size) : 0;

	for (size_t i = 0; i < cnt && rc == 0; i++) {
		uint8_t c = text[i * size];

		buf_addch(out, c >= 32 && c < 127 && (one_byte || !text[i * size + 1]) ? (char)c
										      : '?');
	}
	return rc;
}

/* -EBADMSG: it is none, or of a kind whose text lies elsewhere. */
static int string_read(const struct runtime_proc *r, uint64_t string, unsigned parts,
		       struct buf *out)
{
	const struct v8 *v = r->own;
	uint64_t first, second;
	uint32_t type = 0, len;
	int rc = v8_type(r, string, &type);

	if (rc == 0 && type >= STRING_TYPES)
		rc = -EBADMSG;
	if (rc == 0)
		rc = runtime_read_u32(r, string - 1 + (uint64_t)v->at[V8_STRING_LEN], &len);
	if (rc < 0)
		return rc;
	switch (type & STRING_SHAPE) {
	case STRING_SEQ:
		return chars_read(r, string - 1 + (uint64_t)v->at[V8_STRING_CHARS], len,
				  type & STRING_ONE_BYTE, out);
	case STRING_THIN:
		rc = v8_word(r, string, v->at[V8_THIN_ACTUAL], &first);
		return rc < 0 || !parts ? -EBADMSG : string_read(r, first, parts - 1, out);
	case STRING_CONS:
		if (!parts || out->len > RUNTIME_TEXT_MAX ||
		    v8_word(r, string, v->at[V8_CONS_FIRST], &first) < 0 ||
		    v8_word(r, string, v->at[V8_CONS_SECOND], &second) < 0)
			return -EBADMSG;
		rc = string_read(r, first, parts - 1, out);
		return rc < 0 ? rc : string_read(r, second, parts - 1, out);
	}
	return -EBADMSG;
}

/* ---- frames */

/* Frames of V8 itself have a small number in the place of the context. */
static bool frame(const struct runtime_proc *r, uint64_t addr, const uint8_t *elem,
		  struct runtime_frame *ret)
{
	uint64_t offset = runtime_u64(elem, FRAME_BACK - 40);

	(void)r;
	(void)addr;
	ret->code = runtime_u64(elem, WORD_SHARED);
	ret->native = (uint32_t)runtime_u64(elem, WORD_NATIVE);
	ret->is_hidden = !v8_is_object(ret->code) ||
			 !v8_is_object(runtime_u64(elem, FRAME_BACK - 8));
	if (offset >> 32 && !(offset & UINT32_MAX)) { /* a small integer */
		ret->at = offset >> 32;
		ret->lines = runtime_u64(elem, FRAME_BACK - 32);
	}
	return true;
}

/* ---- names */

/*
 * Behind its variables a scope has the function's name, or the name of what it is assigned to,
 * where it has one; the scope around it ends those words.
 */
static int scope_name(const struct runtime_proc *r, uint64_t scope, struct buf *out)
{
	const struct v8 *v = r->own;
	uint64_t locals, word;
	uint32_t type;
	int32_t at = SCOPE_AT + v->at[V8_SCOPE_VARS] * 8;

	if (v8_word(r, scope, SCOPE_AT + v->at[V8_SCOPE_LOCALS] * 8, &locals) < 0)
		return -EBADMSG;
	locals >>= 32;
	at += locals < SCOPE_LOCALS_MAX ? (int32_t)locals * 16 : 8;
	for (int i = 0; i < SCOPE_LOOK; i++, at += 8) {
		if (v8_word(r, scope, at, &word) < 0)
			return -EBADMSG;
		if (!v8_is_object(word))
			continue;
		if (v8_type(r, word, &type) < 0 || (int32_t)type == v->at[V8_TYPE_SCOPE])
			return -ENOENT;
		if (string_read(r, word, STRING_PARTS, out) == 0 && out->len)
			return 0;
	}
	return -ENOENT;
}

static int shared_read(const struct runtime_proc *r, uint64_t shared, uint64_t *ret_name,
		       uint64_t *ret_script)
{
	const struct v8 *v = r->own;
	uint32_t type;
	int rc = v8_type(r, shared, &type);

	if (rc == 0 && (int32_t)type != v->at[V8_TYPE_SHARED])
		rc = -EBADMSG;
	if (rc == 0)
		rc = v8_word(r, shared, v->at[V8_SHARED_NAME], ret_name);
	return rc < 0 ? rc : v8_word(r, shared, v->at[V8_SHARED_SCRIPT], ret_script);
}

static int cookie(struct runtime_proc *r, uint64_t code, uint64_t *ret)
{
	uint64_t name, script;
	int rc = shared_read(r, code, &name, &script);

	if (rc == 0)
		*ret = name * 31 + script * 7;
	return rc;
}

/* Node's own scripts, and packages. */
static bool is_library(const char *path)
{
	static const char *const parts[] = {"/node_modules/", "/share/nodejs/"};

	return !*path || strncmp(path, "node:", 5) == 0 ||
	       runtime_path_has(path, parts, sizeof(parts) / sizeof(parts[0]));
}

/* Its file, and where a function of it begins or is. */
static void script_read(struct runtime_proc *r, uint64_t script, const struct runtime_frame *f,
			struct runtime_name *ret)
{
	const struct v8 *v = r->own;
	static const char scheme[] = "file://";
	uint64_t name, source, code;
	uint32_t type;

	if (v8_type(r, script, &type) < 0 || (int32_t)type != v->at[V8_TYPE_SCRIPT] ||
	    v8_word(r, script, v->at[V8_SCRIPT_NAME], &name) < 0 ||
	    v8_word(r, script, v->at[V8_SCRIPT_SOURCE], &source) < 0)
		return;
	if (string_read(r, name, STRING_PARTS, &ret->file) < 0) {
		buf_clear(&ret->file); /* of what may be a part */
		return;
	}
	if (strncmp(buf_str(&ret->file), scheme, sizeof(scheme) - 1) == 0) {
		char *path = xstrdup(buf_str(&ret->file) + sizeof(scheme) - 1);

		buf_clear(&ret->file);
		buf_adds(&ret->file, path);
		free(path);
	}
	if (v8_word(r, f->code, SHARED_CODE, &code) < 0)
		return;
	ret->def_line = v8_line(r, f->at ? f->lines : code, source, -1);
	ret->line = ret->def_line;
	if (f->at)
		ret->line = v8_line(r, f->lines, source,
				    (int64_t)f->at - (v->at[V8_BYTECODES_DATA] - 1));
}

static int describe(struct runtime_proc *r, const struct runtime_frame *f, struct runtime_name *ret)
{
	const struct v8 *v = r->own;
	uint64_t name, script;
	uint32_t type = 0;
	int rc = shared_read(r, f->code, &name, &script);

	if (rc < 0)
		return rc;
	ret->cookie = name * 31 + script * 7;
	if (v8_is_object(name) && v8_type(r, name, &type) == 0 &&
	    (int32_t)type == v->at[V8_TYPE_SCOPE])
		(void)scope_name(r, name, &ret->fn);
	else if (v8_is_object(name))
		(void)string_read(r, name, STRING_PARTS, &ret->fn);
	if (!ret->fn.len)
		buf_adds(&ret->fn, "(anonymous)");
	script_read(r, script, f, ret);
	ret->is_library = is_library(buf_str(&ret->file));
	return 0;
}

/* Its threads have no list. */
static long threads(struct runtime_proc *r, struct runtime_thread *ret, size_t max)
{
	(void)r;
	(void)ret;
	(void)max;
	return 0;
}

const struct runtime_lang runtime_v8 = {
	.name = "JavaScript", .by_native = true, .is_file = is_file, .open = open_it,
	.release = own_release, .threads = threads, .frame = frame, .cookie = cookie,
	.describe = describe,
};
