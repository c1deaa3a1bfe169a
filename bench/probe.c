/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a tracepoint of lib/ costs, disabled and enabled, beside an empty function call: the
 * least of TURNS turns, without the loop itself.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "internal.h"

enum { TURNS = 15, MANY = 20000000, FEW = 20000, PART = 2000 };

HELDUP_POINT(request_point, "request");
HELDUP_POINT(point, "work");

static double ns_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static __attribute__((noinline)) void empty_call(void)
{
	__asm__ volatile("");
}

static void loop_alone(long cnt)
{
	for (long i = 0; i < cnt; i++)
		__asm__ volatile("");
}

static void loop_call(long cnt)
{
	for (long i = 0; i < cnt; i++)
		empty_call();
}

static void loop_span(long cnt)
{
	for (long i = 0; i < cnt; i++) {
		struct heldup_span span;

		heldup_begin(&span, &point);
		__asm__ volatile("" ::: "memory");
		heldup_num(&span, "n", 1);
		heldup_end(&span);
	}
}

static void loop_request(long cnt)
{
	for (long i = 0; i < cnt; i++) {
		struct heldup_request request;

		heldup_request_begin(&request, &request_point, NULL, NULL);
		__asm__ volatile("" ::: "memory");
		heldup_request_end(&request);
	}
}

static void queue_clear(void)
{
	struct record r;

	while (queue_take(&r))
		;
}

static double least_ns(void (*loop)(long cnt), long cnt, long part)
{
	double least = 1e18;

	for (int turn = 0; turn < TURNS; turn++) {
		double sum = 0;

		for (long at = 0; at < cnt; at += part) {
			double begin = ns_now();

			loop(part);
			sum += ns_now() - begin;
			queue_clear();
		}
		least = sum / (double)cnt < least ? sum / (double)cnt : least;
	}
	return least;
}

/* As heldup would: one type, both tracepoints. */
static void enable(void)
{
	static struct state on = {.epoch = 1, .type_cnt = 1};

	strcpy(on.types[0].name, "request");
	on.types[0].hash = text_hash("request");
	on.types[0].share_ppm = 1000000;
	on.types[0].all = true;
	state_set(&on);
}

int main(void)
{
	double alone, call, off, request_off, on, request_on;
	struct heldup_request request;

	if (queue_init() || heldup_add_points(__start_heldup_points, __stop_heldup_points))
		return 1;
	alone = least_ns(loop_alone, MANY, MANY);
	call = least_ns(loop_call, MANY, MANY);
	off = least_ns(loop_span, MANY, MANY);
	request_off = least_ns(loop_request, MANY, MANY);
	enable();
	request_on = least_ns(loop_request, FEW, PART);
	heldup_request_begin(&request, &request_point, NULL, NULL);
	on = least_ns(loop_span, FEW, PART);
	heldup_request_end(&request);
	printf("%-44s %8.2f ns\n", "empty function call", call - alone);
	printf("%-44s %8.2f ns\n", "tracepoint with a key, disabled", off - alone);
	printf("%-44s %8.2f ns\n", "request, nothing enabled", request_off - alone);
	printf("%-44s %8.2f ns\n", "tracepoint with a key, enabled", on);
	printf("%-44s %8.2f ns\n", "request that is traced", request_on);
	return 0;
}
