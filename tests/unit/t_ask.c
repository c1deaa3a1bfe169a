/* SPDX-License-Identifier: Apache-2.0 */
/* Which service is asked for. */
#include "serve/ask.h"
#include "unit.h"

TEST(ask_matches_a_service_by_name_kind_and_port)
{
	static const struct {
		struct link_ask who;
		const char *name, *what;
		bool is_it;
	} rows[] = {
		{{.name = "web"}, "web", "port 80, 1 process", true},
		{{.name = "nginx"}, "web", "unit nginx.service, port 80, 3 processes", true},
		{{.name = "nginx.service"}, "web", "unit nginx.service, port 80", true},
		{{.name = "ngin"}, "web", "unit nginx.service, port 80", false},
		{{.name = "3 processes"}, "web", "unit nginx.service, port 80, 3 processes", false},
		{{.name = "a"}, "b", "", false},
		{{.port = 443}, "web", "unit nginx.service, port 80, 443, 3 processes", true},
		{{.port = 443}, "web", "port 443", true},
		{{.port = 3}, "web", "unit nginx.service, port 80, 443, 3 processes", false},
		{{.port = 44}, "web", "unit nginx.service, port 80, 443", false},
		{{.pid = 1}, "web", "port 1", false}, /* who has the processes knows */
		{{0}, "web", "port 0, 1 process", false},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		ROW((int)i);
		EQ_U(ask_matches(&rows[i].who, rows[i].name, rows[i].what), rows[i].is_it);
	}
}
