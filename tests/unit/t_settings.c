/* SPDX-License-Identifier: Apache-2.0 */
/* The settings of heldup serve. */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/err.h"
#include "serve/settings.h"
#include "unit.h"

struct complaints {
	int lines[8];
	unsigned cnt;
};

static void complain(void *ctx, int line, const char *what)
{
	struct complaints *c = ctx;

	(void)what;
	if (c->cnt < 8)
		c->lines[c->cnt++] = line;
}

static int read_text(struct settings *s, const char *text, struct complaints *c)
{
	char path[] = "/tmp/heldup-settings-XXXXXX";
	struct err err = {0};
	int fd = mkstemp(path), rc;
	FILE *f = fdopen(fd, "w");

	OK(f != NULL);
	fputs(text, f);
	fclose(f);
	settings_init(s);
	rc = settings_read(s, path, complain, c, &err);
	unlink(path);
	return rc;
}

TEST(settings_right)
{
	struct complaints c = {0};
	struct settings s;

	EQ_U(read_text(&s, "# a comment\n[serve]\nkeep-size = 2G\nkeep-age = 7d\nbudget = 0.5%\n"
			   "listen = none\nwindow = 2m\n\n[service web]\nport = 80\np99 = 200ms\n"
			   "[service db]\nunit = postgresql.service ; the cluster\n", &c), 0);
	EQ_U(c.cnt, 0);
	EQ_U(s.keep_bytes, 2ull << 30);
	EQ_U(s.keep_ns, 7 * 24 * 3600 * NS_PER_SEC);
	EQ_U(s.window_ns, 120 * NS_PER_SEC);
	EQ_S(s.listen, "");
	OK(s.budget > 0.0049 && s.budget < 0.0051);
	EQ_U(s.service_cnt, 2);
	EQ_S(s.services[0].name, "web");
	EQ_U((uint64_t)s.services[0].select.port, 80);
	EQ_U(s.services[0].p99_ns, 200 * NS_PER_MS);
	EQ_S(s.services[1].select.unit, "postgresql.service");
	settings_release(&s);
}

TEST(settings_wrong_lines)
{
	static const struct {
		const char *text;
		int line;
	} rows[] = {
		{"[serve]\nkeep-size = much\n", 2},
		{"[serve]\n\nkeep = 1\n", 3},
		{"[serve]\nbudget = 200%\n", 2},
		{"[serve]\nwindow = 2h\n", 2},
		{"[other]\na = b\n", 2},
		{"[service web]\nport = 0\n", 2},
		{"[service web]\nport = 80x\n", 2},
		{"[service web]\ncomm = (\n", 2},
		{"[service ../x]\nport = 1\n", 2},
		{"[service web]\np99 = 1s\n", 0}, /* which processes? */
		{"[serve]\nno equals sign\n", 2},
		{"[serve]\nkeep-age = 0\n", 2},
		{"[serve]\nkeep-age = 0s\n", 2},
		{"[serve]\nkeep-age = 59s\n", 2},
		{"[serve]\nkeep-age = 0d\n", 2},
		{"[serve]\nkeep-age = -1d\n", 2},
		{"[serve]\nkeep-age = nand\n", 2},
		{"[serve]\nkeep-age = 0.0001d\n", 2},
		{"[serve]\nkeep-age = 1001d\n", 2},
		{"[serve]\nkeep-size = 0\n", 2},
		{"[serve]\nkeep-size = 0.1\n", 2},
		{"[serve]\nkeep-size = nan\n", 2},
		{"[serve]\nkeep-size = 1023K\n", 2},
		{"[serve]\nbudget = -1\n", 2},
		{"[serve]\nbudget = nan\n", 2},
		{"[serve]\nwindow = 0\n", 2},
		{"[serve]\nstate =\n", 2},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct complaints c = {0};
		struct settings s;

		ROW(i);
		OK(read_text(&s, rows[i].text, &c) < 0);
		OK(c.cnt > 0);
		EQ_U((unsigned)c.lines[0], (unsigned)rows[i].line);
		settings_release(&s);
	}
}

TEST(settings_at_their_ends)
{
	struct complaints c = {0};
	struct settings s;

	EQ_I(read_text(&s, "[serve]\nkeep-size = 1M\nkeep-age = 1m\nbudget = 0\nwindow = 1h\n"
			   "listen =\non-finding =\nwebhook =\ntoken =\n", &c), 0);
	EQ_U(s.keep_bytes, 1 << 20);
	EQ_U(s.keep_ns, 60 * NS_PER_SEC);
	OK(s.budget == 0);
	EQ_U(s.window_ns, 3600 * NS_PER_SEC);
	EQ_S(s.listen, "");
	settings_release(&s);
	EQ_I(read_text(&s, "[serve]\nkeep-size = 900T\nkeep-age = 1000d\nbudget = 100%\n"
			   "window = 10s\n", &c), 0);
	EQ_U(s.keep_ns, 1000 * 24 * 3600 * NS_PER_SEC);
	settings_release(&s);
}

TEST(settings_service_words)
{
	struct settings s;
	struct err err = {0};

	settings_init(&s);
	EQ_U(settings_service(&s, "web=port:80", &err), 0);
	EQ_U(settings_service(&s, "db=unit:x.service", &err), 0);
	OK(settings_service(&s, "web", &err) < 0);
	OK(settings_service(&s, "a=b", &err) < 0);
	OK(settings_service(&s, "a b=port:1", &err) < 0);
	OK(settings_service(&s, "a=pid:none", &err) < 0);
	settings_release(&s);
}
