/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/spans/span_link.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "serve/spans/packet.h"

bool span_link_put(int fd, const struct span_msg *msg)
{
	return packet_put(fd, msg, sizeof(*msg));
}

#define TIME_MAX_US 1e15 /* thirty years: as ns it fits 64 bits */

static bool is_sum(double sum)
{
	return isfinite(sum) && sum >= 0;
}

static bool is_time(double us)
{
	return us >= 0 && us <= TIME_MAX_US;
}

/* Ends its texts; false where figures contradict each other. */
static bool slice_check(struct live_slice *s)
{
	uint64_t cnt = 0;

	s->service[LIVE_SERVICE_LEN - 1] = s->name[LIVE_NAME_LEN - 1] = '\0';
	for (unsigned i = 0; i < LIVE_BUCKETS; i++)
		cnt += s->hist[i];
	if (!s->cnt || cnt != s->cnt || s->failed_cnt > s->cnt || !is_time(s->sum_us) ||
	    !is_sum(s->sum_sq) || s->edge_cnt > LIVE_EDGES_GIVEN)
		return false;
	for (unsigned i = 0; i < s->edge_cnt; i++) {
		s->edges[i].name[LIVE_EDGE_LEN - 1] = '\0';
		if (!is_time(s->edges[i].sum_us) || !is_sum(s->edges[i].sum_xt))
			return false;
	}
	return true;
}

int span_link_get(int fd, struct span_msg *ret)
{
	int rc = packet_get(fd, ret, sizeof(*ret));

	if (rc <= 0)
		return rc;
	if (ret->kind == SPAN_MSG_COUNTS || (ret->kind == SPAN_MSG_SLICE &&
					     slice_check(&ret->u.slice)))
		return 1;
	return -EBADMSG;
}
