/* SPDX-License-Identifier: Apache-2.0 */
/* Ids that look like words: by how many values there are at a place of a path, and how rare. */
#include "spans/rare_names.h"

#include <stdio.h>

#include "base/hash.h"
#include "unit.h"

enum { WEB = 1, DB = 2 };

static struct strtab strings;

static void add(struct rare *r, uint32_t service, const char *name, unsigned times)
{
	for (unsigned i = 0; i < times; i++)
		rare_add(r, service, strtab_add(&strings, name));
}

/* "GET /s/k7a..": cnt values, each so many times. */
static void add_values(struct rare *r, const char *before, const char *behind, unsigned cnt,
		       unsigned times)
{
	char name[96];

	for (unsigned i = 0; i < cnt; i++) {
		snprintf(name, sizeof(name), "%s%c%c%u%c%s", before, 'a' + (int)(i % 26),
			 'z' - (int)(i / 26 % 26), i % 10, 'a' + (int)(i * 7 % 26), behind);
		add(r, WEB, name, times);
	}
}

static const char *name_of(const struct rare *r, uint32_t service, const char *name)
{
	return strtab_str(&strings, rare_name(r, service, strtab_add(&strings, name)));
}

TEST(rare_names_are_folded_where_there_are_many)
{
	struct rare *r = rare_new(&strings);

	add_values(r, "GET /s/", "", 40, 2);
	add_values(r, "GET /t/", "/items", 40, 1);
	add(r, WEB, "GET /s/popular", 50);
	add(r, WEB, "GET /s/{id}", 50);	 /* one that was folded by itself */
	add(r, WEB, "GET /s/q{id}p", 1); /* and one in a part */
	add(r, DB, "GET /s/az0a", 1); /* of another service there is one */
	EQ_U(rare_settle(r), 81);
	EQ_S(name_of(r, WEB, "GET /s/q{id}p"), "GET /s/{id}");
	EQ_S(name_of(r, WEB, "GET /s/az0a"), "GET /s/{id}");
	EQ_S(name_of(r, WEB, "GET /t/bz1h/items"), "GET /t/{id}/items");
	EQ_S(name_of(r, WEB, "GET /s/popular"), "GET /s/popular");
	EQ_S(name_of(r, DB, "GET /s/az0a"), "GET /s/az0a");
	rare_free(r);
	strtab_release(&strings);
}

TEST(rare_names_of_few_values_or_of_routes_stay)
{
	struct rare *r = rare_new(&strings);

	add_values(r, "GET /few/", "", RARE_VALUES_MIN - 1, 1);
	add_values(r, "GET /routes/", "", 60, RARE_CNT_MAX + 1);
	/* some routes that are hardly used, beside as many that are */
	add_values(r, "GET /api/", "", 40, 1);
	add_values(r, "GET /api/v", "", 40, 20);
	add_values(r, "SELECT ", "", 60, 1); /* no path */
	EQ_U(rare_settle(r), 0);
	rare_free(r);
	strtab_release(&strings);
}

TEST(rare_names_of_two_ids_are_one_route)
{
	struct rare *r = rare_new(&strings);
	char before[32];

	for (int i = 0; i < 40; i++) {
		snprintf(before, sizeof(before), "GET /u/%c%c%d/o/", 'a' + i % 26, 'k' + i % 7,
			 i % 10);
		add_values(r, before, "", 1 + (unsigned)i % 2, 1);
	}
	EQ_U(rare_settle(r), 60);
	EQ_S(name_of(r, WEB, "GET /u/ak0/o/az0a"), "GET /u/{id}/o/az0a");
	rare_free(r);
	strtab_release(&strings);
}

TEST(rare_names_do_not_hang_on_the_order)
{
	const char *names[] = {"/x/ab1", "/x/cd2"};

	for (int turn = 0; turn < 2; turn++) {
		struct rare *r = rare_new(&strings);

		add(r, WEB, names[turn], 1);
		add_values(r, "/x/", "", 40, 3);
		add(r, WEB, names[!turn], 1);
		EQ_U(rare_settle(r), 42);
		EQ_S(name_of(r, WEB, "/x/ab1"), "/x/{id}");
		EQ_S(name_of(r, WEB, "/x/never/seen"), "/x/never/seen");
		rare_free(r);
		strtab_release(&strings);
	}
}
