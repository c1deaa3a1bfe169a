/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/files/path_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"
#include "cli/files/file_answers.h"
#include "collect/paths/paths_watch.h"
#include "paths/paths.h"

#define MAGIC_LEN (sizeof(PATH_FILE_MAGIC) - 1)
#define BYTE_ORDER_MARK UINT64_C(0x0102030405060708)
/* Between 1970 and 2262, so that times can be added up. */
#define NS_MAX ((uint64_t)INT64_MAX / 4)

#define PATH_FILE_REST ((size_t)1 << 20)	/* for all that is no event */

enum record_kind { REC_PORT = 1, REC_PROCESS, REC_EVENT, REC_SLICE_END, REC_END };

struct record {			/* before each; fixed on disk, as those below */
	uint32_t kind, bytes;
};

struct head_on_disk {
	uint64_t order;		/* BYTE_ORDER_MARK */
	int64_t offset_ns;
	char host[64];
};

struct process_on_disk {
	uint32_t tgid, switches;
	char comm[32];
};

struct end_on_disk {
	char selection[160];
	uint64_t begin_ns, end_ns, followed_ns, event_cnt, lost_cnt, bad_cnt;
	uint64_t slice_cnt;
	double cost_share;
};

static void text_copy(char *to, size_t size, const char *from)
{
	memset(to, 0, size);
	memcpy(to, from, strnlen(from, size - 1));
}

static void put(struct buf *out, enum record_kind kind, const void *data, size_t bytes)
{
	const struct record r = {.kind = kind, .bytes = (uint32_t)bytes};

	buf_add(out, &r, sizeof(r));
	if (bytes)
		buf_add(out, data, bytes);
}

void path_file_begin(struct buf *out, const struct path_file_head *head)
{
	struct head_on_disk d = {.order = BYTE_ORDER_MARK, .offset_ns = head->offset_ns};

	text_copy(d.host, sizeof(d.host), head->host);
	buf_add(out, PATH_FILE_MAGIC, MAGIC_LEN);
	buf_add(out, &d, sizeof(d));
}

void path_file_port(struct buf *out, uint16_t port)
{
	const uint32_t d = port;

	put(out, REC_PORT, &d, sizeof(d));
}

void path_file_process(struct buf *out, uint32_t tgid, const char *comm, bool switches)
{
	struct process_on_disk d = {.tgid = tgid, .switches = switches};

	text_copy(d.comm, sizeof(d.comm), comm);
	put(out, REC_PROCESS, &d, sizeof(d));
}

bool path_file_event(struct buf *out, const struct path_event *e)
{
	if (out->len > PATH_FILE_MAX - PATH_FILE_REST)
		return false;
	put(out, REC_EVENT, e, sizeof(*e));
	return true;
}

void path_file_slice_end(struct buf *out)
{
	put(out, REC_SLICE_END, NULL, 0);
}

void path_file_end(struct buf *out, const struct paths_watched *w)
{
	struct end_on_disk d = {.begin_ns = w->begin_ns, .end_ns = w->end_ns,
				.followed_ns = w->followed_ns, .event_cnt = w->event_cnt,
				.lost_cnt = w->lost_cnt, .bad_cnt = w->bad_cnt,
				.slice_cnt = w->slice_cnt, .cost_share = w->cost_share};

	text_copy(d.selection, sizeof(d.selection), w->selection);
	put(out, REC_END, &d, sizeof(d));
}

/* ---- reading */

bool path_file_is(const char *path)
{
	char head[MAGIC_LEN];
	CLEANUP_CLOSE int fd = strcmp(path, "-") == 0 ? -1 : open(path, O_RDONLY | O_CLOEXEC |
									O_NOCTTY | O_NONBLOCK);

	return fd >= 0 && read(fd, head, MAGIC_LEN) == (ssize_t)MAGIC_LEN &&
	       memcmp(head, PATH_FILE_MAGIC, MAGIC_LEN) == 0;
}

int path_file_read(const char *path, struct buf *out, struct path_file_head *ret, struct err *err)
{
	size_t before = out->len;
	int code = file_answers(path, err);

	if (code == 0)
		code = file_read(path, PATH_FILE_MAX, out, err);
	if (code < 0)
		return code;
	code = path_file_head(out->data + before, out->len - before, ret, err);
	return code < 0 ? err_prefix(err, "%s", path) : 0;
}

int path_file_head(const char *bytes, size_t len, struct path_file_head *ret, struct err *err)
{
	struct head_on_disk d;

	if (len < MAGIC_LEN + sizeof(d) || memcmp(bytes, PATH_FILE_MAGIC, MAGIC_LEN) != 0)
		return err_set(err, -EBADMSG, "not a file of heldup requests --record");
	memcpy(&d, bytes + MAGIC_LEN, sizeof(d));
	if (d.order != BYTE_ORDER_MARK)
		return err_set(err, -EBADMSG, "written by a machine of another byte order");
	if (d.offset_ns < 0 || (uint64_t)d.offset_ns > NS_MAX || d.host[sizeof(d.host) - 1])
		return err_set(err, -EBADMSG, "offset %zu: a damaged head", MAGIC_LEN);
	ret->offset_ns = d.offset_ns;
	memcpy(ret->host, d.host, sizeof(ret->host));
	return 0;
}

static bool is_sound_event(const struct path_event *e)
{
	if (!e->kind || e->kind >= PATH_GAP || e->ns > NS_MAX || e->tid > PATH_PID_MAX ||
	    e->tgid > PATH_PID_MAX)
		return false;
	if (e->kind == PATH_WAIT)
		return e->other <= PATH_PID_MAX && e->wait.off_ns <= e->ns &&
		       e->wait.wake_ns <= NS_MAX;
	return e->kind != PATH_CLONE || (e->other <= PATH_PID_MAX && e->clone.tgid <= PATH_PID_MAX);
}

static bool is_sound_end(const struct end_on_disk *d)
{
	return !d->selection[sizeof(d->selection) - 1] && d->begin_ns <= d->end_ns &&
	       d->end_ns <= NS_MAX && d->followed_ns <= NS_MAX && d->slice_cnt <= UINT32_MAX &&
	       d->cost_share >= 0 && d->cost_share < 1e9;
}

static void end_take(const struct end_on_disk *d, struct paths_watched *ret)
{
	ret->begin_ns = d->begin_ns;
	ret->end_ns = d->end_ns;
	ret->followed_ns = d->followed_ns;
	ret->event_cnt = d->event_cnt;
	ret->lost_cnt = d->lost_cnt;
	ret->bad_cnt += d->bad_cnt;
	ret->slice_cnt = (uint32_t)d->slice_cnt;
	ret->cost_share = d->cost_share;
	memcpy(ret->selection, d->selection, sizeof(ret->selection));
}

static const uint32_t sizes[] = {
	[REC_PORT] = sizeof(uint32_t),
	[REC_PROCESS] = sizeof(struct process_on_disk),
	[REC_EVENT] = sizeof(struct path_event),
	[REC_SLICE_END] = 0,
	[REC_END] = sizeof(struct end_on_disk),
};

/* One record, whose size is right; false: damaged. */
static bool record_take(enum record_kind kind, const char *at, const struct paths_sink *sink,
			struct paths_watched *ret)
{
	struct process_on_disk process;
	struct path_event event;
	struct end_on_disk end;
	uint32_t port;

	switch (kind) {
	case REC_PORT:
		memcpy(&port, at, sizeof(port));
		sink->port(sink->ctx, (uint16_t)port);
		return port && port <= UINT16_MAX;
	case REC_PROCESS:
		memcpy(&process, at, sizeof(process));
		if (process.comm[sizeof(process.comm) - 1] || process.tgid > PATH_PID_MAX)
			return false;
		sink->process(sink->ctx, process.tgid, process.comm, process.switches);
		return true;
	case REC_EVENT:
		memcpy(&event, at, sizeof(event));
		if (is_sound_event(&event))
			sink->event(sink->ctx, &event);
		else
			ret->bad_cnt++;
		return true;
	case REC_SLICE_END:
		sink->slice_end(sink->ctx);
		return true;
	default:
		memcpy(&end, at, sizeof(end));
		if (!is_sound_end(&end))
			return false;
		end_take(&end, ret);
		return true;
	}
}

int path_file_play(const char *bytes, size_t len, const struct paths_sink *sink,
		   struct paths_watched *ret, struct err *err)
{
	size_t at = MAGIC_LEN + sizeof(struct head_on_disk);
	struct record r = {0};

	*ret = (struct paths_watched){0};
	while (at < len && r.kind != REC_END) {
		if (len - at < sizeof(r))
			return err_set(err, -EBADMSG, "offset %zu: ends amid a record", at);
		memcpy(&r, bytes + at, sizeof(r));
		if (r.kind < REC_PORT || r.kind > REC_END || r.bytes != sizes[r.kind])
			return err_set(err, -EBADMSG, "offset %zu: unknown record of kind %" PRIu32,
				       at, r.kind);
		if (len - at - sizeof(r) < r.bytes)
			return err_set(err, -EBADMSG, "offset %zu: ends amid a record", at);
		if (!record_take(r.kind, bytes + at + sizeof(r), sink, ret))
			return err_set(err, -EBADMSG, "offset %zu: a damaged record", at);
		at += sizeof(r) + r.bytes;
	}
	if (r.kind != REC_END || at != len)
		return err_set(err, -EBADMSG, "offset %zu: expected the file's end", at);
	return 0;
}
