/* SPDX-License-Identifier: Apache-2.0 */
#ifndef METRICS_H
#define METRICS_H
/*
 * The metrics of one tick: the sixteen of the papers under their names and
 * in their units, and more of the same kind.  Numbers only;
 * waits.h explains them.
 *
 *	metrics_new
 *	after each tick and model_finish:  metrics_tick
 *	metrics_free
 *
 * Where the model has sums only, a tick's value is the difference to the
 * call before: call it for each tick, in order, with the same model.  Times
 * are seconds per second (s/s), counts per second (1/s).  The table of all
 * metrics, each with the hook that it comes from, is docs/metrics.md.
 */
#include <stddef.h>
#include <stdint.h>

struct arena;
struct metrics;
struct model;

struct metric_def {
	const char *name;
	const char *unit; /* "s/s", "1/s", "sectors/s", "pages/s", "bytes" */
	const char *key;  /* what there is one row for: "thread x futex" */
};

struct metric_row {
	const struct metric_def *def;
	uint32_t order;		/* of def in the table */
	uint32_t pid, tid;	/* 0: not of one process, of one thread */
	const char *comm;	/* "" when there is no tid */
	const char *resource;	/* as a person knows it; "" for a thread's own */
	uint64_t resource_id;	/* tells two resources of the same name apart, 0 none */
	const char *through;	/* the epoll or poll set that the file was waited for in, else "" */
	double value;		/* never 0 */
};

struct metrics_result {
	uint64_t begin_ns, end_ns;	/* the tick; equal: there was none yet */
	struct metric_row *rows;	/* by table, then value, largest first */
	size_t row_cnt;
	uint64_t lost_cnt;		/* events the source could not deliver, so far */
};

struct metrics *metrics_new(void);

/* NULL is fine. */
void metrics_free(struct metrics *s);

/* Metrics of m's last whole tick. The result lives in arena; its strings are m's. */
struct metrics_result metrics_tick(struct metrics *s, const struct model *m, struct arena *arena);

/* All metrics there are, in the order of rows; cnt of them. */
const struct metric_def *metrics_table(size_t *ret_cnt);

#endif /* METRICS_H */
