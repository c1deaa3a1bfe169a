/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REQUEST_TABLE_H
#define REQUEST_TABLE_H
/* Request types that spans showed, as text: what heldup serve keeps of them. */
#include <stdint.h>

#include "cli/kept/kept.h"

struct cli;
struct err;
struct request_rows;

struct past_opts {
	const char *since;	/* NULL: not asked for */
	const char *state;	/* directory */
};

/* Those of window_ns with requests, at most max_cnt; returns how many there are. */
uint32_t request_table_print(const struct request_rows *rows, uint64_t window_ns,
			     uint32_t max_cnt, const char *title, struct pen *pen);

/* heldup requests --since: the types since then, added up. */
int request_table_since(const struct past_opts *o, const struct output_opts *output,
			struct err *err);

#endif /* REQUEST_TABLE_H */
