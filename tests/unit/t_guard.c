/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/target/guard.h"

TEST(guard_is_not_inherited)
{
	int status = 0;
	pid_t pid;

	if (getpriority(PRIO_PROCESS, 0) != 0)
		SKIP("started with a nice value");
	guard_raise();
	if (getpriority(PRIO_PROCESS, 0) != -20)
		SKIP("no right to raise the priority");
	pid = fork();
	if (pid == 0)
		_exit(getpriority(PRIO_PROCESS, 0) == 0 ? 0 : 1);
	EQ_I(waitpid(pid, &status, 0), pid);
	EQ_I(status, 0);
	guard_check();
	guard_drop();
	EQ_I(getpriority(PRIO_PROCESS, 0), 0);
}
