/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/opts/completion.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "cli/opts/cmd.h"

static void bash_option(void *ctx, const struct opt *o)
{
	struct buf *out = ctx;

	if (o->short_name)
		buf_printf(out, " -%c", o->short_name);
	if (o->long_name)
		buf_printf(out, " --%s", o->long_name);
}

static void put_bash(struct buf *out)
{
	buf_adds(out, "# bash completion of heldup\n_heldup() {\n"
		      "\tlocal cur=${COMP_WORDS[COMP_CWORD]} words=\n"
		      "\tif [ \"$COMP_CWORD\" = 1 ] || [ \"${COMP_WORDS[1]}\" = help ]; then\n"
		      "\t\twords=\"help --version");
	for (size_t i = 0; commands[i]; i++)
		buf_printf(out, " %s", commands[i]->name);
	buf_adds(out, "\"\n\telse\n\t\tcase ${COMP_WORDS[1]} in\n");
	for (size_t i = 0; commands[i]; i++) {
		buf_printf(out, "\t\t%s) words=\"", commands[i]->name);
		cmd_opts_each(commands[i], bash_option, out);
		buf_adds(out, "\" ;;\n");
	}
	buf_adds(out, "\t\tesac\n\t\tcase $cur in\n\t\t-*) ;;\n"
		      "\t\t*) COMPREPLY=($(compgen -f -- \"$cur\")); return ;;\n\t\tesac\n\tfi\n"
		      "\tCOMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n}\n"
		      "complete -o filenames -F _heldup heldup\n");
}

/* Inside of single quotes; what stands in special gets a backslash. */
static void put_quoted(struct buf *out, const char *text, const char *special)
{
	for (; *text; text++) {
		if (*text == '\'')
			buf_adds(out, "'\\''");
		else if (strchr(special, *text))
			buf_printf(out, "\\%c", *text);
		else
			buf_addch(out, *text);
	}
}

static void put_choices(struct buf *out, const struct opt *o)
{
	for (size_t i = 0; o->choices[i]; i++)
		buf_printf(out, "%s%s", i ? " " : "", o->choices[i]);
}

/* ---- zsh: _arguments(1) */

static void zsh_value(struct buf *out, const struct opt *o)
{
	buf_printf(out, ":%s:", o->metavar);
	if (o->choices) {
		buf_addch(out, '(');
		put_choices(out, o);
		buf_addch(out, ')');
	} else {
		buf_adds(out, strcmp(o->metavar, "PID") == 0 ? "_pids" : "_files");
	}
}

static void zsh_spec(struct buf *out, const struct opt *o, const char *name)
{
	buf_printf(out, " \\\n\t\t'*%s[", name);
	put_quoted(out, o->help, "[]\\");
	buf_addch(out, ']');
	if (o->metavar)
		zsh_value(out, o);
	buf_addch(out, '\'');
}

static void zsh_option(void *ctx, const struct opt *o)
{
	struct buf *out = ctx, name = {0};

	if (o->short_name) {
		buf_printf(&name, "-%c", o->short_name);
		zsh_spec(out, o, buf_str(&name));
	}
	buf_clear(&name);
	if (o->long_name) {
		buf_printf(&name, "--%s", o->long_name);
		zsh_spec(out, o, buf_str(&name));
	}
	buf_release(&name);
}

static void put_zsh(struct buf *out)
{
	buf_adds(out, "#compdef heldup\n_heldup() {\n\tlocal -a commands=(\n"
		      "\t\t'help:print how a command is used'\n");
	for (size_t i = 0; commands[i]; i++) {
		buf_printf(out, "\t\t'%s:", commands[i]->name);
		put_quoted(out, commands[i]->help, ":\\");
		buf_adds(out, "'\n");
	}
	buf_adds(out, "\t)\n\tif (( CURRENT == 2 )) || [[ $words[2] == help ]]; then\n"
		      "\t\t_describe -t commands command commands\n\t\treturn\n\tfi\n"
		      "\tlocal cmd=$words[2]\n\tshift words\n\t(( CURRENT-- ))\n\tcase $cmd in\n");
	for (size_t i = 0; commands[i]; i++) {
		buf_printf(out, "\t%s) _arguments -s", commands[i]->name);
		cmd_opts_each(commands[i], zsh_option, out);
		buf_adds(out, " \\\n\t\t'*:file:_files' ;;\n");
	}
	buf_adds(out, "\tesac\n}\n_heldup \"$@\"\n");
}

/* ---- fish: complete(1) */

struct fish {
	struct buf *out;
	const char *cmd;
};

static void fish_option(void *ctx, const struct opt *o)
{
	const struct fish *f = ctx;

	if (!o->short_name && !o->long_name)
		return;
	buf_printf(f->out, "complete -c heldup -n '__fish_seen_subcommand_from %s'", f->cmd);
	if (o->short_name)
		buf_printf(f->out, " -s %c", o->short_name);
	if (o->long_name)
		buf_printf(f->out, " -l %s", o->long_name);
	if (o->choices) {
		buf_adds(f->out, " -x -a '");
		put_choices(f->out, o);
		buf_addch(f->out, '\'');
	} else if (o->metavar) {
		buf_adds(f->out, " -r");
	}
	buf_adds(f->out, " -d '");
	put_quoted(f->out, o->help, "\\");
	buf_adds(f->out, "'\n");
}

static void put_fish(struct buf *out)
{
	buf_adds(out, "# fish completion of heldup\n"
		      "complete -c heldup -n __fish_use_subcommand -f -a help "
		      "-d 'print how a command is used'\n");
	for (size_t i = 0; commands[i]; i++) {
		struct fish f = {out, commands[i]->name};

		buf_printf(out, "complete -c heldup -n __fish_use_subcommand -f -a %s -d '",
			   commands[i]->name);
		put_quoted(out, commands[i]->help, "\\");
		buf_adds(out, "'\n");
		cmd_opts_each(commands[i], fish_option, &f);
	}
}

int completion_put(const char *shell, struct buf *out)
{
	if (!shell || strcmp(shell, "bash") == 0)
		put_bash(out);
	else if (strcmp(shell, "zsh") == 0)
		put_zsh(out);
	else if (strcmp(shell, "fish") == 0)
		put_fish(out);
	else
		return -EINVAL;
	return 0;
}
