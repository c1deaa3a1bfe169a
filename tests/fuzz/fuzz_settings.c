/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes are a heldup.conf; its lines are also taken as values of --service. */
#include "fuzz.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/bug.h"
#include "base/err.h"
#include "serve/http.h"
#include "serve/settings.h"

static void complain(void *ctx, int line, const char *what)
{
	(void)ctx;
	BUG_ON(line < 0 || !*what);
}

/* What the rest takes for granted of settings that were accepted. */
static void check(const struct settings *s)
{
	struct err err = {0};

	BUG_ON(s->service_cnt > SETTINGS_SERVICES_MAX || !s->state || !s->listen);
	BUG_ON(!isfinite(s->budget) || s->budget < 0 || s->budget > 1);
	BUG_ON(!s->keep_bytes || !s->keep_ns || !s->window_ns);
	for (size_t i = 0; i < s->service_cnt; i++)
		BUG_ON(!*s->services[i].name || strlen(s->services[i].name) > 63);
	http_check(s, &err);
}

static void by_option(const char *text)
{
	struct settings s;
	struct err err = {0};

	settings_init(&s);
	if (settings_service(&s, text, &err) == 0)
		check(&s);
	settings_release(&s);
}

/*
 * A regular expression of repetitions of repetitions takes as much memory as one likes: it
 * is root's own line, and the library's to bound.
 */
static bool is_heavy(const uint8_t *data, size_t size)
{
	size_t cnt = 0;

	for (size_t i = 0; i < size; i++)
		cnt += data[i] && strchr("+*?{", data[i]);
	return cnt > 6;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err err = {0};
	struct buf text = {0};
	struct settings s;
	char path[64];
	int fd;

	if (is_heavy(data, size))
		return 0;
	fd = memfd_create("fuzz", MFD_CLOEXEC);
	BUG_ON(fd < 0 || write(fd, data, size) != (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	settings_init(&s);
	if (settings_read(&s, path, complain, NULL, &err) == 0)
		check(&s);
	settings_release(&s);
	close(fd);
	buf_add(&text, data, size);
	by_option(buf_str(&text));
	buf_release(&text);
	return 0;
}
