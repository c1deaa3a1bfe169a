/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RARE_NAMES_H
#define RARE_NAMES_H
/*
 * Ids that look like words ("GET /s/a8f3k2", "GET /user/alice"), so that one name alone
 * does not show them (fold.h).  At one place of a path they are many values, nearly each
 * of them rare.  They become "{id}" when all names are known.
 *
 *	rare_new, rare_add for every span, rare_settle, rare_name ..., rare_free
 *
 * The order of spans changes nothing.  Bounds: RARE_NAMES_MAX names of services; of
 * more none is learned, or changed.
 */
#include <stdint.h>

struct rare;
struct strtab;
struct trace;
struct arena;

enum {
	/*
	 * A server's table of routes has fewer leaves below one node that are asked for once
	 * or twice in a recording; ids have no end, so a recording with fewer says enough anyway.
	 */
	RARE_VALUES_MIN = 32,
	/* Spans of a value: two requests and a retry.  Of so few requests nothing can be said. */
	RARE_CNT_MAX = 3,
	/* At a place so many are rare: some ids are popular, and of routes half are used. */
	RARE_SHARE_PCT = 90,
	RARE_NAMES_MAX = 1 << 20,
};

/* strings is borrowed until rare_free. */
struct rare *rare_new(struct strtab *strings);
void rare_free(struct rare *r);

void rare_add(struct rare *r, uint32_t service, uint32_t name);

/* Decides; returns how many names change. */
uint64_t rare_settle(struct rare *r);
uint32_t rare_name(const struct rare *r, uint32_t service, uint32_t name);

/* *ret is t with its names, whose spans are in arena where one changed. */
void rare_trace(const struct rare *r, const struct trace *t, struct arena *arena,
		struct trace *ret);

#endif /* RARE_NAMES_H */
