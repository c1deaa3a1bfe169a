/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <errno.h>
#include <string.h>

#include "runtime_make.h"
#include "symbols/runtimes/v8.h"

/* 0: position 10; 4, a statement: 100; 7, an expression: 50. */
static const uint8_t table[] = {0x00, 0x2c, 0x08, 0xe8, 0x02, 0x07, 0xc7, 0x01};

TEST(v8_position_is_that_of_the_instruction_before)
{
	static const struct {
		int64_t at, want;
	} rows[] = {{-1, 10}, {0, 10}, {3, 10}, {4, 100}, {6, 100}, {7, 50}, {1000, 50}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		ROW(i);
		EQ_I(v8_position(table, sizeof(table), rows[i].at), rows[i].want);
	}
}

TEST(v8_position_ends_with_the_table)
{
	uint8_t endless[64];

	EQ_I(v8_position(table, 0, 5), -1);
	EQ_I(v8_position(table, 1, 5), -1);
	EQ_I(v8_position(table, 4, 5), 10); /* within a number */
	memset(endless, 0xff, sizeof(endless));
	EQ_I(v8_position(endless, sizeof(endless), 5), -1);
}

/* What the kernel side kept of frames is put back to where it was. */
TEST(runtime_kept_words_stand_where_they_were)
{
	const struct runtime_proc r = {.shape = {.elem_len = 24},
				       .running = {.kept_cnt = 2, .kept = {16, 0}}};
	const uint64_t words[] = {7, 8, 9, 10};
	struct buf out = {0};

	EQ_I(runtime_kept(&r, words, 3, &out), -EBADMSG);
	EQ_I(runtime_kept(&r, words, 4, &out), 2);
	EQ_U(out.len, 64);
	EQ_U(runtime_u64((const uint8_t *)out.data, 8), 8);
	EQ_U(runtime_u64((const uint8_t *)out.data, 16), 0);
	EQ_U(runtime_u64((const uint8_t *)out.data, 24), 7);
	EQ_U(runtime_u64((const uint8_t *)out.data, 56), 9);
	buf_release(&out);
}

TEST(runtime_kernel_reads_no_arrays)
{
	struct runtime_proc r = {.shape = {.elem_len = 24, .stride = 24, .next_off = 16},
				 .running = {.kept_cnt = 1}};
	struct rt_shape shape;

	OK(!runtime_kernel_shape(&r, &shape));
	r.shape.stride = 0;
	OK(runtime_kernel_shape(&r, &shape));
	EQ_U(shape.next, 2);
	r.shape.elem_len = 256;
	OK(!runtime_kernel_shape(&r, &shape));
}

/* ---- a program in memory that was made up: V8 12.4's values */

#define VALUES (MAKE_BASE + 0x100)
#define MAP(type) (MAKE_BASE + 0x1000 + (type) * 32) /* of objects of that type */
#define OBJ(n) (MAKE_BASE + 0x5000 + (n) * 0x100)
#define PTR(addr) ((addr) + 1)
#define SMALL(n) ((uint64_t)(n) << 32)

enum { SEQ = 40, CONS = 41, SCRIPT = 167, BYTES = 186, CODE = 205, SCOPE = 272, SHARED = 274 };

static const struct {
	const char *name;
	int32_t value;
} exported[] = {
	{"v8dbg_off_fp_context", -8}, {"v8dbg_off_fp_function", -16},
	{"v8dbg_off_fp_bytecode_array", -32}, {"v8dbg_off_fp_bytecode_offset", -40},
	{"v8dbg_class_JSFunction__shared__SharedFunctionInfo", 32},
	{"v8dbg_class_SharedFunctionInfo__name_or_scope_info__Tagged_Object_", 16},
	{"v8dbg_class_SharedFunctionInfo__script__Tagged_HeapObject_", 32},
	{"v8dbg_class_Script__name__Object", 16}, {"v8dbg_class_Script__source__Object", 8},
	{"v8dbg_class_String__length__int32_t", 12},
	{"v8dbg_class_SeqOneByteString__chars__char", 16},
	{"v8dbg_class_ConsString__first__String", 16},
	{"v8dbg_class_ConsString__second__String", 24},
	{"v8dbg_class_ThinString__actual__String", 16},
	{"v8dbg_class_Map__instance_type__uint16_t", 12},
	{"v8dbg_scopeinfo_idx_ncontextlocals", 2}, {"v8dbg_scopeinfo_idx_first_vars", 3},
	{"v8dbg_class_BytecodeArray__data__uintptr_t", 64},
	{"v8dbg_class_BytecodeArray__wrapper__Tagged_BytecodeWrapper_", 16},
	{"v8dbg_type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE", SHARED},
	{"v8dbg_type_Script__SCRIPT_TYPE", SCRIPT},
	{"v8dbg_type_ScopeInfo__SCOPE_INFO_TYPE", SCOPE},
	{"v8dbg_type_BytecodeArray__BYTECODE_ARRAY_TYPE", CODE},
	{"v8dbg_type_ByteArray__BYTE_ARRAY_TYPE", BYTES},
};
#define EXPORTED (sizeof(exported) / sizeof(exported[0]))

static void object(struct runtime_make *m, unsigned n, unsigned type)
{
	runtime_make_put(m, MAP(type) + 8, (uint64_t)type << 32);
	runtime_make_put(m, OBJ(n), PTR(MAP(type)));
}

static void text(struct runtime_make *m, unsigned n, const char *s)
{
	object(m, n, SEQ);
	runtime_make_put(m, OBJ(n) + 8, (uint64_t)strlen(s) << 32);
	runtime_make_put_bytes(m, OBJ(n) + 16, s, strlen(s));
}

static void two_texts(struct runtime_make *m, unsigned n, unsigned first, unsigned second)
{
	object(m, n, CONS);
	runtime_make_put(m, OBJ(n) + 8, UINT64_C(1) << 32);
	runtime_make_put(m, OBJ(n) + 16, PTR(OBJ(first)));
	runtime_make_put(m, OBJ(n) + 24, PTR(OBJ(second)));
}

/* Function 0, with its name in 1, script in 2, instructions in 5 and their table in 6. */
static struct runtime_make *node(void)
{
	static struct runtime_make_symbol symbols[EXPORTED];
	static struct runtime_make m;

	m = (struct runtime_make){.name = "node", .rodata = "", .symbols = symbols,
				  .symbol_cnt = EXPORTED};
	for (size_t i = 0; i < EXPORTED; i++) {
		symbols[i] = (struct runtime_make_symbol){exported[i].name,
							  VALUES + i * 8 - MAKE_BIAS, 4};
		runtime_make_put(&m, VALUES + i * 8, (uint32_t)exported[i].value);
	}
	runtime_make_put(&m, MAKE_BASE, SMALL(63 + 4)); /* a frame of it, for the fuzz target */
	runtime_make_put(&m, MAKE_BASE + 8, PTR(OBJ(5)));
	runtime_make_put(&m, MAKE_BASE + 16, PTR(OBJ(9)));
	runtime_make_put(&m, MAKE_BASE + 24, PTR(OBJ(0)));
	object(&m, 0, SHARED);
	runtime_make_put(&m, OBJ(0) + 8, PTR(OBJ(5)));
	runtime_make_put(&m, OBJ(0) + 16, PTR(OBJ(1)));
	runtime_make_put(&m, OBJ(0) + 32, PTR(OBJ(2)));
	text(&m, 1, "parse");
	object(&m, 2, SCRIPT);
	runtime_make_put(&m, OBJ(2) + 8, PTR(OBJ(4)));
	runtime_make_put(&m, OBJ(2) + 16, PTR(OBJ(3)));
	two_texts(&m, 3, 7, 8);
	text(&m, 7, "file:///srv/");
	text(&m, 8, "app.js");
	text(&m, 4, "0123456\n8\n0123456789012345678901234567890123456789\n012345678901234567890"
		    "123456789012345678901234567890123456789");
	object(&m, 5, CODE);
	runtime_make_put(&m, OBJ(5) + 24, PTR(OBJ(6)));
	object(&m, 6, BYTES);
	runtime_make_put(&m, OBJ(6) + 8, SMALL(sizeof(table)));
	runtime_make_put_bytes(&m, OBJ(6) + 16, table, sizeof(table));
	return &m;
}

/* The name of a frame with these words; "hidden", "none". */
static const char *name_of(struct runtime_proc *r, const uint64_t *words)
{
	static char got[256];
	struct runtime_frame f[RUNTIME_DEPTH_MAX];
	struct runtime_name name;
	struct buf elems = {0};

	EQ_I(runtime_kept(r, words, 5, &elems), 1);
	EQ_I(runtime_frames(r, (const uint8_t *)elems.data, 1, f), 1);
	buf_release(&elems);
	EQ_U(f[0].native, 3);
	if (f[0].is_hidden)
		return "hidden";
	if (runtime_name(r, &f[0], &name) < 0)
		snprintf(got, sizeof(got), "none");
	else
		snprintf(got, sizeof(got), "%s %s:%u", buf_str(&name.fn), buf_str(&name.file),
			 name.line);
	runtime_name_release(&name);
	return got;
}

TEST(v8_frames_have_names_and_lines)
{
	struct runtime_make *m = node();
	struct runtime_proc *r = runtime_make_open(m);
	uint64_t words[] = {SMALL(63 + 4), PTR(OBJ(5)), PTR(OBJ(9)), PTR(OBJ(0)), 3};

	EQ_S(m->err.msg, "");
	OK(r);
	EQ_S(name_of(r, words), "parse /srv/app.js:4");
	words[0] = SMALL(63 + 7);
	EQ_S(name_of(r, words), "parse /srv/app.js:3");
	words[0] = PTR(OBJ(9)); /* compiled: where the function begins */
	EQ_S(name_of(r, words), "parse /srv/app.js:3");
	words[2] = 2 << 1; /* a frame of V8 itself */
	EQ_S(name_of(r, words), "hidden");
	runtime_free(r);
}

/* Behind the variables of a scope; not in the scope around it. */
TEST(v8_names_lie_in_scopes)
{
	struct runtime_make *m = node();
	struct runtime_proc *r;
	uint64_t words[] = {SMALL(67), PTR(OBJ(5)), PTR(OBJ(9)), PTR(OBJ(0)), 3};

	object(m, 10, SCOPE);
	runtime_make_put(m, OBJ(10) + 24, SMALL(1));
	runtime_make_put(m, OBJ(10) + 32, PTR(OBJ(8))); /* a variable, and where it is */
	runtime_make_put(m, OBJ(10) + 48, PTR(OBJ(1)));
	runtime_make_put(m, OBJ(0) + 16, PTR(OBJ(10)));
	r = runtime_make_open(m);
	EQ_S(name_of(r, words), "parse /srv/app.js:4");
	runtime_make_put(m, OBJ(10) + 48, PTR(OBJ(10)));
	EQ_S(name_of(r, words), "(anonymous) /srv/app.js:4");
	runtime_free(r);
}

TEST(v8_damaged_objects_have_no_names)
{
	struct runtime_make *m = node();
	struct runtime_proc *r = runtime_make_open(m);
	uint64_t words[] = {SMALL(67), PTR(OBJ(5)), PTR(OBJ(9)), PTR(OBJ(0)), 3};

	two_texts(m, 3, 3, 3); /* of itself */
	runtime_make_put(m, OBJ(6) + 8, SMALL(INT32_MAX));
	EQ_S(name_of(r, words), "parse :0");
	words[3] = PTR(OBJ(5)); /* something else than a function */
	EQ_S(name_of(r, words), "none");
	words[3] = PTR(UINT64_C(1) << 46);
	EQ_S(name_of(r, words), "none");
	runtime_free(r);
	m = node();
	runtime_make_put(m, VALUES, (uint32_t)-24);
	OK(!runtime_make_open(m));
	OK(strstr(m->err.msg, "frames of an unknown shape"));
}
