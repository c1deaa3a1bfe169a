/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/opts/man.h"

#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "cli/opts/cmd.h"

/* No request at the begin of a line, no escape within, and each dash one that can be searched. */
static void put_text(struct buf *out, const char *text)
{
	bool begins = true;

	for (; *text; text++) {
		if (begins && (*text == '.' || *text == '\''))
			buf_adds(out, "\\&");
		if (*text == '\\')
			buf_adds(out, "\\e");
		else if (*text == '-')
			buf_adds(out, "\\-");
		else
			buf_addch(out, *text);
		begins = *text == '\n';
	}
}

/* An empty line begins a paragraph. */
static void put_paragraphs(struct buf *out, const char *text)
{
	while (*text) {
		const char *end = strstr(text, "\n\n");
		size_t len = end ? (size_t)(end - text) : strlen(text);
		struct buf part = {0};

		buf_add(&part, text, len);
		buf_adds(out, ".PP\n");
		put_text(out, buf_str(&part));
		buf_addch(out, '\n');
		buf_release(&part);
		text += len + (end ? 2 : 0);
	}
}

static void put_head(struct buf *out, const char *page, const char *name, const char *help)
{
	buf_printf(out, ".TH %s 1 \"\" \"heldup %s\" \"heldup\"\n.SH NAME\n", page, HELDUP_VERSION);
	put_text(out, name);
	buf_adds(out, " \\- ");
	put_text(out, help);
	buf_adds(out, "\n.SH SYNOPSIS\n");
}

static void put_option(void *ctx, const struct opt *o)
{
	struct buf *out = ctx;

	buf_adds(out, ".TP\n\\fB");
	if (o->type == OPT_COMMAND)
		buf_adds(out, "\\-\\-");
	if (o->short_name)
		buf_printf(out, "\\-%c", o->short_name);
	if (o->short_name && o->long_name)
		buf_adds(out, "\\fR, \\fB");
	if (o->long_name) {
		buf_adds(out, "\\-\\-");
		put_text(out, o->long_name);
	}
	buf_adds(out, "\\fR");
	if (o->metavar) {
		buf_adds(out, " \\fI");
		put_text(out, o->metavar);
		buf_adds(out, "\\fR");
	}
	buf_addch(out, '\n');
	put_text(out, o->help);
	if (o->def) {
		buf_adds(out, " (default ");
		put_text(out, o->def);
		buf_addch(out, ')');
	}
	buf_addch(out, '\n');
}

static void put_exit(struct buf *out)
{
	buf_adds(out, ".SH EXIT STATUS\n"
		      "0 done, 1 failed, 2 usage, 3 rights or kernel, 4 as \\-\\-fail\\-on of "
		      "heldup\\-why(1) says\n");
}

static void put_see_also(struct buf *out, const struct cmd *but)
{
	const char *comma = "";

	buf_adds(out, ".SH SEE ALSO\n");
	if (but) {
		buf_adds(out, ".BR heldup (1)");
		comma = ",";
	}
	for (size_t i = 0; commands[i]; i++) {
		if (commands[i] == but)
			continue;
		buf_printf(out, "%s%s.BR heldup\\-%s (1)", comma, *comma ? "\n" : "",
			   commands[i]->name);
		comma = ",";
	}
	buf_addch(out, '\n');
}

void man_command(const struct cmd *cmd, struct buf *out)
{
	struct buf name = {0};

	buf_printf(&name, "heldup-%s", cmd->name);
	put_head(out, buf_str(&name), buf_str(&name), cmd->help);
	buf_printf(out, ".B heldup %s\n[options]", cmd->name);
	if (cmd->args) {
		buf_addch(out, ' ');
		put_text(out, cmd->args);
	}
	buf_adds(out, "\n.SH DESCRIPTION\n");
	put_paragraphs(out, cmd->about);
	buf_adds(out, ".SH OPTIONS\n");
	cmd_opts_each(cmd, put_option, out);
	if (cmd->examples) {
		buf_adds(out, ".SH EXAMPLES\n.nf\n");
		put_text(out, cmd->examples);
		buf_adds(out, "\n.fi\n");
	}
	put_exit(out);
	put_see_also(out, cmd);
	buf_release(&name);
}

void man_program(struct buf *out)
{
	put_head(out, "heldup", "heldup", "name what a Linux server is held up by");
	buf_adds(out, ".B heldup\n\\fICOMMAND\\fR [options]\n.br\n.B heldup\n"
		      "help [\\fICOMMAND\\fR]\n.br\n.B heldup\n\\-\\-version\n"
		      ".SH DESCRIPTION\nNames the resource, the threads and the chain that hold a "
		      "server up: without its source, without a restart, and without a normal run "
		      "to compare with.\n.SH COMMANDS\n");
	for (size_t i = 0; commands[i]; i++) {
		buf_printf(out, ".TP\n.BR heldup\\-%s (1)\n", commands[i]->name);
		put_text(out, commands[i]->help);
		buf_addch(out, '\n');
	}
	buf_adds(out, ".SH ENVIRONMENT\n.TP\n.B HELDUP_DEBUG\nset to 1: also print what libbpf "
		      "says\n.TP\n.BR NO_COLOR ,\\  CLICOLOR_FORCE\nno colour, or colour where the "
		      "output is no terminal\n");
	put_exit(out);
	put_see_also(out, NULL);
}
