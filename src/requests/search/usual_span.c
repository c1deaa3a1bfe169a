/* SPDX-License-Identifier: Apache-2.0 */
#include "requests/search/usual_span.h"

#include <math.h>

#include "requests/search/hypothesis.h"

/* With so many samples the slope's own error adds a twentieth to the squared error. */
#define SAMPLES_MIN 20

double beside_mean(const struct beside *b)
{
	return (double)b->sum_ns / (double)b->cnt;
}

double beside_error(const struct beside *b)
{
	double mean = beside_mean(b), var = (double)b->sum_sq_ns / (double)b->cnt - mean * mean;

	return sqrt(fmax(0, var) / (double)b->cnt);
}

struct usual_learnt usual_learnt(const struct hyp_tree *t)
{
	struct usual_learnt ret = {0};
	double all = (double)t->type->trace_cnt, sum = 0, mean;

	for (uint32_t i = 0; i < t->known_cnt; i++) {
		const struct seen *full = &t->known[i].full;

		if (!full->path.step_cnt)
			continue;
		ret.cnt++;
		sum += (double)full->graph.total_ns;
	}
	if (ret.cnt < SAMPLES_MIN || all <= ret.cnt)
		return (struct usual_learnt){0};
	mean = (double)t->type->sum_ns / all;
	ret.off_ns = mean - sum / ret.cnt;
	ret.error_ns = sqrt(fmax(0, (double)t->type->sum_sq_ns / all - mean * mean) / all);
	return ret;
}

struct usual usual_of(const struct usual_learnt *l, const struct evidence *e, uint32_t class_idx,
		      const struct beside *b)
{
	struct usual ret = {beside_mean(b), beside_error(b)};
	uint32_t col = class_idx + 1;
	double all = moments_var(&e->usual), own, cov, slope;

	/* Only of what all samples have on their path: of some of them the mean is not known. */
	if (!l->cnt || moments_cnt(&e->usual) != l->cnt || col >= moments_columns(&e->usual) ||
	    e->usual.columns[col].cnt != l->cnt || b->cnt != l->cnt)
		return ret;
	own = moments_column_var(&e->usual, col);
	cov = moments_cov_total(&e->usual, col);
	if (!(all > 0) || !(own > 0))
		return ret;
	slope = cov / all;
	ret.mean_ns += slope * l->off_ns;
	ret.error_ns = hypot(ret.error_ns * sqrt(fmax(0, 1 - cov * slope / own)),
			     slope * l->error_ns);
	return ret;
}
