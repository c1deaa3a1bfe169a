/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/files/trace_files.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fmt.h"
#include "base/log.h"
#include "base/stop.h"
#include "cli/files/file_answers.h"
#include "cli/files/file_kind.h"
#include "trace/trace.h"
#include "requests/graph/async_split.h"
#include "requests/clocks/skew.h"
#include "requests/graph/synthetic_root.h"
#include "spans/assemble.h"
#include "spans/fold.h"
#include "spans/rare_names.h"
#include "spans/spans.h"

#define SHOW_NS (200 * NS_PER_MS)	/* a person sees it move, the disk of a log does not fill */
/*
 * After Ctrl-C requests are analysed for so long at most: somebody waits.
 * They come by the hash of their id, so those that are in are a fair sample.
 */
#define ANSWER_NS (3 * NS_PER_SEC)

struct progress {
	bool shown;		/* stderr is a terminal */
	uint64_t begin_ns, shown_ns;
	const char *path;
	size_t file, file_cnt;
	uint64_t span_cnt, trace_cnt;
};

struct reader {
	struct assembler *assembler;
	const struct trace_files_sink *sink;
	struct progress progress;
	struct skew *skew;
	struct fold *fold;
	struct rare *rare;	/* NULL: ids are kept */
	struct strtab *strings;
	struct stand_in_stats rooted;
	struct detach_stats detached;
	struct arena mended;	/* one trace */
	uint64_t learn_cnt;
	uint64_t end_ns;	/* when a stop ended the reading: of the analysis; else 0 */
};

/*
 * Clocks are compared on this many requests: plenty for CLOCK_SAMPLES_MAX of each
 * pair of hosts.  Traces come by the hash of their ids, so it is a fair draw.
 */
enum { LEARN_MAX = 20000 };

static bool progress_due(struct progress *p)
{
	uint64_t now_ns;

	if (!p->shown)
		return false;
	now_ns = clock_mono_ns();
	if (now_ns - p->shown_ns < SHOW_NS || now_ns - p->begin_ns < 2 * SHOW_NS)
		return false;
	p->shown_ns = now_ns;
	return true;
}

static void progress_read(struct progress *p, uint64_t done_bytes, uint64_t all_bytes)
{
	char n[FMT_MAX], b[FMT_MAX], a[FMT_MAX], rate[FMT_MAX];
	double seconds;

	if (!progress_due(p))
		return;
	seconds = (double)(p->shown_ns - p->begin_ns) / 1e9;
	fprintf(stderr, "\r\033[Kreading file %zu of %zu: %s", p->file, p->file_cnt,
		fmt_bytes(b, done_bytes));
	if (all_bytes)
		fprintf(stderr, " of %s", fmt_bytes(a, all_bytes));
	fprintf(stderr, ", %s spans, %s/s (Ctrl-C: answer now)", fmt_count(n, p->span_cnt),
		fmt_count(rate, (uint64_t)((double)p->span_cnt / seconds)));
	fflush(stderr);
}

static void progress_trace(struct progress *p)
{
	char n[FMT_MAX];

	if (!progress_due(p))
		return;
	fprintf(stderr, "\r\033[Kanalysing: %s requests (Ctrl-C: answer now)",
		fmt_count(n, p->trace_cnt));
	fflush(stderr);
}

static void progress_end(const struct progress *p)
{
	if (!p->shown_ns)
		return;
	fputs("\r\033[K", stderr);
	fflush(stderr);
}

static int take_span(void *ctx, const struct trace_id *trace, const struct span *span,
		     const struct attr *attrs, const struct span_ref *refs)
{
	struct reader *r = ctx;
	struct span folded = *span;

	r->progress.span_cnt++;
	attrs = fold_span(r->fold, &folded, attrs);
	if (r->rare && !(folded.flags & SPANF_POINT))
		rare_add(r->rare, folded.service, folded.name);
	return assembler_add(r->assembler, trace, &folded, attrs, refs);
}

static bool take_progress(void *ctx, uint64_t done_bytes, uint64_t all_bytes)
{
	struct reader *r = ctx;

	progress_read(&r->progress, done_bytes, all_bytes);
	return !stop_requested();
}

/* A stop that ended the reading leaves some time, one that comes now does not. */
static bool out_of_time(const struct reader *r)
{
	return stop_requested() && (!r->end_ns || clock_mono_ns() > r->end_ns);
}

static int take_request(void *ctx, const struct trace *t)
{
	struct reader *r = ctx;
	struct trace whole;

	r->progress.trace_cnt++;
	stand_in(t, r->strings, &r->mended, &r->rooted, &whole);
	return r->sink->trace(r->sink->ctx, &whole);
}

static int take_trace(void *ctx, const struct trace *t)
{
	struct reader *r = ctx;
	struct trace named = *t, mended;

	if (out_of_time(r))
		return -EINTR;
	progress_trace(&r->progress);
	arena_clear(&r->mended);
	if (r->rare)
		rare_trace(r->rare, t, &r->mended, &named);
	skew_mend(r->skew, &named, &r->mended, &mended);
	return detach_each(&mended, &r->mended, &r->detached, take_request, r);
}

static int learn_trace(void *ctx, const struct trace *t)
{
	struct reader *r = ctx;

	skew_learn(r->skew, t);
	return ++r->learn_cnt == LEARN_MAX || out_of_time(r) ? -ECANCELED : 0;
}

/* The traces are walked once for the clocks, then with them corrected. */
static int clocks_learn(struct reader *r, struct arena *arena, struct skew_result *ret,
			struct err *err)
{
	struct assembler_stats stats = {0};
	int code = assembler_finish(r->assembler, learn_trace, r, &stats, err);

	if (code < 0 && code != -ECANCELED)
		return code;
	*ret = *skew_finish(r->skew);
	ret->hosts = arena_dup(arena, ret->hosts, ret->host_cnt * sizeof(*ret->hosts));
	ret->unsettled = arena_dup(arena, ret->unsettled,
				   ret->unsettled_cnt * sizeof(*ret->unsettled));
	return 0;
}

static void reader_release(struct reader *r)
{
	assembler_free(r->assembler);
	skew_free(r->skew);
	fold_free(r->fold);
	rare_free(r->rare);
	arena_release(&r->mended);
}

/* Said at once: a long reading may follow. */
static void file_warn(const struct requests_file *f)
{
	if (f->unread)
		log_warn("%s: left out: %s", f->path, f->stats.cut_at.why);
	else if (f->stats.cut && !f->stats.stopped)
		log_warn("%s: nothing could be read from offset %" PRIu64 " on: %s", f->path,
			 f->stats.cut_at.off, f->stats.cut_at.why);
}

/* One of many that is no file of spans costs that file. */
static void leave_out(struct requests_file *f, const struct err *err)
{
	const char *why = err->msg;
	size_t len = strlen(f->path);

	if (!strncmp(why, f->path, len) && !strncmp(why + len, ": ", 2))
		why += len + 2;
	f->unread = true;
	f->stats.cut = true;
	f->stats.cut_at.off = 0;
	snprintf(f->stats.cut_at.why, sizeof(f->stats.cut_at.why), "%.*s",
		 SPANS_WHY_MAX - 1, why);
}

static int read_all(struct reader *r, char **paths, size_t cnt,
		    const struct trace_files_opts *opts, struct strtab *strings,
		    struct requests_file *files, size_t *ret_cnt, struct err *err)
{
	const struct spans_opts how = {.no_events = opts->no_events};
	const struct span_sink sink = {.ctx = r, .span = take_span, .progress = take_progress};
	struct err first = {0};
	size_t unread_cnt = 0;

	if (files_answer(paths, cnt, err) < 0)
		return err->code;
	for (size_t i = 0; i < cnt && !stop_requested(); i++) {
		int code;

		r->progress.file = i + 1;
		r->progress.file_cnt = cnt;
		files[i].path = strcmp(paths[i], "-") == 0 ? "standard input" : paths[i];
		code = spans_read(paths[i], &how, strings, &sink, &files[i].stats, err);
		if (code == -ECANCELED && i) { /* stopped before this one gave anything */
			*err = (struct err){0};
			return 0;
		}
		if (code < 0 && *assembler_why(r->assembler))
			return err_set(err, code, "%s", assembler_why(r->assembler));
		if (code == -ECANCELED || code == -ENOENT || code == -EACCES)
			return code;
		if (code < 0)
			code = file_kind_say(paths[i], FILE_SPANS, err);
		if (code < 0 && cnt == 1)
			return code;
		if (code < 0) {
			leave_out(&files[i], err);
			first = unread_cnt++ ? first : *err;
			*err = (struct err){0};
		}
		file_warn(&files[i]);
		*ret_cnt = i + 1;
	}
	if (unread_cnt == cnt) {
		*err = first;
		return first.code;
	}
	return 0;
}

void trace_files_warn(const struct requests_input *in)
{
	char t[FMT_MAX];

	for (size_t i = 0; i < in->file_cnt; i++) {
		const struct spans_stats *s = &in->files[i].stats;
		const char *path = in->files[i].path;

		if (s->bad_cnt)
			log_warn("%s: %s span%s not understood, the first at offset %" PRIu64
				 ": %s", path, fmt_count(t, s->bad_cnt),
				 s->bad_cnt == 1 ? "" : "s", s->bad[0].off, s->bad[0].why);
	}
	if (in->stopped)
		log_warn("stopped while reading: what was read until then is a part of what there "
			 "is");
}

int trace_files_read(char **paths, size_t cnt, const struct trace_files_opts *opts,
		     struct strtab *strings, const struct trace_files_sink *sink,
		     struct arena *arena, struct requests_input *ret, struct err *err)
{
	const struct assembler_opts how = {.max_bytes = opts->max_bytes};
	struct reader r = {.sink = sink, .assembler = assembler_new(&how, err), .strings = strings};
	struct requests_file *files = ARENA_ARRAY(arena, struct requests_file, cnt + 1);
	struct requests_input in = {.files = files};
	int code;

	if (!r.assembler)
		return err ? err->code : -EIO;
	r.fold = fold_new(opts->fold, strings);
	if (!opts->fold || !opts->fold->keep_ids)
		r.rare = rare_new(strings);
	r.progress.shown = isatty(STDERR_FILENO);
	r.progress.begin_ns = clock_mono_ns();
	code = read_all(&r, paths, cnt, opts, strings, files, &in.file_cnt, err);
	in.folded_cnt = code == 0 && r.rare ? rare_settle(r.rare) : 0;
	in.stopped = stop_requested();
	if (in.stopped)
		r.end_ns = clock_mono_ns() + ANSWER_NS;
	r.skew = skew_new(strings);
	if (code == 0)
		code = clocks_learn(&r, arena, &in.clocks, err);
	if (code == 0)
		code = assembler_finish(r.assembler, take_trace, &r, &in.assembled, err);
	if (code == -EINTR) {
		in.stopped = true;
		code = 0;
	}
	in.trace_cnt = r.progress.trace_cnt;
	in.rooted = r.rooted;
	in.detached = r.detached;
	in.folded_cnt += fold_cnt(r.fold);
	progress_end(&r.progress);
	reader_release(&r);
	if (code == 0)
		*ret = in;
	return code;
}
