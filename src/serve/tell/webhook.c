/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/tell/webhook.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "serve/keep/db.h"
#include "serve/keep/status.h"
#include "serve/tell/webhook_post.h"

#define HOUR_NS (3600 * NS_PER_SEC)
#define AGAIN_MAX_NS (60 * NS_PER_SEC)

struct webhook {
	const char *url;
	enum webhook_format format;
	char *queue[WEBHOOK_QUEUE];
	uint32_t cnt;
	pid_t pid;		/* 0: none runs */
	uint64_t until_ns, again_ns; /* of the child; of the next try */
	uint32_t try_cnt;	/* of the first in the queue */
	uint64_t hour_ns;	/* when the hour of hour_cnt began */
	uint32_t hour_cnt;
	uint64_t sent_cnt, lost_cnt;
};

struct webhook *webhook_new(const char *url, enum webhook_format format)
{
	struct webhook *w = xcalloc(1, sizeof(*w));

	w->url = url && *url ? url : NULL;
	w->format = format;
	return w;
}

static void end(struct webhook *w)
{
	kill(w->pid, SIGKILL);
	while (waitpid(w->pid, NULL, 0) < 0 && errno == EINTR)
		;
	w->pid = 0;
}

void webhook_free(struct webhook *w)
{
	if (!w)
		return;
	if (w->pid)
		end(w);
	for (uint32_t i = 0; i < w->cnt; i++)
		free(w->queue[i]);
	free(w);
}

uint64_t webhook_sent(const struct webhook *w)
{
	return w->sent_cnt;
}

uint64_t webhook_lost(const struct webhook *w)
{
	return w->lost_cnt;
}

/* ---- what is posted */

static void plain_body(const char *event, const struct db_finding *f, struct json *j)
{
	json_obj(j);
	json_kstr(j, "event", event);
	status_finding_json(f, j);
	json_obj_end(j);
}

static void json_ktime(struct json *j, const char *key, uint64_t real_ns)
{
	time_t at = (time_t)(real_ns / NS_PER_SEC);
	struct tm tm = {0};
	char text[40] = "0001-01-01T00:00:00Z"; /* as Go writes a time that is none */

	if (real_ns && gmtime_r(&at, &tm))
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
	json_kstr(j, key, text);
}

static void labels(const struct db_finding *f, struct json *j)
{
	json_kstr(j, "alertname", "heldup");
	json_kstr(j, "service", f->service);
	json_kstr(j, "rule", f->rule);
}

static void annotations(const struct db_finding *f, struct json *j)
{
	json_kstr(j, "summary", *f->title ? f->title : f->reason);
	json_kstr(j, "description", *f->summary ? f->summary : f->reason);
	json_kstr(j, "reason", f->reason);
	if (*f->cls)
		json_kstr(j, "class", f->cls);
	if (*f->confidence)
		json_kstr(j, "confidence", f->confidence);
}

/* Labels name the alert and must not change while it lasts: the verdict is in annotations. */
static void alert(const char *status, const struct db_finding *f, struct json *j)
{
	char id[40];

	snprintf(id, sizeof(id), "%016llx", (unsigned long long)f->id);
	json_obj(j);
	json_kstr(j, "status", status);
	json_kobj(j, "labels");
	labels(f, j);
	snprintf(id, sizeof(id), "%llu", (unsigned long long)f->id);
	json_kstr(j, "finding", id);
	json_obj_end(j);
	json_kobj(j, "annotations");
	annotations(f, j);
	json_obj_end(j);
	json_ktime(j, "startsAt", f->begin_ns);
	json_ktime(j, "endsAt", f->end_ns);
	json_kstr(j, "generatorURL", "");
	snprintf(id, sizeof(id), "%016llx", (unsigned long long)f->id);
	json_kstr(j, "fingerprint", id);
	json_obj_end(j);
}

static void alertmanager_body(const struct db_finding *f, struct json *j)
{
	const char *status = f->end_ns ? "resolved" : "firing";
	char key[100];

	snprintf(key, sizeof(key), "{}:{alertname=\"heldup\", service=\"%s\"}", f->service);
	json_obj(j);
	json_kstr(j, "version", "4");
	json_kstr(j, "groupKey", key);
	json_ku64(j, "truncatedAlerts", 0);
	json_kstr(j, "status", status);
	json_kstr(j, "receiver", "heldup");
	json_kobj(j, "groupLabels");
	json_kstr(j, "alertname", "heldup");
	json_kstr(j, "service", f->service);
	json_obj_end(j);
	json_kobj(j, "commonLabels");
	labels(f, j);
	json_obj_end(j);
	json_kobj(j, "commonAnnotations");
	annotations(f, j);
	json_obj_end(j);
	json_kstr(j, "externalURL", "");
	json_karr(j, "alerts");
	alert(status, f, j);
	json_arr_end(j);
	json_obj_end(j);
}

void webhook_body(enum webhook_format format, const char *event, const struct db_finding *f,
		  struct buf *out)
{
	struct json j;

	json_init(&j, out, JSON_COMPACT);
	if (format == WEBHOOK_ALERTMANAGER)
		alertmanager_body(f, &j);
	else
		plain_body(event, f, &j);
	json_finish(&j);
}

/* ---- the queue */

static bool may_take(struct webhook *w)
{
	uint64_t now = clock_mono_ns();

	if (!w->hour_ns || now - w->hour_ns > HOUR_NS) {
		w->hour_ns = now;
		w->hour_cnt = 0;
	}
	return w->cnt < WEBHOOK_QUEUE && w->hour_cnt++ < WEBHOOK_PER_HOUR;
}

void webhook_add(struct webhook *w, const char *event, const struct db_finding *f)
{
	struct buf out = {0};

	if (!w->url)
		return;
	if (!may_take(w)) {
		w->lost_cnt++;
		return;
	}
	webhook_body(w->format, event, f, &out);
	w->queue[w->cnt++] = buf_detach(&out);
}

static void drop_first(struct webhook *w)
{
	free(w->queue[0]);
	memmove(w->queue, w->queue + 1, --w->cnt * sizeof(*w->queue));
	w->try_cnt = 0;
}

static void done(struct webhook *w, int code)
{
	if (code == POST_TAKEN) {
		w->sent_cnt++;
		drop_first(w);
		return;
	}
	if (code == POST_REFUSED || w->try_cnt >= WEBHOOK_TRIES) {
		log_warn("the webhook was not taken: %s", post_words(code));
		w->lost_cnt++;
		drop_first(w);
		return;
	}
	w->again_ns = WEBHOOK_AGAIN_NS << (w->try_cnt - 1);
	w->again_ns = clock_mono_ns() + (w->again_ns < AGAIN_MAX_NS ? w->again_ns : AGAIN_MAX_NS);
}

void webhook_step(struct webhook *w)
{
	uint64_t now = clock_mono_ns();
	int status;

	if (w->pid && waitpid(w->pid, &status, WNOHANG) == w->pid) {
		w->pid = 0;
		done(w, WIFEXITED(status) ? WEXITSTATUS(status) : POST_FAILED);
	} else if (w->pid && now > w->until_ns) {
		end(w);
		done(w, POST_FAILED);
	}
	if (w->pid || !w->cnt || now < w->again_ns)
		return;
	w->try_cnt++;
	w->pid = post_start(w->url, w->queue[0]);
	w->until_ns = now + POST_NS;
	if (!w->pid)
		done(w, POST_FAILED);
}
