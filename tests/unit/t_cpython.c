/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of CPython 3.11 in memory that was made up as its headers lay it out; and damaged ones. */
#include "unit.h"

#include <stdlib.h>

#include "runtime_make.h"

#define AT(x) (MAKE_BASE + (x))
#define RUNTIME AT(0x1000)
#define INTERP AT(0x2000)
#define THREAD AT(0x3000)
#define CFRAME AT(0x3200)
#define FRAME(n) AT(0x4000 + (n) * 0x100)
#define CODE(n) AT(0x5000 + (n) * 0x100)
#define TEXT(n) AT(0x6000 + (n) * 0x100)
#define TABLE AT(0x7000)
#define CODE_TYPE AT(0x8000)
#define STR_TYPE AT(0x8800)
#define BYTES_TYPE AT(0x9000)
#define MEMBERS AT(0x9800)
#define VERSION AT(0x9f00)

static const struct runtime_make_symbol symbols[] = {
	{"_PyRuntime", RUNTIME - MAKE_BIAS, 8},
	{"PyCode_Type", CODE_TYPE - MAKE_BIAS, 8},
	{"PyUnicode_Type", STR_TYPE - MAKE_BIAS, 8},
	{"PyBytes_Type", BYTES_TYPE - MAKE_BIAS, 8},
	{"Py_Version", VERSION - MAKE_BIAS, 4},
	{"_PyEval_EvalFrameDefault", 0x500, 0x100},
};

static void text(struct runtime_make *m, uint64_t at, const char *s)
{
	runtime_make_put(m, at + 8, STR_TYPE);
	runtime_make_put(m, at + 16, strlen(s));
	runtime_make_put(m, at + 32, 1 << 2 | 32 | 64); /* one byte each, compact, ASCII */
	runtime_make_put_bytes(m, at + 48, s, strlen(s));
}

static void members(struct runtime_make *m)
{
	static const struct {
		const char *name;
		uint64_t off;
	} list[] = {{"co_qualname", 128}, {"co_filename", 112}, {"co_firstlineno", 72}};

	runtime_make_put(m, CODE_TYPE + 240, MEMBERS);
	for (unsigned i = 0; i < 3; i++) {
		uint64_t name = MEMBERS + 0x200 + i * 0x20;

		runtime_make_put_bytes(m, name, list[i].name, strlen(list[i].name) + 1);
		runtime_make_put(m, MEMBERS + i * 40, name);
		runtime_make_put(m, MEMBERS + i * 40 + 16, list[i].off);
	}
}

static void call(struct runtime_make *m, unsigned n, const char *name, bool is_entry)
{
	text(m, TEXT(n), name);
	runtime_make_put(m, CODE(n) + 8, CODE_TYPE);
	runtime_make_put(m, CODE(n) + 72, 10 * (n + 1));
	runtime_make_put(m, CODE(n) + 112, TEXT(9));
	runtime_make_put(m, CODE(n) + 128, TEXT(n));
	runtime_make_put(m, CODE(n) + 136, TABLE);
	runtime_make_put(m, FRAME(n) + 32, CODE(n));
	runtime_make_put(m, FRAME(n) + 48, n == 2 ? 0 : FRAME(n + 1));
	runtime_make_put(m, FRAME(n) + 56, CODE(n) + 184 + 6);
	runtime_make_put_bytes(m, FRAME(n) + 68, &(uint8_t){is_entry}, 1);
}

/* sell, called by Shop.serve in one native frame, called by <module>. */
static struct runtime_make *shop(void)
{
	static struct runtime_make m;
	static const uint8_t lines[] = {0xef, 0x04}; /* 8 units, no columns, 2 lines on */

	m = (struct runtime_make){.name = "python3.11", .rodata = "x", .symbols = symbols,
				  .symbol_cnt = sizeof(symbols) / sizeof(symbols[0])};
	runtime_make_put(&m, VERSION, 0x030b02f0);
	runtime_make_put(&m, RUNTIME + 40, INTERP);
	runtime_make_put(&m, INTERP + 16, THREAD);
	runtime_make_put(&m, THREAD + 56, CFRAME);
	runtime_make_put(&m, THREAD + 152, 0x7f0000001000);
	runtime_make_put(&m, THREAD + 160, 77);
	runtime_make_put(&m, CFRAME + 8, FRAME(0));
	members(&m);
	text(&m, TEXT(9), "/srv/shop.py");
	runtime_make_put(&m, TABLE + 8, BYTES_TYPE);
	runtime_make_put(&m, TABLE + 16, sizeof(lines));
	runtime_make_put_bytes(&m, TABLE + 32, lines, sizeof(lines));
	call(&m, 0, "sell", false);
	call(&m, 1, "Shop.serve", true);
	call(&m, 2, "<module>", true);
	return &m;
}

TEST(cpython_frames)
{
	struct runtime_make *m = shop();
	struct runtime_proc *r = runtime_make_open(m);
	struct runtime_thread t;
	char *stack;

	OK(r);
	EQ_S(runtime_version(r), "3.11.2");
	EQ_I(runtime_threads(r, &t, 1), 1);
	EQ_U(t.ns_tid, 77);
	stack = runtime_make_stack(m, r);
	EQ_S(stack, "sell /srv/shop.py:12\nShop.serve /srv/shop.py:22|\n"
		    "<module> /srv/shop.py:32|\n");
	free(stack);
	runtime_make_put(m, TEXT(1) + 8, BYTES_TYPE); /* no text any more */
	stack = runtime_make_stack(m, r);
	EQ_S(stack, "bad");
	free(stack);
	runtime_free(r);
}

TEST(cpython_of_another_layout_is_refused)
{
	struct runtime_make *m = shop();

	runtime_make_put(m, MEMBERS + 16, 120);
	OK(!runtime_make_open(m));
	OK(strstr(m->err.msg, "co_qualname"));
	runtime_make_put(shop(), VERSION, 0x031a0000);
	OK(!runtime_make_open(m));
	OK(strstr(m->err.msg, "is not known"));
}
