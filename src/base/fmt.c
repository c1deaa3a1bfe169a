/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fmt.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>

/* Three significant digits of a value below 1000 (or 1024). */
static char *fmt_three(char *out, double value, const char *unit)
{
	int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;

	snprintf(out, FMT_MAX, "%.*f %s", decimals, value, unit);
	return out;
}

char *fmt_ns(char *out, uint64_t ns)
{
	uint64_t sec = ns / 1000000000;

	if (ns == 0)
		snprintf(out, FMT_MAX, "0");
	else if (ns < 1000)
		snprintf(out, FMT_MAX, "%" PRIu64 " ns", ns);
	else if (ns < 999500)
		fmt_three(out, (double)ns / 1e3, "us");
	else if (ns < 999500000)
		fmt_three(out, (double)ns / 1e6, "ms");
	else if (sec < 120)
		fmt_three(out, (double)ns / 1e9, "s");
	else if (sec < 7200)
		snprintf(out, FMT_MAX, "%" PRIu64 " m %" PRIu64 " s", sec / 60, sec % 60);
	else
		snprintf(out, FMT_MAX, "%" PRIu64 " h %" PRIu64 " m", sec / 3600, sec / 60 % 60);
	return out;
}

char *fmt_bytes(char *out, uint64_t bytes)
{
	static const char *const names[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double value = (double)bytes / 1024;
	size_t i = 0;

	if (bytes < 1024) {
		snprintf(out, FMT_MAX, "%" PRIu64 " B", bytes);
		return out;
	}
	for (; value >= 1023.5 && i + 1 < sizeof(names) / sizeof(names[0]); i++)
		value /= 1024;
	return fmt_three(out, value, names[i]);
}

char *fmt_count(char *out, uint64_t cnt)
{
	static const char *const names[] = {"k", "M", "G", "T", "P", "E"};
	double value = (double)cnt / 1000;
	size_t i = 0;

	if (cnt < 1000) {
		snprintf(out, FMT_MAX, "%" PRIu64, cnt);
		return out;
	}
	for (; value >= 999.5 && i + 1 < sizeof(names) / sizeof(names[0]); i++)
		value /= 1000;
	return fmt_three(out, value, names[i]);
}

double fmt_percent(double share)
{
	return rint(100 * share) + 0.0; /* of -0 and 0 the sum is 0 */
}

char *fmt_share(char *out, double share)
{
	double pct = share * 100;

	if (!isfinite(pct))
		snprintf(out, FMT_MAX, "-");
	else if (pct == 0 || fabs(pct) >= 9.95)
		snprintf(out, FMT_MAX, "%.0f %%", pct);
	else if (fabs(pct) < 0.05)
		snprintf(out, FMT_MAX, "%s0.1 %%", pct < 0 ? "> -" : "< ");
	else
		snprintf(out, FMT_MAX, "%.1f %%", pct);
	return out;
}
