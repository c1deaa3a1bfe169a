/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/resources/file_locks.h"
#include "unit.h"

TEST(file_locks_name_the_holder)
{
	static const char text[] =
		"1: POSIX  ADVISORY  WRITE 711 fe:00:131 0 EOF\n"
		"2: FLOCK  ADVISORY  WRITE 20 fe:00:7 0 EOF\n"
		"2: -> FLOCK  ADVISORY  WRITE 21 fe:00:7 0 EOF\n"
		"2: -> FLOCK  ADVISORY  WRITE 22 fe:00:7 0 EOF\n"
		"3: FLOCK  ADVISORY  WRITE 21 fe:00:8 0 EOF\n"
		"3: -> FLOCK  ADVISORY  WRITE 20 fe:00:8 0 EOF\n"
		"4: OFDLCK ADVISORY  WRITE -1 fe:00:9 0 EOF\n"
		"4: -> OFDLCK ADVISORY  WRITE 30 fe:00:9 0 EOF\n";

	EQ_U(file_locks_holder(text, 21), 20);
	EQ_U(file_locks_holder(text, 22), 20);
	EQ_U(file_locks_holder(text, 20), 21);
	EQ_U(file_locks_holder(text, 711), 0);
	EQ_U(file_locks_holder(text, 30), 0);
}

TEST(file_locks_survive_what_is_no_list)
{
	EQ_U(file_locks_holder("", 1), 0);
	EQ_U(file_locks_holder("->", 1), 0);
	EQ_U(file_locks_holder(":\n: -> \n1: -> A B C 1", 1), 0);
	EQ_U(file_locks_holder("1: FLOCK ADVISORY WRITE 99999999999999 x\n1: -> F A W 1", 1), 0);
}
