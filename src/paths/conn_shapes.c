/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections by the order and the sizes of what passes on them, without a payload:
 * those that several requests share at once, and TLS handshakes.
 *
 * A full handshake is two exchanges.  The client's hello and the server's flight, with
 * its certificate, are long; the client's second flight has one of few lengths, since
 * only a key of fixed length and a hash are in it.  One such connection may be chance,
 * so it is asked of all those of a port whose begin was seen.
 */
#include "paths/paths_int.h"

#define HELLO_MIN 120		/* bytes: a version, random numbers, ciphers, extensions */
#define HELLO_MAX 4096		/* with a ticket and the long keys of newer exchanges */
#define FLIGHT_MIN 500		/* a certificate's key, names and signature, and one more */
#define TLS_CONN_CNT 2		/* connections of a port at least, ... */
#define TLS_SHARE 0.5		/* ... and so many of all: others are resumed or broken off */

/*
 * Lengths of a client's second flight.  TLS 1.3: a record with a hash of 32 or 48 bytes
 * and 26 more, and mostly one of 6 before it.  TLS 1.2: a record with the key (x25519,
 * P-256, P-384, P-521, RSA of 2,048 and 4,096 bits), one of 6, and one of 45 (AES-GCM)
 * or 37 (ChaCha20).
 */
static const uint16_t tls13_flights[] = {58, 64, 74, 80};
static const uint16_t tls12_keys[] = {42, 75, 107, 143, 267, 523};
static const uint16_t tls12_ends[] = {6 + 45, 6 + 37};

#define CNT(a) (sizeof(a) / sizeof(*(a)))

static bool is_second_flight(uint64_t bytes)
{
	for (size_t i = 0; i < CNT(tls13_flights); i++) {
		if (bytes == tls13_flights[i])
			return true;
	}
	for (size_t i = 0; i < CNT(tls12_keys); i++) {
		for (size_t k = 0; k < CNT(tls12_ends); k++) {
			if (bytes == (uint64_t)tls12_keys[i] + tls12_ends[k])
				return true;
		}
	}
	return false;
}

static bool is_hello(const struct paths_request *r)
{
	return r->arrival_ns && r->reply_ns && !r->asks && r->bytes_in >= HELLO_MIN &&
	       r->bytes_in <= HELLO_MAX;
}

struct port {
	uint32_t begun_cnt, tls_cnt;	/* connections whose begin was seen; with a handshake */
	bool is_tls;
};

struct begin {			/* of a connection: its first exchanges, or PATHS_NONE */
	uint32_t hello, second;
};

struct begins {
	VEC(struct begin) of_conn;
	VEC(struct port) ports;
	struct hmap port_at;	/* index and 1, by number */
};

static struct port *port_of(struct begins *b, uint16_t number)
{
	uint64_t *at = hmap_slot(&b->port_at, number);

	if (!*at) {
		(void)vec_add(&b->ports);
		*at = b->ports.cnt;
	}
	return &b->ports.items[*at - 1];
}

static void begins_find(const struct paths *p, struct begins *b)
{
	for (size_t i = 0; i < p->conns.cnt; i++)
		vec_push(&b->of_conn, ((struct begin){PATHS_NONE, PATHS_NONE}));
	for (uint32_t i = 0; i < p->requests.cnt; i++) {
		const struct paths_request *r = &p->requests.items[i];

		if (!p->conns.items[r->conn].from_begin)
			continue;
		if (r->nth == 0)
			b->of_conn.items[r->conn].hello = i;
		else if (r->nth == 1)
			b->of_conn.items[r->conn].second = i;
	}
}

static void ports_judge(const struct paths *p, struct begins *b)
{
	VEC_FOREACH(&b->of_conn, begin) {
		const struct paths_request *hello, *second;
		struct port *port;

		if (begin->second == PATHS_NONE)
			continue;
		hello = &p->requests.items[begin->hello];
		second = &p->requests.items[begin->second];
		port = port_of(b, hello->at.lport);
		port->begun_cnt++;
		port->tls_cnt += is_hello(hello) && hello->bytes_out >= FLIGHT_MIN &&
				 !second->asks && is_second_flight(second->bytes_in);
	}
	VEC_FOREACH(&b->ports, port)
		port->is_tls = port->tls_cnt >= TLS_CONN_CNT &&
			       port->tls_cnt >= TLS_SHARE * port->begun_cnt;
}

/* In a resumed one the request follows the second flight at once: that one is kept. */
static void handshakes(struct paths *p)
{
	struct begins b = {0};

	begins_find(p, &b);
	ports_judge(p, &b);
	VEC_FOREACH(&b.of_conn, begin) {
		struct paths_request *hello, *second;

		if (begin->hello == PATHS_NONE)
			continue;
		hello = &p->requests.items[begin->hello];
		if (!port_of(&b, hello->at.lport)->is_tls || !is_hello(hello))
			continue;
		hello->setup = true;
		if (begin->second == PATHS_NONE)
			continue;
		second = &p->requests.items[begin->second];
		second->setup = !second->asks && is_second_flight(second->bytes_in);
	}
	vec_release(&b.of_conn);
	vec_release(&b.ports);
	hmap_release(&b.port_at);
}

/* ---- several requests at once */

void paths_call_led(struct paths *p, uint32_t request, uint64_t start_ns)
{
	const struct paths_request *r = &p->requests.items[request];
	struct path_conn *c = &p->conns.items[r->conn];

	c->led_cnt++;
	c->crossed_cnt += start_ns < r->arrival_ns;
}

/* Calls that began right after a read, and whose answer led to a send on the same connection. */
static void calls_led(struct paths *p)
{
	for (uint32_t i = 0; i < p->calls.cnt; i++) {
		const struct path_evidence *v = &p->evidence.items[i];
		uint32_t begins = v->by[PATH_RULE_READ], ends = v->by[PATH_RULE_ANSWER];

		if (begins != PATHS_NONE && ends != PATHS_NONE &&
		    p->requests.items[begins].conn == p->requests.items[ends].conn)
			paths_call_led(p, ends, p->calls.items[i].start_ns);
	}
}

void paths_conns_share(struct paths *p)
{
	VEC_FOREACH(&p->conns, c)
		c->shared |= c->overlap_cnt >= PATH_OVERLAP_CNT ||
			     (c->crossed_cnt >= PATH_CROSS_CNT &&
			      c->crossed_cnt >= PATH_CROSS_SHARE * c->led_cnt);
	VEC_FOREACH(&p->requests, r)
		r->shared = p->conns.items[r->conn].shared;
}

void paths_conn_shapes(struct paths *p)
{
	handshakes(p);
	calls_led(p);
	paths_conns_share(p);
}
