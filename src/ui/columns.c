/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each table's columns: for a column the number it is ordered by and its
 * text.  Shares and rates are of the tick shown.  A '.' is nothing at all,
 * 0.0 is less than a twentieth of a per cent.
 */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fmt.h"
#include "base/hash.h"
#include "ui/cells.h"
#include "ui/thread_table.h"
#include "ui/view.h"

static double tick_s(const struct view *v)
{
	return v->end_ns > v->begin_ns ? (double)(v->end_ns - v->begin_ns) / 1e9 : 1.0;
}

static void put_number(double n, struct buf *out)
{
	char t[FMT_MAX];

	if (n <= 0)
		buf_addch(out, '.');
	else if (n < 9.95)
		buf_printf(out, "%.1f", n);
	else if (n < 99999)
		buf_printf(out, "%.0f", n);
	else
		buf_adds(out, fmt_count(t, (uint64_t)n));
}

static void put_count(uint64_t n, struct buf *out)
{
	char t[FMT_MAX];

	if (n == 0)
		buf_addch(out, '.');
	else if (n < 100000)
		buf_printf(out, "%llu", (unsigned long long)n);
	else
		buf_adds(out, fmt_count(t, n));
}

static void put_ns(uint64_t ns, struct buf *out)
{
	char t[FMT_MAX];

	buf_adds(out, ns ? fmt_ns(t, ns) : ".");
}

static void put_rate(double per_s, struct buf *out)
{
	if (per_s <= 0)
		buf_addch(out, '.');
	else if (per_s < 100)
		buf_printf(out, "%.2f", per_s);
	else
		buf_printf(out, "%.0f", per_s);
}

static void put_task(uint32_t tid, const char *comm, struct buf *out)
{
	buf_adds(out, comm);
	if (tid && strncmp(comm, "tid ", 4) != 0)
		buf_printf(out, "/%u", tid);
}

/* Letters in proportion to the states; the remainders go to the largest.  Blank: not there. */
static void draw_states(const uint64_t *ns, uint64_t all_ns, uint32_t width, struct cells *out)
{
	uint32_t part[VG_CNT], left = width;
	uint64_t rest[VG_CNT], there_ns = 0;

	for (unsigned g = 0; g < VG_CNT; g++) {
		part[g] = all_ns ? (uint32_t)(ns[g] * width / all_ns) : 0;
		rest[g] = all_ns ? ns[g] * width % all_ns : 0;
		left -= part[g] < left ? part[g] : left;
		there_ns += ns[g];
	}
	if (all_ns && there_ns < all_ns)
		left -= (uint32_t)((all_ns - there_ns) * width / all_ns);
	for (; left > 0 && left <= width && there_ns; left--) {
		unsigned best = 0;

		for (unsigned g = 1; g < VG_CNT; g++)
			if (rest[g] > rest[best])
				best = g;
		part[best] += rest[best] > 0;
		rest[best] = 0;
	}
	for (unsigned g = 0; g < VG_CNT; g++) {
		char letters[2] = {view_group_letter(g), 0};

		for (uint32_t i = 0; i < part[g] && width > 0; i++, width--)
			cells_put(out, LOOK_GROUP + g, 0, 1, letters);
	}
	if (width)
		cells_put(out, LOOK_PLAIN, 0, width, "");
}

#define THREAD(v, row) (&(v)->threads.items[row])
#define RES(v, row) (&(v)->res.items[row])
#define PROC(v, row) (&(v)->procs.items[row])
#define PAIR(v, row) (&(v)->pairs.items[row])

/* Defines fn_num and fn_text for a number written by put. */
#define NUMBER(fn, expr, put)                                                \
	static double fn##_num(const struct view *v, uint32_t row)           \
	{                                                                    \
		(void)v;                                                     \
		return (double)(expr);                                       \
	}                                                                    \
	static void fn##_text(const struct view *v, uint32_t row, struct buf *out) \
	{                                                                    \
		(void)v;                                                     \
		put((expr), out);                                            \
	}

#define TEXT(fn, body)                                                       \
	static void fn##_text(const struct view *v, uint32_t row, struct buf *out) \
	{                                                                    \
		body;                                                        \
	}

/* Share of the whole tick, also where the thread was there for less. */
static double share(const struct view *v, uint64_t ns)
{
	return (double)ns / 1e7 / tick_s(v);
}

static const char *res_name(const struct view *v, uint32_t res, unsigned cls)
{
	return res == NO_IDX ? wait_class_name(cls) : RES(v, res)->name;
}

/* Threads */
#define T_SHARE(fn, g) \
	NUMBER(fn, share(v, THREAD(v, row)->group_ns[g]), put_number)
NUMBER(t_tid, THREAD(v, row)->tid, put_count)
T_SHARE(t_run, VG_RUN)
T_SHARE(t_runq, VG_RUNQ)
T_SHARE(t_lock, VG_LOCK)
T_SHARE(t_net, VG_NET)
T_SHARE(t_poll, VG_POLL)
T_SHARE(t_disk, VG_DISK)
T_SHARE(t_mem, VG_MEM)
T_SHARE(t_idle, VG_IDLE)
NUMBER(t_waits, (double)THREAD(v, row)->wait_cnt / tick_s(v), put_number)
TEXT(t_comm, buf_adds(out, THREAD(v, row)->comm))
TEXT(t_proc, put_task(THREAD(v, row)->tgid, THREAD(v, row)->proc_comm, out))
TEXT(t_waker, put_task(THREAD(v, row)->waker.tid, view_waker_text(&THREAD(v, row)->waker), out))

static void t_on_text(const struct view *v, uint32_t row, struct buf *out)
{
	const struct view_thread *t = THREAD(v, row);

	if (t->top_ns)
		buf_adds(out, res_name(v, t->top_res, t->top_cls));
}

static void t_state_draw(const struct view *v, uint32_t row, uint32_t width, struct cells *out)
{
	draw_states(THREAD(v, row)->group_ns, v->end_ns - v->begin_ns, width, out);
}

#define NUM(fn) .num = fn##_num, .text = fn##_text
#define GRP(g) .group = (g) + 1

static const struct col thread_cols[] = {
	{"TID", 'T', 7, COL_RIGHT | COL_ASC, NUM(t_tid)},
	{"THREAD", 'C', 15, COL_ASC, .text = t_comm_text},
	{"STATE", 0, 8, COL_DROP4, .draw = t_state_draw},
	{"RUN%", 'R', 5, COL_RIGHT, NUM(t_run), GRP(VG_RUN)},
	{"RUNQ%", 'Q', 6, COL_RIGHT | COL_DROP4, NUM(t_runq), GRP(VG_RUNQ)},
	{"LOCK%", 'L', 6, COL_RIGHT | COL_DROP4, NUM(t_lock), GRP(VG_LOCK)},
	{"NET%", 'N', 5, COL_RIGHT | COL_DROP4, NUM(t_net), GRP(VG_NET)},
	{"POLL%", 'P', 6, COL_RIGHT | COL_DROP2, NUM(t_poll), GRP(VG_POLL)},
	{"DISK%", 'D', 6, COL_RIGHT | COL_DROP4, NUM(t_disk), GRP(VG_DISK)},
	{"MEM%", 'M', 5, COL_RIGHT | COL_DROP2, NUM(t_mem), GRP(VG_MEM)},
	{"IDLE%", 'I', 6, COL_RIGHT | COL_DROP2, NUM(t_idle), GRP(VG_IDLE)},
	{"WAIT/S", 'W', 7, COL_RIGHT | COL_DROP2, NUM(t_waits)},
	{"WAITS ON", 'O', 14, COL_ASC | COL_TAIL | COL_FLEX, .text = t_on_text},
	{"HELD UP BY", 'K', 18, COL_ASC | COL_DROP3, .text = t_waker_text},
	{"PROCESS", 'X', 20, COL_ASC | COL_DROP1, .text = t_proc_text},
};

/* Resources */
NUMBER(r_wait, (double)RES(v, row)->wait_ns / 1e9 / tick_s(v), put_rate)
NUMBER(r_waits, (double)RES(v, row)->wait_cnt / tick_s(v), put_number)
NUMBER(r_wakes, (double)RES(v, row)->wake_cnt / tick_s(v), put_number)
NUMBER(r_max, RES(v, row)->max_ns, put_ns)
NUMBER(r_waiters, RES(v, row)->waiter_cnt, put_count)
NUMBER(r_waiting, RES(v, row)->waiting_cnt, put_count)
NUMBER(r_wakers, RES(v, row)->waker_cnt, put_count)
TEXT(r_cls, buf_adds(out, wait_class_name(RES(v, row)->cls)))
TEXT(r_name, buf_adds(out, RES(v, row)->name))
TEXT(r_waker, put_task(RES(v, row)->waker.tid, view_waker_text(&RES(v, row)->waker), out))
TEXT(r_peer, buf_adds(out, RES(v, row)->peer))

static const struct col res_cols[] = {
	{"WAIT S/S", 'H', 9, COL_RIGHT, NUM(r_wait)},
	{"CLASS", 'C', 7, COL_ASC | COL_DROP4, .text = r_cls_text},
	{"RESOURCE", 'O', 20, COL_ASC | COL_TAIL | COL_FLEX, .text = r_name_text},
	{"WAIT/S", 'W', 7, COL_RIGHT | COL_DROP4, NUM(r_waits)},
	{"WAKE/S", 'U', 7, COL_RIGHT | COL_DROP2, NUM(r_wakes)},
	{"LONGEST", 'M', 9, COL_RIGHT, NUM(r_max)},
	{"WAITERS", 'T', 8, COL_RIGHT | COL_DROP4, NUM(r_waiters)},
	{"NOW", 'N', 5, COL_RIGHT | COL_DROP4, NUM(r_waiting)},
	{"WAKERS", 'S', 7, COL_RIGHT | COL_DROP2, NUM(r_wakers)},
	{"HELD UP BY", 'K', 18, COL_ASC | COL_DROP3, .text = r_waker_text},
	{"OTHER END", 'X', 15, COL_ASC | COL_DROP1, .text = r_peer_text},
};

/* Processes: times are in threads, 2.00 is two threads all the time */
#define P_RATE(fn, g) NUMBER(fn, (double)PROC(v, row)->group_ns[g] / 1e9 / tick_s(v), put_rate)
NUMBER(p_pid, PROC(v, row)->tgid, put_count)
NUMBER(p_threads, PROC(v, row)->thread_cnt, put_count)
P_RATE(p_run, VG_RUN)
P_RATE(p_runq, VG_RUNQ)
P_RATE(p_lock, VG_LOCK)
P_RATE(p_net, VG_NET)
P_RATE(p_poll, VG_POLL)
P_RATE(p_disk, VG_DISK)
P_RATE(p_mem, VG_MEM)
NUMBER(p_turns, (double)PROC(v, row)->turns / tick_s(v), put_number)
NUMBER(p_service, PROC(v, row)->turns ? PROC(v, row)->service_ns / PROC(v, row)->turns : 0, put_ns)
NUMBER(p_open, PROC(v, row)->open, put_count)
NUMBER(p_unread, PROC(v, row)->unread, put_count)
NUMBER(p_out, PROC(v, row)->out, put_count)
TEXT(p_comm, buf_adds(out, PROC(v, row)->comm))

static double p_rss_num(const struct view *v, uint32_t row)
{
	return (double)PROC(v, row)->rss_bytes;
}

static void p_rss_text(const struct view *v, uint32_t row, struct buf *out)
{
	char t[FMT_MAX];

	buf_adds(out, PROC(v, row)->rss_bytes ? fmt_bytes(t, PROC(v, row)->rss_bytes) : ".");
}

static void p_state_draw(const struct view *v, uint32_t row, uint32_t width, struct cells *out)
{
	draw_states(PROC(v, row)->group_ns,
		    (v->end_ns - v->begin_ns) * PROC(v, row)->thread_cnt, width, out);
}

static const struct col proc_cols[] = {
	{"PID", 'T', 7, COL_RIGHT | COL_ASC, NUM(p_pid)},
	{"PROCESS", 'C', 15, COL_ASC | COL_FLEX, .text = p_comm_text},
	{"THR", 'H', 5, COL_RIGHT | COL_DROP4, NUM(p_threads)},
	{"STATE", 0, 8, COL_DROP4, .draw = p_state_draw},
	{"RUN", 'R', 5, COL_RIGHT, NUM(p_run), GRP(VG_RUN)},
	{"RUNQ", 'Q', 5, COL_RIGHT | COL_DROP4, NUM(p_runq), GRP(VG_RUNQ)},
	{"LOCK", 'L', 5, COL_RIGHT | COL_DROP4, NUM(p_lock), GRP(VG_LOCK)},
	{"NET", 'N', 5, COL_RIGHT | COL_DROP4, NUM(p_net), GRP(VG_NET)},
	{"POLL", 'P', 5, COL_RIGHT | COL_DROP2, NUM(p_poll), GRP(VG_POLL)},
	{"DISK", 'D', 5, COL_RIGHT | COL_DROP4, NUM(p_disk), GRP(VG_DISK)},
	{"MEM", 'M', 5, COL_RIGHT | COL_DROP2, NUM(p_mem), GRP(VG_MEM)},
	{"REQ/S", 'S', 7, COL_RIGHT, NUM(p_turns)},
	{"SERVICE", 'V', 8, COL_RIGHT | COL_DROP2, NUM(p_service)},
	{"OPEN", 'O', 5, COL_RIGHT | COL_DROP2, NUM(p_open)},
	{"UNREAD", 'U', 6, COL_RIGHT | COL_DROP2, NUM(p_unread)},
	{"ASKED", 'A', 5, COL_RIGHT | COL_DROP2, NUM(p_out)},
	{"RSS", 'B', 9, COL_RIGHT | COL_DROP2, NUM(p_rss)},
};

/* Pairs */
NUMBER(w_wait, (double)PAIR(v, row)->ns / 1e9 / tick_s(v), put_rate)
NUMBER(w_waits, (double)PAIR(v, row)->cnt / tick_s(v), put_number)
NUMBER(w_max, PAIR(v, row)->max_ns, put_ns)
TEXT(w_cls, buf_adds(out, wait_class_name(PAIR(v, row)->cls)))
TEXT(w_waiter, put_task(PAIR(v, row)->tid, PAIR(v, row)->comm, out))
TEXT(w_name, buf_adds(out, res_name(v, PAIR(v, row)->res, PAIR(v, row)->cls)))

static void w_waker_text(const struct view *v, uint32_t row, struct buf *out)
{
	const struct view_pair *p = PAIR(v, row);

	if (p->waker.ctx == WAKER_NONE && p->waker.tid)
		buf_printf(out, "(held by %s/%u)", p->waker.comm, p->waker.tid);
	else if (p->waker.ctx == WAKER_NONE)
		buf_adds(out, p->waiting_cnt ? "(still waits)" : "(not seen)");
	else
		put_task(p->waker.tid, view_waker_text(&p->waker), out);
}

static const struct col pair_cols[] = {
	{"WAIT S/S", 'H', 9, COL_RIGHT, NUM(w_wait)},
	{"WAIT/S", 'W', 7, COL_RIGHT | COL_DROP2, NUM(w_waits)},
	{"LONGEST", 'M', 9, COL_RIGHT | COL_DROP4, NUM(w_max)},
	{"WAITER", 'T', 22, COL_ASC, .text = w_waiter_text},
	{"CLASS", 'C', 7, COL_ASC | COL_DROP2, .text = w_cls_text},
	{"RESOURCE", 'O', 15, COL_ASC | COL_TAIL | COL_FLEX, .text = w_name_text},
	{"WAKER", 'K', 21, COL_ASC, .text = w_waker_text},
};

/* Rows */
static uint32_t t_cnt(const struct view *v) { return (uint32_t)v->threads.cnt; }
static uint32_t r_cnt(const struct view *v) { return (uint32_t)v->res.cnt; }
static uint32_t p_cnt(const struct view *v) { return (uint32_t)v->procs.cnt; }
static uint32_t w_cnt(const struct view *v) { return (uint32_t)v->pairs.cnt; }
static uint64_t t_id(const struct view *v, uint32_t row) { return THREAD(v, row)->tid; }
static uint64_t r_id(const struct view *v, uint32_t row) { return RES(v, row)->id; }
static uint64_t p_id(const struct view *v, uint32_t row) { return PROC(v, row)->tgid; }

static uint64_t w_id(const struct view *v, uint32_t row)
{
	const struct view_pair *p = PAIR(v, row);
	struct { uint64_t res; uint32_t tid, waker; uint64_t cls; } key = {
		.res = p->res == NO_IDX ? 0 : RES(v, p->res)->id, .tid = p->tid,
		.waker = p->waker.tid, .cls = (uint64_t)p->cls << 8 | p->waker.ctx };

	return hash_bytes(&key, sizeof(key));
}

static bool t_belongs(const struct view *v, uint32_t row, const struct scope *s)
{
	const struct view_thread *t = THREAD(v, row);

	if (s->by_tgid && t->tgid != s->tgid)
		return false;
	return !s->hide_idle || t->ns[ST_RUN] || t->ns[ST_RUNQ] || t->wait_cnt;
}

static bool r_belongs(const struct view *v, uint32_t row, const struct scope *s)
{
	return !s->hide_idle || RES(v, row)->wait_cnt;
}

static bool p_belongs(const struct view *v, uint32_t row, const struct scope *s)
{
	return !s->hide_idle || PROC(v, row)->wait_cnt || PROC(v, row)->ns[ST_RUN];
}

static bool w_belongs(const struct view *v, uint32_t row, const struct scope *s)
{
	const struct view_pair *p = PAIR(v, row);

	if (s->by_tid && p->tid != s->tid)
		return false;
	if (s->by_tgid && THREAD(v, p->thread)->tgid != s->tgid)
		return false;
	if (s->by_res && (p->res == NO_IDX || RES(v, p->res)->id != s->res))
		return false;
	return true;
}

static void t_names(const struct view *v, uint32_t row, struct buf *out)
{
	buf_printf(out, "%u %s %s ", THREAD(v, row)->tid, THREAD(v, row)->comm,
		   THREAD(v, row)->proc_comm);
	t_on_text(v, row, out);
}

static void r_names(const struct view *v, uint32_t row, struct buf *out)
{
	buf_printf(out, "%s %s %s", RES(v, row)->name, RES(v, row)->peer,
		   wait_class_name(RES(v, row)->cls));
}

static void p_names(const struct view *v, uint32_t row, struct buf *out)
{
	buf_printf(out, "%u %s", PROC(v, row)->tgid, PROC(v, row)->comm);
}

static void w_names(const struct view *v, uint32_t row, struct buf *out)
{
	w_waiter_text(v, row, out);
	buf_addch(out, ' ');
	w_name_text(v, row, out);
	buf_addch(out, ' ');
	w_waker_text(v, row, out);
}

#define COLS(a) .cols = (a), .col_cnt = sizeof(a) / sizeof((a)[0])

const struct table table_defs[TABLE_CNT] = {
	[TABLE_THREADS] = {"threads", COLS(thread_cols), 3, t_cnt, t_id, t_belongs, t_names},
	[TABLE_RES] = {"resources", COLS(res_cols), 0, r_cnt, r_id, r_belongs, r_names},
	[TABLE_PROCS] = {"processes", COLS(proc_cols), 4, p_cnt, p_id, p_belongs, p_names},
	[TABLE_PAIRS] = {"pairs", COLS(pair_cols), 0, w_cnt, w_id, w_belongs, w_names},
};
