/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/source.h"

#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"

struct source {
	const struct source_ops *ops;
	void *ctx;
};

struct source *source_new(const struct source_ops *ops, void *ctx)
{
	struct source *src = xcalloc(1, sizeof(*src));

	src->ops = ops;
	src->ctx = ctx;
	return src;
}

int source_step(struct source *src, struct event_sink *sink, struct err *err)
{
	return src->ops->step(src->ctx, sink, err);
}

void source_stop(struct source *src)
{
	src->ops->stop(src->ctx);
}

void source_full(struct source *src)
{
	if (src->ops->full)
		src->ops->full(src->ctx);
}

int source_add(struct source *src, uint32_t tgid)
{
	return src->ops->add ? src->ops->add(src->ctx, tgid) : -ENOTSUP;
}

void source_free(struct source *src)
{
	if (!src)
		return;
	src->ops->free(src->ctx);
	free(src);
}
