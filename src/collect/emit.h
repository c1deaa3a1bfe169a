/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EMIT_H
#define EMIT_H
/*
 * What a live collector writes events with: fills in the header, interns
 * strings (an EV_STR goes out before the first use) and remembers the first
 * error of the sink, so that collectors need not pass it up one by one.
 *
 *	struct emit e = {0};  emit_to(&e, sink)  emit_str, EMIT ...
 *	if (e.error < 0) ...  emit_release(&e)
 *
 * All-zero is valid once emit_to was called.  At most EMIT_STR_MAX strings
 * of EMIT_STR_LEN bytes each: what is longer is cut, what is over the number
 * gets id 0 and is counted in strs.refused_cnt (report as LOSS_STRINGS).
 */
#include <stdint.h>

#include "base/hash.h"
#include "store/event.h"

#define EMIT_STR_MAX 65536
#define EMIT_STR_LEN 1024

struct emit {
	struct event_sink *sink;
	struct strtab strs;
	uint64_t event_cnt, event_bytes; /* delivered */
	int error;			 /* first error of the sink, then nothing more is put */
};

/* The sink of the events that follow; the strings known so far stay known. */
void emit_to(struct emit *e, struct event_sink *sink);
void emit_release(struct emit *e);

/* Id of a string for an event field.  NULL and "" are 0. */
uint32_t emit_str(struct emit *e, const char *str);

/* ev->h.size must be a multiple of 8; use EMIT. */
void emit_put(struct emit *e, const struct event_hdr *ev);

/* Fills ev->h and puts it: EMIT(e, &ev, EV_LISTEN, 0, now_ns). */
#define EMIT(e, ev, kind_, tid_, ts_) EMIT_FLAGS(e, ev, kind_, tid_, ts_, 0)

#define EMIT_FLAGS(e, ev, kind_, tid_, ts_, flags_)                           \
	do {                                                                  \
		_Static_assert(sizeof(*(ev)) % 8 == 0, "size of an event");   \
		(ev)->h = (struct event_hdr){.size = sizeof(*(ev)),           \
					     .kind = (kind_),                 \
					     .flags = (flags_),               \
					     .tid = (tid_),                   \
					     .ts_ns = (ts_)};                 \
		emit_put((e), &(ev)->h);                                      \
	} while (0)

/* An EV_NOTE with formatted text. */
void emit_note(struct emit *e, enum note_kind what, uint64_t ts_ns, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

#endif /* EMIT_H */
