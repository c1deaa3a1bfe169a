/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "collect/flight/flight_anomaly.h"
#include "unit.h"

#define FIRST_NS (1000 * NS_PER_SEC)

/* rate answers of took_ns each, ending before the second does; true when it fires. */
static bool second(struct anomaly *a, unsigned n, unsigned rate, uint64_t took_ns)
{
	uint64_t now = FIRST_NS + (n + 1) * NS_PER_SEC;
	char why[160];

	for (unsigned i = 0; i < rate; i++) {
		uint64_t end = now - (i + 1) * (NS_PER_SEC / (rate + 1));

		anomaly_call(a, 1 + i, ANOMALY_READ, end - took_ns);
		anomaly_call(a, 1 + i, ANOMALY_WRITE, end);
	}
	return anomaly_second(a, now, why, sizeof(why));
}

/* Seconds of 20 ms answers, then of others: in which of those does it fire, 0 none? */
static unsigned fires_after(unsigned learn, uint64_t then_ns, unsigned cnt)
{
	struct anomaly a = {0};
	unsigned fired = 0;

	for (unsigned n = 0; n < learn; n++)
		OK(!second(&a, n, 50, (18 + n % 5) * NS_PER_MS));
	for (unsigned n = 0; n < cnt && !fired; n++)
		fired = second(&a, learn + n, 50, then_ns) ? n + 1 : 0;
	anomaly_release(&a);
	return fired;
}

TEST(anomaly_slow_answers)
{
	EQ_U(fires_after(30, 20 * NS_PER_MS, 60), 0);
	EQ_U(fires_after(30, 60 * NS_PER_MS, 60), 0);  /* three times as slow: not yet */
	EQ_U(fires_after(30, 99 * NS_PER_MS, 60), 0);  /* under a tenth of a second */
	EQ_U(fires_after(30, 200 * NS_PER_MS, 60), 3); /* three seconds in a row */
	EQ_U(fires_after(19, 200 * NS_PER_MS, 1), 0);
	EQ_U(fires_after(19, 200 * NS_PER_MS, 60), 4); /* one more is learnt */
	EQ_U(fires_after(5, 200 * NS_PER_MS, 60), 0);  /* it is what is usual */
}

/* A read that is never answered; a thread that ends, or a connection that is closed. */
TEST(anomaly_stuck)
{
	struct anomaly a = {0};
	unsigned n = 0, fired = 0;

	for (; n < 30; n++)
		OK(!second(&a, n, 50, 20 * NS_PER_MS));
	anomaly_call(&a, 50, ANOMALY_READ, FIRST_NS + n * NS_PER_SEC);
	anomaly_gone(&a, 50);
	for (unsigned i = 0; i < 10; i++, n++)
		OK(!second(&a, n, 49, 20 * NS_PER_MS));
	second(&a, n++, 50, 20 * NS_PER_MS);
	anomaly_call(&a, 50, ANOMALY_READ, FIRST_NS + n * NS_PER_SEC);
	for (unsigned i = 0; i < 10 && !fired; i++, n++)
		fired = second(&a, n, 49, 20 * NS_PER_MS) ? i + 1 : 0;
	EQ_U(fired, 4); /* over a second old in the second one */
	anomaly_release(&a);
}

/* Clients that stop asking are no anomaly; reads of a thread that never answers are usual. */
TEST(anomaly_quiet)
{
	struct anomaly a = {0};
	unsigned n = 0;

	anomaly_call(&a, 900, ANOMALY_READ, FIRST_NS);
	for (; n < 40; n++)
		OK(!second(&a, n, 50, 20 * NS_PER_MS));
	for (; n < 200; n++)
		OK(!second(&a, n, 0, 0));
	anomaly_release(&a);
}

/* The recorder left time out: a read before it may have been answered meanwhile. */
TEST(anomaly_unseen)
{
	struct anomaly a = {0};
	unsigned n = 0;

	for (; n < 30; n++)
		OK(!second(&a, n, 50, 20 * NS_PER_MS));
	for (; n < 60; n++) {
		anomaly_call(&a, 50, ANOMALY_READ, FIRST_NS + n * NS_PER_SEC);
		anomaly_away(&a);
		anomaly_call(&a, 50, ANOMALY_WRITE, FIRST_NS + (n + 5) * NS_PER_SEC);
		OK(!second(&a, n, 49, 20 * NS_PER_MS));
	}
	anomaly_release(&a);
}
