/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/clock.h"

static enum log_level current_level = LOG_WARN;

void log_set_level(enum log_level level)
{
	current_level = level;
}

bool log_shows(enum log_level level)
{
	return level <= current_level;
}

void log_print(enum log_level level, const char *fmt, ...)
{
	char line[1024];
	va_list ap;

	if (!log_shows(level))
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	/* one call per line, so that lines of several processes do not mix */
	fprintf(stderr, "heldup: %s\n", line);
}

void log_mark(const char *what)
{
	if (log_shows(LOG_DEBUG))
		log_print(LOG_DEBUG, "mark %s: at %.3f ms, CPU %.3f ms", what,
			  (double)clock_mono_ns() / 1e6, (double)clock_self_cpu_ns() / 1e6);
}
