/* SPDX-License-Identifier: Apache-2.0 */
#include "requests/service_blame.h"

#include <math.h>

#include "base/arena.h"
#include "base/hash.h"
#include "trace/points.h"
#include "requests/edge_rank.h"
#include "requests/graph/graph.h"
#include "unit.h"

enum { ROWS_MAX = 16 };

struct edge {
	const char *from, *to;	/* services */
	int usual_ms, mean_ms, visits;
};

struct rig {
	struct strtab strings;
	struct points points;
	struct arena arena;
	struct edge_rank_row rows[ROWS_MAX];
	struct edge_rank_result rank;
	const struct service_blames *blames;
};

static struct edge_rank_end end_of(struct rig *r, const char *service)
{
	return (struct edge_rank_end){
		points_add(&r->points, &r->strings, strtab_add(&r->strings, service),
			   strtab_add(&r->strings, "x")), NODE_ENTRY};
}

/* Edges in order of their scores; the last that take no longer than usual. */
static void judge(struct rig *r, const struct edge *edges)
{
	for (uint32_t i = 0; edges[i].from; i++) {
		struct edge_rank_row *row = &r->rows[r->rank.edge_cnt++];

		*row = (struct edge_rank_row){
			.from = end_of(r, edges[i].from), .to = end_of(r, edges[i].to),
			.visit_cnt = (uint64_t)edges[i].visits,
			.mean_ns = edges[i].mean_ms * 1e6, .usual_ns = edges[i].usual_ms * 1e6};
		row->more_low_ns = row->mean_ns - row->usual_ns;
		row->log_ratio = log(row->mean_ns / row->usual_ns);
		row->score = row->more_low_ns;
		r->rank.row_cnt += row->score > 0;
	}
	r->rank.rows = r->rows;
	r->blames = service_blames_make(&r->rank, &r->points, &r->strings, &r->arena);
}

static const char *blamed(const struct rig *r)
{
	return r->blames->cnt ? strtab_str(&r->strings, r->blames->items[0].service) : "";
}

static void rig_release(struct rig *r)
{
	points_release(&r->points);
	strtab_release(&r->strings);
	arena_release(&r->arena);
}

/* Two of the gateway's edges are far slower than any other, but only those to one service. */
TEST(service_blame_is_not_of_who_calls_a_slow_one)
{
	static const struct edge edges[] = {
		{"shop", "gate", 1, 900, 10}, {"gate", "shop", 1, 800, 10},
		{"shop", "stock", 2, 60, 10}, {"stock", "shop", 2, 50, 10},
		{"gate", "pay", 2, 3, 10}, {"pay", "gate", 2, 2, 10}, {"gate", "gate", 1, 1, 10},
		{"gate", "mail", 2, 2, 10}, {"mail", "gate", 2, 2, 10}, {"gate", "user", 2, 2, 10},
		{"stock", "stock", 5, 5, 10}, {"shop", "shop", 3, 3, 10}, {0}};
	struct rig r = {0};
	double shares = 0;

	judge(&r, edges);
	EQ_S(blamed(&r), "shop");
	EQ_U(r.blames->items[0].row, 0);
	OK(r.blames->items[0].share > 0.8);
	for (uint32_t i = 0; i < r.blames->cnt; i++)
		shares += r.blames->items[i].share;
	NEAR(shares, 1, 1e-9);
	NEAR(r.blames->over_ns, 10 * (899 + 799 + 58 + 48 + 1) * 1e6, 1);
	rig_release(&r);
}

TEST(service_blame_is_of_what_is_slow_inside)
{
	static const struct edge edges[] = {
		{"db", "db", 10, 90, 10}, {"shop", "shop", 10, 12, 10}, {"shop", "db", 1, 1, 10},
		{"db", "shop", 1, 1, 10}, {0}};
	struct rig r = {0};

	judge(&r, edges);
	EQ_S(blamed(&r), "db");
	NEAR(r.blames->items[0].share, 80. / 82, 1e-9);
	NEAR(r.blames->items[0].time_share, 80. / 104, 1e-9);
	rig_release(&r);
}

TEST(service_blame_of_none_when_all_is_usual)
{
	static const struct edge edges[] = {
		{"db", "db", 10, 10, 10}, {"shop", "db", 1, 1, 10}, {0}};
	struct rig r = {0}, empty = {0};

	judge(&r, edges);
	EQ_U(r.blames->cnt, 0);
	empty.blames = service_blames_make(&empty.rank, &empty.points, &empty.strings,
					   &empty.arena);
	EQ_U(empty.blames->cnt, 0);
	rig_release(&r);
	rig_release(&empty);
}
