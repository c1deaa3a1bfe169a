/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/emit.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/bug.h"

void emit_to(struct emit *e, struct event_sink *sink)
{
	e->sink = sink;
	if (!e->strs.max_cnt)
		e->strs.max_cnt = EMIT_STR_MAX;
}

void emit_release(struct emit *e)
{
	strtab_release(&e->strs);
	*e = (struct emit){0};
}

void emit_put(struct emit *e, const struct event_hdr *ev)
{
	BUG_ON(!e->sink || ev->size % 8 || ev->size > EVENT_MAX_BYTES);
	if (e->error < 0)
		return;
	int err = e->sink->put(e->sink->ctx, ev);
	if (err < 0) {
		e->error = err;
		return;
	}
	e->event_cnt++;
	e->event_bytes += ev->size;
}

uint32_t emit_str(struct emit *e, const char *str)
{
	if (!str || !*str)
		return 0;
	uint32_t before = e->strs.cnt;
	size_t len = strnlen(str, EMIT_STR_LEN);
	uint32_t id = strtab_addn(&e->strs, str, len);
	if (id == 0 || e->strs.cnt == before)
		return id;

	union {
		struct ev_str ev;
		uint8_t bytes[sizeof(struct ev_str) + EMIT_STR_LEN + 8];
	} rec;
	size_t size = (sizeof(rec.ev) + len + 7) & ~(size_t)7;
	memset(&rec, 0, size);
	rec.ev.h.size = (uint16_t)size;
	rec.ev.h.kind = EV_STR;
	rec.ev.id = id;
	rec.ev.len = (uint32_t)len;
	memcpy(rec.bytes + sizeof(rec.ev), str, len);
	emit_put(e, &rec.ev.h);
	return id;
}

void emit_note(struct emit *e, enum note_kind what, uint64_t ts_ns, const char *fmt, ...)
{
	char text[EMIT_STR_LEN];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	struct ev_note note = {.what = what, .text = emit_str(e, text)};
	EMIT(e, &note, EV_NOTE, 0, ts_ns);
}
