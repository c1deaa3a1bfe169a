/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes are a file of `heldup requests --record`: whatever is in it, it is refused or
 * its events are such that src/paths makes requests of them.
 */
#include "fuzz.h"

#include "base/err.h"
#include "cli/files/path_file.h"
#include "collect/paths/paths_watch.h"
#include "paths/paths.h"

static void put_port(void *ctx, uint16_t port)
{
	paths_serves(ctx, port);
}

static void put_process(void *ctx, uint32_t tgid, const char *comm, bool switches)
{
	(void)comm;
	if (switches)
		paths_switches(ctx, tgid);
}

static void put_event(void *ctx, const struct path_event *e)
{
	paths_add(ctx, e);
}

static void slice_end(void *ctx)
{
	paths_gap(ctx, 0, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct paths *p = paths_new();
	const struct paths_sink sink = {.ctx = p, .port = put_port, .process = put_process,
					.event = put_event, .slice_end = slice_end};
	struct path_file_head head;
	struct paths_watched watched;
	struct err err = {0};

	if (path_file_head((const char *)data, size, &head, &err) == 0)
		path_file_play((const char *)data, size, &sink, &watched, &err);
	paths_finish(p);
	paths_free(p);
	return 0;
}
