/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/stop.h"
#include "cli/opts/stdout_file.h"
#include "cli/opts/cmd.h"
#include "cli/opts/dispatch.h"
#include "cli/opts/guess.h"
#include "cli/opts/completion.h"
#include "cli/opts/man.h"
#include "cli/opts/options.h"
#include "serve/settings.h"

static void put_usage(struct buf *out)
{
	buf_adds(out, "usage: heldup COMMAND [options]\n\n"
		      "Names what a Linux server is held up by: the resource, the threads, the "
		      "chain.\n\n"
		      "commands:\n");
	for (size_t i = 0; commands[i]; i++)
		buf_printf(out, "  %-12s %s\n", commands[i]->name, commands[i]->help);
	buf_adds(out, "  help         print the help of a command\n\n"
		      "heldup COMMAND -h prints a command's options and examples.\n"
		      "heldup --version prints the versions of heldup, libbpf and the kernel.\n"
		      "HELDUP_DEBUG=1 in the environment also prints what libbpf says.\n"
		      "exit status: 0 done, 1 failed, 2 usage, 3 rights or kernel, 4 why "
		      "--fail-on\n");
}

static int print_usage(FILE *to)
{
	CLEANUP(buf_release) struct buf out = {0};

	put_usage(&out);
	if (to == stdout)
		output_text(&out);
	else
		fputs(buf_str(&out), to);
	return fflush(to) == 0 ? CLI_OK : CLI_FAILED;
}

static int print_version(void)
{
	struct utsname host = {0};

	uname(&host);
	printf("heldup %s\nlibbpf %s\nkernel %s %s\n", HELDUP_VERSION, libbpf_version_string() + 1,
	       host.release, host.machine);
	return fflush(stdout) == 0 ? CLI_OK : CLI_FAILED;
}

/* "--version" is guessed for "version", "-v" and "-version" too: all have been typed. */
static int no_such(const char *word)
{
	const char *kind = word[0] == '-' ? "option" : "command";
	struct guess g = {.word = word};

	for (size_t i = 0; commands[i] && word[0] != '-'; i++)
		guess_try(&g, commands[i]->name);
	guess_try(&g, "--version");
	guess_try(&g, "--help");
	if (strcmp(word, "-v") == 0)
		g.best = "--version";
	if (g.best)
		fprintf(stderr, "heldup: no %s '%s' (did you mean %s?)\n", kind, word, g.best);
	else if (*word && !word[strspn(word, "0123456789")])
		fprintf(stderr, "heldup: no %s '%s' (did you mean why %s?)\n", kind, word, word);
	else
		fprintf(stderr, "heldup: no %s '%s' (see heldup help)\n", kind, word);
	return CLI_USAGE;
}

/* For make install: `help --man [COMMAND]`, `help --completion [bash|zsh|fish]`. */
static int print_manual(char **args)
{
	CLEANUP(buf_release) struct buf out = {0};
	bool completion = strcmp(args[0], "--completion") == 0;
	const struct cmd *cmd = args[1] && !completion ? cmd_find(args[1]) : NULL;

	if (completion ? completion_put(args[1], &out) < 0 : args[1] && !cmd)
		return no_such(args[1]);
	if (cmd)
		man_command(cmd, &out);
	else if (!completion)
		man_program(&out);
	fputs(buf_str(&out), stdout);
	return fflush(stdout) == 0 ? CLI_OK : CLI_FAILED;
}

static int run_help(char **args)
{
	char help[] = "-h";
	char *ask[] = {help, NULL};
	const struct cmd *cmd;

	if (!args[0])
		return print_usage(stdout);
	if (strcmp(args[0], "--man") == 0 || strcmp(args[0], "--completion") == 0)
		return print_manual(args);
	cmd = cmd_find(args[0]);
	if (cmd)
		return cmd_run(cmd, ask);
	return no_such(args[0]);
}

/*
 * With a handler the write fails and is reported, as on a full disk.  Ignoring
 * the signal would do so too, but be handed down to a command we start.
 */
static void file_too_large(int sig)
{
	(void)sig;
}

/* A file opened in the place of a closed one would get what is printed. */
static void open_closed(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

/* Without arguments: how the host is, where heldup serve keeps that. */
static int run_plain(void)
{
	char *none[] = {NULL};

	if (access(SETTINGS_STATE "/heldup.db", F_OK) == 0)
		return cmd_run(cmd_find("status"), none);
	fputs("heldup: heldup serve has kept nothing on this host yet: begin with "
	      "sudo heldup serve, or look now with sudo heldup why PID\n\n", stderr);
	print_usage(stderr);
	return CLI_USAGE;
}

int main(int argc, char **argv)
{
	const struct cmd *cmd;

	open_closed();
	if (argc < 2)
		return run_plain();
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)
		return print_version();
	if (strcmp(argv[1], "help") == 0 || strcmp(argv[1], "--help") == 0 ||
	    strcmp(argv[1], "-h") == 0)
		return run_help(argv + 2);
	cmd = cmd_find(argv[1]);
	if (!cmd)
		return no_such(argv[1]);
	if (getenv("HELDUP_DEBUG"))
		log_set_level(LOG_DEBUG);
	stop_init();
	signal(SIGXFSZ, file_too_large);
	stdout_file_guard();
	return cmd_run(cmd, argv + 2);
}
