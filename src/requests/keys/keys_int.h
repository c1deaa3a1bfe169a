/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KEYS_INT_H
#define KEYS_INT_H
/*
 * One variable of one group's sample, as keys.c lays it out and attr_correlation.c
 * tests it.
 */
#include "requests/keys/keys.h"
#include "requests/stats/attr_samples.h"

/* No count or size of one request in practice: a time, or an id. */
#define KEY_ID_NUMBER 4294967296.0

/* values of a sample's requests, by variable */
struct key_cells {
	VEC(const struct sample *) samples;	/* the rows: by hash, SAMPLES_MAX at most */
	uint32_t *rows;		/* by variable, then row */
	struct sample_value *values;
	uint32_t *ends;		/* by variable: where its cells end */
	uint32_t var_cnt;
};

/* samples: those of a group's leaves. */
void key_cells_make(const struct samples *const *samples, uint32_t samples_cnt, uint32_t var_cnt,
		    struct key_cells *ret);
void key_cells_release(struct key_cells *cells);

struct column {			/* of the requests that have the variable */
	uint32_t cnt;
	const uint32_t *rows;	/* which of the sample, ascending */
	const struct sample_value *values;
	bool numeric;		/* all are numbers */
	uint32_t distinct_cnt;
	uint32_t *labels;	/* by place: 0 for the first value, 1 for the next new one ... */
	uint64_t hash;		/* of rows and labels */
	uint64_t ranks_hash;	/* of numbers: of their ranks */
};

struct target {			/* the quantity to explain: the total, or an edge */
	uint32_t edge;
	const double *ns;	/* by row */
	uint32_t *order;	/* rows from the quickest */
};

enum { SEEN_VALUES = 2 * SAMPLES_MAX };	/* never more than half full */

struct seen_value {
	uint64_t bits;
	uint64_t column;	/* 0: none */
	uint32_t type, label;
};

/* Room for a test of as many requests as a sample has. */
struct test_room {
	double x[SAMPLES_MAX], y[SAMPLES_MAX], xr[SAMPLES_MAX], yr[SAMPLES_MAX];
	uint32_t order[SAMPLES_MAX], labels[SAMPLES_MAX], cnts[SAMPLES_MAX];
	double sums[SAMPLES_MAX];
	uint32_t places[SAMPLES_MAX];	/* by row: where it is in the column and 1, or 0 */
	uint32_t col_labels[SAMPLES_MAX];	/* the column's own */
	/* values of the column with that number, by a hash of them */
	uint64_t column;
	struct seen_value seen[SEEN_VALUES];
};

/* Before the tests of a column: where its rows are; of numbers their ranks. */
void key_test_begin(const struct column *col, uint32_t row_cnt, struct test_room *room);

/* Both fill in what they find in key: r, eta2, p, strength. */
void key_test_number(const struct column *col, const struct target *target,
		     struct test_room *room, struct request_key *key);
void key_test_values(const struct column *col, const struct target *target,
		     struct test_room *room, struct request_key *key);

/* Total of the requests with each value, or range of values; into arena. */
void key_show_values(const struct column *col, const struct target *total,
		     struct test_room *room, struct arena *arena, struct request_key *key);

#endif /* KEYS_INT_H */
