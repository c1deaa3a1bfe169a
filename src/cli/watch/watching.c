/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/watch/watching.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fmt.h"
#include "base/stop.h"
#include "cli/files/file_kind.h"
#include "cli/opts/select_opts.h"
#include "collect/source.h"
#include "store/capture.h"

static int put_all(void *ctx, const struct event_hdr *ev)
{
	struct watching *w = ctx;
	int code = 0;

	w->event_cnt++;
	w->tick_cnt += ev->kind == EV_TICK;
	if (ev->kind == EV_LOSS && ev->size >= sizeof(struct ev_loss)) {
		const struct ev_loss *loss = (const struct ev_loss *)ev;

		w->lost_cnt = 0;
		for (unsigned i = 0; i < LOSS_CNT; i++)
			w->lost_cnt += loss_spares_sums(i) ? 0 : loss->cnt[i];
	}
	for (int i = 0; i < 2 && code >= 0; i++) {
		if (w->sinks[i].put)
			code = w->sinks[i].put(w->sinks[i].ctx, ev);
	}
	return code;
}

static void progress_show(const struct watching *w, uint64_t begin_ns)
{
	double seconds = (double)(clock_mono_ns() - begin_ns) / 1e9;
	char n[FMT_MAX], rate[FMT_MAX], lost[FMT_MAX];

	fprintf(stderr, "\r\033[K%s: %.0f", w->verb, seconds);
	if (w->duration_ns)
		fprintf(stderr, " of %.0f", (double)w->duration_ns / 1e9);
	fprintf(stderr, " s, %s events, %s/s, %s lost (Ctrl-C: %s)", fmt_count(n, w->event_cnt),
		fmt_count(rate, seconds >= 1 ? (uint64_t)((double)w->event_cnt / seconds)
					     : w->event_cnt),
		fmt_count(lost, w->lost_cnt), w->ctrl_c ? w->ctrl_c : "end");
	fflush(stderr);
}

int watching_pump(struct watching *w, struct source *src, struct err *err)
{
	struct event_sink sink = {.put = put_all, .ctx = w};
	bool shown = w->verb && isatty(STDERR_FILENO), stopped = false;
	uint64_t begin_ns = clock_mono_ns();
	int more;

	do {
		if (shown)
			progress_show(w, begin_ns);
		if (stop_requested() && !stopped) {
			source_stop(src);
			stopped = true;
		}
		more = source_step(src, &sink, err);
	} while (more > 0);
	if (shown) {
		fputs("\r\033[K", stderr);
		fflush(stderr);
	}
	return more;
}

void watching_cmdline(struct buf *out)
{
	char text[4096];
	CLEANUP_FCLOSE FILE *f = fopen("/proc/self/cmdline", "re");
	size_t len = f ? fread(text, 1, sizeof(text), f) : 0;

	while (len > 0 && text[len - 1] == '\0')
		len--;
	for (size_t i = 0; i < len; i++)
		buf_addch(out, text[i] ? text[i] : ' ');
}

int watching_check(const struct select_opts *select, const char *input, const char *capture,
		   struct err *err)
{
	if (capture && strcmp(capture, "-") == 0)
		return err_usage(err, "standard output takes the answer: give -o a file");
	if (!input)
		return select_check(select, err);
	if (capture)
		return err_usage(err, "-o keeps what is watched: heldup record -i copies "
				      "a capture");
	if (!select_is_empty(select))
		return err_usage(err, "-i reads a capture, which has its own selection: "
				      "leave the other one out");
	return 0;
}

int watching_file(const char *path, struct event_sink sink, struct err *err)
{
	struct watching w = {.sinks = {sink}};
	struct source *src;
	int code = file_kind_source(path, &src, err);

	if (code < 0)
		return code;
	code = watching_pump(&w, src, err);
	source_free(src);
	if (code < 0)
		return err_prefix(err, "read '%s'", path);
	if (!w.tick_cnt)
		return err_set(err, -ENODATA, "'%s' ends before its first interval: "
			       "nothing to answer from", path);
	return 0;
}

int watching_capture(const char *path, struct capture **ret, struct err *err)
{
	int code;

	*ret = NULL;
	code = path ? capture_create(path, NULL, ret, err) : 0;
	if (code == -EEXIST)
		return err_set(err, code, "'%s' exists and is not a heldup capture: "
			       "give another name", path);
	return code;
}

int watching_live(struct watching *w, struct watch_opts *opts, struct capture *cap,
		  struct err *err)
{
	CLEANUP(buf_release) struct buf cmdline = {0};
	struct source *src;
	int code;

	if (cap)
		w->sinks[1] = capture_sink(cap);
	watching_cmdline(&cmdline);
	opts->cmdline = buf_str(&cmdline);
	code = source_live(opts, &src, err);
	opts->cmdline = NULL;
	if (code < 0)
		return code;
	code = watching_pump(w, src, err);
	source_free(src);
	/* a full disk ends the source too, which knows no words for it: this is the reason */
	if (cap && capture_finish(cap, err) < 0)
		return err->code;
	return code;
}
