/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INJECT_OPTS_H
#define INJECT_OPTS_H
/*
 * What --inject means: "POINT:LAW", where POINT is "SERVICE NAME", or NAME
 * where only one service has it, and LAW is one of
 *
 *	uniform,TIME		0 to TIME, drawn anew each time
 *	constant,TIME
 *	queue,TIME		TIME for each in a queue, whose length is a key
 *	key,NAME,TIME		TIME times the value of the key NAME
 *	key,NAME=TEXT,TIME	TIME where the key NAME is TEXT
 *
 * with ",exit" (before it ends, not when it begins), ",share=0.3" (of the
 * requests) and ",with=1" (one draw for all of that number).  TIME is "20ms"
 * or "3x", which is three times the mean request.
 */
#include <stddef.h>

#include "requests/replay/inject.h"

struct err;
struct points;
struct strtab;

struct inject_names {
	const struct points *points; /* those there are */
	struct strtab *strings;
	double mean_ns;		     /* what x stands for */
};

int inject_parse(const struct inject_names *names, const char *text, struct injection *ret,
		 struct err *err);

#endif /* INJECT_OPTS_H */
