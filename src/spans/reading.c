/* SPDX-License-Identifier: Apache-2.0 */
#include "spans/reading.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

void making_begin(struct making *m, uint64_t off)
{
	m->trace = (struct trace_id){0};
	m->span = (struct span){0};
	m->attrs.cnt = m->refs.cnt = 0;
	m->off = off;
}

void making_release(struct making *m)
{
	vec_release(&m->attrs);
	vec_release(&m->refs);
}

/* Texts of attributes get what names are sure not to need: three quarters of the table. */
static bool texts_full(const struct strtab *t)
{
	uint32_t max = t->max_cnt ? t->max_cnt : STRTAB_DEFAULT_MAX;

	return t->cnt >= max - max / 4;
}

static void add(struct reading *r, struct making *m, const struct attr *a)
{
	if (!a->key || m->attrs.cnt >= ATTRS_MAX)
		r->stats->attr_dropped_cnt++;
	else
		vec_push(&m->attrs, *a);
}

void making_num(struct reading *r, struct making *m, uint32_t key, double num)
{
	if (!isfinite(num))
		r->stats->attr_passed_cnt++;
	else
		add(r, m, &(struct attr){.key = key, .type = ATTR_NUM, .num = num});
}

void making_bool(struct reading *r, struct making *m, uint32_t key, bool truth)
{
	add(r, m, &(struct attr){.key = key, .type = ATTR_BOOL, .num = truth});
}

/* Behind the point, so that the number can be shown as it came; 0 where it has an exponent. */
static uint16_t decimals_of(const char *text, size_t len)
{
	uint16_t cnt = 0;

	while (cnt < len && text[len - 1 - cnt] >= '0' && text[len - 1 - cnt] <= '9')
		cnt++;
	return cnt < len && text[len - 1 - cnt] == '.' && len <= DBL_DIG + 1 ? cnt : 0;
}

static bool is(const char *text, size_t len, const char *what)
{
	return len == strlen(what) && memcmp(text, what, len) == 0;
}

void making_text(struct reading *r, struct making *m, uint32_t key, const char *text, size_t len)
{
	double num;

	if (len > ATTR_TEXT_MAX || len == 0) {
		r->stats->attr_passed_cnt++;
	} else if (num_parse(text, len, &num)) {
		add(r, m, &(struct attr){.key = key, .type = ATTR_NUM, .num = num,
					 .decimals = decimals_of(text, len)});
	} else if (is(text, len, "true") || is(text, len, "false")) {
		making_bool(r, m, key, text[0] == 't');
	} else {
		struct attr a = {.key = key, .type = ATTR_STR};

		a.str = texts_full(r->strings) ? 0 : strtab_addn(r->strings, text, len);
		if (!a.str)
			r->stats->attr_dropped_cnt++;
		else
			add(r, m, &a);
	}
}

void making_ref(struct reading *r, struct making *m, const struct trace_id *trace, uint64_t span,
		enum span_ref_kind kind)
{
	struct span_ref ref = {.trace = *trace, .span = span, .kind = kind};

	if (m->refs.cnt >= REFS_MAX)
		r->stats->ref_dropped_cnt++;
	else
		vec_push(&m->refs, ref);
}

static int hand_on(struct reading *r, const struct trace_id *trace, const struct span *s,
		   const struct making *m)
{
	int rc = r->sink->span(r->sink->ctx, trace, s, m ? m->attrs.items : NULL,
			       m ? m->refs.items : NULL);

	if (rc < 0)
		return rc;
	r->stats->span_cnt++;
	r->stats->point_cnt += (s->flags & SPANF_POINT) != 0;
	return 0;
}

/* Without an id it has no points either. */
static int bad_span(struct reading *r, struct making *m, const char *why)
{
	reading_bad(r, m->off, "%s", why);
	m->span.id = 0;
	return 0;
}

int reading_span(struct reading *r, struct making *m)
{
	struct span *s = &m->span;

	if (!m->trace.hi && !m->trace.lo)
		return bad_span(r, m, "expected the id of a trace, found none");

	if (!s->id)
		return bad_span(r, m, "expected the id of a span, found none");

	if (s->begin_ns < 0)
		return bad_span(r, m, "expected a time since 1970, found an earlier one");

	if (!(s->flags & SPANF_OPEN) && s->end_ns < s->begin_ns) {
		r->stats->backwards_cnt++;
		s->flags |= SPANF_OPEN;
	} else if (s->flags & SPANF_OPEN) {
		r->stats->open_cnt++;
	}
	if (s->flags & SPANF_OPEN)
		s->end_ns = s->begin_ns;
	if (s->parent == s->id)
		s->parent = 0;
	s->attr_cnt = (uint32_t)m->attrs.cnt;
	s->ref_cnt = (uint32_t)m->refs.cnt;
	return hand_on(r, &m->trace, s, m);
}

void making_point(struct making *point, const struct making *m, uint32_t idx, int64_t at_ns,
		  uint32_t name)
{
	making_begin(point, m->off);
	point->trace = m->trace;
	point->span = (struct span){.id = hash_pair(m->span.id, idx + 1),
				    .parent = m->span.id,
				    .begin_ns = at_ns,
				    .end_ns = at_ns,
				    .service = m->span.service,
				    .name = name,
				    .host = m->span.host,
				    .kind = SPAN_INTERNAL,
				    .flags = SPANF_POINT};
	point->span.id += point->span.id == 0;
}

int reading_point(struct reading *r, const struct making *m, uint32_t idx, int64_t at_ns,
		  uint32_t name)
{
	struct making point = {0};

	if (at_ns < 0 || idx >= POINTS_MAX || !m->span.id) {
		r->stats->point_dropped_cnt++;
		return 0;
	}
	making_point(&point, m, idx, at_ns, name);
	return hand_on(r, &point.trace, &point.span, NULL);
}

static void set_why(struct spans_bad *bad, uint64_t off, const char *fmt, va_list ap)
	__attribute__((format(printf, 3, 0)));
static void set_why(struct spans_bad *bad, uint64_t off, const char *fmt, va_list ap)
{
	bad->off = off;
	vsnprintf(bad->why, sizeof(bad->why), fmt, ap);
	/* it may quote the file, and goes to a terminal */
	for (char *c = bad->why; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
}

void reading_bad(struct reading *r, uint64_t off, const char *fmt, ...)
{
	struct spans_stats *st = r->stats;
	va_list ap;

	st->bad_cnt++;
	if (st->bad_shown_cnt >= SPANS_BAD_SHOWN)
		return;
	va_start(ap, fmt);
	set_why(&st->bad[st->bad_shown_cnt++], off, fmt, ap);
	va_end(ap);
}

int reading_cut(struct reading *r, uint64_t off, const char *fmt, ...)
{
	va_list ap;

	if (!r->stats->cut) {
		va_start(ap, fmt);
		set_why(&r->stats->cut_at, off, fmt, ap);
		va_end(ap);
	}
	r->stats->cut = true;
	return -EBADMSG;
}

/* ---- names */

/* At most max bytes, cut between two characters of UTF-8. */
static size_t cut_len(const char *text, size_t len, size_t max)
{
	if (len <= max)
		return len;
	for (len = max; len > max - 4 && ((unsigned char)text[len] & 0xc0) == 0x80; len--)
		;
	return len;
}

uint32_t reading_name(struct reading *r, const char *text, size_t len)
{
	uint32_t id = strtab_addn(r->strings, text, cut_len(text, len, NAME_MAX_LEN));

	r->stats->name_dropped_cnt += !id && len && text[0];
	return id;
}

uint32_t reading_event_name(struct reading *r, const char *text, size_t len)
{
	char name[ATTR_TEXT_MAX + 1];
	size_t n = 0;

	for (size_t i = 0; i < len && n < sizeof(name); i++) {
		bool digit = text[i] >= '0' && text[i] <= '9';

		if (!digit)
			name[n++] = text[i];
		else if (!n || name[n - 1] != '#')
			name[n++] = '#';
	}
	return reading_name(r, name, cut_len(name, n, ATTR_TEXT_MAX));
}

/* ---- ids */

/* digit's value + 1 of each byte, or 0 where it is none */
static const uint8_t hex_digits[256] = {
	['0'] = 1,  ['1'] = 2,	['2'] = 3,  ['3'] = 4,	['4'] = 5,  ['5'] = 6,
	['6'] = 7,  ['7'] = 8,	['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12,
	['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16, ['A'] = 11, ['B'] = 12,
	['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
};

/* Up to max digits into *ret; dashes are passed over.  false: it is something else. */
static bool hex_parse(const char *text, size_t len, unsigned max, struct trace_id *ret)
{
	struct trace_id id = {0};
	unsigned cnt = 0;

	for (size_t i = 0; i < len; i++) {
		unsigned d = hex_digits[(uint8_t)text[i]];

		if (!d && text[i] == '-' && i)
			continue;
		if (!d || ++cnt > max)
			return false;
		id.hi = id.hi << 4 | id.lo >> 60;
		id.lo = id.lo << 4 | (d - 1);
	}
	*ret = id;
	return cnt != 0;
}

struct trace_id id_trace(const char *text, size_t len)
{
	struct trace_id id = {0};

	if (len && !hex_parse(text, len, 32, &id)) {
		id.lo = hash_bytes(text, len);
		id.hi = hash_u64(id.lo ^ len);
	}
	return id;
}

uint64_t id_span(const char *text, size_t len)
{
	struct trace_id id = {0};

	if (!len)
		return 0;
	if (hex_parse(text, len, 16, &id))
		return id.lo;
	id.lo = hash_bytes(text, len);
	return id.lo + (id.lo == 0);
}

/* ---- numbers */

/* Digits from *at on, the first of them ones that fit; how many there were. */
static unsigned digits(const char **at, const char *end, uint64_t *ret, bool *ret_over)
{
	const char *from = *at;
	uint64_t v = 0;
	bool over = false;

	for (; *at < end && **at >= '0' && **at <= '9'; (*at)++)
		over |= __builtin_mul_overflow(v, UINT64_C(10), &v) ||
			__builtin_add_overflow(v, (uint64_t)(**at - '0'), &v);
	*ret = v;
	*ret_over = over;
	return (unsigned)(*at - from);
}

enum { NUM_LEN_MAX = 32 };

/* An id such as 007 is no number, nor is what has a unit or a sign before it. */
bool num_parse(const char *text, size_t len, double *ret)
{
	const char *at = text, *end = text + len;
	char copy[NUM_LEN_MAX + 1];
	uint64_t v;
	bool over;
	unsigned cnt;

	if (!len || len > NUM_LEN_MAX || (*at != '-' && (*at < '0' || *at > '9')))
		return false;
	at += *at == '-';
	cnt = digits(&at, end, &v, &over);
	if (!cnt || (cnt > 1 && at[-(int)cnt] == '0'))
		return false;
	if (at == end && !over) {
		*ret = text[0] == '-' ? -(double)v : (double)v;
		return true;
	}
	if (at < end && *at == '.') {
		at++;
		if (!digits(&at, end, &v, &over))
			return false;
	}
	if (at < end && (*at | 32) == 'e') {
		at++;
		at += at < end && (*at == '+' || *at == '-');
		if (!digits(&at, end, &v, &over))
			return false;
	}
	if (at != end)
		return false;
	memcpy(copy, text, len);
	copy[len] = 0;
	*ret = strtod(copy, NULL);
	return isfinite(*ret);
}

bool time_parse(const char *text, size_t len, int64_t unit_ns, int64_t *ret_ns)
{
	const char *at = text, *end = text + len;
	bool minus = len && *at == '-', over;
	uint64_t whole;
	int64_t ns;

	at += minus;
	if (!digits(&at, end, &whole, &over) || over || whole > INT64_MAX ||
	    __builtin_mul_overflow((int64_t)whole, unit_ns, &ns))
		return false;
	if (at < end && *at == '.') {
		int64_t part = unit_ns;

		for (at++; at < end && *at >= '0' && *at <= '9'; at++) {
			/* each digit is worth a tenth of the one before; units are tens of ns */
			int64_t digit = *at - '0';

			part /= 10;
			if (__builtin_add_overflow(ns, part * digit, &ns))
				return false;
		}
	}
	if (at != end)
		return false;
	*ret_ns = minus ? -ns : ns;
	return true;
}

/* Days since 1970 of a date of the Gregorian calendar; March is the year's first month here. */
static int64_t days_of(int64_t y, int64_t m, int64_t d)
{
	int64_t era, of_era;

	y -= m <= 2;
	era = y / 400;
	y -= era * 400;
	of_era = y * 365 + y / 4 - y / 100 + (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
	return era * 146097 + of_era - 719468;
}

/* Exactly cnt digits, a value from min to max, and then `then` (0: anything). */
static bool part(const char **at, const char *end, unsigned cnt, const int range[2], char then,
		 int64_t *ret)
{
	int64_t v = 0;

	if (end - *at < (ptrdiff_t)cnt + (then != 0))
		return false;
	for (unsigned i = 0; i < cnt; i++, (*at)++) {
		if (**at < '0' || **at > '9')
			return false;
		v = v * 10 + (**at - '0');
	}
	if (v < range[0] || v > range[1] || (then && *(*at)++ != then))
		return false;
	*ret = v;
	return true;
}

/* Behind the seconds: nothing, Z, or how far from UTC. */
static bool zone_parse(const char *at, const char *end, int64_t *ret_s)
{
	static const int hours[] = {0, 23}, minutes[] = {0, 59};
	int64_t h, m, sign = 1;

	*ret_s = 0;
	if (at == end || (at + 1 == end && (*at | 32) == 'z'))
		return true;
	if (*at != '+' && *at != '-')
		return false;
	sign = *at++ == '-' ? -1 : 1;
	if (!part(&at, end, 2, hours, 0, &h))
		return false;
	at += at < end && *at == ':';
	if (!part(&at, end, 2, minutes, 0, &m) || at != end)
		return false;
	*ret_s = sign * (h * 3600 + m * 60);
	return true;
}

bool iso_parse(const char *text, size_t len, int64_t *ret_ns)
{
	static const struct {
		int range[2];
		uint8_t digits;
		char then;
	} parts[] = {{{1970, 2261}, 4, '-'}, {{1, 12}, 2, '-'}, {{1, 31}, 2, 0},
		     {{0, 23}, 2, ':'}, {{0, 59}, 2, ':'}, {{0, 60}, 2, 0}};
	const char *at = text, *end = text + len;
	int64_t v[6], ns = 0, unit = 1000000000, zone;

	for (int i = 0; i < 6; i++) {
		if (i == 3 && (at == end || !strchr("Tt _", *at++)))
			return false;
		if (!part(&at, end, parts[i].digits, parts[i].range, parts[i].then, &v[i]))
			return false;
	}
	if (at < end && (*at == '.' || *at == ','))
		for (at++; at < end && *at >= '0' && *at <= '9'; at++)
			ns += (unit /= 10) * (*at - '0');
	if (!zone_parse(at, end, &zone))
		return false;
	v[5] += days_of(v[0], v[1], v[2]) * 86400 + v[3] * 3600 + v[4] * 60 - zone;
	*ret_ns = v[5] * 1000000000 + ns;
	return true;
}

enum span_kind kind_named(const char *text, size_t len)
{
	static const char *const names[] = {
		[SPAN_UNKNOWN] = "unspecified", [SPAN_INTERNAL] = "internal",
		[SPAN_SERVER] = "server",	[SPAN_CLIENT] = "client",
		[SPAN_PRODUCER] = "producer",	[SPAN_CONSUMER] = "consumer"};
	static const char prefix[] = "SPAN_KIND_";

	if (len > sizeof(prefix) - 1 && strncasecmp(text, prefix, sizeof(prefix) - 1) == 0) {
		text += sizeof(prefix) - 1;
		len -= sizeof(prefix) - 1;
	}
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if ((len == strlen(names[i]) && strncasecmp(text, names[i], len) == 0) ||
		    (len == 1 && text[0] == (char)('0' + i)))
			return i;
	return SPAN_UNKNOWN;
}

/* ---- telling formats apart */

bool head_is_json(const char *head, size_t len)
{
	size_t i = 0;

	while (i < len && (head[i] == ' ' || head[i] == '\t' || head[i] == '\r' || head[i] == '\n'))
		i++;
	return i < len && (head[i] == '{' || head[i] == '[');
}

bool head_has_key(const char *head, size_t len, const char *key, int depth)
{
	size_t key_len = strlen(key);
	int level = 0;

	for (size_t i = 0; i < len; i++) {
		size_t from = i + 1;

		if (head[i] == '{' || head[i] == '[')
			level++;
		else if (head[i] == '}' || head[i] == ']')
			level--;
		if (head[i] != '"')
			continue;
		for (i++; i < len && head[i] != '"'; i++)
			i += head[i] == '\\';
		if (i >= len)
			return false;
		if (level > depth || i - from != key_len || memcmp(head + from, key, key_len) != 0)
			continue;
		for (from = i + 1; from < len && strchr(" \t\r\n", head[from]); from++)
			;
		if (from < len && head[from] == ':')
			return true;
	}
	return false;
}
