/* SPDX-License-Identifier: Apache-2.0 */
/* The window over packed and unpacked bytes, and how formats are told apart. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <zlib.h>
#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

#include "base/buf.h"
#include "base/file.h"
#include "spans/spans_input.h"
#include "spans_take.h"

static void add_gzip(struct buf *out, const char *text, size_t len)
{
	z_stream z = {0};
	unsigned char packed[4096];

	OK(deflateInit2(&z, 6, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
	z.next_in = (unsigned char *)(uintptr_t)text;
	z.avail_in = (uInt)len;
	do {
		z.next_out = packed;
		z.avail_out = sizeof(packed);
		OK(deflate(&z, Z_FINISH) != Z_STREAM_ERROR);
		buf_add(out, packed, sizeof(packed) - z.avail_out);
	} while (z.avail_out == 0);
	deflateEnd(&z);
}

static void add_zstd(struct buf *out, const char *text, size_t len)
{
#ifdef HAVE_ZSTD
	char packed[4096];
	size_t n = ZSTD_compress(packed, sizeof(packed), text, len, 3);

	OK(!ZSTD_isError(n));
	buf_add(out, packed, n);
#else
	(void)out, (void)text, (void)len;
	SKIP("built without zstd");
#endif
}

static const char text[] = "0123456789abcdefghijklmnopqrstuvwxyz";

/* All of in, a few bytes at a time; returns how many. */
static size_t drain(struct spans_in *in, const char *want, size_t want_len, size_t step)
{
	size_t got = 0, have;

	while ((have = in_fill(in, step))) {
		size_t n = have < step ? have : step;

		EQ_U(in_off(in), got);
		EQ_U(in->end[0], 0);
		OK(got + n <= want_len && memcmp(in->at, want + got, n) == 0);
		in->at += n;
		got += n;
	}
	EQ_U(in_off(in), got);
	return got;
}

TEST(spans_in_packed)
{
	size_t len = sizeof(text) - 1;

	for (int row = 0; row < 6; row++) {
		struct buf packed = {0};
		struct spans_in *in;

		ROW(row);
		if (row == 0)
			buf_add(&packed, text, len);
		else if (row == 1)
			add_gzip(&packed, text, len);
		else if (row == 4)
			add_zstd(&packed, text, len);
		if (row == 2 || row == 3) { /* members, then the padding of a tape */
			add_gzip(&packed, text, 10);
			add_gzip(&packed, text + 10, 0);
			add_gzip(&packed, text + 10, len - 10);
			buf_addn(&packed, 0, row == 3 ? 512 : 0);
		} else if (row == 5) {
			add_zstd(&packed, text, 10);
			add_zstd(&packed, text + 10, len - 10);
		}
		in = in_bytes(packed.data, packed.len);
		EQ_U(drain(in, text, len, 7), len);
		OK(!in_trouble(in));
		EQ_U(in_done_bytes(in), packed.len);
		EQ_U(in_all_bytes(in), packed.len);
		in_free(in);
		buf_release(&packed);
	}
}

TEST(spans_in_damaged)
{
	static const struct {
		bool zstd;
		size_t cut;	/* bytes taken off the end */
		size_t flip;	/* a byte from the end that is changed */
		const char *why;
	} rows[] = {
		{false, 1, 0, "its gzip data ends in the middle"},
		{false, 20, 0, "its gzip data ends in the middle"},
		{false, 0, 6, "its gzip data is damaged: incorrect data check"},
		{true, 1, 0, "its zstd data ends in the middle"},
		{true, 8, 0, "its zstd data ends in the middle"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct buf packed = {0};
		struct spans_in *in;

		ROW(i);
		if (rows[i].zstd)
			add_zstd(&packed, text, sizeof(text) - 1);
		else
			add_gzip(&packed, text, sizeof(text) - 1);
		packed.len -= rows[i].cut;
		if (rows[i].flip)
			packed.data[packed.len - rows[i].flip] ^= 1;
		in = in_bytes(packed.data, packed.len);
		drain(in, text, sizeof(text) - 1, 5);
		OK(in_trouble(in));
		EQ_S(in_trouble(in), rows[i].why);
		in_free(in);
		buf_release(&packed);
	}
}

/* The window grows up to its limit and not beyond; what is skipped need not fit. */
TEST(spans_in_window)
{
	size_t len = (size_t)IN_WINDOW_MAX + 5 * IN_WINDOW;
	char *big = malloc(len);
	struct spans_in *in;

	OK(big);
	memset(big, 'x', len);
	in = in_bytes(big, len);
	EQ_U(in_fill(in, 10) >= 10, 1);
	EQ_U(in_fill(in, IN_WINDOW + 1) > IN_WINDOW, 1);
	EQ_U(in_fill(in, len), IN_WINDOW_MAX);
	EQ_U(in_skip(in, len - 3), 1);
	EQ_U(in_fill(in, 10), 3);
	EQ_U(in_off(in), len - 3);
	EQ_U(in_skip(in, 4), 0);
	in_free(in);
	free(big);
}

TEST(spans_in_files)
{
	struct taken t = {0};
	struct span_sink sink = {.ctx = &t, .span = take_span};
	struct buf packed = {0};
	char path[40];
	int fd = memfd_create("spans", MFD_CLOEXEC);
	static const char csv[] = "trace_id,span_id,service,name,start_ns\n1,2,s,o,5\n";

	EQ_I(spans_read("/nonexistent", NULL, &t.strings, &sink, &t.stats, &t.err), -ENOENT);
	EQ_S(t.err.msg, "open '/nonexistent': No such file or directory");
	EQ_I(spans_read("/tmp", NULL, &t.strings, &sink, &t.stats, &t.err), -EISDIR);
	EQ_S(t.err.msg, "/tmp: is a directory, expected a file of spans");
	EQ_I(spans_read("/dev/null", NULL, &t.strings, &sink, &t.stats, &t.err), -EBADMSG);
	EQ_S(t.err.msg, "/dev/null: offset 0: expected spans, found an empty file");
	add_gzip(&packed, csv, sizeof(csv) - 1);
	OK(fd >= 0 && file_write_all(fd, packed.data, packed.len) == 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	EQ_I(spans_read(path, NULL, &t.strings, &sink, &t.stats, &t.err), 0);
	EQ_U(t.cnt, 1);
	EQ_S(t.stats.packed_as, "gzip");
	OK(lseek(fd, 0, SEEK_SET) == 0 && dup2(fd, STDIN_FILENO) == STDIN_FILENO);
	EQ_I(spans_read("-", NULL, &t.strings, &sink, &t.stats, &t.err), 0);
	EQ_U(t.cnt, 2);
	close(fd);
	buf_release(&packed);
	taken_release(&t);
}

/* What was whole before the damage is kept, and the damage is said. */
TEST(spans_cut_file)
{
	struct taken t = {0};
	struct buf csv = {0}, packed = {0};

	buf_adds(&csv, "trace_id,span_id,service,name,start_ns\n");
	for (int i = 1; i <= 5000; i++)
		buf_printf(&csv, "%d,%d,s,o%d,%d\n", i * 7919, i, i % 10, i * 31);
	add_gzip(&packed, csv.data, csv.len);
	EQ_I(take_bytes(&t, packed.data, packed.len / 2), 0);
	OK(t.cnt > 1000 && t.cnt < 4000);
	OK(t.stats.cut);
	/* of the line in which it ended nothing is believed */
	for (size_t i = 0; i < t.cnt; i++)
		EQ_I(t.spans[i].begin_ns, (int64_t)(i + 1) * 31);
	EQ_U(t.stats.bad_cnt, 0);
	EQ_S(t.stats.cut_at.why, "its gzip data ends in the middle");
	taken_release(&t);
	t = (struct taken){0};
	EQ_I(take_bytes(&t, packed.data, 15), -EBADMSG);
	EQ_S(t.err.msg, "test: offset 0: its gzip data ends in the middle");
	taken_release(&t);
	buf_release(&csv);
	buf_release(&packed);
}

static bool stop_at_once(void *ctx, uint64_t done, uint64_t all)
{
	(void)ctx, (void)done, (void)all;
	return false;
}

TEST(spans_stopped)
{
	static const char csv[] = "trace_id,span_id,service,name,start_ns\n1,2,s,o,5\n";
	struct taken t = {0};
	struct span_sink sink = {.ctx = &t, .span = take_span, .progress = stop_at_once};

	EQ_I(spans_read_bytes(csv, sizeof(csv) - 1, "test", NULL, &t.strings, &sink, &t.stats,
			      &t.err), 0);
	OK(t.stats.stopped);
	taken_release(&t);
}

static bool stop_later(void *ctx, uint64_t done, uint64_t all)
{
	struct taken *t = ctx;

	(void)done, (void)all;
	return ++t->asked_cnt < 3;
}

/* Whoever writes to the pipe says nothing more and does not close it. */
TEST(spans_stopped_while_waiting)
{
	static const char csv[] = "trace_id,span_id,service,name,start_ns\n1,2,s,o,5\n";

	for (int row = 0; row < 3; row++) {
		struct taken t = {0};
		struct span_sink sink = {.ctx = &t, .span = take_span, .progress = stop_later};
		struct buf bytes = {0};
		char path[40];
		int fds[2];

		ROW(row);
		OK(pipe2(fds, O_CLOEXEC) == 0);
		if (row == 1)
			buf_add(&bytes, csv, sizeof(csv) - 1);
		else if (row == 2)
			add_gzip(&bytes, csv, sizeof(csv) - 1);
		if (row == 2)
			bytes.len -= 3;
		OK(file_write_all(fds[1], buf_str(&bytes), bytes.len) == 0);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fds[0]);
		EQ_I(spans_read(path, NULL, &t.strings, &sink, &t.stats, &t.err),
		     row ? 0 : -ECANCELED);
		EQ_U(t.cnt, row ? 1 : 0);
		OK(row == 0 || (t.stats.stopped && !t.stats.cut));
		OK(row || strstr(t.err.msg, "stopped before anything came"));
		close(fds[0]);
		close(fds[1]);
		taken_release(&t);
		buf_release(&bytes);
	}
}

static int refuse(void *ctx, const struct trace_id *trace, const struct span *span,
		  const struct attr *attrs, const struct span_ref *refs)
{
	(void)ctx, (void)trace, (void)span, (void)attrs, (void)refs;
	return -ENOSPC;
}

TEST(spans_sink_error)
{
	static const char *const rows[] = {
		"trace_id,span_id,service,name,start_ns\n1,2,s,o,5\n",
		"[{\"traceId\":\"1\",\"id\":\"2\",\"timestamp\":5}]",
		"{\"traceID\":\"1\",\"spans\":[{\"spanID\":\"2\",\"startTime\":5}]}",
		"[{\"id\":\"1\",\"reports\":[{\"EventID\":\"2\",\"HRT\":5}]}]",
		"{\"stats\":{},\"children\":[{\"trace_id\":\"1\",\"parent_id\":\"2\",\"info\":"
		"{\"started\":5}}]}",
		"{\"base_id\":\"1\",\"name\":\"x\",\"trace_id\":\"2\",\"timestamp\":"
		"\"2020-01-01T00:00:00\"}",
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct taken t = {0};
		struct span_sink sink = {.ctx = &t, .span = refuse};

		ROW(i);
		EQ_I(spans_read_bytes(rows[i], strlen(rows[i]), "test", NULL, &t.strings, &sink,
				      &t.stats, &t.err), -ENOSPC);
		EQ_S(t.err.msg, "test: No space left on device");
		taken_release(&t);
	}
}

TEST(spans_other_packing)
{
	struct taken t = {0};

	EQ_I(take_text(&t, "\xfd" "7zXZ1234"), -EBADMSG);
	EQ_S(t.err.msg, "test: offset 0: expected spans as they are or packed with gzip or zstd, "
			"found xz");
	EQ_I(take_bytes(&t, "\xff\xfe{\0", 4), -EBADMSG);
	EQ_S(t.err.msg, "test: offset 0: expected spans as they are or packed with gzip or zstd, "
			"found UTF-16");
	taken_release(&t);
}

TEST(spans_no_format)
{
	static const char *const rows[] = {
		"hello", "{}", "[]", "{\"a\":1}", "a,b,c\n1,2,3\n", "<xml/>", "\"traceID\":",
		"{\"traceID\"}", "\xef\xbb\xbf", "trace_id,span_id,name\n1,2,x\n",
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct taken t = {0};

		ROW(i);
		EQ_I(take_text(&t, rows[i]), -EBADMSG);
		OK(strncmp(t.err.msg, "test: offset ", 13) == 0);
		OK(strstr(t.err.msg, "expected"));
		taken_release(&t);
	}
}

/* Somebody asked for a time in which nothing was: that is no other format. */
TEST(spans_none)
{
	static const struct {
		const char *text, *found;
	} rows[] = {
		{"\n \t\r\n", "blanks"}, {"[]", "an empty list"}, {" [\n]\n", "an empty list"},
		{"{}", "an empty list"}, {"{ \"data\": []}", "an empty list"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char want[80];
		struct taken t = {0};

		ROW(i);
		snprintf(want, sizeof(want), "test: offset 0: expected spans, found %s",
			 rows[i].found);
		EQ_I(take_text(&t, rows[i].text), -EBADMSG);
		EQ_S(t.err.msg, want);
		taken_release(&t);
	}
}

/* What servers put around OTLP. */
TEST(spans_otlp_wrapped)
{
#define OTLP "[{'scopeSpans':[{'spans':[{'traceId':'5b8efff798038103d269b633813fc60c'," \
	     "'spanId':'eee19b7ec3c1b174','name':'n','startTimeUnixNano':'1'," \
	     "'endTimeUnixNano':'2'}]}]}]"
	static const char *const rows[] = {
		"{'resourceSpans':" OTLP "}", "{'batches':" OTLP "}",
		"{'trace':{'resourceSpans':" OTLP "}}",
		"{'result':{'resourceSpans':" OTLP "}}\n{'result':{'resourceSpans':[]}}\n",
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct taken t = {0};

		ROW(i);
		take_json(&t, rows[i]);
		EQ_S(t.err.msg, "");
		EQ_U(t.stats.format, SPANS_OTLP_JSON);
		EQ_U(t.cnt, 1);
		EQ_I(t.spans[0].end_ns, 2);
		taken_release(&t);
	}
}

/* Values leave a quarter of the texts to names, and what finds no room is counted. */
TEST(spans_texts_bounded)
{
	enum { TEXTS = 100, SPANS = 200 };
	struct taken t = {.strings = {.max_cnt = TEXTS}};
	struct buf b = {0};

	buf_adds(&b, "trace_id,span_id,service,name,start_ns,note\n");
	for (int i = 1; i <= SPANS; i++)
		buf_printf(&b, "1,%d,s,o%d,5,v%d\n", i, i > SPANS / 2 ? i : 0, i);
	EQ_I(take_bytes(&t, b.data, b.len), 0);
	EQ_U(t.cnt, SPANS);
	EQ_U(t.strings.cnt, TEXTS);
	EQ_S(strtab_str(&t.strings, t.spans[0].name), "o0");
	EQ_S(strtab_str(&t.strings, t.spans[SPANS / 2].name), "o101");
	EQ_S(strtab_str(&t.strings, t.spans[SPANS - 1].name), "");
	EQ_U(t.stats.attr_dropped_cnt, SPANS - (TEXTS * 3 / 4 - 3));
	EQ_U(t.stats.name_dropped_cnt, SPANS / 2 - TEXTS / 4);
	taken_release(&t);
	buf_release(&b);
}

TEST(spans_formats)
{
	for (int f = 0; f < SPANS_FORMAT_CNT; f++) {
		ROW(f);
		OK(strcmp(spans_format_name(f), "?") != 0);
		OK(spans_reader_of(f) && spans_reader_of(f)->format == (enum spans_format)f);
	}
}

TEST(spans_numbers)
{
	static const struct {
		const char *text;
		bool is;
		double num;
	} nums[] = {
		{"0", true, 0},	    {"-0.5", true, -0.5}, {"1e3", true, 1000},
		{"007", false, 0},  {"1.", false, 0},	  {".5", false, 0},
		{"+1", false, 0},   {"1e999", false, 0},  {"0x1f", false, 0},
		{"nan", false, 0},  {"", false, 0},	  {"-", false, 0},
		{"12ab", false, 0}, {"1e", false, 0},	  {"-1e-2", true, -0.01},
		{"18446744073709551616", true, 18446744073709551616.0},
	};
	static const struct {
		const char *text;
		int64_t unit, ns;
		bool is;
	} times[] = {
		{"5", 1000, 5000, true},	{"1.25", 1000000000, 1250000000, true},
		{"-3", 1, -3, true},		{"1.9999", 1000, 1999, true},
		{"9223372036854775807", 1, INT64_MAX, true},
		{"9223372036854775808", 1, 0, false}, {"9223372036854775807", 1000, 0, false},
		{"", 1, 0, false},		{"1e9", 1, 0, false},
	};
	static const struct {
		const char *text;
		int64_t ns;
		bool is;
	} dates[] = {
		{"1970-01-01T00:00:00", 0, true},
		{"2000-02-29 12:00:00.5Z", 951825600500000000, true},
		{"2100-03-01T00:00:00+05:30", 4107522600000000000, true},
		{"2019-01-15T20:57:28.826127", 1547585848826127000, true},
		{"0000-01-01T00:00:00", 0, false}, {"2019-13-01T00:00:00", 0, false},
		{"2019-01-15", 0, false},	   {"2019-01-15T20:57:28x", 0, false},
		{"", 0, false},			   {"9999-01-01T00:00:00", 0, false},
	};
	double num;
	int64_t ns;

	for (size_t i = 0; i < sizeof(nums) / sizeof(nums[0]); i++) {
		ROW(i);
		EQ_U(num_parse(nums[i].text, strlen(nums[i].text), &num), nums[i].is);
		OK(!nums[i].is || num == nums[i].num);
	}
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		ROW(100 + i);
		EQ_U(time_parse(times[i].text, strlen(times[i].text), times[i].unit, &ns),
		     times[i].is);
		OK(!times[i].is || ns == times[i].ns);
	}
	for (size_t i = 0; i < sizeof(dates) / sizeof(dates[0]); i++) {
		ROW(200 + i);
		EQ_U(iso_parse(dates[i].text, strlen(dates[i].text), &ns), dates[i].is);
		OK(!dates[i].is || ns == dates[i].ns);
	}
}
