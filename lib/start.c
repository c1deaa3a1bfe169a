/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

static bool started;

/* The child of a fork has no threads of ours: all is off in it until it starts them itself. */
static void child_begin(void)
{
	switches_forget();
	export_forget();
	started = false;
}

static const char *or_env(const char *given, const char *name, const char *otherwise)
{
	const char *env = getenv(name);

	return given && *given ? given : env && *env ? env : otherwise;
}

/* http://HOST[:PORT][/]; a longer host than there is room for is none. */
static int endpoint_parse(const char *url)
{
	unsigned port = 4318;
	char rest = '\0';
	int n = sscanf(url, "http://%63[^:/]:%u%c", settings.host, &port, &rest);

	if (n < 1 || port == 0 || port > 65535 || (n == 3 && rest != '/'))
		return -EINVAL;
	settings.port = (uint16_t)port;
	return 0;
}

int heldup_start_points(const struct heldup_opts *opts, struct heldup_point *from,
			struct heldup_point *to)
{
	struct heldup_opts o = opts ? *opts : (struct heldup_opts){0};
	static bool watches_forks;
	char pid[16];
	int err;

	if (started)
		return -EALREADY;
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	snprintf(settings.service, sizeof(settings.service), "%s",
		 or_env(o.service, "OTEL_SERVICE_NAME", program_invocation_short_name));
	snprintf(settings.instance, sizeof(settings.instance), "%s",
		 o.instance ? o.instance : pid);
	err = endpoint_parse(or_env(o.endpoint, "HELDUP_ENDPOINT", "http://127.0.0.1:4318"));
	if (err == 0)
		err = queue_init();
	if (err)
		return err;
	(void)heldup_add_points(from, to); /* those over the limit are counted */
	if (!watches_forks)
		watches_forks = pthread_atfork(NULL, NULL, child_begin) == 0;
	cost_measure();
	publish_process();
	err = switches_begin();
	if (err == 0)
		err = export_begin();
	if (err)
		switches_end();
	started = err == 0;
	return err;
}

void heldup_stop(void)
{
	if (!started)
		return;
	switches_end();
	export_end();
	started = false;
}
