/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads what sig_write.c writes.  The file may come from anywhere: it is
 * refused, with the line, at the first thing that is not as it should be.
 * Nothing is allocated by a number that the file states.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/err.h"
#include "functions/units/normalize.h"
#include "functions/sig/sig.h"
#include "functions/sig/sig_build.h"

struct reader {
	const char *at, *end;	/* of the current line, without its newline */
	const char *next, *file_end;
	uint64_t line;
	struct err *err;
	struct sig_builder *b;
	struct buf name;
	uint64_t version;
	uint32_t call_cnt, module_cnt, fn_cnt, base_cnt, ep_cnt, place_cnt;
	uint64_t invocations;	/* of the function above */
	uint32_t fn;
	struct sig_base base;	/* being read; unit_cnt 0: none is */
	uint16_t key[SIG_DIMS_MAX];
	struct sig_dim dims[SIG_DIMS_MAX];
	bool ended;
};

static int bad(struct reader *r, const char *what)
{
	return err_set(r->err, -EINVAL, "line %llu: %s", (unsigned long long)r->line, what);
}

static bool next_line(struct reader *r)
{
	const char *nl;

	if (r->next == r->file_end)
		return false;
	nl = memchr(r->next, '\n', (size_t)(r->file_end - r->next));
	r->at = r->next;
	r->end = nl ? nl : r->file_end;
	r->next = nl ? nl + 1 : r->file_end;
	r->line++;
	return true;
}

static bool word_is(struct reader *r, const char *word)
{
	size_t len = strlen(word);

	if ((size_t)(r->end - r->at) < len || memcmp(r->at, word, len) != 0)
		return false;
	r->at += len;
	return true;
}

/* A number and the space behind it, or the line's end. */
static bool number(struct reader *r, unsigned base, uint64_t *ret)
{
	uint64_t value = 0;
	const char *begin = r->at;

	for (; r->at < r->end && *r->at != ' '; r->at++) {
		unsigned digit = base;

		if (*r->at >= '0' && *r->at <= '9')
			digit = (unsigned)(*r->at - '0');
		else if (*r->at >= 'a' && *r->at <= 'f')
			digit = (unsigned)(*r->at - 'a') + 10;
		if (digit >= base || value > (UINT64_MAX - digit) / base)
			return false;
		value = value * base + digit;
	}
	if (r->at == begin)
		return false;
	r->at += r->at < r->end;
	*ret = value;
	return true;
}

static bool decimal(struct reader *r, double *ret)
{
	char text[32], *stop;
	size_t len = 0;

	for (; r->at < r->end && *r->at != ' '; r->at++) {
		if (len + 1 >= sizeof(text))
			return false;
		text[len++] = *r->at;
	}
	text[len] = '\0';
	*ret = strtod(text, &stop);
	r->at += r->at < r->end;
	return len && *stop == '\0' && isfinite(*ret);
}

static int hex_digit(int c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The rest of the line; not empty. */
static const char *name(struct reader *r)
{
	buf_clear(&r->name);
	while (r->at < r->end) {
		char c = *r->at++;

		if (c == '\\') {
			int high, low;

			if (r->end - r->at < 3 || *r->at != 'x')
				return NULL;
			high = hex_digit(r->at[1]);
			low = hex_digit(r->at[2]);
			c = (char)(high << 4 | low);
			r->at += 3;
			if (high < 0 || low < 0)
				return NULL;
		}
		if (c == '\0' || r->name.len >= SIG_NAME_MAX)
			return NULL;
		buf_addch(&r->name, c);
	}
	return r->name.len ? buf_str(&r->name) : NULL;
}

static bool symbol(struct reader *r, uint16_t *ret)
{
	uint64_t value;

	if (!number(r, 10, &value) || value >= r->call_cnt)
		return false;
	*ret = (uint16_t)value;
	return true;
}

static int read_call(struct reader *r)
{
	const char *call = name(r);

	if (!call)
		return bad(r, "no name of a call");
	if (r->module_cnt || r->fn_cnt || r->base_cnt)
		return bad(r, "a call after what uses calls");
	if (r->call_cnt >= SIG_CALLS_MAX)
		return bad(r, "too many calls");
	if (sig_builder_call(r->b, call) != r->call_cnt)
		return bad(r, "a call twice");
	r->call_cnt++;
	return 0;
}

static bool build_id(struct reader *r, struct sig_module *mod)
{
	if (word_is(r, "- "))
		return true;
	while (r->end - r->at >= 2 && *r->at != ' ') {
		int high = hex_digit(r->at[0]), low = hex_digit(r->at[1]);

		if (high < 0 || low < 0 || mod->build_id_len == SIG_BUILD_ID_MAX)
			return false;
		mod->build_id[mod->build_id_len++] = (uint8_t)(high << 4 | low);
		r->at += 2;
	}
	return mod->build_id_len && word_is(r, " ");
}

static int read_module(struct reader *r)
{
	struct sig_module mod = {0};

	if (r->fn_cnt || r->base_cnt)
		return bad(r, "a module after what uses modules");
	if (r->module_cnt >= SIG_MODULES_MAX)
		return bad(r, "too many modules");
	if (!build_id(r, &mod))
		return bad(r, "a module's build id");
	mod.name = name(r);
	if (!mod.name)
		return bad(r, "no name of a module");
	if (sig_builder_module(r->b, &mod) != r->module_cnt)
		return bad(r, "a module twice");
	r->module_cnt++;
	return 0;
}

static int read_fn(struct reader *r)
{
	struct sig_fn fn = {.module = SIG_NO_MODULE};
	uint64_t module = 0;

	if (r->fn_cnt >= SIG_FNS_MAX)
		return bad(r, "too many functions");
	if (!word_is(r, "- ")) {
		if (!number(r, 10, &module) || module >= r->module_cnt)
			return bad(r, "a function's module");
		fn.module = (uint32_t)module;
	}
	if (!number(r, 16, &fn.begin) || !number(r, 16, &fn.end) || fn.begin > fn.end)
		return bad(r, "a function's addresses");
	if (!number(r, 10, &fn.invocations) || !number(r, 10, &fn.calls) ||
	    !number(r, 10, &fn.self_calls) || fn.self_calls > fn.calls)
		return bad(r, "a function's counts");
	fn.name = name(r);
	if (!fn.name)
		return bad(r, "no name of a function");
	r->fn = sig_builder_fn(r->b, &fn);
	if (r->fn != r->fn_cnt)
		return bad(r, "a function twice");
	r->invocations = fn.invocations;
	r->fn_cnt++;
	r->ep_cnt = 0;
	r->place_cnt = 0;
	return 0;
}

static int read_ep(struct reader *r)
{
	struct episode ep = {0};
	uint64_t support, serial;

	if (r->fn_cnt == 0 || r->base_cnt || r->ep_cnt >= SIG_EPS_MAX)
		return bad(r, r->ep_cnt ? "too many episodes" : "an episode of no function");
	if (!number(r, 10, &support) || !number(r, 10, &serial) || support == 0 ||
	    support > r->invocations)
		return bad(r, "an episode's support");
	while (r->at < r->end) {
		if (ep.len == EPISODE_LEN_MAX || !symbol(r, &ep.syms[ep.len]))
			return bad(r, "an episode's calls");
		ep.len++;
	}
	if (ep.len == 0)
		return bad(r, "an episode without calls");
	sig_builder_ep(r->b, r->fn, &ep, support, serial);
	r->ep_cnt++;
	return 0;
}

static bool place_symbol(struct reader *r, uint16_t *ret)
{
	*ret = SIG_NO_CALL;
	if (r->end - r->at >= 1 && *r->at == '-' && (r->end - r->at == 1 || r->at[1] == ' ')) {
		r->at += r->end - r->at == 1 ? 1 : 2;
		return true;
	}
	return symbol(r, ret);
}

static int read_place(struct reader *r)
{
	struct sig_place p = {.what = 0};
	uint64_t what, bin;

	if (r->version < 2)
		return bad(r, "not understood");
	if (r->fn_cnt == 0 || r->base_cnt || r->place_cnt >= SIG_PLACES_MAX)
		return bad(r, r->place_cnt ? "too many places" : "a place of no function");
	if (!number(r, 10, &what) || what > SIG_WHAT_MAX || !number(r, 10, &bin) ||
	    bin > SIG_BIN_MAX || !number(r, 10, &p.cnt) ||
	    !number(r, 10, &p.self_cnt) || !number(r, 10, &p.near_sum) || p.cnt == 0 ||
	    p.self_cnt > p.cnt || p.near_sum / SIG_NEAR_ONE > p.cnt)
		return bad(r, "a place's numbers");
	p.what = (uint16_t)what;
	p.bin = (uint8_t)bin;
	for (unsigned i = 0; i < SIG_AROUND_CNT; i++)
		if (!place_symbol(r, &p.around[i]))
			return bad(r, "a place's calls");
	if (r->at != r->end)
		return bad(r, "a place's calls");
	sig_builder_place(r->b, r->fn, &p);
	r->place_cnt++;
	return 0;
}

static void base_end(struct reader *r)
{
	if (r->base.unit_cnt)
		sig_builder_base(r->b, &r->base);
	r->base = (struct sig_base){.key = r->key, .dims = r->dims};
}

static int read_base(struct reader *r)
{
	base_end(r);
	if (r->base_cnt >= SIG_BASES_MAX)
		return bad(r, "too many baselines");
	if (!number(r, 10, &r->base.unit_cnt) || r->base.unit_cnt == 0)
		return bad(r, "a baseline's units");
	while (r->at < r->end) {
		uint16_t *sym = &r->key[r->base.key_cnt];

		if (r->base.key_cnt == SIG_DIMS_MAX || !symbol(r, sym))
			return bad(r, "a baseline's calls");
		if (r->base.key_cnt && *sym <= sym[-1])
			return bad(r, "a baseline's calls are not in order");
		r->base.key_cnt++;
	}
	r->base_cnt++;
	return 0;
}

static int read_dim(struct reader *r)
{
	struct sig_dim *d = &r->dims[r->base.dim_cnt];

	if (r->base.unit_cnt == 0 || r->base.dim_cnt == SIG_DIMS_MAX)
		return bad(r, "a measure of no baseline");
	if (!symbol(r, &d->sym) || (r->base.dim_cnt && d->sym <= d[-1].sym))
		return bad(r, "a measure's call");
	if (!decimal(r, &d->cnt_mid) || !decimal(r, &d->cnt_dev) || !decimal(r, &d->ns_mid) ||
	    !decimal(r, &d->ns_dev) || d->cnt_dev < 0 || d->ns_dev < 0)
		return bad(r, "a measure's numbers");
	if (r->at != r->end)
		return bad(r, "more than a measure");
	r->base.dim_cnt++;
	return 0;
}

static int read_window(struct reader *r)
{
	uint64_t ns;

	if (r->line != 2 || !number(r, 10, &ns) || r->at != r->end)
		return bad(r, "a window");
	sig_builder_window(r->b, ns);
	return 0;
}

static int read_end(struct reader *r)
{
	uint64_t lines;

	if (!number(r, 10, &lines) || lines != r->line - 1 || r->at != r->end)
		return bad(r, "the number of lines is another");
	if (r->next != r->file_end)
		return bad(r, "more after the end");
	base_end(r);
	r->ended = true;
	return 0;
}

static int read_line(struct reader *r)
{
	static const struct { const char *word; int (*read)(struct reader *); } kinds[] = {
		{"window ", read_window}, {"call ", read_call}, {"module ", read_module},
		{"fn ", read_fn}, {"ep ", read_ep}, {"at ", read_place}, {"base ", read_base},
		{"dim ", read_dim}, {"end ", read_end}};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (word_is(r, kinds[i].word))
			return kinds[i].read(r);
	return bad(r, "not understood");
}

static int read_all(struct reader *r)
{
	int ret = 0;

	if (!next_line(r) || !word_is(r, SIG_FILE_HEAD))
		return err_set(r->err, -EINVAL, "not a file of signatures");
	if (!number(r, 10, &r->version) || r->at != r->end)
		return bad(r, "no version");
	if (r->version < 1 || r->version > SIG_VERSION)
		return err_set(r->err, -EINVAL, "version %llu of signatures, known is %d",
			       (unsigned long long)r->version, SIG_VERSION);
	while (ret == 0 && next_line(r))
		ret = read_line(r);
	if (ret == 0 && !r->ended)
		return err_set(r->err, -EINVAL, "cut short after line %llu",
			       (unsigned long long)r->line);
	return ret;
}

int sig_read(const void *text, size_t len, struct arena *arena, struct sigs **ret_sigs,
	     struct err *err)
{
	struct reader *r;
	int ret;

	if (len > SIG_FILE_MAX)
		return err_set(err, -E2BIG, "over %d MiB", SIG_FILE_MAX >> 20);
	r = xcalloc(1, sizeof(*r));
	r->next = text;
	r->file_end = r->next + len;
	r->err = err;
	r->b = sig_builder_new();
	r->base = (struct sig_base){.key = r->key, .dims = r->dims};
	ret = read_all(r);
	if (ret == 0)
		*ret_sigs = sig_builder_finish(r->b, arena);
	sig_builder_free(r->b);
	buf_release(&r->name);
	free(r);
	return ret;
}
