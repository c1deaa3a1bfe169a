/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BOARD_H
#define BOARD_H
/*
 * The switch board: what heldup asks of the agents in running programs, and what they report
 * (docs/explore-protocol.md).  No sockets and no clock.
 *
 *	board_new; board_set when something is to change; board_answer for each question;
 *	board_summary; board_free
 *
 * At most BOARD_AGENTS_MAX agents; those over it are answered, and counted.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct board;
struct buf;

enum { BOARD_AGENTS_MAX = 512, BOARD_ON_MAX = 1024 };

#define BOARD_LEASE_MS 8000	/* with a question that waits 3 s: off within 10 s */
#define BOARD_AGAIN_MS 20
/* A question waits for a change so long: agents wait 2 s, and their reports are of use. */
#define BOARD_WAIT_MS 500	/* at first; where that costs too much, up to */
#define BOARD_WAIT_MAX_MS 1500

struct board_point {		/* enabled; texts are borrowed until the next board_set */
	const char *service, *name;
};

struct board_state {
	const char *type;	/* borrowed for the board's life */
	bool is_on;		/* false: nothing is on, for nobody */
	bool all;		/* everything is on, to learn what there is */
	double share;		/* of the requests that are traced */
	const struct board_point *on;
	uint32_t on_cnt;
};

struct board_summary {
	uint32_t agent_cnt;
	uint32_t off_cnt;		/* of these: have the present state */
	uint32_t silent_cnt;		/* asked nothing for a lease: off by itself */
	uint64_t over_cnt;		/* agents over BOARD_AGENTS_MAX */
	uint32_t point_cnt;		/* known to agents, each process's */
	double queue;			/* of the fullest */
	uint64_t recorded_cnt, dropped_cnt, request_cnt, traced_cnt;
	double span_ns, ask_ns;		/* spans and their export; asking what is on */
	double cpu_ns;			/* of all that the programs do */
};

struct board *board_new(void);
void board_free(struct board *b);

/* How long a question waits where nothing changes. */
void board_wait(struct board *b, uint32_t wait_ms);

/* True: those who wait are to ask once more. */
bool board_due(struct board *b, uint64_t now_ns);

/* Changes what is on.  The epoch rises where more than the share changed; it is returned. */
uint64_t board_set(struct board *b, const struct board_state *state);

enum board_said {
	BOARD_NO_QUESTION,
	BOARD_ANSWERED,
	BOARD_WAITS,	/* it has the present state: ask once more when board_due says so */
};

/* Answers one agent.  arg gives a parameter of the question, NULL: it is not there. */
enum board_said board_answer(struct board *b, uint64_t now_ns,
			     const char *(*arg)(void *ctx, const char *name), void *ctx,
			     struct buf *ret);

void board_summary(const struct board *b, uint64_t now_ns, struct board_summary *ret);

#endif /* BOARD_H */
