/* SPDX-License-Identifier: Apache-2.0 */
/* After Aumasson and Bernstein, "SipHash: a fast short-input PRF" (2012), section 2. */
#include "symbols/files/siphash.h"

#include <string.h>

struct sip {
	uint64_t v0, v1, v2, v3;
};

static inline uint64_t rotl(uint64_t x, unsigned int n)
{
	return x << n | x >> (64 - n);
}

static inline void sip_round(struct sip *s)
{
	s->v0 += s->v1;
	s->v2 += s->v3;
	s->v1 = rotl(s->v1, 13) ^ s->v0;
	s->v3 = rotl(s->v3, 16) ^ s->v2;
	s->v0 = rotl(s->v0, 32);
	s->v2 += s->v1;
	s->v0 += s->v3;
	s->v1 = rotl(s->v1, 17) ^ s->v2;
	s->v3 = rotl(s->v3, 21) ^ s->v0;
	s->v2 = rotl(s->v2, 32);
}

static inline void sip_word(struct sip *s, uint64_t m)
{
	s->v3 ^= m;
	sip_round(s);
	sip_round(s);
	s->v0 ^= m;
}

uint64_t siphash(const uint8_t key[16], const void *data, size_t len)
{
	const uint8_t *p = data;
	uint64_t k[2], m, last = (uint64_t)len << 56;
	struct sip s;

	memcpy(k, key, sizeof(k));
	s = (struct sip){k[0] ^ UINT64_C(0x736f6d6570736575), k[1] ^ UINT64_C(0x646f72616e646f6d),
			 k[0] ^ UINT64_C(0x6c7967656e657261), k[1] ^ UINT64_C(0x7465646279746573)};
	for (size_t i = 0; i < len / 8; i++) {
		memcpy(&m, p + i * 8, sizeof(m));
		sip_word(&s, m);
	}
	for (size_t i = 0; i < len % 8; i++)
		last |= (uint64_t)p[len / 8 * 8 + i] << (8 * i);
	sip_word(&s, last);
	s.v2 ^= 0xff;
	for (int i = 0; i < 4; i++)
		sip_round(&s);
	return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}
