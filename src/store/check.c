/* SPDX-License-Identifier: Apache-2.0 */
#include "store/check.h"

#include <string.h>

#include "store/event_calls.h"

enum { STR_ID_LIMIT = 1 << 20 };

#define AT(type, field) ((uint16_t)offsetof(struct type, field))

/* Fields of each kind that hold the id of a string. */
static const struct {
	uint8_t kind;
	uint16_t off;
} str_fields[] = {
	{EV_META, AT(ev_meta, cmdline)},    {EV_META, AT(ev_meta, kernel)},
	{EV_META, AT(ev_meta, hostname)},   {EV_META, AT(ev_meta, version)},
	{EV_META, AT(ev_meta, selection)},  {EV_TASK, AT(ev_task, comm)},
	{EV_TASK, AT(ev_task, cgroup)},	    {EV_TASK, AT(ev_task, exe)},
	{EV_RES, AT(ev_res, name)},	    {EV_RES, AT(ev_res, peer_comm)},
	{EV_END, AT(ev_end, name)},	    {EV_END, AT(ev_end, peer_comm)},
	{EV_CULPRIT, AT(ev_culprit, comm)}, {EV_DISK, AT(ev_disk, comm)},
	{EV_DEV, AT(ev_dev, name)},	    {EV_CGROUP, AT(ev_cgroup, path)},
	{EV_LISTEN, AT(ev_listen, name)},   {EV_CONN, AT(ev_conn, peer_comm)},
	{EV_NOTE, AT(ev_note, text)},	    {EV_MEMBER, AT(ev_member, name)},
	{EV_KSTACK, AT(ev_kstack, frames)}, {EV_MODULE, AT(ev_module, path)},
	{EV_FRAME, AT(ev_frame, fn)},	    {EV_FRAME, AT(ev_frame, file)},
	{EV_CALL_NAME, AT(ev_call_name, name)}, {EV_WINDOW, AT(ev_window, reason)},
};

void event_check_release(struct event_check *c)
{
	vec_release(&c->strs);
}

static bool str_known(const struct event_check *c, uint32_t id)
{
	return id == 0 || (id / 64 < c->strs.cnt && c->strs.items[id / 64] >> id % 64 & 1);
}

static bool str_give(struct event_check *c, const struct event_hdr *ev)
{
	struct ev_str s;

	if (ev->size < sizeof(s))
		return false;
	memcpy(&s, ev, sizeof(s));
	if (s.id == 0 || s.id > STR_ID_LIMIT || s.len > ev->size - sizeof(s))
		return false;
	while (c->strs.cnt <= s.id / 64)
		vec_push(&c->strs, 0);
	c->strs.items[s.id / 64] |= UINT64_C(1) << s.id % 64;
	if (s.id > c->str_max)
		c->str_max = s.id;
	return true;
}

static bool strs_known(const struct event_check *c, const struct event_hdr *ev)
{
	uint32_t id;

	for (size_t i = 0; i < sizeof(str_fields) / sizeof(*str_fields); i++) {
		if (str_fields[i].kind != ev->kind ||
		    str_fields[i].off + sizeof(id) > ev->size)
			continue;
		memcpy(&id, (const char *)ev + str_fields[i].off, sizeof(id));
		if (!str_known(c, id))
			return false;
	}
	return true;
}

/* These say themselves how long they are, as strings do. */
static bool stack_fits(const struct event_hdr *ev)
{
	struct ev_stack s;
	size_t cnt;

	if (ev->size < sizeof(s))
		return false;
	memcpy(&s, ev, sizeof(s));
	cnt = (size_t)s.user_cnt + s.kernel_cnt;
	return s.id && s.id <= EVENT_STACK_MAX && cnt && cnt <= EVENT_FRAMES_MAX &&
	       cnt * sizeof(uint64_t) <= ev->size - sizeof(s);
}

static bool calls_fit(const struct event_hdr *ev)
{
	struct ev_calls e;

	if (ev->size < sizeof(e))
		return false;
	memcpy(&e, ev, sizeof(e));
	return e.cnt <= (ev->size - sizeof(e)) / sizeof(struct ev_call);
}

static bool module_fits(const struct event_hdr *ev)
{
	struct ev_module e;

	if (ev->size < sizeof(e))
		return false;
	memcpy(&e, ev, sizeof(e));
	return e.id && e.id <= EVENT_MODULE_MAX && e.build_id_len <= EVENT_BUILD_ID_MAX;
}

static bool fits(const struct event_hdr *ev)
{
	switch (ev->kind) {
	case EV_STACK:
		return stack_fits(ev);
	case EV_MODULE:
		return module_fits(ev);
	case EV_FRAME:
		return ev->size >= sizeof(struct ev_frame) &&
		       ((const struct ev_frame *)ev)->depth <= EVENT_INLINE_MAX;
	case EV_SAMPLE:
		return ev->size >= sizeof(struct ev_sample);
	case EV_CALLS:
		return calls_fit(ev);
	default:
		return true;
	}
}

enum event_verdict event_check(struct event_check *c, const void *data, size_t left)
{
	const struct event_hdr *ev = data;

	if (left < sizeof(*ev) || ev->size < sizeof(*ev) || ev->size % 8 ||
	    ev->size > EVENT_MAX_BYTES || ev->size > left)
		return EVENT_BROKEN;
	/* waits are most of all records and name no string */
	if (ev->kind == EV_WAIT)
		return EVENT_PASS;
	if (ev->kind == EV_STR ? str_give(c, ev) : strs_known(c, ev) && fits(ev))
		return EVENT_PASS;
	c->skipped_cnt++;
	return EVENT_SKIP;
}
