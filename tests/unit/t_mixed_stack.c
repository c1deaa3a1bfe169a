/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "collect/runtimes/mixed_stack.h"

#define AT(module, off) ((uint64_t)(module) << 48 | (off))
#define PY 1u	/* the interpreter's file, its loop from 0x100 to 0x200 */
#define APP 9u
static const struct mixed_loop loop = {AT(PY, 0x100), AT(PY, 0x200)};

static size_t mix(const uint64_t *native, size_t native_cnt, const struct mixed_frame *frames,
		  size_t frame_cnt, uint64_t *ret, size_t max, bool *cut)
{
	const struct mixed_parts p = {.native = native, .native_cnt = native_cnt,
				      .frames = frames, .frame_cnt = frame_cnt, .loops = &loop,
				      .loop_cnt = 1};

	return mixed_stack(&p, ret, max, cut);
}

TEST(mixed_stack_puts_functions_where_the_loop_ran_them)
{
	/* poll, its wrapper in the interpreter, a loop, a C extension, a loop, main */
	const uint64_t native[] = {AT(2, 5), AT(PY, 0x900), AT(PY, 0x150), AT(PY, 0x800),
				   AT(3, 7), AT(PY, 0x200), AT(PY, 0x700), AT(2, 9)};
	const struct mixed_frame frames[] = {
		{AT(APP, 1), false, 0}, {AT(APP, 2), true, 0}, {AT(APP, 3), false, 0},
		{0, true, 0}};
	const uint64_t want[] = {AT(2, 5), AT(PY, 0x900), AT(APP, 1), AT(APP, 2), AT(3, 7),
				 AT(APP, 3), AT(PY, 0x700), AT(2, 9)};
	uint64_t got[16];
	bool cut;

	EQ_U(mix(native, 8, frames, 4, got, 16, &cut), 8);
	for (size_t i = 0; i < 8; i++) {
		ROW(i);
		EQ_U(got[i], want[i]);
	}
	OK(!cut);
}

TEST(mixed_stack_keeps_functions_that_no_loop_was_seen_for)
{
	const uint64_t native[] = {AT(2, 5), AT(PY, 0x150)};
	const struct mixed_frame frames[] = {
		{AT(APP, 1), true, 0}, {AT(APP, 2), true, 0}, {AT(APP, 3), false, 0}};
	uint64_t got[4];
	bool cut;

	EQ_U(mix(native, 2, frames, 3, got, 4, &cut), 4);
	EQ_U(got[3], AT(APP, 3));
	EQ_U(mix(native, 0, frames, 3, got, 4, &cut), 3);
	EQ_U(mix(native, 2, frames, 3, got, 3, &cut), 3);
	OK(cut);
}

/* A return address that ends the loop is of a call in it; the innermost pc is itself. */
TEST(mixed_stack_knows_the_ends_of_the_loop)
{
	const struct mixed_frame frames[] = {{AT(APP, 1), true, 0}};
	const uint64_t inner[] = {AT(PY, 0x200)}, outer[] = {AT(2, 1), AT(PY, 0x100)};
	uint64_t got[4];
	bool cut;

	EQ_U(mix(inner, 1, frames, 1, got, 4, &cut), 2);
	EQ_U(got[0], AT(PY, 0x200));
	EQ_U(mix(outer, 2, frames, 1, got, 4, &cut), 3);
	EQ_U(got[1], AT(PY, 0x100));
}

/* Code made at run time: each function has a frame, and not all of them were found. */
TEST(mixed_stack_takes_frames_side_by_side_for_one_run)
{
	const uint64_t native[] = {AT(2, 5), AT(PY, 0x150), AT(PY, 0x160), AT(3, 7),
				   AT(PY, 0x170), AT(3, 8)};
	const struct mixed_frame frames[] = {{AT(APP, 1), false, 0}, {AT(APP, 2), false, 0},
					     {AT(APP, 3), true, 0}, {AT(APP, 4), true, 0}};
	const struct mixed_parts p = {.native = native, .native_cnt = 6, .frames = frames,
				      .frame_cnt = 4, .loops = &loop, .loop_cnt = 1,
				      .loops_merge = true};
	const uint64_t want[] = {AT(2, 5), AT(APP, 1), AT(APP, 2), AT(APP, 3), AT(3, 7),
				 AT(APP, 4), AT(3, 8)};
	uint64_t got[8];
	bool cut;

	EQ_U(mixed_stack(&p, got, 8, &cut), 7);
	for (size_t i = 0; i < 7; i++) {
		ROW(i);
		EQ_U(got[i], want[i]);
	}
}

/* Where each function is a native frame, those that were read take their places. */
TEST(mixed_stack_puts_functions_in_place_of_their_frames)
{
	const uint64_t native[] = {AT(2, 5), AT(PY, 1), AT(PY, 2), AT(2, 6)};
	const struct mixed_frame frames[] = {
		{AT(APP, 1), false, 1}, {0, false, 2}, {AT(APP, 3), false, 9}};
	const struct mixed_parts p = {.native = native, .native_cnt = 4, .frames = frames,
				      .frame_cnt = 3, .by_native = true};
	const uint64_t want[] = {AT(2, 5), AT(APP, 1), AT(PY, 2), AT(2, 6)};
	uint64_t got[4];
	bool cut;

	EQ_U(mixed_stack(&p, got, 4, &cut), 4);
	for (size_t i = 0; i < 4; i++) {
		ROW(i);
		EQ_U(got[i], want[i]);
	}
	OK(!cut);
	EQ_U(mixed_stack(&p, got, 3, &cut), 3);
	OK(cut);
}
