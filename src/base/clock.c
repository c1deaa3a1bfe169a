/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"

#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include "base/err.h"

#define DURATION_MAX_NS (1000 * UINT64_C(86400) * NS_PER_SEC)

static uint64_t clock_read(clockid_t id)
{
	struct timespec ts = {0};

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_SEC + (uint64_t)ts.tv_nsec;
}

uint64_t clock_mono_ns(void)
{
	return clock_read(CLOCK_MONOTONIC);
}

uint64_t clock_boot_ns(void)
{
	return clock_read(CLOCK_BOOTTIME);
}

uint64_t clock_real_ns(void)
{
	return clock_read(CLOCK_REALTIME);
}

uint64_t clock_self_cpu_ns(void)
{
	return clock_read(CLOCK_PROCESS_CPUTIME_ID);
}

struct unit {
	const char *name;
	uint64_t ns;
};

/* A longer name comes before the shorter one that starts it. */
static const struct unit units[] = {
	{"ns", 1},
	{"us", NS_PER_US},
	{"ms", NS_PER_MS},
	{"s", NS_PER_SEC},
	{"min", 60 * NS_PER_SEC},
	{"m", 60 * NS_PER_SEC},
	{"h", 3600 * NS_PER_SEC},
	{"d", 86400 * NS_PER_SEC},
};

/* The unit at *text, which is moved past it; seconds at the end of the text; 0 for none. */
static uint64_t unit_take(const char **text)
{
	if (!**text)
		return NS_PER_SEC;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		size_t len = strlen(units[i].name);

		if (strncmp(*text, units[i].name, len) == 0) {
			*text += len;
			return units[i].ns;
		}
	}
	return 0;
}

/* One "1.5s" of a duration; 0 when *text does not start with one. */
static int part_take(const char **text, uint64_t *ret_ns)
{
	uint64_t whole = 0, frac = 0, scale = 1, unit;
	const char *at = *text;
	__uint128_t ns;

	if (!isdigit((unsigned char)*at))
		return -EINVAL;
	for (; isdigit((unsigned char)*at); at++) {
		if (whole > DURATION_MAX_NS)
			return -ERANGE;
		whole = whole * 10 + (uint64_t)(*at - '0');
	}
	if (*at == '.') {
		at++;
		if (!isdigit((unsigned char)*at))
			return -EINVAL;
		for (; isdigit((unsigned char)*at); at++) {
			if (scale >= NS_PER_SEC)
				continue; /* below a nanosecond for any unit that matters */
			frac = frac * 10 + (uint64_t)(*at - '0');
			scale *= 10;
		}
	}
	unit = unit_take(&at);
	if (!unit)
		return -EINVAL;
	ns = (__uint128_t)whole * unit + (__uint128_t)frac * unit / scale;
	if (ns > DURATION_MAX_NS)
		return -ERANGE;
	*text = at;
	*ret_ns = (uint64_t)ns;
	return 0;
}

int duration_parse(const char *text, uint64_t *ret_ns, struct err *err)
{
	const char *at = text;
	uint64_t total = 0;

	do {
		uint64_t part = 0;
		int code = part_take(&at, &part);

		if (code == 0 && total + part > DURATION_MAX_NS)
			code = -ERANGE;
		if (code == -ERANGE)
			return err_set(err, code, "'%s' is longer than 1000 days", text);
		if (code < 0)
			return err_set(err, code, "'%s' is not a duration (say 10s, 500ms or 2m)",
				       text);
		total += part;
	} while (*at);
	*ret_ns = total;
	return 0;
}
