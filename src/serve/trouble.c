/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/trouble.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "serve/tell/announce.h"
#include "serve/keep/db.h"
#include "serve/judge.h"
#include "serve/notice.h"
#include "serve/settings.h"
#include "store/cut.h"

/* Detail after the trigger: what hangs is seen to hang on, and the answer comes in time. */
#define AFTER_NS (3 * NS_PER_SEC)

/* Trouble that is back so soon is the same one. */
#define AGAIN_NS (120 * NS_PER_SEC)

/* A trouble that lasts is judged again where the first look said little, so often. */
#define LOOK_AGAIN_NS (30 * NS_PER_SEC)
#define LOOKS_MAX 3

/* Each capture costs a second of a CPU: a service that flaps all day is not judged all day. */
#define CAPTURES_PER_HOUR 30

/* A trouble that was over so long before its capture ended is judged until then. */
#define OVER_NS (3 * NS_PER_SEC / 2)

/* A shorter one, as a crash is, with what came after it: of a second little can be said. */
#define SHORT_NS (5 * NS_PER_SEC)

/* A wall clock that was set is believed so long after: a wrong time is set right by then. */
#define CLOCK_TRUST_NS (3600 * NS_PER_SEC)

#define MINUTE_NS (60 * NS_PER_SEC)
#define JSON_MAX (64u << 20)
#define SEED_NS (24 * 3600 * NS_PER_SEC)

struct watched {
	bool is_known;
	struct db_service row;
	struct rules rules;
	struct db_finding finding;  /* id 0: none yet; end_ns 0: it lasts */
	uint64_t from_ns;	    /* when the trouble began this time, */
	uint64_t bad_ns;	    /* and the last second with a condition of it */
	uint64_t look_ns;	    /* CLOCK_REALTIME of the last order */
	uint32_t look_cnt;
	struct db_minute minute;
	uint64_t hist[EVENT_HIST_CNT];
	uint64_t bound_ns;
};

struct findings {
	const struct settings *settings;
	struct db *db;
	struct judge *judge;
	struct announce *announce;
	findings_order_fn order;
	void *ctx;
	struct watched items[LINK_SERVICES_MAX];
	uint64_t refused_cnt;
	uint64_t hour_ns;	/* when the hour of hour_cnt began */
	uint32_t hour_cnt;
	uint64_t clock_set_ns;	/* CLOCK_MONOTONIC when the wall clock was last set, 0 never */
};

struct findings *findings_new(const struct settings *settings, struct db *db,
			      findings_order_fn order, void *ctx)
{
	struct findings *f = xcalloc(1, sizeof(*f));

	f->settings = settings;
	f->db = db;
	f->judge = judge_new(settings->state);
	f->announce = announce_new(&settings->announce);
	f->order = order;
	f->ctx = ctx;
	return f;
}

static void minute_put(struct findings *f, struct watched *w)
{
	struct db_minute *m = &w->minute;

	if (!m->minute_ns)
		return;
	m->p50_ns = second_quantile_ns(w->hist, 0.5);
	m->p99_ns = second_quantile_ns(w->hist, 0.99);
	db_minute_put(f->db, w->row.name, m);
	*m = (struct db_minute){0};
	memset(w->hist, 0, sizeof(w->hist));
}

void findings_free(struct findings *f)
{
	if (!f)
		return;
	for (uint32_t i = 0; i < LINK_SERVICES_MAX; i++)
		minute_put(f, &f->items[i]);
	judge_free(f->judge);
	announce_free(f->announce);
	free(f);
}

uint64_t findings_refused(const struct findings *f)
{
	return f->refused_cnt;
}

uint64_t findings_unannounced(const struct findings *f)
{
	return announce_lost(f->announce);
}

uint64_t findings_posted(const struct findings *f, uint64_t *ret_lost)
{
	return announce_posted(f->announce, ret_lost);
}

/* Seeds the rules with seconds from before heldup was started again: minutes without a finding. */
static void seed(void *ctx, const struct db_minute *m)
{
	struct watched *w = ctx;

	rules_learn(&w->rules, &(struct learnt_second){
		.p50_ns = m->p50_ns, .p99_ns = m->p99_ns, .oldest_ns = m->oldest_max_ns,
		.answer_cnt = (uint32_t)(m->answer_cnt / 60), .open_cnt = (uint32_t)m->open_max,
	});
}

void findings_service(struct findings *f, uint32_t at, const struct link_service *s)
{
	struct watched *w = &f->items[at];
	bool is_new = !w->is_known || strcmp(w->row.name, s->name) != 0;

	if (is_new) {
		*w = (struct watched){.is_known = true};
		snprintf(w->row.name, sizeof(w->row.name), "%s", s->name);
		db_sound_minutes(f->db, s->name, clock_real_ns() - SEED_NS, seed, w);
		for (size_t i = 0; i < f->settings->service_cnt; i++)
			if (strcmp(f->settings->services[i].name, s->name) == 0)
				w->bound_ns = f->settings->services[i].p99_ns;
	}
	snprintf(w->row.what, sizeof(w->row.what), "%s", s->what);
	w->row.pid = s->pid;
	if (is_new)
		db_service_put(f->db, &w->row);
}

const char *findings_name(const struct findings *f, uint32_t at)
{
	return f->items[at].row.name;
}

static bool may_capture(struct findings *f, uint64_t now)
{
	if (now - f->hour_ns > 3600 * NS_PER_SEC) {
		f->hour_ns = now;
		f->hour_cnt = 0;
	}
	if (f->hour_cnt >= CAPTURES_PER_HOUR) {
		f->refused_cnt++;
		return false;
	}
	f->hour_cnt++;
	return true;
}

static void look(struct findings *f, struct watched *w, uint64_t now)
{
	struct link_order order = {.finding = w->finding.id, .after_ns = AFTER_NS};

	w->look_ns = now;
	w->look_cnt++;
	if (may_capture(f, now))
		f->order(f->ctx, (uint32_t)(w - f->items), &order);
	else
		snprintf(w->finding.note, sizeof(w->finding.note),
			 "no capture: over %d in an hour", CAPTURES_PER_HOUR);
}

static bool is_crash(const struct db_finding *it)
{
	return strcmp(it->rule, rule_name(RULE_CRASHED)) == 0;
}

static void add_reason(struct findings *f, struct db_finding *it, const void *arg)
{
	size_t len = strlen(it->reason);

	(void)f;
	snprintf(it->reason + len, sizeof(it->reason) - len, "; spans: %s", (const char *)arg);
}

struct shifted {
	const char *service;
	struct db_finding found;	/* id 0: none */
};

static void take_shifted(void *ctx, const struct db_finding *f)
{
	struct shifted *s = ctx;

	if (!f->end_ns && strcmp(f->rule, "shifted") == 0 && *f->service &&
	    strstr(s->service, f->service))
		s->found = *f;
}

/* A finding of spans that lasts, of a service whose name is in this one's: the same trouble. */
static bool take_over(struct findings *f, const struct watched *w, struct db_finding *ret)
{
	const struct db_filter all = {0};
	struct shifted s = {.service = w->row.name};

	db_findings(f->db, &all, take_shifted, &s);
	if (s.found.id)
		*ret = s.found;
	return s.found.id != 0;
}

/* A new finding; false: it was one of spans, which began before. */
static bool begin_new(struct findings *f, struct watched *w, uint64_t begin_ns, const char *reason)
{
	struct db_finding *it = &w->finding;
	char spans[sizeof(it->reason)];
	bool taken = take_over(f, w, it);

	snprintf(spans, sizeof(spans), "%s", it->reason);
	if (!taken)
		*it = (struct db_finding){.begin_ns = begin_ns};
	snprintf(it->service, sizeof(it->service), "%s", w->row.name);
	snprintf(it->reason, sizeof(it->reason), "%s", reason);
	if (taken)
		add_reason(f, it, spans);
	snprintf(it->rule, sizeof(it->rule), "%s", rule_name(w->rules.rule));
	w->look_cnt = 0;
	return !taken;
}

static void begin(struct findings *f, struct watched *w, uint64_t since_ns, const char *reason,
		  uint64_t now)
{
	struct db_finding *it = &w->finding;
	bool is_new = true;
	/* a server that was slow and then crashed had two troubles */
	bool again = it->id && it->end_ns && now - it->end_ns < AGAIN_NS &&
		     is_crash(it) == (w->rules.rule == RULE_CRASHED);

	if (again)
		it->again_cnt++;
	else
		is_new = begin_new(f, w, now - since_ns, reason);
	it->end_ns = 0;
	it->last_ns = now;
	w->from_ns = now - since_ns;
	if (db_finding_put(f->db, it) < 0) {
		f->refused_cnt++;
		return;
	}
	if (is_new)
		announce(f->announce, "begins", it);
	if (w->look_cnt < LOOKS_MAX)
		look(f, w, now);
}

/* The verdict says little: no cause, or hardly. */
static bool is_poor(const struct db_finding *it)
{
	return !*it->cls || strcmp(it->cls, "healthy") == 0 || strcmp(it->cls, "unknown") == 0 ||
	       strcmp(it->confidence, "low") == 0;
}

static void lasts(struct findings *f, struct watched *w, uint64_t now)
{
	w->finding.last_ns = now;
	if (w->finding.id && w->look_cnt < LOOKS_MAX && now - w->look_ns >= LOOK_AGAIN_NS &&
	    is_poor(&w->finding))
		look(f, w, now);
}

static void ends(struct findings *f, struct watched *w, uint64_t since_ns, uint64_t now)
{
	w->finding.end_ns = w->finding.last_ns = now - since_ns;
	if (w->finding.end_ns <= w->finding.begin_ns)
		w->finding.end_ns = w->finding.last_ns = w->finding.begin_ns + 1;
	if (!w->finding.id)
		return;
	db_finding_put(f->db, &w->finding);
	announce(f->announce, "ends", &w->finding);
}

static void minute_add(struct findings *f, struct watched *w, const struct second *s,
		       uint64_t now)
{
	struct db_minute *m = &w->minute;
	uint64_t minute = now - now % MINUTE_NS;
	uint64_t oldest = s->open_oldest_ns > s->unread_oldest_ns ? s->open_oldest_ns
								  : s->unread_oldest_ns;

	if (m->minute_ns != minute)
		minute_put(f, w);
	m->minute_ns = minute;
	m->answer_cnt += s->answer_cnt;
	m->service_ns += s->service_ns;
	m->open_max = s->open_cnt > m->open_max ? s->open_cnt : m->open_max;
	m->oldest_max_ns = oldest > m->oldest_max_ns ? oldest : m->oldest_max_ns;
	for (unsigned i = 0; i < EVENT_HIST_CNT; i++)
		w->hist[i] += s->hist[i];
}

void findings_second(struct findings *f, uint32_t at, const struct second *s, uint64_t real_ns)
{
	struct watched *w = &f->items[at];
	char reason[RULES_REASON_LEN];
	uint64_t since_ns = 0;

	if (!w->is_known)
		return;
	switch (rules_second(&w->rules, s, w->bound_ns, &since_ns, reason)) {
	case RULES_BEGINS:
		begin(f, w, since_ns, reason, real_ns);
		break;
	case RULES_LASTS:
		lasts(f, w, real_ns);
		break;
	case RULES_ENDS:
		ends(f, w, since_ns, real_ns);
		break;
	default:
		break;
	}
	if (w->rules.rule && !w->rules.calm_cnt)
		w->bad_ns = real_ns;
	minute_add(f, w, s, real_ns);
	w->row.seen_ns = real_ns;
	w->row.answer_cnt = s->answer_cnt;
	w->row.open_cnt = s->open_cnt + s->unread_cnt;
	w->row.p50_ns = rules_p50_ns(&w->rules);
	w->row.p99_ns = rules_p99_ns(&w->rules);
}

/* 0 stays: not known, or not yet. */
static void shift(uint64_t *ns, int64_t by_ns)
{
	if (*ns)
		*ns += (uint64_t)by_ns;
}

void findings_clock_set(struct findings *f, int64_t by_ns)
{
	f->clock_set_ns = clock_mono_ns();
	shift(&f->hour_ns, by_ns);
	for (uint32_t i = 0; i < LINK_SERVICES_MAX; i++) {
		struct watched *w = &f->items[i];
		struct db_finding *it = &w->finding;
		uint64_t *const times[] = {
			&it->begin_ns, &it->last_ns, &it->end_ns, &it->capture_from_ns,
			&it->capture_until_ns, &it->judged_from_ns, &it->judged_until_ns,
			&w->from_ns, &w->bad_ns, &w->look_ns,
		};

		for (size_t k = 0; k < sizeof(times) / sizeof(times[0]); k++)
			shift(times[k], by_ns);
	}
}

static struct watched *of_finding(struct findings *f, uint64_t id)
{
	for (uint32_t i = 0; i < LINK_SERVICES_MAX; i++)
		if (f->items[i].finding.id == id)
			return &f->items[i];
	return NULL;
}

/* A finding that is not a service's newest any more has its only copy in the store. */
static void change(struct findings *f, uint64_t id, void (*fn)(struct findings *f,
		   struct db_finding *it, const void *arg), const void *arg)
{
	struct watched *w = of_finding(f, id);
	struct db_finding other;

	if (w) {
		fn(f, &w->finding, arg);
		db_finding_put(f->db, &w->finding);
	} else if (db_finding(f->db, id, &other) == 0) {
		fn(f, &other, arg);
		db_finding_put(f->db, &other);
	}
}

/* The time of the trouble, not that before: of a minute most would be sound. */
static struct cut_time time_of(struct findings *f, const struct db_finding *it)
{
	const struct watched *w = of_finding(f, it->id);
	struct cut_time time = {.from_ns = w ? w->from_ns : it->begin_ns};

	if (w && w->bad_ns >= time.from_ns + SHORT_NS &&
	    w->bad_ns + OVER_NS < it->capture_until_ns)
		time.until_ns = w->bad_ns;
	return time;
}

static void set_captured(struct findings *f, struct db_finding *it, const void *arg)
{
	const struct link_captured *c = arg;
	struct cut_time time;

	if (c->code < 0) {
		snprintf(it->note, sizeof(it->note), "no capture: %s", strerror(-c->code));
		return;
	}
	it->capture_bytes = c->bytes;
	it->capture_until_ns = c->until_ns;
	it->capture_from_ns = c->until_ns - c->window_ns;
	time = time_of(f, it);
	it->judged_from_ns = time.from_ns;
	it->judged_until_ns = time.until_ns;
	if (!judge_add(f->judge, it->id, &time))
		snprintf(it->note, sizeof(it->note), "not judged: too many at once");
}

void findings_captured(struct findings *f, const struct link_captured *c)
{
	change(f, c->finding, set_captured, c);
}

/* That nothing held a service up before it crashed says where not to look, not what happened. */
static void name_crash(struct db_finding *it)
{
	if (!is_crash(it) || strcmp(it->cls, "healthy") != 0)
		return;
	snprintf(it->cls, sizeof(it->cls), "%s", it->rule);
	snprintf(it->title, sizeof(it->title), "crashed");
	snprintf(it->summary, sizeof(it->summary), "It crashed; nothing held it up before.");
}

static void set_judged(struct findings *f, struct db_finding *it, const void *arg)
{
	CLEANUP(buf_release) struct buf text = {0};
	char path[4096];
	int code = *(const int *)arg;

	judge_path(f->settings->state, it->id, JUDGE_JSON, path, sizeof(path));
	if (code == 0)
		code = file_read(path, JSON_MAX, &text, NULL);
	if (code >= 0)
		code = db_finding_judge(f->db, it, buf_str(&text), text.len);
	if (code < 0)
		snprintf(it->note, sizeof(it->note), "not judged: %s", strerror(-code));
	else
		it->note[0] = '\0';
	name_crash(it);
	announce(f->announce, "judged", it);
}

void findings_join(struct findings *f, uint64_t id, const char *reason)
{
	change(f, id, add_reason, reason);
}

void findings_say(struct findings *f, const char *event, const struct db_finding *it)
{
	announce(f->announce, event, it);
}

void findings_step(struct findings *f)
{
	uint64_t id;
	int code;

	if (judge_step(f->judge, &id, &code))
		change(f, id, set_judged, &code);
	announce_step(f->announce);
}

void findings_tell(struct findings *f)
{
	for (uint32_t i = 0; i < LINK_SERVICES_MAX; i++) {
		struct watched *w = &f->items[i];

		if (!w->is_known)
			continue;
		db_service_put(f->db, &w->row);
		if (w->finding.id && !w->finding.end_ns)
			db_finding_put(f->db, &w->finding);
	}
}

/* ---- what is kept */

static void files_drop(const struct findings *f, uint64_t id)
{
	char path[4096];

	for (int what = JUDGE_CAPTURE; what <= JUDGE_PAGE; what++)
		unlink(judge_path(f->settings->state, id, what, path, sizeof(path)));
}

/* Bytes of all files; those of findings that the store does not know are removed. */
static uint64_t files_sum(struct findings *f)
{
	char dir[4096], path[4096 + 300];
	struct db_finding other;
	struct dirent *e;
	uint64_t bytes = 0;

	snprintf(dir, sizeof(dir), "%s/captures", f->settings->state);
	CLEANUP_CLOSEDIR DIR *d = opendir(dir);
	while (d && (e = readdir(d)) != NULL) {
		unsigned long long id = strtoull(e->d_name, NULL, 10);
		struct stat st;

		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		if (!id || stat(path, &st) < 0)
			continue;
		if (db_finding(f->db, id, &other) == -ENOENT)
			unlink(path);
		else
			bytes += (uint64_t)st.st_blocks * 512;
	}
	return bytes;
}

void findings_tidy(struct findings *f, uint64_t keep_bytes, uint64_t keep_ns)
{
	uint64_t now = clock_real_ns(), id, bytes;

	if (!f->clock_set_ns || clock_mono_ns() - f->clock_set_ns > CLOCK_TRUST_NS)
		db_forget(f->db, now > keep_ns ? now - keep_ns : 0);
	bytes = files_sum(f);
	while (bytes > keep_bytes && (id = db_oldest_captured(f->db)) != 0) {
		struct db_finding it;
		struct watched *w = of_finding(f, id);

		files_drop(f, id);
		if (db_finding(f->db, id, &it) < 0)
			return;
		it.capture_bytes = 0;
		if (w)
			w->finding.capture_bytes = 0;
		if (db_finding_put(f->db, &it) < 0)
			return;
		bytes = files_sum(f);
	}
}
