/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UNIT_H
#define UNIT_H
/*
 * Unit tests.  A file t_NAME.c holds cases; each runs in a process of its own,
 * so that one may crash, abort or leak without harm to the others.
 *
 *	TEST(buf_grows)
 *	{
 *		struct buf b = {0};
 *
 *		buf_adds(&b, "x");
 *		EQ_U(b.len, 1);
 *		EQ_S(buf_str(&b), "x");
 *		buf_release(&b);
 *	}
 *
 * A check that fails prints where and both values and ends the case.  In a
 * loop over a table, ROW(i) names the row that failed.  DIES(stmt) is for a
 * BUG: it must abort.  SKIP(why) ends the case as skipped.
 *
 *	build/obj/unit [-l] [-s] [PREFIX]   run (or list) the cases that start so;
 *	                                    -s: in this process, for a debugger
 */
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

struct unit_case {
	const char *name;
	const char *file;
	void (*run)(void);
	void *pad; /* 32 bytes: the linker lays the array out without holes */
};

#define TEST(id)                                                                  \
	static void test_##id(void);                                              \
	static const struct unit_case case_##id                                   \
		__attribute__((used, section("unit_cases"), aligned(32))) = {     \
			.name = #id, .file = __FILE__, .run = test_##id};         \
	static void test_##id(void)

/* Said before the place of each failed check. */
#define ROW(i) unit_row((long)(i))

void unit_row(long row);
void unit_fail(const char *file, int line, const char *fmt, ...)
	__attribute__((noreturn, format(printf, 3, 4)));
void unit_skip(const char *why) __attribute__((noreturn));
/* Forks: true in the child; in the parent false, with the signal the child died by or 0. */
bool unit_in_child(int *ret_signal);
void unit_same_text(const char *file, int line, const char *expr, const char *got,
		    const char *want);

#define FAIL(...) unit_fail(__FILE__, __LINE__, __VA_ARGS__)
#define SKIP(why) unit_skip(why)

#define OK(cond)                                            \
	do {                                                \
		if (!(cond))                                \
			FAIL("%s is not true", #cond);      \
	} while (0)

#define EQ_I(got, want)                                                                \
	do {                                                                           \
		intmax_t got_ = (got), want_ = (want);                                 \
		if (got_ != want_)                                                     \
			FAIL("%s is %jd, not %jd", #got, got_, want_);                 \
	} while (0)

#define EQ_U(got, want)                                                                \
	do {                                                                           \
		uintmax_t got_ = (got), want_ = (want);                                \
		if (got_ != want_)                                                     \
			FAIL("%s is %ju, not %ju", #got, got_, want_);                 \
	} while (0)

#define NEAR(got, want, slack)                                                         \
	do {                                                                           \
		double got_ = (got), want_ = (want), slack_ = (slack);                 \
		if (!(got_ >= want_ - slack_ && got_ <= want_ + slack_))               \
			FAIL("%s is %.9g, not %.9g", #got, got_, want_);               \
	} while (0)

/* Text, NULL equal only to NULL; a difference over lines is shown from its first line. */
#define EQ_S(got, want) unit_same_text(__FILE__, __LINE__, #got, (got), (want))

#define HAS(text, part)                                                                \
	do {                                                                           \
		const char *text_ = (text);                                            \
		if (!text_ || !strstr(text_, (part)))                                  \
			FAIL("%s is \"%s\", without \"%s\"", #text, text_ ? text_ : "(null)", \
			     (part));                                                  \
	} while (0)

#define DIES(stmt)                                                             \
	do {                                                                   \
		int signal_;                                                   \
		if (unit_in_child(&signal_)) {                                 \
			stmt;                                                  \
			_exit(0);                                              \
		}                                                              \
		if (signal_ != SIGABRT)                                        \
			FAIL("%s did not abort", #stmt);                       \
	} while (0)

#endif /* UNIT_H */
