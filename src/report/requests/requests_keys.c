/* SPDX-License-Identifier: Apache-2.0 */
/* Which keys go with what is different between two sets (requests/diff/key_changes.h). */
#include <math.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fmt.h"
#include "base/hash.h"
#include "base/json.h"
#include "report/requests/requests_json.h"
#include "report/requests/requests_text.h"
#include "requests/diff/changes.h"
#include "requests/diff/key_changes.h"

enum { KEYS_TOP = 3 };

static void add_ns(struct buf *out, double ns)
{
	char t[FMT_MAX];

	buf_adds(out, fmt_ns(t, ns > 0 ? (uint64_t)ns : 0));
}

static void add_was_is(struct buf *out, double good_ns, double bad_ns)
{
	if (isnan(good_ns)) {
		buf_adds(out, "new, ");
		add_ns(out, bad_ns);
	} else if (isnan(bad_ns)) {
		add_ns(out, good_ns);
		buf_adds(out, ", gone");
	} else {
		add_ns(out, good_ns);
		buf_adds(out, " → ");
		add_ns(out, bad_ns);
	}
}

static struct key_value value_of(const struct value_change *x)
{
	return (struct key_value){.str = x->str, .truth = x->truth, .low = x->low,
				  .high = x->high, .decimals = x->decimals};
}

/* All that are not among the first cnt values; false: there are none. */
static bool rest_of(const struct key_change *c, const double mean_ns[2], uint32_t cnt,
		    struct value_change *ret)
{
	double ns[2] = {mean_ns[0] * c->good_cnt, mean_ns[1] * c->bad_cnt};

	*ret = (struct value_change){.good_cnt = c->good_cnt, .bad_cnt = c->bad_cnt};
	for (uint32_t i = 0; i < cnt; i++) {
		const struct value_change *x = &c->values[i];

		ns[0] -= x->good_cnt ? x->good_ns * x->good_cnt : 0;
		ns[1] -= x->bad_cnt ? x->bad_ns * x->bad_cnt : 0;
		ret->good_cnt -= x->good_cnt;
		ret->bad_cnt -= x->bad_cnt;
	}
	ret->good_ns = ret->good_cnt ? ns[0] / ret->good_cnt : NAN;
	ret->bad_ns = ret->bad_cnt ? ns[1] / ret->bad_cnt : NAN;
	return ret->good_cnt || ret->bad_cnt;
}

static void slower_words(const struct requests_view *v, const struct key_change *c,
			 struct buf *out)
{
	uint32_t cnt = c->told_cnt + (c->told_cnt + 1 == c->distinct_cnt);	/* has a name */
	struct value_change rest;
	bool any = false;

	for (uint32_t i = 0; i < cnt; i++) {
		const struct value_change *x = &c->values[i];
		struct key_value value = value_of(x);

		if (!x->bad_cnt)
			continue;
		buf_adds(out, any ? "; " : "");
		any = true;
		requests_value_words(v, c->key, &value, out);
		buf_adds(out, ": ");
		add_was_is(out, x->good_ns, x->bad_ns);
	}
	if (rest_of(c, (const double[2]){c->good_ns, c->bad_ns}, cnt, &rest)) {
		buf_adds(out, "; others: ");
		add_was_is(out, rest.good_ns, rest.bad_ns);
	}
}

static void shifted_words(const struct requests_view *v, const struct key_change *c,
			  struct buf *out)
{
	char s[FMT_MAX], t[FMT_MAX];

	for (uint32_t i = 0; i < c->told_cnt; i++) {
		const struct value_change *x = &c->values[i];
		struct key_value value = value_of(x);

		buf_adds(out, i ? ", " : "");
		requests_value_words(v, c->key, &value, out);
		buf_printf(out, " in %s of the requests, before in %s",
			   fmt_share(s, (double)x->bad_cnt / c->bad_cnt),
			   fmt_share(t, (double)x->good_cnt / c->good_cnt));
	}
	buf_printf(out, ": that alone makes %s%s", c->shift_ns < 0 ? "-" : "+",
		   fmt_ns(t, (uint64_t)fabs(c->shift_ns)));
}

static void key_change_words(const struct requests_view *v, const struct key_change *c,
			     struct buf *out)
{
	if (c->kind == KEY_CHANGE_SLOWER)
		slower_words(v, c, out);
	else
		shifted_words(v, c, out);
	if (c->alias_cnt)
		buf_printf(out, "; %u more key%s the same", c->alias_cnt,
			   c->alias_cnt == 1 ? " is" : "s are");
}

void requests_put_key_changes(const struct requests_view *v, struct pen *p, uint32_t type)
{
	const struct key_changes *keys = &v->diff_keys[type];

	for (uint32_t i = 0; i < keys->cnt && i < KEYS_TOP; i++) {
		CLEANUP(buf_release) struct buf b = {0};
		const struct key_change *c = &keys->items[i];

		if (!i)
			requests_put_line(p, PEN_DIM, "explained by");
		pen_to(p, 4);
		pen_text(p, PEN_BOLD, strtab_str(v->strings, c->key));
		buf_adds(&b, " of ");
		requests_point_words(v, c->point, &b);
		buf_adds(&b, ": ");
		key_change_words(v, c, &b);
		pen_wrap(p, PEN_PLAIN, 6, 2, buf_str(&b));
		pen_nl(p);
	}
}

static void json_value(const struct requests_view *v, struct json *j, uint32_t key,
		       const struct value_change *x)
{
	CLEANUP(buf_release) struct buf words = {0};
	struct key_value value = value_of(x);

	requests_value_words(v, key, &value, &words);
	json_obj(j);
	json_kstr(j, "words", buf_str(&words));
	requests_json_value(v, &value, j);
	json_ku64(j, "good_requests", x->good_cnt);
	json_ku64(j, "bad_requests", x->bad_cnt);
	requests_json_num(j, "good_ns", x->good_ns, 0);
	requests_json_num(j, "bad_ns", x->bad_ns, 0);
	json_kf64_dec(j, "weight", x->weight, 5);
	json_obj_end(j);
}

static void json_key_change(const struct requests_view *v, struct json *j,
			    const struct key_change *c)
{
	CLEANUP(buf_release) struct buf words = {0};
	CLEANUP(buf_release) struct buf where = {0};

	key_change_words(v, c, &words);
	requests_point_words(v, c->point, &where);
	json_obj(j);
	json_kstr(j, "key", strtab_str(v->strings, c->key));
	json_kstr(j, "tracepoint", buf_str(&where));
	json_kstr(j, "kind", c->kind == KEY_CHANGE_SLOWER ? "slower" : "shifted");
	json_kstr(j, "words", buf_str(&words));
	json_ku64(j, "good_requests", c->good_cnt);
	json_ku64(j, "bad_requests", c->bad_cnt);
	json_kf64_dec(j, "strength", c->strength, 5);
	requests_json_num(j, "shift_ns", c->kind == KEY_CHANGE_SHIFTED ? c->shift_ns : NAN, 0);
	json_kf64(j, "p", c->p);
	json_kf64(j, "q", c->q);
	json_ku64(j, "aliases", c->alias_cnt);
	json_ku64(j, "distinct", c->distinct_cnt);
	json_karr(j, "values");
	for (uint32_t i = 0; i < c->value_cnt; i++)
		json_value(v, j, c->key, &c->values[i]);
	json_arr_end(j);
	json_obj_end(j);
}

void requests_json_key_changes(const struct requests_view *v, struct json *j, uint32_t type)
{
	json_karr(j, "keys");
	for (uint32_t i = 0; i < v->diff_keys[type].cnt; i++)
		json_key_change(v, j, &v->diff_keys[type].items[i]);
	json_arr_end(j);
}
