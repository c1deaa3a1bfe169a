/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A name is cut into segments (at slashes, blanks, brackets and what parts a
 * query), these into pieces (at dashes, dots and colons).  A random token often goes from
 * one kind of character to another: words do so
 * where they begin, random ones at every second character.
 */
#include "spans/fold.h"

#include <ctype.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/bug.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/vec.h"

#define ID "{id}"
#define SEGMENT_ENDS "/ ?&=#,;()[]<>\"'|{}\t"
#define PIECE_ENDS "-_.:~@+!*%$"

enum {
	NAMES_MAX = 1 << 20,	/* as many as there are texts; of more each is folded anew */
	UUID_LEN = 36,
	DATE_LEN = 10,
	HEX_PREFIXED_MIN = 4,	/* after 0x it is no word */
};

struct fold {
	struct fold_opts opts;
	regex_t *res;		/* of the rules */
	struct strtab *strings;
	struct hmap names;	/* name and route, or text: to folded */
	uint32_t http_route, url_template;
	uint32_t keys[4];	/* of attributes that name the request, beside those two */
	uint64_t cnt;
	VEC(struct attr) attrs;	/* the copy */
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static size_t digits_at(const char *s, size_t len)
{
	size_t cnt = 0;

	while (cnt < len && is_digit(s[cnt]))
		cnt++;
	return cnt;
}

/* True if s fits a pattern: 0 for a digit, x for a hexadecimal one, others for themselves. */
static bool fits(const char *s, size_t len, const char *pattern)
{
	size_t i = 0;

	for (; pattern[i]; i++) {
		char p = pattern[i];

		if (i >= len || (p == '0' ? !is_digit(s[i])
				 : p == 'x' ? !isxdigit((unsigned char)s[i]) : s[i] != p))
			return false;
	}
	return true;
}

static bool is_uuid(const char *s, size_t len)
{
	return fits(s, len, "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx") &&
	       (len == UUID_LEN || !isalnum((unsigned char)s[UUID_LEN]));
}

/* With a time behind it or not. */
static bool is_date(const char *s, size_t len)
{
	return fits(s, len, "0000-00-00") && (len == DATE_LEN || strchr("T_:", s[DATE_LEN]));
}

static bool is_hex(const char *s, size_t len)
{
	size_t digit_cnt = 0;

	if (len >= 2 + HEX_PREFIXED_MIN && s[0] == '0' && (s[1] | 0x20) == 'x') {
		for (size_t i = 2; i < len; i++)
			if (!isxdigit((unsigned char)s[i]))
				return false;
		return true;
	}
	for (size_t i = 0; i < len; i++) {
		if (!isxdigit((unsigned char)s[i]))
			return false;
		digit_cnt += is_digit(s[i]);
	}
	return len >= FOLD_HEX_MIN && digit_cnt;
}

enum kind { LOWER, UPPER, DIGIT, OTHER };

static enum kind kind_of(char c)
{
	return is_digit(c) ? DIGIT : c >= 'a' && c <= 'z' ? LOWER : c >= 'A' && c <= 'Z' ? UPPER
											: OTHER;
}

static bool is_joint(char c)
{
	return c == '-' || c == '_';
}

/*
 * Random text of letters and digits changes its kind at 4 places of 10 in one case,
 * at 6 of 10 in both.  Words in camel case do at one of three, and hold digits once.
 * joined: with the dashes of base64 for URLs; words that these join hold digits more
 * often, so it must be longer, in both cases, and change more.
 */
static bool is_token(const char *s, size_t len, bool joined)
{
	size_t changes = 0, digit_runs = 0, cnt[3] = {0};

	for (size_t i = 0; i < len; i++) {
		enum kind kind = kind_of(s[i]);

		if (joined && is_joint(s[i]))
			continue;
		if (kind == OTHER)
			return false;
		cnt[kind]++;
		changes += i && kind_of(s[i - 1]) != kind && !is_joint(s[i - 1]);
		digit_runs += kind == DIGIT && (!i || !is_digit(s[i - 1]));
	}
	if (len < (joined ? FOLD_JOINED_MIN : FOLD_TOKEN_MIN) || digit_runs < 2)
		return false;
	if (joined)
		return cnt[LOWER] && cnt[UPPER] && changes * 20 >= len * 9;
	return changes * 10 >= len * (cnt[LOWER] && cnt[UPPER] ? 4 : 2);
}

/* How long a token with dashes begins here; behind what says of what kind it is ("cus_"). */
static size_t joined_at(const char *s, size_t len, size_t *ret_kind_len)
{
	size_t run = 0, kind_len = 0;

	while (run < len && (is_joint(s[run]) || kind_of(s[run]) != OTHER))
		run++;
	while (kind_len < run && kind_of(s[kind_len]) == LOWER)
		kind_len++;
	*ret_kind_len = kind_len && kind_len < run && s[kind_len] == '_' ? kind_len + 1 : 0;
	return is_token(s + *ret_kind_len, run - *ret_kind_len, true) ? run : 0;
}

/* keyed: in a path, or a query's value. */
static void piece_fold(const char *s, size_t len, bool keyed, struct buf *out)
{
	size_t digits = digits_at(s, len);

	if ((digits == len && len >= (keyed ? FOLD_PIECE_MIN : FOLD_RUN_MIN)) || is_hex(s, len) ||
	    is_token(s, len, false)) {
		buf_adds(out, ID);
		return;
	}
	for (size_t i = 0; i < len;) {
		digits = digits_at(s + i, len - i);
		if (digits >= FOLD_RUN_MIN)
			buf_adds(out, ID);
		else
			buf_add(out, s + i, digits ? digits : 1);
		i += digits ? digits : 1;
	}
}

/* Nothing but digits and such as these. */
static bool digits_and(const char *s, size_t len, const char *others)
{
	for (size_t i = 0; i < len; i++)
		if (!is_digit(s[i]) && !strchr(others, s[i]))
			return false;
	return len && is_digit(*s);
}

static void segment_fold(const char *s, size_t len, bool keyed, struct buf *out)
{
	bool dotted = memchr(s, '.', len) != NULL;

	if (is_date(s, len) || (keyed && digits_and(s, len, "-_:"))) {
		buf_adds(out, ID);
		return;
	}
	if (dotted && digits_and(s, len, ".:")) {	/* a version, an address */
		buf_add(out, s, len);
		return;
	}
	for (size_t i = 0; i < len;) {
		size_t piece = 0, kind_len, joined = 0;

		if (is_uuid(s + i, len - i)) {
			buf_adds(out, ID);
			i += UUID_LEN;
			continue;
		}
		if (!i || !is_joint(s[i - 1]))
			joined = joined_at(s + i, len - i, &kind_len);
		if (joined) {
			buf_add(out, s + i, kind_len);
			buf_adds(out, ID);
			i += joined;
			continue;
		}
		while (i + piece < len && !strchr(PIECE_ENDS, s[i + piece]))
			piece++;
		if (piece && i && s[i - 1] == ':' && digits_at(s + i, piece) == piece) {
			/* of a dotted name it is a host's port, a file's line */
			buf_add(out, dotted ? s + i : ID, dotted ? piece : strlen(ID));
		} else {
			piece_fold(s + i, piece, keyed, out);
		}
		i += piece;
		if (i < len)
			buf_addch(out, s[i++]);
	}
}

void fold_ids(const char *name, struct buf *out)
{
	for (const char *s = name; *s;) {
		size_t len = strcspn(s, SEGMENT_ENDS);

		if (len) {
			segment_fold(s, len, s > name && strchr("/=", s[-1]), out);
		} else if (*s == '{' && strchr(s, '}')) {	/* a template's own */
			len = (size_t)(strchr(s, '}') - s) + 1;
			buf_add(out, s, len);
		} else {
			buf_addch(out, *s);
			len = 1;
		}
		s += len;
	}
}

/* ---- rules and routes */

static void rule_apply(const regex_t *re, const char *text, struct buf *name)
{
	CLEANUP(buf_release) struct buf out = {0};
	const char *s = buf_str(name);
	regmatch_t m;

	while (*s && regexec(re, s, 1, &m, s == buf_str(name) ? 0 : REG_NOTBOL) == 0) {
		size_t from = (size_t)m.rm_so, to = (size_t)m.rm_eo;

		buf_add(&out, s, from);
		if (to > from)
			buf_adds(&out, text);
		else if (s[from])	/* nothing matched, here: go on behind it */
			buf_addch(&out, s[to++]);
		s += to;
		if (to == from)
			break;
	}
	buf_adds(&out, s);
	buf_clear(name);
	buf_add(name, buf_str(&out), out.len);
}

/* Begin of the path in a name, NULL: it has none, or is a template already. */
static const char *path_in(const char *name)
{
	const char *path = strstr(name, "://");

	if (path)
		path = strchr(path + 3, '/');
	for (const char *s = name; !path && *s; s++)
		if (*s == '/' && (s == name || s[-1] == ' '))
			path = s;
	return path && !strpbrk(path, "{<*") && !strstr(path, "/:") ? path : NULL;
}

static void put_route(const char *name, const char *route, struct buf *out)
{
	const char *path = path_in(name), *end;

	/* one that matches all says nothing */
	if (!path || *route != '/' || !route[strspn(route, "/*")]) {
		buf_adds(out, name);
		return;
	}
	end = path + strcspn(path, " ");
	buf_add(out, name, (size_t)(path - name));
	buf_adds(out, route);
	buf_adds(out, end);
}

static uint32_t folded(struct fold *f, uint32_t name, uint32_t route)
{
	CLEANUP(buf_release) struct buf routed = {0};
	CLEANUP(buf_release) struct buf ids = {0};
	const struct buf *ret = &routed;

	put_route(strtab_str(f->strings, name), strtab_str(f->strings, route), &routed);
	for (uint32_t i = 0; i < f->opts.rule_cnt; i++)
		rule_apply(&f->res[i], f->opts.rules[i].text, &routed);
	if (!f->opts.keep_ids) {
		fold_ids(buf_str(&routed), &ids);
		ret = &ids;
	}
	if (!strcmp(buf_str(ret), strtab_str(f->strings, name)))
		return name;
	f->cnt++;
	route = strtab_addn(f->strings, buf_str(ret), ret->len);
	return route ? route : name;	/* none: no room, or nothing is left of it */
}

static uint32_t fold_name(struct fold *f, uint32_t name, uint32_t route)
{
	uint64_t key = (uint64_t)name << 32 | route, known;

	if (!name)
		return 0;
	if (hmap_get(&f->names, key, &known))
		return (uint32_t)known;
	known = folded(f, name, route);
	if (f->names.cnt < NAMES_MAX)
		hmap_put(&f->names, key, known);
	return (uint32_t)known;
}

struct fold *fold_new(const struct fold_opts *opts, struct strtab *strings)
{
	static const char *const keys[] = {"graphql.operation.name", "rpc.method", "resource.name",
					   "messaging.destination.template"};
	struct fold *f = xcalloc(1, sizeof(*f));

	f->strings = strings;
	if (opts)
		f->opts = *opts;
	f->res = xcalloc(f->opts.rule_cnt + 1, sizeof(*f->res));
	for (uint32_t i = 0; i < f->opts.rule_cnt; i++)
		if (regcomp(&f->res[i], f->opts.rules[i].re, REG_EXTENDED))
			BUG("a rule that does not compile");
	f->http_route = strtab_add(strings, FOLD_ROUTE_KEY);
	f->url_template = strtab_add(strings, FOLD_TEMPLATE_KEY);
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		f->keys[i] = strtab_add(strings, keys[i]);
	return f;
}

void fold_free(struct fold *f)
{
	if (!f)
		return;
	for (uint32_t i = 0; i < f->opts.rule_cnt; i++)
		regfree(&f->res[i]);
	free(f->res);
	hmap_release(&f->names);
	vec_release(&f->attrs);
	free(f);
}

uint64_t fold_cnt(const struct fold *f)
{
	return f->cnt;
}

static bool is_name(const struct fold *f, const struct attr *a)
{
	if (a->type != ATTR_STR || !a->str)
		return false;
	for (size_t i = 0; i < sizeof(f->keys) / sizeof(*f->keys); i++)
		if (a->key == f->keys[i])
			return true;
	return a->key == f->http_route || a->key == f->url_template;
}

/* Read as route before it is folded: the name's path is what it stands for. */
static uint32_t route_of(const struct fold *f, const struct span *span, const struct attr *attrs)
{
	uint32_t route = 0;

	for (uint32_t i = 0; i < span->attr_cnt && !f->opts.keep_ids; i++) {
		if (!is_name(f, &attrs[i]))
			continue;
		if (attrs[i].key == f->http_route)
			return (uint32_t)attrs[i].str;
		if (attrs[i].key == f->url_template)
			route = (uint32_t)attrs[i].str;
	}
	return route;
}

const struct attr *fold_span(struct fold *f, struct span *span, const struct attr *attrs)
{
	bool copied = false;

	if (span->flags & SPANF_POINT)	/* its digits are # already */
		return attrs;
	span->name = fold_name(f, span->name, route_of(f, span, attrs));
	for (uint32_t i = 0; i < span->attr_cnt; i++) {
		uint32_t was = (uint32_t)attrs[i].str, is;

		if (!is_name(f, &attrs[i]) || (is = fold_name(f, was, 0)) == was)
			continue;
		if (!copied) {
			vec_clear(&f->attrs);
			for (uint32_t k = 0; k < span->attr_cnt; k++)
				vec_push(&f->attrs, attrs[k]);
		}
		copied = true;
		f->attrs.items[i].str = is;
	}
	return copied ? f->attrs.items : attrs;
}
