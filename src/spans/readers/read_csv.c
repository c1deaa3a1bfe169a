/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of spans: the first record names the columns, in any order, under the
 * names that people use (`fields` below; case, dashes and underscores do not
 * count).  Quoting is that of RFC 4180; ',', ';' and tab separate.
 *
 * A column of times says its unit by the end of its name (start_us,
 * StartTimeUnixNano, durationMs).  One that does not: stamps are in the unit in
 * which they lie between the years 2001 and 2286, which only one does, and
 * durations are in the unit of the begin.
 *
 * Where pods are named and no services, the service is the pod without what
 * Kubernetes adds: -HASH-RANDOM of a deployment, -RANDOM of a daemon set and
 * -NUMBER of a stateful set.
 */
#include "spans/reading.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "spans/spans_input.h"

enum {
	RECORD_MAX = 1 << 20,	/* bytes */
	COLUMNS_MAX = 256,
	COLUMN_NAME_MAX = 64,	/* of one that means something */
};

enum field {
	F_TRACE, F_SPAN, F_PARENT, F_SERVICE, F_POD, F_NAME, F_BEGIN, F_END, F_DURATION, F_HOST,
	F_KIND, F_ERROR, F_CNT,
	F_OTHER = F_CNT, /* an attribute */
};

static const struct {
	const char *name;
	enum field field;
} fields[] = {
	{"traceid", F_TRACE}, {"trace", F_TRACE},
	{"spanid", F_SPAN}, {"id", F_SPAN}, {"span", F_SPAN},
	{"parentid", F_PARENT}, {"parentspanid", F_PARENT}, {"parentspan", F_PARENT},
	{"parent", F_PARENT},
	{"service", F_SERVICE}, {"servicename", F_SERVICE}, {"processname", F_SERVICE},
	{"podname", F_POD}, {"pod", F_POD}, {"cmdbid", F_POD},
	{"operation", F_NAME}, {"operationname", F_NAME}, {"name", F_NAME}, {"spanname", F_NAME},
	{"start", F_BEGIN}, {"starttime", F_BEGIN}, {"begin", F_BEGIN}, {"begintime", F_BEGIN},
	{"timestamp", F_BEGIN}, {"starttimestamp", F_BEGIN}, {"startedat", F_BEGIN},
	{"end", F_END}, {"endtime", F_END}, {"endtimestamp", F_END}, {"finish", F_END},
	{"duration", F_DURATION}, {"elapsed", F_DURATION}, {"latency", F_DURATION},
	{"host", F_HOST}, {"hostname", F_HOST}, {"node", F_HOST}, {"instance", F_HOST},
	{"kind", F_KIND}, {"spankind", F_KIND},
	{"error", F_ERROR}, {"iserror", F_ERROR},
};

/* Longest first, so that "ms" is not read as "s". */
static const struct {
	const char *suffix;
	int64_t ns;
} units[] = {
	{"nanoseconds", 1}, {"microseconds", 1000}, {"milliseconds", 1000000},
	{"seconds", 1000000000}, {"nanos", 1}, {"micros", 1000}, {"millis", 1000000},
	{"nano", 1}, {"micro", 1000}, {"milli", 1000000}, {"secs", 1000000000},
	{"sec", 1000000000}, {"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000},
};

struct column {
	enum field field;
	int64_t unit_ns;	/* of times; 0: by what it is */
	uint32_t key;		/* of attributes: string id */
};

struct slice {
	const char *s;
	size_t len;
};

struct csv {
	struct reading *r;
	char separator;
	struct column columns[COLUMNS_MAX];
	uint32_t column_cnt, cell_cnt;
	struct slice cells[COLUMNS_MAX];
	uint32_t place[F_CNT];	/* column + 1; 0: there is none */
	struct buf text;	/* what was quoted */
	struct making m;
};

/* ---- the header */

static size_t plain_name(char *out, const char *name, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len && n < COLUMN_NAME_MAX - 1; i++) {
		char c = name[i];

		if (c >= 'A' && c <= 'Z')
			c |= 32;
		if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
			out[n++] = c;
	}
	out[n] = 0;
	return n;
}

static enum field field_named(const char *name)
{
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (strcmp(fields[i].name, name) == 0)
			return fields[i].field;
	return F_OTHER;
}

static bool is_time(enum field f)
{
	return f == F_BEGIN || f == F_END || f == F_DURATION;
}

static void cut_end(char *name, size_t len, const char *what)
{
	size_t n = strlen(what);

	if (len > n && strcmp(name + len - n, what) == 0)
		name[len - n] = 0;
}

static struct column column_named(const char *text, size_t text_len)
{
	char name[COLUMN_NAME_MAX], stem[COLUMN_NAME_MAX];
	size_t len = plain_name(name, text, text_len);
	struct column c = {.field = field_named(name)};

	for (size_t i = 0; c.field == F_OTHER && i < sizeof(units) / sizeof(units[0]); i++) {
		size_t n = strlen(units[i].suffix);

		if (len <= n || strcmp(name + len - n, units[i].suffix) != 0)
			continue;
		memcpy(stem, name, len - n);
		stem[len - n] = 0;
		if (!is_time(field_named(stem))) { /* start_in_us, StartTimeUnixNano */
			cut_end(stem, len - n, "in");
			cut_end(stem, strlen(stem), "unix");
		}
		if (!is_time(field_named(stem)))
			continue;
		c.field = field_named(stem);
		c.unit_ns = units[i].ns;
	}
	return c;
}

/* Behind the closing quote, or end. */
static const char *unquote(struct buf *out, const char *at, const char *end)
{
	for (; at < end; at++) {
		if (*at == '"' && (at + 1 == end || at[1] != '"'))
			return at + 1;
		at += *at == '"';
		buf_addch(out, *at);
	}
	return end;
}

/*
 * Splits one record into cells; what is quoted is unquoted into c->text.
 * false: more columns than COLUMNS_MAX.
 */
static bool split(struct csv *c, const char *at, const char *end)
{
	buf_clear(&c->text);
	/* cells point into it, so it must not move: unquoted it is never longer */
	buf_reserve(&c->text, (size_t)(end - at));
	c->cell_cnt = 0;
	for (;;) {
		struct slice *cell = &c->cells[c->cell_cnt];
		const char *stop;

		if (c->cell_cnt == COLUMNS_MAX)
			return false;
		c->cell_cnt++;
		if (at < end && *at == '"') {
			cell->s = c->text.data + c->text.len;
			at = unquote(&c->text, at + 1, end);
			cell->len = (size_t)(c->text.data + c->text.len - cell->s);
			stop = memchr(at, c->separator, (size_t)(end - at));
			at = stop ? stop : end;
		} else {
			stop = memchr(at, c->separator, (size_t)(end - at));
			cell->s = at;
			at = stop ? stop : end;
			cell->len = (size_t)(at - cell->s);
		}
		if (at == end)
			return true;
		at++;
	}
}

static char separator_of(const char *head, size_t len)
{
	static const char all[] = ",;\t";
	size_t cnt[3] = {0}, best = 0;

	for (size_t i = 0; i < len && head[i] != '\n'; i++)
		for (size_t k = 0; k < 3; k++)
			cnt[k] += head[i] == all[k];
	for (size_t k = 1; k < 3; k++)
		if (cnt[k] > cnt[best])
			best = k;
	return all[best];
}

/* Which column is what; strings may be NULL: then no keys are made.  false: not of spans. */
static bool take_header(struct csv *c, struct reading *r)
{
	memset(c->place, 0, sizeof(c->place));
	for (uint32_t i = 0; i < c->cell_cnt; i++) {
		struct slice cell = c->cells[i];

		c->columns[i] = column_named(cell.s, cell.len);
		if (c->columns[i].field != F_OTHER && c->place[c->columns[i].field])
			c->columns[i].field = F_OTHER; /* a second of its kind */
		if (c->columns[i].field != F_OTHER)
			c->place[c->columns[i].field] = i + 1;
		else if (r)
			c->columns[i].key = reading_name(r, cell.s, cell.len);
	}
	c->column_cnt = c->cell_cnt;
	return c->place[F_TRACE] && c->place[F_SPAN] && c->place[F_BEGIN];
}

/* ---- records */

/*
 * How long the record at in->at is, its line end apart, with *ret_next where
 * the next begins; 0 and *ret_next 0 at the end of the input.  A quote that
 * never ends ends with its line, and a line that does not end is cut; *ret_bad
 * then says what was expected.
 */
static size_t record_len(struct spans_in *in, size_t *ret_next, const char **ret_bad)
{
	bool quoted = false;
	size_t i = 0, first_line = 0, have = in_fill(in, 1);

	*ret_bad = NULL;
	for (;; i++) {
		if (i == have && (i >= RECORD_MAX || (have = in_fill(in, i + 1)) <= i)) {
			if (quoted)
				*ret_bad = "expected a quote's end within 1 MiB, found none";
			else if (i >= RECORD_MAX)
				*ret_bad = "expected a record of at most 1 MiB, found a longer one";
			*ret_next = i;
			if (quoted && first_line) {
				*ret_next = first_line;
				i = first_line - 1;
			}
			break;
		}
		if (in->at[i] == '"')
			quoted = !quoted;
		if (in->at[i] != '\n')
			continue;
		*ret_next = i + 1;
		if (!quoted)
			break;
		if (!first_line)
			first_line = i + 1;
	}
	return i && in->at[i - 1] == '\r' ? i - 1 : i;
}

static struct slice cell_of(const struct csv *c, enum field f)
{
	uint32_t at = c->place[f];

	return at && at <= c->cell_cnt ? c->cells[at - 1] : (struct slice){"", 0};
}

static int64_t stamp_unit(struct slice s)
{
	int64_t v, since = 1000000000; /* the second in which 2001 was nine months old */

	for (int64_t unit = 1000000000; unit > 1; unit /= 1000) {
		if (time_parse(s.s, s.len, 1, &v) && v >= since && v / 10 < since)
			return unit;
		since *= 1000;
	}
	return 1;
}

static bool time_of(const struct csv *c, enum field f, int64_t begin_unit, int64_t *ret_ns,
		    int64_t *ret_unit)
{
	struct slice s = cell_of(c, f);
	int64_t unit;

	if (!s.len)
		return false;
	unit = c->columns[c->place[f] - 1].unit_ns;
	if (!unit)
		unit = f == F_DURATION ? begin_unit : stamp_unit(s);
	*ret_unit = unit;
	return time_parse(s.s, s.len, unit, ret_ns) ||
	       (f != F_DURATION && iso_parse(s.s, s.len, ret_ns));
}

/* The letters and digits of which Kubernetes makes names. */
static size_t random_end(const char *s, size_t len)
{
	size_t n = 0;

	while (n < len && s[len - 1 - n] && strchr("bcdfghjklmnpqrstvwxz2456789", s[len - 1 - n]))
		n++;
	return n < len && s[len - 1 - n] == '-' ? n : 0;
}

static size_t number_end(const char *s, size_t len)
{
	size_t n = 0;

	while (n < len && s[len - 1 - n] >= '0' && s[len - 1 - n] <= '9')
		n++;
	return n < len && s[len - 1 - n] == '-' ? n : 0;
}

size_t pod_service_len(const char *pod, size_t len)
{
	enum { RANDOM_LEN = 5, HASH_MIN = 5, HASH_MAX = 10 };
	size_t n = random_end(pod, len), left, hash;

	if (n == RANDOM_LEN && len > n + 1) {
		left = len - n - 1;
		hash = random_end(pod, left);
		if (hash >= HASH_MIN && hash <= HASH_MAX && left > hash + 1)
			left -= hash + 1;
		return left;
	}
	n = number_end(pod, len);
	return n && len > n + 1 ? len - n - 1 : len;
}

static void set_place(struct csv *c)
{
	struct slice service = cell_of(c, F_SERVICE), pod = cell_of(c, F_POD);
	struct slice host = cell_of(c, F_HOST);
	struct span *s = &c->m.span;

	if (!service.len)
		service = (struct slice){pod.s, pod_service_len(pod.s, pod.len)};
	if (!host.len)
		host = pod;
	s->service = reading_name(c->r, service.s, service.len);
	s->host = reading_name(c->r, host.s, host.len);
	s->name = reading_name(c->r, cell_of(c, F_NAME).s, cell_of(c, F_NAME).len);
}

static bool is_none(struct slice s)
{
	static const char *const none[] = {"root", "null", "none", "nil", "-", "-1"};

	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		if (s.len == strlen(none[i]) && strncasecmp(s.s, none[i], s.len) == 0)
			return true;
	return s.len == 0;
}

static void set_rest(struct csv *c)
{
	struct slice error = cell_of(c, F_ERROR), kind = cell_of(c, F_KIND);

	if (!is_none(error) && strncasecmp(error.s, "false", error.len) != 0 &&
	    strncmp(error.s, "0", error.len) != 0)
		c->m.span.flags |= SPANF_ERROR;
	c->m.span.kind = (uint8_t)kind_named(kind.s, kind.len);
	for (uint32_t i = 0; i < c->cell_cnt && i < c->column_cnt; i++)
		if (c->columns[i].field == F_OTHER && c->cells[i].len)
			making_text(c->r, &c->m, c->columns[i].key, c->cells[i].s, c->cells[i].len);
}

static int shown(size_t len)
{
	return len < 32 ? (int)len : 32;
}

static int take_record(struct csv *c, uint64_t off)
{
	struct slice trace = cell_of(c, F_TRACE), id = cell_of(c, F_SPAN);
	struct slice parent = cell_of(c, F_PARENT);
	struct span *s = &c->m.span;
	int64_t unit, ignored, duration;

	making_begin(&c->m, off);
	c->m.trace = id_trace(trace.s, trace.len);
	s->id = id_span(id.s, id.len);
	s->parent = is_none(parent) ? 0 : id_span(parent.s, parent.len);
	if (!time_of(c, F_BEGIN, 0, &s->begin_ns, &unit)) {
		reading_bad(c->r, off, "expected the time of the begin, found '%.*s'",
			    shown(cell_of(c, F_BEGIN).len), cell_of(c, F_BEGIN).s);
		return 0;
	}
	if (!time_of(c, F_END, 0, &s->end_ns, &ignored)) {
		if (!time_of(c, F_DURATION, unit, &duration, &ignored))
			s->flags |= SPANF_OPEN;
		else if (__builtin_add_overflow(s->begin_ns, duration, &s->end_ns))
			s->end_ns = INT64_MAX;
	}
	set_place(c);
	set_rest(c);
	return reading_span(c->r, &c->m);
}

/* Skips the rest of a line that was too long. */
static void skip_line(struct spans_in *in)
{
	size_t have;

	while ((have = in_fill(in, 1))) {
		const uint8_t *nl = memchr(in->at, '\n', have);

		in->at = nl ? nl + 1 : in->end;
		if (nl)
			return;
	}
}

/*
 * The record that next is behind has no end of line.  Where the file was cut it is
 * not what it seems, since 12 may have been 123: so of one that is packed and
 * damaged, and of one that somebody still writes, if there are cells missing too.
 */
static bool is_unended(const struct spans_in *in, size_t next)
{
	return next && in->at[next - 1] != '\n';
}

static int take_records(struct csv *c)
{
	struct spans_in *in = c->r->in;
	const char *bad;
	bool header = true;
	size_t len, next;
	int rc = 0;

	while (rc == 0 && ((len = record_len(in, &next, &bad)) || next)) {
		uint64_t off = in_off(in);
		bool fits = len && split(c, (const char *)in->at, (const char *)in->at + len);

		if (is_unended(in, next) && (in_trouble(in) || in_stopped(in)))
			break;
		if (!header && !bad && is_unended(in, next) && c->cell_cnt < c->column_cnt)
			bad = "expected the rest of the record, found the end";
		if (header && (!fits || bad || !take_header(c, c->r)))
			return reading_cut(c->r, off, "expected a header of columns of spans");
		if (!header && len && (!fits || bad))
			reading_bad(c->r, off, "%s", bad ? bad : "expected at most 256 columns");
		else if (!header && len)
			rc = take_record(c, off);
		header = false;
		in->at += next;
		if (bad && next >= RECORD_MAX)
			skip_line(in);
	}
	return rc;
}

static void csv_release(struct csv *c)
{
	buf_release(&c->text);
	making_release(&c->m);
}

static int csv_read(struct reading *r)
{
	CLEANUP_FREE struct csv *c = xcalloc(1, sizeof(*c));
	int rc;

	c->r = r;
	c->separator = separator_of((const char *)r->in->at, in_fill(r->in, HEAD_MIN));
	rc = take_records(c);
	csv_release(c);
	return rc;
}

static bool csv_matches(const char *head, size_t len)
{
	const char *nl = memchr(head, '\n', len);
	CLEANUP_FREE struct csv *c = NULL;
	bool is;

	if (nl)
		len = (size_t)(nl - head);
	len -= len && head[len - 1] == '\r';
	c = xcalloc(1, sizeof(*c));
	c->separator = separator_of(head, len);
	is = split(c, head, head + len) && c->cell_cnt > 2 && take_header(c, NULL);
	csv_release(c);
	return is;
}

const struct spans_reader reader_csv = {SPANS_CSV, csv_matches, csv_read};
