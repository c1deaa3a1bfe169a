/* SPDX-License-Identifier: Apache-2.0 */
#include "report/answer/change.h"
#include "report/facts.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/fmt.h"
#include "base/json.h"
#include "verdict/verdict.h"

/* A change's value in its unit; times are given in ns. */
static const char *change_value(char *out, const char *unit, double value)
{
	char cnt[FMT_MAX];

	if (!strcmp(unit, "ns"))
		return fmt_ns(out, value > 0 ? (uint64_t)value : 0);
	if (!strcmp(unit, "bytes"))
		return fmt_bytes(out, value > 0 ? (uint64_t)value : 0);
	if (!strcmp(unit, "share"))
		return fmt_share(out, value);
	if (!strcmp(unit, "1/s") && value >= 100) {
		fmt_count(cnt, (uint64_t)value);
		snprintf(out, FMT_MAX, "%.16s/s", cnt);
		return out;
	}
	snprintf(out, FMT_MAX, "%.3g%s%.10s", value, *unit ? " " : "", unit);
	return out;
}

void change_text(const struct change *c, struct buf *out)
{
	const char *unit = given(c->unit);
	char t[FMT_MAX], u[FMT_MAX];

	buf_printf(out, "%s: %s, was %s", given(c->what), change_value(t, unit, c->is),
		   change_value(u, unit, c->was));
}

void changes_json(struct json *j, const struct verdict *v)
{
	json_kbool(j, "compared", v->compared);
	json_karr(j, "changes");
	for (size_t i = 0; i < v->change_cnt; i++) {
		const struct change *c = &v->changes[i];

		json_obj(j);
		json_kstr(j, "what", given(c->what));
		json_kstr(j, "unit", given(c->unit));
		json_kf64(j, "was", c->was);
		json_kf64(j, "is", c->is);
		json_kf64_dec(j, "score", c->score, 4);
		json_obj_end(j);
	}
	json_arr_end(j);
}
