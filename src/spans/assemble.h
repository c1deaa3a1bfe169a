/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASSEMBLE_H
#define ASSEMBLE_H
/*
 * Spans in any order in, whole traces out, in bounded memory.
 *
 *	assembler_new, _add for every span, _finish (as often as wanted), _free
 *
 * Over max_bytes, spans go to temporary files by the hash of their trace id;
 * each file is later read back alone (one that is still too large is parted
 * again first).  The files have no name in any directory, so nothing is left
 * behind however the program ends.
 *
 * Traces come in an order that depends on their ids alone, the same with and
 * without files.  Spans of a trace are sorted by (begin_ns, id).
 */
#include <stdint.h>

#include "trace/trace.h"

struct assembler;
struct err;

enum {
	ASSEMBLE_SPANS_MAX = 1 << 20,	/* of one trace; later ones are cut */
	ASSEMBLE_ATTRS_MAX = 1024,	/* of one span; cut and counted too */
	ASSEMBLE_REFS_MAX = 1 << 16,
};

struct assembler_opts {		/* a zero field means its default */
	uint64_t max_bytes;	/* of memory, about; default 1 GiB, at least 1 MiB */
	const char *tmp_dir;	/* default $TMPDIR, else /var/tmp: /tmp is often memory */
};

struct assembler_stats {
	uint64_t trace_cnt, span_cnt;	/* given out */
	uint64_t duplicate_cnt;		/* spans that were there twice in every field */
	uint64_t cut_span_cnt;		/* over ASSEMBLE_SPANS_MAX or max_bytes */
	uint64_t cut_trace_cnt;		/* traces that lost those */
	uint64_t cut_attr_cnt, cut_ref_cnt;
	uint64_t spilled_bytes;		/* written to files by _add */
	uint64_t largest_spans;		/* of one trace */
};

/* opts is copied, may be NULL.  NULL with *err set when tmp_dir is too long a name. */
struct assembler *assembler_new(const struct assembler_opts *opts, struct err *err);

/* NULL is fine. */
void assembler_free(struct assembler *a);

/*
 * All is copied.  0, or -errno when a file could not be written (no space
 * left, ...): then nothing more can be added, and assembler_why says why.
 */
int assembler_add(struct assembler *a, const struct trace_id *trace, const struct span *span,
		  const struct attr *attrs, const struct span_ref *refs);

/* Description of a failure, for a person; "" without one. Borrowed until _free. */
const char *assembler_why(const struct assembler *a);

/*
 * Calls trace for each trace once; what it gets is borrowed during the call.
 * Ends early when it returns < 0, which is returned, or when a file cannot be
 * read.  May be called again, to walk the same traces again in the same order.
 */
int assembler_finish(struct assembler *a, int (*trace)(void *ctx, const struct trace *trace),
		     void *ctx, struct assembler_stats *ret, struct err *err);

#endif /* ASSEMBLE_H */
