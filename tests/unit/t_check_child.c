/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/rights.h"
#include "cli/opts/check_child.h"
#include "unit.h"

static int run(struct check_child *c, int *ret_status)
{
	uint64_t until_ns = clock_mono_ns() + 20 * NS_PER_SEC;
	int end;

	check_child_begin(c);
	while ((end = check_child_result(c, ret_status)) == 0 && clock_mono_ns() < until_ns)
		usleep(1000);
	return end;
}

TEST(check_child_says_how_each_run_ended)
{
	struct check_child *c = check_child_new("test -e /dev/null || exit 1; exit 3",
						10 * NS_PER_SEC);
	int status = 0;

	OK(c);
	for (int i = 0; i < 3; i++) {
		EQ_I(run(c, &status), CHECK_ENDED);
		EQ_I(WEXITSTATUS(status), 3);
	}
	check_child_free(c);
}

TEST(check_child_ends_what_lasts_too_long)
{
	struct check_child *c = check_child_new("sleep 60 & sleep 60", NS_PER_SEC / 10);
	uint64_t begin_ns = clock_mono_ns();
	int status;

	EQ_I(run(c, &status), CHECK_LATE);
	check_child_begin(c);
	EQ_I(check_child_result(c, &status), 0);
	check_child_free(c); /* while it runs */
	OK(clock_mono_ns() - begin_ns < 20 * NS_PER_SEC);
}

#ifndef __SANITIZE_ADDRESS__
TEST(check_child_has_what_the_process_had_before)
{
	struct check_child *c = check_child_new("grep -q 'NoNewPrivs:.*0' /proc/self/status",
						10 * NS_PER_SEC);
	int status;

	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
		SKIP("started with fewer rights already");
	rights_filter_watch(0);
	EQ_I(run(c, &status), CHECK_ENDED);
	EQ_I(WEXITSTATUS(status), 0);
	check_child_free(c);
}
#endif
