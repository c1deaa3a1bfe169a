/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A Java VM in memory that was made up, laid out as JDK 17: its tables, code, a
 * thread's stack with frames of each kind; and damaged ones.
 */
#include "unit.h"

#include <stdlib.h>

#include "runtime_make.h"
#include "symbols/runtimes/hotspot.h"

#define AT(off) (MAKE_BASE + (off))
enum {
	FIELDS = 0x1000, TYPES = 0x2000, CONSTANTS = 0x2200, NUMBERS = 0x2400, STATICS = 0x2600,
	NAMES = 0x2800, LIST = 0x2a00, HEAPS = 0x2b00, HEAP = 0x2c00, THREAD = 0x3000,
	MONITOR = 0x6000, HANDLE = 0x6100, OBJECT = 0x6200, OS = 0x3400,
	METHODS = 0x4000, POOL = 0x5000, CLASS = 0x5400, SYMBOLS_AT = 0x5800,
	SEGMAP = 0x7000, CODE = 0x8000, CODE_END = 0xb000, STACK = 0xe000, STACK_END = 0xf000,
	SEGMENT = 128, INTERPRETER = 0, COMPILED = 8, NATIVE = 16, STUBS = 20,
};
#define METHOD(n) AT(METHODS + (n) * 0x200)
#define BLOB(segment) AT(CODE + (segment) * SEGMENT + 16)
#define IN_INTERPRETER (BLOB(INTERPRETER) + 0x180)
#define IN_COMPILED (BLOB(COMPILED) + 0x200 + 0x21)
#define IN_NATIVE (BLOB(NATIVE) + 0x180)
#define IN_STUB (BLOB(STUBS) + 0x180)
#define DEOPT (BLOB(COMPILED) + 0x200 + 0x40)
#define MAIN_METHOD 4

static const struct field {
	const char *type, *name;
	uint64_t value;
	bool is_static;
} fields[] = {
	{"ThreadsSMRSupport", "_java_thread_list", AT(STATICS), true},
	{"ThreadsList", "_length", 4, false}, {"ThreadsList", "_threads", 16, false},
	{"JavaThread", "_osthread", 0x230, false}, {"JavaThread", "_anchor", 0x290, false},
	{"JavaThread", "_stack_base", 0x250, false}, {"OSThread", "_thread_id", 0xd0, false},
	{"OSThread", "_pthread_id", 0x18, false}, {"JavaFrameAnchor", "_last_Java_sp", 0, false},
	{"JavaFrameAnchor", "_last_Java_pc", 8, false},
	{"JavaFrameAnchor", "_last_Java_fp", 16, false}, {"JavaCallWrapper", "_anchor", 32, false},
	{"StubRoutines", "_call_stub_return_address", AT(STATICS + 16), true},
	{"CodeCache", "_heaps", AT(STATICS + 8), true}, {"GrowableArrayBase", "_len", 0, false},
	{"GrowableArray<int>", "_data", 8, false}, {"CodeHeap", "_memory", 8, false},
	{"CodeHeap", "_segmap", 0x78, false}, {"CodeHeap", "_log2_segment_size", 0x100, false},
	{"VirtualSpace", "_low_boundary", 0, false}, {"VirtualSpace", "_high_boundary", 8, false},
	{"CodeBlob", "_name", 0x60, false}, {"CodeBlob", "_size", 12, false},
	{"CodeBlob", "_frame_size", 0x1c, false}, {"CodeBlob", "_code_begin", 0x20, false},
	{"CompiledMethod", "_method", 0x70, false},
	{"CompiledMethod", "_scopes_data_begin", 0x78, false},
	{"CompiledMethod", "_deopt_handler_begin", 0x80, false},
	{"nmethod", "_scopes_pcs_offset", 0x10c, false},
	{"nmethod", "_dependencies_offset", 0x110, false},
	{"nmethod", "_metadata_offset", 0x104, false}, {"nmethod", "_orig_pc_offset", 0x12c, false},
	{"nmethod", "_compile_id", 0x130, false}, {"PcDesc", "_pc_offset", 0, false},
	{"PcDesc", "_scope_decode_offset", 4, false}, {"Method", "_constMethod", 8, false},
	{"ConstMethod", "_constants", 8, false}, {"ConstMethod", "_flags", 0x1c, false},
	{"ConstMethod", "_code_size", 0x20, false}, {"ConstMethod", "_name_index", 0x22, false},
	{"ConstMethod", "_constMethod_size", 0x18, false},
	{"ConstantPool", "_pool_holder", 0x18, false}, {"ConstantPool", "_length", 0x3c, false},
	{"ConstantPool", "_source_file_name_index", 0x36, false}, {"Klass", "_name", 0x18, false},
	{"Symbol", "_length", 4, false}, {"Symbol", "_body", 6, false},
	{"JavaThread", "_current_pending_monitor", 0x308, false},
	{"JavaThread", "_stack_size", 0x258, false}, {"ObjectMonitor", "_owner", 0x40, false},
	{"ObjectMonitor", "_object", 8, false},
	{"oopDesc", "_metadata._compressed_klass", 8, false},
	{"CompressedKlassPointers", "_narrow_klass._base", AT(STATICS + 40), true},
	{"CompressedKlassPointers", "_narrow_klass._shift", AT(STATICS + 48), true},
	{"JDK_Version", "_current", AT(STATICS + 24), true}, {"JDK_Version", "_major", 0, false},
	{"Abstract_VM_Version", "_s_vm_release", AT(STATICS + 32), true},
};

static const struct field types[] = {
	{"HeapBlock", NULL, 16, false}, {"nmethod", NULL, 352, false}, {"PcDesc", NULL, 16, false},
	{"ConstMethod", NULL, 48, false}, {"ConstantPool", NULL, 72, false},
};
static const struct field constants[] = {
	{"frame::entry_frame_call_wrapper_offset", NULL, UINT32_MAX - 5, false},
	{"ConstMethod::_has_linenumber_table", NULL, 1, false},
};

static const char *const symbol_names[] = {
	"gHotSpotVMStructs", "gHotSpotVMTypes", "gHotSpotVMIntConstants",
	"gHotSpotVMStructEntryArrayStride", "gHotSpotVMStructEntryTypeNameOffset",
	"gHotSpotVMStructEntryFieldNameOffset", "gHotSpotVMStructEntryIsStaticOffset",
	"gHotSpotVMStructEntryOffsetOffset", "gHotSpotVMStructEntryAddressOffset",
	"gHotSpotVMTypeEntryArrayStride", "gHotSpotVMTypeEntryTypeNameOffset",
	"gHotSpotVMTypeEntrySizeOffset", "gHotSpotVMIntConstantEntryArrayStride",
	"gHotSpotVMIntConstantEntryNameOffset", "gHotSpotVMIntConstantEntryValueOffset",
};
static const uint64_t symbol_values[] = {
	AT(FIELDS), AT(TYPES), AT(CONSTANTS), 48, 0, 8, 24, 32, 40, 40, 0, 32, 16, 0, 8};
#define SYMBOL_CNT (sizeof(symbol_names) / sizeof(symbol_names[0]))

static char rodata[4096];
static size_t rodata_len;

static uint64_t constant(const char *text)
{
	size_t at = rodata_len;

	if (!text)
		return 0;
	memcpy(rodata + at, text, strlen(text) + 1);
	rodata_len += strlen(text) + 1;
	return MAKE_BIAS + MAKE_RODATA + at;
}

static void put32(struct runtime_make *m, uint64_t addr, uint32_t value)
{
	runtime_make_put_bytes(m, addr, &value, sizeof(value));
}

static void put16(struct runtime_make *m, uint64_t addr, uint16_t value)
{
	runtime_make_put_bytes(m, addr, &value, sizeof(value));
}

static void tables(struct runtime_make *m)
{
	static struct runtime_make_symbol symbols[SYMBOL_CNT];

	rodata_len = 0;
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		uint64_t at = AT(FIELDS) + i * 48;

		runtime_make_put(m, at, constant(fields[i].type));
		runtime_make_put(m, at + 8, constant(fields[i].name));
		put32(m, at + 24, fields[i].is_static);
		runtime_make_put(m, at + (fields[i].is_static ? 40 : 32), fields[i].value);
	}
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		runtime_make_put(m, AT(TYPES) + i * 40, constant(types[i].type));
		runtime_make_put(m, AT(TYPES) + i * 40 + 32, types[i].value);
	}
	for (size_t i = 0; i < sizeof(constants) / sizeof(constants[0]); i++) {
		runtime_make_put(m, AT(CONSTANTS) + i * 16, constant(constants[i].type));
		put32(m, AT(CONSTANTS) + i * 16 + 8, (uint32_t)constants[i].value);
	}
	for (size_t i = 0; i < SYMBOL_CNT; i++) {
		symbols[i] = (struct runtime_make_symbol){symbol_names[i],
							  AT(NUMBERS) + i * 8 - MAKE_BIAS, 8};
		runtime_make_put(m, AT(NUMBERS) + i * 8, symbol_values[i]);
	}
	m->symbols = symbols;
	m->symbol_cnt = SYMBOL_CNT;
	m->rodata = rodata;
	m->rodata_len = rodata_len;
}

/* ---- methods: the n'th has the name of that index in the pool, and 16 bytes of bytecode */

static void symbol(struct runtime_make *m, unsigned n, const char *text)
{
	uint64_t at = AT(SYMBOLS_AT) + n * 0x40;

	put16(m, at + 4, (uint16_t)strlen(text));
	runtime_make_put_bytes(m, at + 6, text, strlen(text));
	runtime_make_put(m, AT(POOL) + 72 + n * 8, at | 1);
}

static void method(struct runtime_make *m, unsigned n, uint16_t code_len)
{
	/* byte 0 on line 10, byte 4 on 12, byte 8 on 300 */
	static const uint8_t lines[] = {10 - 9, 255, 0, 2 * 9, 4 << 3 | 2, 255, 8, 192, 6, 0};
	uint64_t body = METHOD(n) + 0x80;

	runtime_make_put(m, METHOD(n) + 8, body);
	runtime_make_put(m, body + 8, AT(POOL));
	put32(m, body + 0x18, 20);
	put16(m, body + 0x1c, code_len ? 1 : 0);
	put16(m, body + 0x20, code_len);
	put16(m, body + 0x22, (uint16_t)n);
	runtime_make_put_bytes(m, body + 48 + code_len, lines, sizeof(lines));
}

static void methods(struct runtime_make *m)
{
	static const char *const names[] = {"unused", "sleep", "inner", "work", "main",
					    "shop/Pool", "Pool.java", "outer"};

	for (unsigned i = 1; i < sizeof(names) / sizeof(names[0]); i++)
		symbol(m, i, names[i]);
	method(m, 1, 0);
	for (unsigned i = 2; i < 8; i++)
		method(m, i, 16);
	runtime_make_put(m, AT(POOL) + 0x18, AT(CLASS));
	put16(m, AT(POOL) + 0x36, 6);
	put32(m, AT(POOL) + 0x3c, 8);
	runtime_make_put(m, AT(CLASS) + 0x18, AT(SYMBOLS_AT) + 5 * 0x40);
}

/* ---- code */

static void blob(struct runtime_make *m, unsigned segment, unsigned cnt, const char *name)
{
	uint64_t at = BLOB(segment), text = AT(NAMES) + segment * 16;

	for (unsigned i = 0; i < cnt; i++)
		runtime_make_put_bytes(m, AT(SEGMAP) + segment + i, &(uint8_t){(uint8_t)i}, 1);
	runtime_make_put_bytes(m, text, name, strlen(name) + 1);
	runtime_make_put(m, at + 0x60, text);
	put32(m, at + 12, cnt * SEGMENT - 16);
	runtime_make_put(m, at + 0x20, at + 0x200);
}

/* The third method, inlined into the seventh, both at the place IN_COMPILED. */
static void compiled(struct runtime_make *m)
{
	static const uint8_t scopes[] = {0, 0, 2, 9, 0, 0, 1 /* sender */, 1, 5};
	uint64_t at = BLOB(COMPILED), pcs = at + 0x2c0;

	put32(m, at + 0x1c, 6);
	put32(m, at + 0x130, 77);
	put32(m, at + 0x104, 0x280);
	runtime_make_put(m, at + 0x280, METHOD(2));
	runtime_make_put(m, at + 0x288, METHOD(7));
	runtime_make_put(m, at + 0x78, at + 0x300);
	runtime_make_put(m, at + 0x80, DEOPT);
	put32(m, at + 0x12c, 8);
	runtime_make_put_bytes(m, at + 0x300, scopes, sizeof(scopes));
	put32(m, at + 0x10c, 0x2c0);
	put32(m, at + 0x110, 0x300);
	put32(m, pcs, UINT32_MAX);
	put32(m, pcs + 16, 0x11);
	put32(m, pcs + 32, 0x21);
	put32(m, pcs + 36, 6);
	put32(m, pcs + 48, INT32_MAX);
}

static void code(struct runtime_make *m)
{
	memset(m->mem + SEGMAP, 255, 0x100);
	blob(m, INTERPRETER, 8, "Interpreter");
	blob(m, COMPILED, 8, "nmethod");
	blob(m, NATIVE, 4, "native nmethod");
	blob(m, STUBS, 4, "StubRoutines (1)");
	compiled(m);
	put32(m, BLOB(NATIVE) + 0x1c, 4);
	runtime_make_put(m, BLOB(NATIVE) + 0x70, METHOD(1));
	runtime_make_put(m, AT(HEAPS), 1);
	runtime_make_put(m, AT(HEAPS) + 8, AT(HEAPS) + 32);
	runtime_make_put(m, AT(HEAPS) + 32, AT(HEAP));
	runtime_make_put(m, AT(HEAP) + 8, AT(CODE));
	runtime_make_put(m, AT(HEAP) + 16, AT(CODE_END));
	runtime_make_put(m, AT(HEAP) + 0x78, AT(SEGMAP));
	put32(m, AT(HEAP) + 0x100, 7);
}

/* ---- the stack: sleep, inner in outer, work; the VM; main; the VM */

#define SP_NATIVE AT(STACK + 0x100)
#define SP_COMPILED (SP_NATIVE + 32)
#define FP_WORK (SP_COMPILED + 48 + 0x80)
#define FP_ENTRY (FP_WORK + 16 + 0x60)
#define WRAPPER (FP_ENTRY + 0x20)
#define SP_MAIN (WRAPPER + 0x80)
#define FP_MAIN (SP_MAIN + 0x80)
#define FP_LAST (FP_MAIN + 16 + 0x60)

static void interpreted(struct runtime_make *m, uint64_t fp, unsigned n, uint64_t caller_fp)
{
	runtime_make_put(m, fp - 8, fp + 16);
	runtime_make_put(m, fp - 24, METHOD(n));
	runtime_make_put(m, fp - 64, METHOD(n) + 0x80 + 48 + 8);
	runtime_make_put(m, fp, caller_fp);
	runtime_make_put(m, fp + 8, IN_STUB);
	runtime_make_put(m, caller_fp - 48, caller_fp + 0x20);
}

static void stack(struct runtime_make *m)
{
	runtime_make_put(m, AT(THREAD) + 0x290, SP_NATIVE);
	runtime_make_put(m, AT(THREAD) + 0x298, IN_NATIVE);
	runtime_make_put(m, SP_NATIVE + 24, IN_COMPILED);
	runtime_make_put(m, SP_COMPILED + 40, IN_INTERPRETER);
	runtime_make_put(m, SP_COMPILED + 32, FP_WORK);
	interpreted(m, FP_WORK, 3, FP_ENTRY);
	runtime_make_put(m, WRAPPER + 32, SP_MAIN);
	runtime_make_put(m, WRAPPER + 32 + 16, FP_MAIN);
	runtime_make_put(m, SP_MAIN - 8, IN_INTERPRETER);
	interpreted(m, FP_MAIN, MAIN_METHOD, FP_LAST);
}

static struct runtime_make *java(void)
{
	static struct runtime_make m;
	static const char release[] = "17.0.15+6-Debian-1deb12u1";

	m = (struct runtime_make){.name = "libjvm.so"};
	tables(&m);
	methods(&m);
	code(&m);
	stack(&m);
	runtime_make_put(&m, AT(STATICS), AT(LIST));
	runtime_make_put(&m, AT(STATICS + 8), AT(HEAPS));
	runtime_make_put(&m, AT(STATICS + 16), IN_STUB);
	runtime_make_put(&m, AT(STATICS + 24), 17);
	runtime_make_put(&m, AT(STATICS + 32), AT(STATICS + 64));
	runtime_make_put_bytes(&m, AT(STATICS + 64), release, sizeof(release));
	put32(&m, AT(LIST) + 4, 1);
	runtime_make_put(&m, AT(LIST) + 16, AT(LIST) + 64);
	runtime_make_put(&m, AT(LIST) + 64, AT(THREAD));
	runtime_make_put(&m, AT(THREAD) + 0x230, AT(OS));
	runtime_make_put(&m, AT(THREAD) + 0x250, AT(STACK_END));
	put32(&m, AT(OS) + 0xd0, 4711);
	return &m;
}

static void is_stack(struct runtime_make *m, struct runtime_proc *r, const char *want)
{
	char *got = runtime_make_stack(m, r);

	EQ_S(got, want);
	free(got);
}

#define TOP "shop.Pool.sleep Pool.java:0\n"
#define INLINED "shop.Pool.inner Pool.java:12\nshop.Pool.outer Pool.java:300\n"
#define REST "shop.Pool.work Pool.java:300|\nshop.Pool.main Pool.java:300|\n"

TEST(hotspot_frames_of_each_kind)
{
	struct runtime_make *m = java();
	struct runtime_proc *r = runtime_make_open(m);
	struct runtime_thread t;

	OK(r);
	EQ_S(runtime_version(r), "17.0.15");
	EQ_I(runtime_threads(r, &t, 1), 1);
	EQ_U(t.ns_tid, 4711);
	EQ_U(t.until, AT(STACK_END));
	is_stack(m, r, TOP INLINED REST);
	runtime_make_put(m, AT(THREAD) + 0x290, 0); /* it runs in Java */
	is_stack(m, r, "");
	runtime_free(r);
}

/* The compiled method was given up: its caller returns elsewhere, the true place is kept. */
TEST(hotspot_frame_that_is_to_be_deoptimised)
{
	struct runtime_make *m = java();
	struct runtime_proc *r = runtime_make_open(m);

	runtime_make_put(m, SP_NATIVE + 24, DEOPT);
	runtime_make_put(m, SP_COMPILED + 8, IN_COMPILED);
	is_stack(m, r, TOP INLINED REST);
	runtime_make_put(m, SP_COMPILED + 8, DEOPT);
	is_stack(m, r, "bad");
	runtime_free(r);
}

TEST(hotspot_monitor_that_a_thread_waits_for)
{
	static const struct row {
		uint64_t addr, value;
		bool is_there;
		uint32_t holder;
	} rows[] = {
		{AT(MONITOR) + 0x40, AT(STACK) + 0x800, true, 4711}, /* a place on its stack */
		{AT(MONITOR) + 0x40, AT(THREAD), true, 4711},
		{AT(MONITOR) + 0x40, 1, true, 0},
		{AT(MONITOR) + 0x40, AT(STACK) - 8, true, 0},
		{AT(THREAD) + 0x308, 0, false, 0},
		{AT(THREAD) + 0x308, UINT64_MAX - 7, false, 0},
		{AT(OBJECT), AT(MONITOR), false, 0},		     /* it is not locked so */
		{AT(MONITOR) + 8, 0, false, 0},
		{AT(OBJECT) + 8, UINT32_MAX, false, 0},
		{AT(STATICS) + 48, 60, false, 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct runtime_make *m = java();
		struct runtime_proc *r = runtime_make_open(m);
		struct runtime_lock lock;

		ROW(i);
		runtime_make_put(m, AT(THREAD) + 0x308, AT(MONITOR));
		runtime_make_put(m, AT(THREAD) + 0x258, STACK_END - STACK);
		runtime_make_put(m, AT(MONITOR) + 8, AT(HANDLE));
		runtime_make_put(m, AT(HANDLE), AT(OBJECT));
		runtime_make_put(m, AT(OBJECT), AT(MONITOR) | 2);
		put32(m, AT(OBJECT) + 8, CLASS);
		runtime_make_put(m, AT(STATICS) + 40, MAKE_BASE);
		runtime_make_put(m, rows[i].addr, rows[i].value);
		EQ_I(runtime_make_lock(m, r, &lock), rows[i].is_there);
		if (rows[i].is_there) {
			EQ_U(lock.addr, AT(MONITOR));
			EQ_S(buf_str(&lock.name), "monitor of shop.Pool");
			EQ_U(lock.holder_ns_tid, rows[i].holder);
		}
		buf_release(&lock.name);
		runtime_free(r);
	}
}

TEST(hotspot_that_is_not_known_is_refused)
{
	struct runtime_make *m = java();

	runtime_make_put(m, AT(STATICS + 24), 77);
	OK(!runtime_make_open(m));
	OK(strstr(m->err.msg, "is not known"));
	m = java();
	runtime_make_put(m, AT(FIELDS) + 2 * 48, constant("Nothing"));
	m->rodata_len = rodata_len;
	OK(!runtime_make_open(m));
	OK(strstr(m->err.msg, "does not say where its ThreadsList _threads is"));
	m = java();
	m->symbol_cnt = 3;
	OK(!runtime_make_open(m));
	OK(strstr(m->err.msg, "without the tables of HotSpot"));
	m = java();
	put32(m, AT(HEAPS), 1000);
	OK(!runtime_make_open(m));
}

TEST(hotspot_frames_that_are_damaged)
{
	static const struct row {
		uint64_t addr, value;
	} rows[] = {
		{AT(THREAD) + 0x290, SP_NATIVE + 1},	    /* the stack pointer: odd, */
		{AT(THREAD) + 0x298, AT(CODE) - 1},	    /* addresses: no code, */
		{AT(THREAD) + 0x298, AT(CODE_END) - 64},    /* ... where none was made, */
		{SP_NATIVE + 24, IN_COMPILED + 1},	    /* ... not after a call, */
		{SP_COMPILED + 40, UINT64_MAX},
		{SP_COMPILED + 32, UINT64_MAX - 7},	    /* frame pointers */
		{SP_COMPILED + 32, AT(STACK)},
		{FP_WORK - 8, SP_COMPILED},		    /* circles */
		{FP_WORK - 8, UINT64_MAX},
		{WRAPPER + 32, SP_NATIVE},
		{FP_ENTRY - 48, 0},
		{FP_ENTRY - 48, UINT64_MAX - 64},
		{FP_WORK - 24, 0},			    /* no methods */
		{FP_WORK - 24, METHOD(3) + 1},
		{FP_WORK - 24, UINT64_MAX - 15},
		{METHOD(3) + 8, UINT64_MAX},
		{METHOD(3) + 0x80 + 0x18, 0},		    /* lengths, indexes */
		{AT(POOL) + 0x38, 0},
		{AT(POOL) + 72 + 3 * 8, 0},
		{AT(CLASS) + 0x18, UINT64_MAX - 3},
		{AT(SYMBOLS_AT) + 5 * 0x40, 0},
		{BLOB(COMPILED) + 0x78, UINT64_MAX - 2},    /* debug information */
		{BLOB(COMPILED) + 0x100, 0},
		{BLOB(COMPILED) + 0x104, UINT64_C(0xfffffff0)},
		{BLOB(COMPILED) + 0x10c, UINT64_C(0xfffffff0)},
		{BLOB(COMPILED) + 0x10c, UINT64_C(0xfffffff0000002c0)},
		{BLOB(COMPILED) + 0x280, 0},
		{BLOB(COMPILED) + 0x300 + 6, UINT64_C(0x0101010101010106)}, /* a scope in itself */
		{BLOB(COMPILED) + 0x1c, UINT32_MAX / 4},    /* a frame of 8 GB */
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct runtime_make *m = java();
		struct runtime_proc *r = runtime_make_open(m);

		ROW(i);
		runtime_make_put(m, rows[i].addr, rows[i].value);
		is_stack(m, r, "bad");
		runtime_free(r);
	}
}

/* Whatever is there: it ends, and reads nothing beside it. */
TEST(hotspot_memory_of_any_kind)
{
	uint64_t seed = 1;

	for (unsigned round = 0; round < 300; round++) {
		struct runtime_make *m = java();
		struct runtime_proc *r = runtime_make_open(m);

		for (unsigned i = 0; i < 40; i++) {
			uint64_t at, value;

			seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
			at = STATICS + (seed >> 33) % (sizeof(m->mem) - STATICS - 8);
			value = MAKE_BASE + (seed >> 17) % sizeof(m->mem);
			runtime_make_put(m, AT(i % 2 ? at & ~UINT64_C(7) : at),
					 i % 3 ? value : seed);
		}
		free(runtime_make_stack(m, r));
		runtime_free(r);
	}
	OK(seed);
}

TEST(hotspot_numbers_and_lines)
{
	static const uint8_t one[] = {191}, two[] = {192, 1}, five[] = {255, 255, 255, 255, 255, 9};
	static const uint8_t lines[] = {1, 4 << 3 | 2, 255, 8, 192, 6, 0};
	const uint8_t *at = one;

	EQ_U(hotspot_unsigned5(&at, one + 1, false), 191);
	at = two;
	EQ_U(hotspot_unsigned5(&at, two + 2, false), 192 + 64);
	at = two;
	EQ_U(hotspot_unsigned5(&at, two + 2, true), 191);
	at = two;
	EQ_U(hotspot_unsigned5(&at, two + 1, false), 192);
	at = five;
	(void)hotspot_unsigned5(&at, five + sizeof(five), false);
	EQ_U(at - five, 5);
	EQ_U(hotspot_unsigned5(&at, at, false), 0);
	EQ_U(hotspot_line(lines, sizeof(lines), 0, false), 1);
	EQ_U(hotspot_line(lines, sizeof(lines), 3, false), 1);
	EQ_U(hotspot_line(lines, sizeof(lines), 4, false), 3);
	EQ_U(hotspot_line(lines, sizeof(lines), 8, false), 291);
	EQ_U(hotspot_line(lines, sizeof(lines), 99, false), 291);
	EQ_U(hotspot_line(lines, 0, 0, false), 0);
}
