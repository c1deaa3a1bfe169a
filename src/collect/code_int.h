/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CODE_INT_H
#define CODE_INT_H
/* Inside collect/code: code.c (processes and their mappings), code_modules.c (files). */
#include <stdbool.h>

#include "base/hash.h"
#include "base/vec.h"
#include "collect/code.h"
#include "collect/mappings.h"
#include "wire/wire.h"
#include "wire/stacks.h"

#define CODE_SEGMENTS_MAX 16 /* executable segments of one module */

struct code_module {
	uint32_t id;		/* 0: it is no module */
	uint64_t base_vaddr;
	uint8_t segment_cnt;
	struct code_segment {
		uint64_t off, vaddr, len;
	} segments[CODE_SEGMENTS_MAX];
};

struct code_set {	/* mappings that one or more processes have */
	uint64_t hash;
	bool used;
};

struct code_proc {
	uint32_t tgid;
	uint32_t set;
	uint64_t next_ns;	/* not scanned again before this */
	uint32_t idle;		/* scans in a row that found nothing new */
	bool asked;
};

struct code {
	struct code_fds fds;
	struct symbols *syms;
	struct code_stats stats;
	VEC(struct code_module) modules;
	struct hmap by_file;	/* hash of device, inode, size and time to index + 1 */
	struct hmap by_id;	/* the same for the ids of modules that are there */
	VEC(struct code_set) sets;  /* by id - 1 */
	VEC(struct code_proc) procs;
	struct hmap proc_idx;	/* tgid to index + 1 */
	uint32_t asked_cnt;
	uint64_t chunk_cnt;
	bool told_full;
};

/* code_modules.c.  NULL: no ELF file, or not to be read.  Borrowed until the next call. */
const struct code_module *code_module(struct code *c, struct emit *e, uint32_t tgid,
				      const struct mapping *m, uint64_t now);

/* Address that pc offsets in m count from; false when m holds no executable segment. */
bool code_base(const struct code_module *mod, const struct mapping *m, uint64_t *ret_base);

#endif /* CODE_INT_H */
