/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PACKED_H
#define PACKED_H
/*
 * What the files of the request engine are made of: numbers (seven bits a
 * byte, lowest first), texts and tracepoints.  A text or tracepoint is written
 * out when it is first met and is a number from then on, so the same values
 * give the same bytes in every process.
 *
 * A file is a line "heldup-WHAT VERSION", the numbers, and eight bytes of
 * checksum over all before them.  See docs/forest-file.md.
 *
 *	packer_begin(&p, "forest", 1, points, strings), put_*, packer_end(&p, &out)
 *	unpacker_begin(&u, "forest", 1, bytes, len, ...), get_*, unpacker_end(&u)
 *
 * Reading: bytes may be from anywhere.  The first get that cannot be done sets
 * the error, and from then on every get gives 0; so ask unpack_ok before
 * looping or allocating, and at the end.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/vec.h"

struct arena;
struct err;
struct points;

enum {
	PACKED_TEXT_MAX = 64 << 10,	/* of one text */
	PACKED_FILE_MAX = 256 << 20,	/* of one file */
};

struct packer {
	const struct points *points;
	const struct strtab *strings;
	struct buf out;
	struct hmap texts, known;	/* id, point: the number in the file */
};

void packer_begin(struct packer *p, const char *what, unsigned version,
		  const struct points *points, const struct strtab *strings);
/* Appends the file to out and releases p. */
void packer_end(struct packer *p, struct buf *out);

void put_u64(struct packer *p, uint64_t value);
void put_i64(struct packer *p, int64_t value);
void put_i128(struct packer *p, __int128 value);
void put_fixed(struct packer *p, uint64_t value);	/* eight bytes: hashes */
void put_f64(struct packer *p, double value);
void put_text(struct packer *p, uint32_t string);
void put_str(struct packer *p, const char *str);	/* NULL as "" */
void put_point(struct packer *p, uint32_t point);	/* UINT32_MAX: none */

struct unpacker {
	const uint8_t *begin, *at, *end;
	struct points *points;
	struct strtab *strings;
	VEC(uint32_t) texts, known;	/* by number in the file, from 1 at [0] */
	uint64_t left_bytes;		/* that may still be allocated for what the file holds */
	struct err *err;
	bool failed;
};

/* Checks the file as a whole: kind, version, length, checksum. */
int unpacker_begin(struct unpacker *u, const char *what, unsigned version, const void *bytes,
		   size_t len, struct err *err);
/* -EINVAL if anything was wrong or is left over. */
int unpacker_end(struct unpacker *u);
void unpacker_release(struct unpacker *u);

bool unpack_ok(const struct unpacker *u);
/* Says what is wrong and where; returns false. */
bool unpack_bad(struct unpacker *u, const char *what);

uint64_t get_u64(struct unpacker *u, uint64_t max);
int64_t get_i64(struct unpacker *u);
__int128 get_i128(struct unpacker *u);
uint64_t get_fixed(struct unpacker *u);
double get_f64(struct unpacker *u);	/* not a NAN */
uint32_t get_text(struct unpacker *u);
uint32_t get_point(struct unpacker *u);	/* UINT32_MAX: none */
uint32_t get_a_point(struct unpacker *u);	/* there must be one */
const char *get_str(struct unpacker *u, struct arena *arena);

/*
 * A count of things, each of which is at least min_bytes long in the file and
 * will be item_bytes in memory: what cannot be in the bytes that are left, or
 * takes more memory than a file of this size may, is refused.
 */
uint32_t get_cnt(struct unpacker *u, uint32_t max, size_t min_bytes, size_t item_bytes);

#endif /* PACKED_H */
