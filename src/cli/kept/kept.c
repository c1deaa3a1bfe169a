/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kept/kept.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/fmt.h"
#include "report/lines/pen.h"
#include "serve/keep/db.h"
#include "serve/settings.h"

const struct opt kept_opt_table[] = {
	{.type = OPT_STRING, .long_name = "state", .metavar = "DIR", .def = SETTINGS_STATE,
	 .help = "read what heldup serve keeps in DIR", OPT_AT(struct kept_opts, state)},
	OPT_GROUP(json_opt_table, struct kept_opts, output),
	OPT_GROUP(color_opt_table, struct kept_opts, output),
	OPT_END,
};

int kept_open(const char *state, struct db **ret, struct err *err)
{
	int rc = db_open(state, false, ret, err);

	if (rc == -ENOENT)
		return err_set(err, rc, "nothing is kept in '%s': begin with sudo heldup serve, or "
			       "systemctl enable --now heldup", state);
	if (rc == -EACCES)
		return err_rights(err, rc, "'%s' is root's: run it with sudo", state);
	return rc;
}

enum form_kind { FORM_NONE = 0, FORM_DATE, FORM_HOUR, FORM_ZONE };

static enum form_kind day_time(const char *text, const struct tm *today, struct tm *ret)
{
	static const struct {
		const char *form;
		enum form_kind kind;
	} forms[] = {
		{"%Y-%m-%d %H:%M:%S", FORM_DATE},    {"%Y-%m-%d %H:%M", FORM_DATE},
		{"%Y-%m-%dT%H:%M:%S", FORM_DATE},    {"%Y-%m-%dT%H:%M", FORM_DATE},
		{"%Y-%m-%d", FORM_DATE},	     {"%H:%M:%S", FORM_HOUR},
		{"%H:%M", FORM_HOUR},		     {"%Y-%m-%dT%H:%M:%S%z", FORM_ZONE},
		{"%Y-%m-%dT%H:%M%z", FORM_ZONE},
	};

	for (unsigned i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		struct tm tm = *today;
		const char *end;

		tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
		tm.tm_isdst = -1;
		end = strptime(text, forms[i].form, &tm);
		if (!end || *end)
			continue;
		*ret = tm;
		return forms[i].kind;
	}
	return FORM_NONE;
}

/* "@1764000000.123456789": exact, as heldup itself passes it on. */
static bool epoch_parse(const char *text, uint64_t *ret_ns)
{
	char *end;
	unsigned long long s = strtoull(text + 1, &end, 10), ns = 0, unit = NS_PER_SEC / 10;

	if (*text != '@' || !isdigit((unsigned char)text[1]) || s > UINT64_MAX / NS_PER_SEC / 2)
		return false;
	if (*end == '.')
		for (end++; isdigit((unsigned char)*end); end++, unit /= 10)
			ns += (unsigned)(*end - '0') * unit;
	*ret_ns = s * NS_PER_SEC + ns;
	return !*end;
}

static int ago_parse(const char *text, uint64_t now_ns, uint64_t *ret_ns, struct err *err)
{
	uint64_t ago;

	if (duration_parse(text + (*text == '-'), &ago, err) < 0)
		return err_usage(err, "'%s': give a time such as 03:10 or \"2026-11-26 03:10\", "
				      "or how long ago: 90m", text);
	*ret_ns = now_ns > ago ? now_ns - ago : 0;
	return 0;
}

int kept_time_parse(const char *text, uint64_t now_ns, uint64_t *ret_ns, struct err *err)
{
	time_t now = (time_t)(now_ns / NS_PER_SEC), at;
	struct tm today, tm;
	enum form_kind kind;
	long off;

	if (epoch_parse(text, ret_ns))
		return 0;
	localtime_r(&now, &today);
	kind = day_time(text, &today, &tm);
	if (!kind)
		return ago_parse(text, now_ns, ret_ns, err);
	off = kind == FORM_ZONE ? tm.tm_gmtoff : 0;
	at = kind == FORM_ZONE ? timegm(&tm) - off : mktime(&tm);
	if (kind == FORM_HOUR && at > now) /* of yesterday */
		at -= 24 * 3600;
	*ret_ns = at < 0 ? 0 : (uint64_t)at * NS_PER_SEC;
	return 0;
}

char *kept_time(uint64_t real_ns, uint64_t now_ns, char out[KEPT_TIME_LEN])
{
	time_t at = (time_t)(real_ns / NS_PER_SEC), now = (time_t)(now_ns / NS_PER_SEC);
	struct tm tm, today;

	localtime_r(&at, &tm);
	localtime_r(&now, &today);
	strftime(out, KEPT_TIME_LEN,
		 tm.tm_yday == today.tm_yday && tm.tm_year == today.tm_year ? "%H:%M:%S"
									    : "%Y-%m-%d %H:%M:%S",
		 &tm);
	return out;
}

/* The verdict in words, or why there is none yet. */
static const char *kept_finding_cause(const struct db_finding *f)
{
	if (*f->summary)
		return f->summary;
	if (*f->note)
		return f->note;
	return "not judged yet";
}

void kept_finding_text(const struct db_finding *f, uint64_t now_ns, struct pen *pen)
{
	uint64_t until = f->end_ns ? f->end_ns : now_ns;
	char when[KEPT_TIME_LEN], lasted[FMT_MAX];

	pen_fmt(pen, PEN_DIM, "%4llu ", (unsigned long long)f->id);
	pen_fmt(pen, PEN_PLAIN, " %s ", kept_time(f->begin_ns, now_ns, when));
	pen_fmt(pen, PEN_BOLD, " %s ", f->service);
	pen_fmt(pen, f->end_ns ? PEN_PLAIN : PEN_BAD, " %s%s",
		f->end_ns ? "for " : "since ",
		fmt_ns(lasted, until > f->begin_ns ? until - f->begin_ns : 0));
	if (f->again_cnt)
		pen_fmt(pen, PEN_PLAIN, ", came back %llu time%s",
			(unsigned long long)f->again_cnt, f->again_cnt == 1 ? "" : "s");
	if (*f->title)
		pen_fmt(pen, PEN_BAD, "  %s", f->title);
	if (*f->confidence)
		pen_fmt(pen, PEN_DIM, " (%s)", f->confidence);
	pen_nl(pen);
	pen_to(pen, 6);
	pen_wrap(pen, PEN_PLAIN, 6, 3, kept_finding_cause(f));
	pen_nl(pen);
	pen_to(pen, 6);
	pen_wrap(pen, PEN_DIM, 6, 2, f->reason);
	pen_nl(pen);
}
