/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMAT_H
#define FORMAT_H
/*
 * A capture file: one file header, then chunks until an end chunk.  Each
 * events chunk holds whole events (event.h), compressed as a block, and is
 * written whole, so that a file cut anywhere is readable up to its last
 * whole chunk.  Little endian.  docs/capture.md describes it for others.
 *
 * A reader refuses another major version, skips chunks of a type it does
 * not know, and takes nothing from a chunk whose checksum is wrong.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CAPTURE_MAGIC "\x89HELDUP\n"
#define CAPTURE_VERSION 1
#define CAPTURE_ENDIAN 0x01020304u
#define CHUNK_MAGIC 0x4b4e4843u /* "CHNK" */

enum {
	CHUNK_RAW_AIM = 256 << 10,  /* a writer ends a chunk here, or at a tick */
	CHUNK_RAW_MAX = 1 << 20,    /* a reader refuses more */
	CHUNK_STORED_MAX = (1 << 20) + (16 << 10), /* what does not compress grows a little */
	CAPTURE_HEADER_MAX = 4096,
};

enum chunk_type { CHUNK_EVENTS = 1, CHUNK_END = 2 };
enum chunk_flags { CHUNKF_ZSTD = 1 << 0 };

struct capture_header {
	char magic[8];
	uint32_t endian;
	uint16_t version;	/* another one: cannot be read */
	uint16_t header_bytes;	/* chunks begin here */
	uint64_t created_real_ns;
	uint32_t pad;
	uint32_t crc;		/* of all before it */
};
_Static_assert(sizeof(struct capture_header) == 32, "capture_header");

struct chunk_header {
	uint32_t magic;
	uint16_t type;
	uint16_t flags;
	uint32_t raw_bytes;
	uint32_t stored_bytes;
	uint32_t event_cnt;
	uint32_t crc;		/* of the stored bytes */
	uint32_t pad;
	uint32_t header_crc;	/* of all before it */
};
_Static_assert(sizeof(struct chunk_header) == 32, "chunk_header");

/* Payload of the end chunk: a file without it is not complete. */
struct capture_totals {
	uint64_t event_cnt;
	uint64_t raw_bytes;
	uint64_t chunk_cnt;
	uint64_t begin_ns, end_ns; /* of the window, CLOCK_MONOTONIC */
};

uint32_t crc32_of(const void *data, size_t len);

#endif /* FORMAT_H */
