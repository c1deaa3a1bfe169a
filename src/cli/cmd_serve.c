/* SPDX-License-Identifier: Apache-2.0 */
/* heldup as a service of the host: src/serve does the work. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/rights.h"
#include "cli/opts/cmd.h"
#include "serve/http.h"
#include "serve/serve.h"
#include "serve/settings.h"
#include "serve/tell/webhook_post.h"

struct serve_opts {
	const char *config, *state, *listen;
	struct opt_list services;
	bool check;
};

static void complain(void *ctx, int line, const char *what)
{
	const char *path = ctx;

	if (line)
		fprintf(stderr, "%s:%d: %s\n", path, line, what);
	else
		fprintf(stderr, "%s: %s\n", path, what);
}

/* The file first, then what the command line says.  The usual file need not be there. */
static int settings_make(const struct serve_opts *o, struct settings *s, struct err *err)
{
	const char *path = o->config ? o->config : SETTINGS_FILE;
	int rc;

	settings_init(s);
	rc = o->config || access(path, F_OK) == 0
		     ? settings_read(s, path, complain, (void *)(uintptr_t)path, err) : 0;
	if (o->state)
		s->state = o->state;
	if (o->listen)
		s->listen = strcmp(o->listen, "none") == 0 ? "" : o->listen;
	for (size_t i = 0; i < o->services.cnt && rc == 0; i++)
		rc = settings_service(s, o->services.items[i], err);
	return rc;
}

static int serve_main(struct cli *cli, int argc, char **argv)
{
	const struct serve_opts *o = cli->opts;
	struct settings settings;
	struct err err = {0};
	int rc = settings_make(o, &settings, &err);

	(void)argc;
	(void)argv;
	if (rc == 0)
		rc = http_check(&settings, &err);
	if (rc == 0 && settings.announce.webhook && *settings.announce.webhook)
		rc = post_check(settings.announce.webhook, &err);
	if (rc == 0 && o->check)
		printf("%s: fine\n", o->config ? o->config : SETTINGS_FILE);
	else if (rc == 0 && geteuid() != 0 && !rights_have(rights_of_watch()))
		rc = err_rights(&err, -EPERM, "watching needs root: sudo heldup serve");
	if (rc == 0 && !o->check) {
		log_set_level(LOG_INFO);
		rc = serve_run(&settings, &err);
	}
	settings_release(&settings);
	return rc < 0 ? cli_fail(cli, &err) : CLI_OK;
}

static const struct opt serve_opt_table[] = {
	{.type = OPT_LIST, .long_name = "service", .metavar = "NAME=HOW",
	 .help = "watch these: NAME=port:80, =unit:U, =comm:RE, =pid:N",
	 OPT_AT(struct serve_opts, services)},
	{.type = OPT_STRING, .long_name = "config", .metavar = "FILE",
	 .help = "read settings from FILE (" SETTINGS_FILE ")",
	 OPT_AT(struct serve_opts, config)},
	{.type = OPT_FLAG, .long_name = "check", .help = "check the settings and do nothing else",
	 OPT_AT(struct serve_opts, check)},
	{.type = OPT_STRING, .long_name = "state", .metavar = "DIR",
	 .help = "keep findings in DIR (" SETTINGS_STATE ")", OPT_AT(struct serve_opts, state)},
	{.type = OPT_STRING, .long_name = "listen", .metavar = "ADDR:PORT",
	 .help = "serve pages there, none: nowhere (127.0.0.1:4319)",
	 OPT_AT(struct serve_opts, listen)},
	OPT_END,
};

const struct cmd cmd_serve = {
	.name = "serve",
	.help = "watch the host's services all the time and keep findings",
	.about = "Watches all services of the host in one go, the last minute kept in memory.\n"
		 "When one gets slow, hangs, refuses or crashes it keeps that minute and some\n"
		 "seconds more, judges them as `heldup why` does, and keeps the finding until\n"
		 "`heldup`, `heldup log` and `heldup show` ask.  Needs no baseline and no tuning.",
	.examples = "  sudo heldup serve                          # all that listen on TCP\n"
		    "  sudo heldup serve --service web=port:80    # only this\n"
		    "  heldup serve --check                       # are the settings right?\n"
		    "  heldup                                     # what was wrong here today?",
	.opts = serve_opt_table,
	.opts_size = sizeof(struct serve_opts),
	.run = serve_main,
};
