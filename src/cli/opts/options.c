/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/opts/options.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "report/lines/wrap.h"

enum { WRAP_COLUMNS_MIN = 20 }; /* less is no width that somebody reads at */

const struct opt window_opt_table[] = {
	{.type = OPT_DURATION, .short_name = 'd', .long_name = "duration", .metavar = "TIME",
	 .help = "watch for so long: 10s, 500ms, 2m", .def = "10s", .min = 10 * NS_PER_MS,
	 OPT_AT(struct window_opts, duration_ns)},
	OPT_END,
};

int size_parse(const char *text, uint64_t *ret_bytes)
{
	static const char units[] = "kmg";
	char *end;
	unsigned long long n;
	const char *unit;

	errno = 0;
	n = strtoull(text, &end, 10);
	if (errno || end == text || *text == '-' || n == 0 || n > 1ull << 40)
		return -EINVAL;
	unit = *end ? strchr(units, *end | 0x20) : NULL;
	if (*end && (!unit || end[1]))
		return -EINVAL;
	*ret_bytes = n << (unit ? 10 * (unit - units + 1) : 0);
	return 0;
}

int cost_parse(void *dst, const char *text, struct arena *arena, struct err *err)
{
	char *end;
	double percent = strtod(text, &end);

	(void)arena;
	if (end == text || (*end && strcmp(end, "%") != 0) || !(percent >= 0 && percent <= 100))
		return err_set(err, -EINVAL, "'%s' is not a percentage from 0 to 100", text);
	*(uint32_t *)dst = (uint32_t)(percent * 1e4 + 0.5);
	return 0;
}

const struct opt cost_opt_table[] = {
	{.type = OPT_CUSTOM, .long_name = "max-cost", .metavar = "PCT",
	 .help = "shed detail over this share of the CPU in use; 0: never", .def = "1",
	 .parse = cost_parse, OPT_AT(struct cost_opts, max_ppm)},
	OPT_END,
};

const struct opt input_opt_table[] = {
	{.type = OPT_STRING, .short_name = 'i', .long_name = "input", .metavar = "FILE",
	 .help = "read a capture instead of watching", OPT_AT(struct input_opts, path)},
	OPT_END,
};

const struct opt baseline_opt_table[] = {
	{.type = OPT_STRING, .long_name = "baseline", .metavar = "FILE",
	 .help = "compare with a good capture", OPT_AT(struct baseline_opts, path)},
	OPT_END,
};

static const char *const color_names[] = {"auto", "always", "never", NULL};

const struct opt json_opt_table[] = {
	{.type = OPT_FLAG, .long_name = "json", .help = "print JSON",
	 OPT_AT(struct output_opts, json)},
	{.type = OPT_FLAG, .long_name = "json-schema",
	 .help = "print the schema of the JSON, and exit", OPT_AT(struct output_opts, json_schema)},
	OPT_END,
};

const struct opt html_opt_table[] = {
	{.type = OPT_STRING, .long_name = "html", .metavar = "FILE",
	 .help = "write a page that stands alone", OPT_AT(struct output_opts, html_path)},
	OPT_END,
};

const struct opt color_opt_table[] = {
	{.type = OPT_CHOICE, .long_name = "color", .metavar = "WHEN", .choices = color_names,
	 .help = "color the text: auto, always or never",
	 .def = "auto", OPT_AT(struct output_opts, color)},
	OPT_END,
};

const struct opt output_opt_table[] = {
	{.type = OPT_TYPE_GROUP, .group = json_opt_table},
	{.type = OPT_TYPE_GROUP, .group = html_opt_table},
	{.type = OPT_TYPE_GROUP, .group = color_opt_table},
	OPT_END,
};

static bool env_is_set(const char *name)
{
	const char *value = getenv(name);

	return value && *value && strcmp(value, "0") != 0;
}

bool output_has_color(const struct output_opts *o, FILE *stream)
{
	const char *none = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	if (o->color != COLOR_AUTO)
		return o->color == COLOR_ALWAYS;
	if (none && *none)
		return false;
	if (env_is_set("CLICOLOR_FORCE"))
		return true;
	return isatty(fileno(stream)) && !(term && strcmp(term, "dumb") == 0);
}

unsigned output_columns(unsigned otherwise)
{
	const char *env = getenv("COLUMNS");
	struct winsize size = {0};
	long columns = env ? strtol(env, NULL, 10) : 0;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col)
		return size.ws_col;
	return columns > 0 && columns < 1000 ? (unsigned)columns : otherwise;
}

void output_text(const struct buf *out)
{
	unsigned columns = output_columns(0);
	CLEANUP(buf_release) struct buf wrapped = {0};

	if (columns < WRAP_COLUMNS_MIN) {
		fwrite(buf_str(out), 1, out->len, stdout);
		return;
	}
	wrap_lines(buf_str(out), columns, &wrapped);
	fwrite(buf_str(&wrapped), 1, wrapped.len, stdout);
}

void output_print(const struct output_opts *o, const struct buf *out)
{
	if (o->json)
		fwrite(buf_str(out), 1, out->len, stdout);
	else
		output_text(out);
}

bool output_is_ascii(void)
{
	setlocale(LC_CTYPE, "");
	return isatty(STDOUT_FILENO) && strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
}

struct pen output_pen(const struct output_opts *o, struct buf *out, unsigned columns)
{
	return (struct pen){.out = out, .colour = output_has_color(o, stdout),
			    .ascii = output_is_ascii(), .columns = output_columns(columns)};
}
