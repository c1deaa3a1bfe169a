/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "cli/opts/triggers.h"
#include "unit.h"
#include "waits/metrics/metrics.h"

TEST(triggers_parse)
{
	static const struct {
		const char *text;
		int rc;
		char op;
		double value;
	} rows[] = {
		{"futex_wait_time>0.5", 0, '>', 0.5}, {"runtime<1", 0, '<', 1},
		{"sector_count>1e6", 0, '>', 1e6},    {"futex_wait_time>0.5x", -EINVAL, 0, 0},
		{"futex_wait_time", -EINVAL, 0, 0},   {"futex_wait_time>", -EINVAL, 0, 0},
		{"futex_wait_time>-1", -EINVAL, 0, 0}, {"futex_wait_time>nan", -EINVAL, 0, 0},
		{"no_such>1", -ENOENT, 0, 0},	      {">1", -ENOENT, 0, 0},
		{"", -EINVAL, 0, 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint32_t order = 0;
		double value = 0;
		char op = 0;
		size_t cnt;

		ROW(i);
		EQ_I(triggers_parse(rows[i].text, &order, &op, &value), rows[i].rc);
		EQ_I(op, rows[i].op);
		OK(value == rows[i].value);
		if (rows[i].rc == 0)
			OK(strncmp(metrics_table(&cnt)[order].name, rows[i].text,
				   strcspn(rows[i].text, "<>")) == 0);
	}
}
