/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of PHP in memory that was made up, as each version lays them out; and damaged ones. */
#include "unit.h"

#include <stdlib.h>

#include "runtime_make.h"
#include "symbols/runtimes/php.h"

#define GLOBALS (MAKE_BASE + 0x1000)
#define CALL(n) (MAKE_BASE + 0x2000 + (n) * 0x100)
#define FUNC(n) (MAKE_BASE + 0x4000 + (n) * 0x100)
#define OPS(n) (MAKE_BASE + 0x6000 + (n) * 0x100)
#define TEXT(n) (MAKE_BASE + 0x8000 + (n) * 0x100)
#define CLASS (MAKE_BASE + 0xf000)
#define TOP (1u << 17)

static const struct runtime_make_symbol symbols[] = {
	{"executor_globals", GLOBALS - MAKE_BIAS, 1800}, {"execute_ex", 0x500, 0x100}};

static void text(struct runtime_make *m, uint64_t at, const char *s)
{
	runtime_make_put(m, at, UINT64_C(0x16) << 32 | 1);
	runtime_make_put(m, at + 16, strlen(s));
	runtime_make_put_bytes(m, at + 24, s, strlen(s) + 1);
}

/* A function of four instructions, on lines 10 to 13. */
static void func(struct runtime_make *m, unsigned n, const struct php_layout *at, const char *name)
{
	uint64_t cnt = 4, line = 10 | UINT64_C(13) << 32;

	runtime_make_put(m, FUNC(n), at ? 2 : 1);
	if (name) {
		text(m, TEXT(n), name);
		runtime_make_put(m, FUNC(n) + 8, TEXT(n));
	}
	if (!at)
		return;
	text(m, TEXT(15), "/srv/shop.php");
	runtime_make_put_bytes(m, FUNC(n) + at->op_cnt, &cnt, 4);
	runtime_make_put(m, FUNC(n) + at->opcodes, OPS(n));
	runtime_make_put(m, FUNC(n) + at->file, TEXT(15));
	runtime_make_put(m, FUNC(n) + at->file + 8, line);
	for (uint64_t i = 0; i < cnt; i++)
		runtime_make_put(m, OPS(n) + i * 32 + 24, 10 + i);
}

static void call(struct runtime_make *m, unsigned n, uint64_t op, uint32_t info)
{
	runtime_make_put(m, CALL(n), op);
	runtime_make_put(m, CALL(n) + 24, FUNC(n));
	runtime_make_put(m, CALL(n) + 40, info);
	runtime_make_put(m, CALL(n) + 48, CALL(n + 1));
}

/* usleep, called back by array_map out of Shop::sell, out of a file. */
static struct runtime_make *shop(uint32_t api)
{
	static struct runtime_make m;
	static char rodata[64];
	const struct php_layout *at = php_layout_of(api);

	snprintf(rodata, sizeof(rodata), "X-Powered-By: PHP/9.8.7 API%u,NTS", api);
	m = (struct runtime_make){.name = "php", .rodata = rodata, .symbols = symbols,
				  .symbol_cnt = 2};
	if (!at)
		return &m;
	runtime_make_put(&m, GLOBALS + 456, CALL(0));
	runtime_make_put(&m, GLOBALS + 464, CALL(9));
	runtime_make_put(&m, GLOBALS + 472, CALL(0));
	runtime_make_put(&m, GLOBALS + 480, 262144);
	runtime_make_put(&m, GLOBALS + 488, CALL(0));
	func(&m, 0, NULL, "usleep");
	func(&m, 1, NULL, "array_map");
	func(&m, 2, at, "sell");
	func(&m, 3, at, NULL);
	runtime_make_put(&m, FUNC(2) + 16, CLASS);
	runtime_make_put(&m, CLASS + 8, TEXT(8));
	text(&m, TEXT(8), "Shop");
	call(&m, 0, 12345, TOP);
	call(&m, 1, 0, 0);
	call(&m, 2, OPS(2) + 32, 0);
	call(&m, 3, OPS(3) + 96, TOP);
	runtime_make_put(&m, CALL(3) + 48, 0);
	return &m;
}

static void is_stack(struct runtime_make *m, struct runtime_proc *r, const char *want)
{
	char *got = runtime_make_stack(m, r);

	EQ_S(got, want);
	free(got);
}

TEST(php_calls_of_each_version)
{
	static const uint32_t apis[] = {20190902, 20200930, 20210902,
					20220829, 20230831, 20240924};

	for (size_t i = 0; i < sizeof(apis) / sizeof(apis[0]); i++) {
		struct runtime_make *m = shop(apis[i]);
		struct runtime_proc *r = runtime_make_open(m);

		ROW(i);
		OK(r);
		EQ_S(runtime_version(r), "9.8.7");
		is_stack(m, r, "usleep :0\narray_map :0\nShop::sell /srv/shop.php:11\n"
			       "{main} /srv/shop.php:13|\n");
		runtime_free(r);
	}
}

TEST(php_that_is_not_known_is_refused)
{
	static const struct runtime_make_symbol with_threads[] = {
		{"executor_globals_offset", 8, 8}, {"execute_ex", 0x500, 0x100}};
	struct runtime_make *m = shop(20990101);

	OK(!runtime_make_open(m));
	OK(strstr(m->err.msg, "is not known"));
	m = shop(20220829);
	m->symbols = with_threads;
	OK(!runtime_make_open(m));
	OK(strstr(m->err.msg, "ZTS"));
	m = shop(20220829);
	runtime_make_put(m, GLOBALS + 480, 12345);
	OK(!runtime_make_open(m));
	OK(strstr(m->err.msg, "in another place"));
}

/* Each makes one thing of the third call, or of its function, other than it should be. */
TEST(php_calls_that_are_damaged)
{
	static const struct row {
		uint64_t addr, value;
		const char *want;
	} rows[] = {
		{CALL(2) + 24, 0, "usleep :0\narray_map :0\n\n{main} /srv/shop.php:13|\n"},
		{FUNC(0) + 8, 0, "\narray_map :0\nShop::sell /srv/shop.php:11\n"
				 "{main} /srv/shop.php:13|\n"},
		{CALL(2) + 24, FUNC(2) + 1, "bad"},
		{CALL(2) + 24, 0x7fffffffff00, "bad"},
		{CALL(2) + 48, CALL(1), "bad"},		/* a circle */
		{CALL(2) + 48, 0x7fffffffff00, "bad"},
		{FUNC(2), 7, "bad"},			/* no type of a function */
		{FUNC(2) + 8, FUNC(2), "bad"},		/* no string */
		{FUNC(2) + 16, 0x7fffffffff00, "bad"},	/* no class */
		{TEXT(2) + 16, UINT64_MAX, "bad"},	/* lengths */
		{TEXT(2) + 16, 3, "bad"},
		{TEXT(15) + 16, INT64_MAX, "bad"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct runtime_make *m = shop(20220829);
		struct runtime_proc *r = runtime_make_open(m);

		ROW(i);
		runtime_make_put(m, rows[i].addr, rows[i].value);
		is_stack(m, r, rows[i].want);
		runtime_free(r);
	}
}

TEST(php_lines_of_the_functions_instructions_only)
{
	static const uint64_t ops[] = {OPS(2) + 4 * 32, OPS(2) + 1, OPS(2) - 32, 0, UINT64_MAX};

	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		struct runtime_make *m = shop(20220829);
		struct runtime_proc *r = runtime_make_open(m);

		ROW(i);
		runtime_make_put(m, CALL(2), ops[i]);
		is_stack(m, r, "usleep :0\narray_map :0\nShop::sell /srv/shop.php:0\n"
			       "{main} /srv/shop.php:13|\n");
		runtime_free(r);
	}
}
