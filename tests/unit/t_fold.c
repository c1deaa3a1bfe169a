/* SPDX-License-Identifier: Apache-2.0 */
#include "spans/fold.h"

#include "base/buf.h"
#include "base/hash.h"
#include "unit.h"

struct row {
	const char *name, *folded;	/* NULL: as it is */
};

static const struct row rows[] = {
	{"GET /user/17/orders", "GET /user/{id}/orders"},
	{"/user/17", "/user/{id}"},
	{"GET /user/17/orders/4711?page=3", "GET /user/{id}/orders/{id}?page={id}"},
	{"GET http://shop.example:8080/item/9", "GET http://shop.example:8080/item/{id}"},
	{"GET /o/550e8400-e29b-41d4-a716-446655440000/x", "GET /o/{id}/x"},
	{"GET /o/550E8400-E29B-41D4-A716-446655440000", "GET /o/{id}"},
	{"DEL session:550e8400-e29b-41d4-a716-446655440000", "DEL session:{id}"},
	{"GET /blob/deadbeef01", "GET /blob/{id}"},
	{"GET /tx/0xdeadbeef", "GET /tx/{id}"},
	{"GET /c/5f2b9c0e8a7d4e1f9b3c6a2d", "GET /c/{id}"},
	{"GET /v/dQw4w9WgXcQ42a7Zk", "GET /v/{id}"},
	{"GET /customer/cus_9s6XKzkNRiz8i3", "GET /customer/cus_{id}"},
	{"GET /t/eyJ55-x3QpS_8kVwZ0aB1tR/x", "GET /t/{id}/x"},
	{"GET /t/-B3rKq7_xZ0aP9wLm4-Tc", "GET /t/{id}"},
	{"GET /pay/pi_3MtwBw_kdIwHu7ix2-8a3tqPa", "GET /pay/pi_{id}"},
	{"GET /a?token=eyJhbGciOiJIUzI1NiIsInR5.eyJzdWIiOiIxMjM0N-Tc0.x3QpS_8kVwZ0aB1tR9_q",
	 "GET /a?token={id}.{id}.{id}"},
	{"GET /u/01ARZ3NDEKTSV4RRFFQ69G5FAV", "GET /u/{id}"},
	{"GET /day/2026-11-23/events", "GET /day/{id}/events"},
	{"GET /range/12-34", "GET /range/{id}"},
	{"GET /order-12345.json", "GET /order-{id}.json"},
	{"HGET user:7", "HGET user:{id}"},
	{"HGET user:123", "HGET user:{id}"},
	{"HGET user:123:cart", "HGET user:{id}:cart"},
	{"run job 88123", "run job {id}"},
	{"worker order00123 done", "worker order{id} done"},
	/* no ids */
	{"GET /", NULL},
	{"", NULL},
	{"GET /api/v1/users", NULL},
	{"GET /api/v2beta1/users", NULL},
	{"GET /2.0/users", NULL},
	{"/hotel.v1.Reservation/CheckAvailability2", NULL},
	{"GET /user/{userId}/orders", NULL},
	{"GET /user/{17}", NULL},
	{"connect 10.0.3.17:5432", NULL},
	{"connect db.local:5432", NULL},
	{"at Main.java:1234", NULL},
	{"HTTP 404", NULL},
	{"sha256 of utf-8", NULL},
	{"facade", NULL},
	{"GET /decade/facaded", NULL},
	{"GET /getOrdersOfUserByIdV2", NULL},
	{"internationalization18n", NULL},
	{"OrderServiceV2-GetItemV3", NULL},
	{"GET /Create_User_v2_Handler_X1/kafka-topic-Main2-Copy3", NULL},
	{"shop-front-7d9f8b6c5x-x2x9q", NULL},
	{"GET /straße/größe", NULL},
	{"SELECT items WHERE a = ? AND b IN (1, 2)", NULL},
};

TEST(fold_takes_ids_for_routes)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct buf out = {0};

		ROW(i);
		fold_ids(rows[i].name, &out);
		EQ_S(buf_str(&out), rows[i].folded ? rows[i].folded : rows[i].name);
		buf_release(&out);
	}
}

TEST(fold_makes_of_a_route_no_other)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct buf once = {0}, twice = {0};

		ROW(i);
		fold_ids(rows[i].name, &once);
		fold_ids(buf_str(&once), &twice);
		EQ_S(buf_str(&twice), buf_str(&once));
		buf_release(&once);
		buf_release(&twice);
	}
}

static const char *span_name(struct fold *f, struct strtab *s, const char *name, const char *key,
			     const char *route)
{
	struct attr attr = {.key = strtab_add(s, key), .str = strtab_add(s, route)};
	struct span span = {.name = strtab_add(s, name), .attr_cnt = 1};

	fold_span(f, &span, &attr);
	return strtab_str(s, span.name);
}

TEST(fold_takes_the_route_that_is_said)
{
	struct strtab s = {0};
	struct fold *f = fold_new(NULL, &s);

	EQ_S(span_name(f, &s, "GET /user/alice/orders", "http.route", "/user/:name/orders"),
	     "GET /user/:name/orders");
	EQ_S(span_name(f, &s, "GET http://a/user/bob", "url.template", "/user/{name}"),
	     "GET http://a/user/{name}");
	/* none that says nothing, and none for what is no path or a template already */
	EQ_S(span_name(f, &s, "GET /user/alice", "http.route", "/*"), "GET /user/alice");
	EQ_S(span_name(f, &s, "GET", "http.route", "/user/:name"), "GET");
	EQ_S(span_name(f, &s, "GET /user/:who", "http.route", "/user/:name"), "GET /user/:who");
	EQ_U(fold_cnt(f), 2);
	fold_free(f);
	strtab_release(&s);
}

TEST(fold_takes_attributes_that_name_a_request_too)
{
	struct strtab s = {0};
	struct fold *f = fold_new(NULL, &s);
	struct attr attrs[] = {
		{.key = strtab_add(&s, "user"), .str = strtab_add(&s, "/user/17")},
		{.key = strtab_add(&s, "resource.name"), .str = strtab_add(&s, "GET /user/17")},
	};
	struct span span = {.name = strtab_add(&s, "GET"), .attr_cnt = 2};
	const struct attr *folded = fold_span(f, &span, attrs);

	EQ_S(strtab_str(&s, (uint32_t)folded[0].str), "/user/17");
	EQ_S(strtab_str(&s, (uint32_t)folded[1].str), "GET /user/{id}");
	EQ_S(strtab_str(&s, (uint32_t)attrs[1].str), "GET /user/17");
	fold_free(f);
	strtab_release(&s);
}

TEST(fold_rules_come_first_and_stay_without_the_others)
{
	static const struct fold_rule rules[] = {{"tenant-[a-z]+", "tenant-{id}"}, {"x*", "!"},
						 {"^GET", "get"}};
	const struct fold_opts opts = {.rules = rules, .rule_cnt = 3, .keep_ids = true};
	struct strtab s = {0};
	struct fold *f = fold_new(&opts, &s);

	EQ_S(span_name(f, &s, "GET /tenant-acme/GET/17 xxx", "http.route", "/:t/:u"),
	     "get /tenant-{id}/GET/17 !");
	EQ_S(span_name(f, &s, "", "a", "b"), "");
	fold_free(f);
	strtab_release(&s);
}
