/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Answers that go on after their first part: rows of a large result, a body that
 * is passed on as it comes, "accepted" and then the result.
 *
 * The first send cannot tell, nor can any.  But a client that waited for the last
 * part speaks or hangs up right after it, while one that is pushed to speaks when
 * it likes, or never.  So each socket remembers of its last few answers in how
 * many the client did so, and in how many the last send came late; and so does the
 * conversation, for sockets that are new.  Where both happen, a request stays open
 * after the first send until its client speaks; it ended then at the last send
 * before that.
 *
 * An answer that goes on now and then, among many that do not, was closed too early
 * by then: where clients of this port speak soon after answers, it is made good
 * (answer_rest).
 */
#define PART_LATE_NS (10 * 1000 * NSEC_PER_USEC) /* an answer in one go takes less to send */
#define SPEAKS_SOON_NS (5 * 1000 * NSEC_PER_USEC) /* a program's turn, not a person's thought */
#define QUIET_NS (2000 * 1000 * NSEC_PER_USEC) /* no part and no word for so long: it was whole */
#define SAID_SHIFT 2 /* an average over some four answers: few come in a watch of slow ones */
#define SAID_SOON 192 /* of 255: three in four */
#define SAID_LATE 24  /* of 255: one of the last eight */

#define SAID_KNOWN 4 /* answers after which a socket goes by its own */

/* By port, also where each connection has a process of its own; else by conversation. */
u8 said_soon[65536] = {0};
u8 said_late[65536] = {0};

static __always_inline u32 said_at(const struct sk_ent *e)
{
	return (e->port ? e->port : e->end_idx) & 0xffff;
}

static __always_inline u8 said_drift(u8 avg, bool yes)
{
	u8 step = ((yes ? 255 - avg : avg) + (1 << SAID_SHIFT) - 1) >> SAID_SHIFT;

	return yes ? avg + step : avg - step;
}

/*
 * The client speaks again or hangs up, after an answer.  True: that went on after
 * its request was closed.
 */
static __always_inline bool said_learn(struct sk_ent *e, u64 now)
{
	u32 at = said_at(e);
	u64 first_ns = e->said_ns ? e->said_ns : e->idle_ns;
	bool soon = since(e->last_tx_ns, now) < SPEAKS_SOON_NS;
	bool late = since(first_ns, e->last_tx_ns) >= PART_LATE_NS;

	if (!first_ns || (e->open_ns && !e->said_ns))
		return false;
	said_soon[at] = said_drift(said_soon[at], soon);
	said_late[at] = said_drift(said_late[at], late);
	e->soon = said_drift(e->soon, soon);
	e->late = said_drift(e->late, late);
	if (e->said_cnt < SAID_KNOWN)
		e->said_cnt++;
	return !e->open_ns && soon && late && said_soon[at] >= SAID_SOON;
}

static __always_inline bool answer_goes_on(const struct sk_ent *e)
{
	u32 at = said_at(e);
	bool own = e->said_cnt == SAID_KNOWN;

	return (own ? e->soon : said_soon[at]) >= SAID_SOON &&
	       (own ? e->late : said_late[at]) >= SAID_LATE;
}
