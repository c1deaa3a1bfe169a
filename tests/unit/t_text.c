/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/fmt.h"
#include "base/stop.h"

TEST(duration_parse_good)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} rows[] = {
		{"10s", 10 * NS_PER_SEC},	 {"500ms", 500 * NS_PER_MS},
		{"2m", 120 * NS_PER_SEC},	 {"1h30m", 5400 * NS_PER_SEC},
		{"1.5s", 1500 * NS_PER_MS},	 {"250us", 250 * NS_PER_US},
		{"40ns", 40},			 {"3", 3 * NS_PER_SEC},
		{"0", 0},			 {"0.25", 250 * NS_PER_MS},
		{"1000d", 86400000 * NS_PER_SEC}, {"0.0000000001s", 0},
		{"1m1", 61 * NS_PER_SEC},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t ns = 1;

		ROW(i);
		EQ_I(duration_parse(rows[i].text, &ns, NULL), 0);
		EQ_U(ns, rows[i].ns);
	}
}

TEST(duration_parse_bad)
{
	static const struct {
		const char *text;
		int code;
	} rows[] = {
		{"", -EINVAL},	    {"s", -EINVAL},	 {"-1s", -EINVAL},   {"10x", -EINVAL},
		{" 1s", -EINVAL},   {"1 s", -EINVAL},	 {"1.s", -EINVAL},   {".5s", -EINVAL},
		{"1s,", -EINVAL},   {"1001d", -ERANGE}, {"999d2d", -ERANGE}, {"1e3", -EINVAL},
		{"99999999999999999999999999s", -ERANGE},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct err err = {0};
		uint64_t ns = 77;

		ROW(i);
		EQ_I(duration_parse(rows[i].text, &ns, &err), rows[i].code);
		EQ_U(ns, 77);
		HAS(err.msg, rows[i].text);
	}
}

TEST(clock_moves)
{
	uint64_t start = clock_mono_ns();

	usleep(5000);
	OK(clock_mono_ns() >= start + 5 * NS_PER_MS);
	OK(clock_boot_ns() >= start);
	OK(clock_real_ns() > UINT64_C(1600000000) * NS_PER_SEC);
}

TEST(fmt_ns_rows)
{
	static const struct {
		uint64_t ns;
		const char *want;
	} rows[] = {
		{0, "0"},		      {1, "1 ns"},		   {999, "999 ns"},
		{1000, "1.00 us"},	      {9994, "9.99 us"},	   {9996, "10.0 us"},
		{99960, "100 us"},	      {999499, "999 us"},	   {999500, "1.00 ms"},
		{1240000, "1.24 ms"},	      {999500000, "1.00 s"},	   {10000000000, "10.0 s"},
		{119900000000, "120 s"},      {200000000000, "3 m 20 s"},
		{7260000000000, "2 h 1 m"},
		{UINT64_MAX, "5124095 h 34 m"},
	};
	char out[FMT_MAX];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		ROW(i);
		EQ_S(fmt_ns(out, rows[i].ns), rows[i].want);
	}
}

TEST(fmt_bytes_and_counts)
{
	char out[FMT_MAX];

	EQ_S(fmt_bytes(out, 0), "0 B");
	EQ_S(fmt_bytes(out, 1023), "1023 B");
	EQ_S(fmt_bytes(out, 4096), "4.00 KiB");
	EQ_S(fmt_bytes(out, 1048575), "1.00 MiB");
	EQ_S(fmt_bytes(out, UINT64_MAX), "16.0 EiB");
	EQ_S(fmt_count(out, 0), "0");
	EQ_S(fmt_count(out, 999), "999");
	EQ_S(fmt_count(out, 12345), "12.3 k");
	EQ_S(fmt_count(out, 999999), "1.00 M");
}

TEST(fmt_share_rows)
{
	char out[FMT_MAX];

	EQ_S(fmt_share(out, 0), "0 %");
	EQ_S(fmt_share(out, 0.0004), "< 0.1 %");
	EQ_S(fmt_share(out, 0.031), "3.1 %");
	EQ_S(fmt_share(out, 0.0996), "10 %");
	EQ_S(fmt_share(out, 1), "100 %");
	EQ_S(fmt_share(out, 0.0 / 0.0), "-");
}

TEST(err_prefix_layers)
{
	struct err err = {0};

	EQ_I(err_set(&err, -EIO, "bad crc at %d", 4096), -EIO);
	EQ_I(err_prefix(&err, "index"), -EIO);
	EQ_I(err_prefix(&err, "open store '%s'", "x"), -EIO);
	EQ_S(err.msg, "open store 'x': index: bad crc at 4096");
	EQ_I(err.kind, ERR_FAILED);
	EQ_I(err_set(NULL, -EIO, "nobody listens"), -EIO);
	EQ_I(err_prefix(NULL, "nobody listens"), 0);
}

TEST(err_kinds)
{
	struct err err = {0};

	EQ_I(err_rights(&err, -EPERM, "needs root"), -EPERM);
	EQ_I(err.kind, ERR_RIGHTS);
	EQ_I(err_usage(&err, "what?"), -EINVAL);
	EQ_I(err.kind, ERR_USAGE);
	EQ_I(err_errno(&err, -ENOENT, "read '%s'", "f"), -ENOENT);
	EQ_S(err.msg, "read 'f': No such file or directory");
	DIES(err_set(&err, 5, "positive"));
}

TEST(err_is_cut_not_overrun)
{
	struct err err = {0};
	char longer[2000];

	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	err_set(&err, -EIO, "%s", longer);
	EQ_U(strlen(err.msg), ERR_MSG_MAX - 1);
	err_prefix(&err, "short");
	EQ_I(strncmp(err.msg, "short: xxx", 10), 0);
	err_prefix(&err, "%s", longer);
	EQ_U(strlen(err.msg), ERR_MSG_MAX - 1);
	err_errno(&err, -EIO, "%s", longer);
	EQ_U(strlen(err.msg), ERR_MSG_MAX - 1);
}

TEST(file_read_limits)
{
	char path[] = "/tmp/heldup-unit-XXXXXX";
	struct buf out = {0};
	struct err err = {0};
	int fd = mkstemp(path);

	OK(fd >= 0);
	EQ_I(file_write_all(fd, "0123456789", 10), 0);
	EQ_I(file_read(path, 10, &out, &err), 0);
	EQ_S(buf_str(&out), "0123456789");
	EQ_I(file_read(path, 3, &out, &err), -E2BIG);
	EQ_S(buf_str(&out), "0123456789012");
	unlink(path);
	EQ_I(file_read(path, 3, &out, &err), -ENOENT);
	EQ_S(buf_str(&out), "0123456789012");
	HAS(err.msg, path);
	EQ_I(file_read("/proc/self/stat", 65536, &out, NULL), 0);
	EQ_I(file_read("/", 10, &out, NULL), -EISDIR);
	close(fd);
	EQ_I(file_write_all(fd, "x", 1), -EBADF);
	buf_release(&out);
}

TEST(stop_keeps_what_was_ignored)
{
	struct sigaction sa;

	signal(SIGHUP, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	stop_init();
	raise(SIGHUP);
	OK(!stop_requested());
	raise(SIGINT);
	OK(stop_requested());
	stop_child();
	sigaction(SIGINT, NULL, &sa);
	OK(sa.sa_handler == SIG_IGN);
	sigaction(SIGTERM, NULL, &sa);
	OK(sa.sa_handler != SIG_IGN);
}

TEST(stop_first_asks_second_ends)
{
	int sig = 0;

	stop_init();
	OK(!stop_requested());
	OK(stop_fd() >= 0);
	raise(SIGTERM);
	OK(stop_requested());
	raise(SIGTERM); /* at once: the same wish, else this ends here */
	raise(SIGINT);
	if (unit_in_child(&sig)) {
		usleep(STOP_ECHO_NS / 1000 + 1000);
		raise(SIGINT);
		_exit(0);
	}
	EQ_I(sig, SIGINT);
}
