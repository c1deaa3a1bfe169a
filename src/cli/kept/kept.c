/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kept/kept.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/fmt.h"
#include "report/lines/pen.h"
#include "serve/db.h"
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

static int day_time(const char *text, const struct tm *today, struct tm *ret)
{
	static const char *const forms[] = {"%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M",
					    "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d", "%H:%M:%S", "%H:%M"};

	for (unsigned i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		struct tm tm = *today;
		const char *end;

		tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
		tm.tm_isdst = -1;
		end = strptime(text, forms[i], &tm);
		if (!end || *end)
			continue;
		*ret = tm;
		return i < 4 ? 1 : 2;
	}
	return 0;
}

int kept_time_parse(const char *text, uint64_t now_ns, uint64_t *ret_ns, struct err *err)
{
	time_t now = (time_t)(now_ns / NS_PER_SEC), at;
	struct tm today, tm;
	uint64_t ago;
	int kind;

	localtime_r(&now, &today);
	kind = day_time(text, &today, &tm);
	if (!kind) {
		if (duration_parse(text, &ago, err) < 0)
			return err_usage(err, "'%s': give a time such as 03:10 or "
					      "\"2026-11-26 03:10\", or how long ago: 90m", text);
		*ret_ns = now_ns > ago ? now_ns - ago : 0;
		return 0;
	}
	at = mktime(&tm);
	if (kind == 2 && at > now) /* of yesterday */
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
		pen_fmt(pen, PEN_PLAIN, ", %llu times more", (unsigned long long)f->again_cnt);
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
