/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CODE_INT_H
#define CODE_INT_H
/*
 * Inside collect/code: code.c (processes and their mappings), code_sets.c (what the
 * kernel side has of them), code_modules.c (files).
 */
#include <stdbool.h>

#include "base/hash.h"
#include "base/vec.h"
#include "collect/code/code.h"
#include "collect/proc/mappings.h"
#include "store/event.h"
#include "symbols/unwind/cfi.h"
#include "symbols/unwind/cfi_cache.h"
#include "wire/wire.h"
#include "wire/stacks.h"

#define CODE_SEGMENTS_MAX 16 /* executable segments of one module */

struct code_module {
	uint32_t id;		/* 0: it is no module */
	uint64_t base_vaddr;
	uint32_t tgid;		/* first seen in */
	char *path;
	uint8_t build_id[EVENT_BUILD_ID_MAX];
	uint8_t build_id_len;
	uint8_t kind;		/* enum module_kind */
	struct cfi_table table; /* while sleepers are walked, else empty */
	bool no_table;
	uint8_t segment_cnt;
	struct code_segment {
		uint64_t off, vaddr, len;
	} segments[CODE_SEGMENTS_MAX];
};

struct code_set {	/* mappings that one or more processes have */
	uint64_t hash;
	bool used;
	uint32_t part_cnt;
	uint32_t *parts; /* ids of the sets that it lists, NULL: it has mappings itself */
};

struct code_proc {
	uint32_t tgid;
	uint32_t set;
	uint64_t next_ns;	/* not scanned again before this */
	uint32_t idle;		/* scans in a row that found nothing new */
	bool asked;
};

/* Inner maps that are filled but not put in place: see code_commit. */
struct code_batch {
	VEC(uint32_t) ids;
	VEC(int) fds;
};

struct code {
	struct code_fds fds;
	struct symbols *syms;
	struct cfi_cache *cache; /* NULL: none can be kept */
	struct code_stats stats;
	VEC(struct code_module) modules;
	struct hmap by_file;	/* hash of device, inode, size and time to index + 1 */
	struct hmap opened;	/* the same by device and inode, until code_commit */
	struct hmap by_id;	/* the same for the ids of modules that are there */
	VEC(struct code_set) sets;  /* by id - 1 */
	VEC(uint32_t) making;	    /* parts of one that is being made */
	VEC(struct code_proc) procs;
	struct hmap proc_idx;	/* tgid to index + 1 */
	struct code_batch new_tables, new_sets;
	VEC(struct unw_module) new_modules; /* as new_tables */
	VEC(struct code_entry {
		uint32_t tgid;
		struct unw_proc proc;
	}) new_procs;
	uint32_t asked_cnt;
	uint64_t fresh_ns;	/* up to here the budget of code_fresh is spent */
	VEC(struct code_program {
		struct unw_exe exe;
		struct unw_program last; /* the process with the most code */
		uint32_t told_cnt;	 /* mappings that the kernel side knows of it */
	}) programs;
	/* code_walk: of the last process */
	uint32_t walked_tgid;
	struct mappings walked;
	struct unw_map *places; /* one for each of walked */
	uint64_t chunk_cnt;
	uint64_t table_bytes;	/* of those that modules keep */
	uint64_t begin_ns;
	size_t announced;	/* of modules */
	bool full, told_full;
	bool sets_full, told_sets_full;
	bool denied, told_denied; /* no right to see what code a process maps */
};

/* Id of a place for a new set, 0 when all are in use. */
uint32_t code_set_slot(struct code *c);

/* Notes the result of a look at a process; warns once of missing rights. */
void code_note_denied(struct code *c, int rc);

/* *fd becomes the batch's. */
void code_batch_add(struct code_batch *b, uint32_t id, int *fd);

/* The set of these mappings of tgid, made if there is none; 0: no room. */
uint32_t code_set_of(struct code *c, uint32_t tgid, const struct mappings *maps);

/* As many as maps has, into zeroed entries. */
void code_maps_fill(struct code *c, uint32_t tgid, const struct mappings *maps,
		    struct unw_map *ret);

/* new_process.c.  Within its budget: tells the kernel side of a process not known yet. */
void code_fresh(struct code *c, const struct wire_maps *w, uint64_t now);

/* Finds the code that a and b have at the same place; false: there is none. */
bool code_program_agree(const struct unw_program *a, const struct unw_program *b,
			struct unw_program *ret);

/* code_modules.c.  NULL: no ELF file, or not to be read.  Borrowed until the next call. */
const struct code_module *code_module(struct code *c, uint32_t tgid, const struct mapping *m);

/* Address that pc offsets in m count from; false when m holds no executable segment. */
bool code_base(const struct code_module *mod, const struct mapping *m, uint64_t *ret_base);

/* The table of module id, which m maps into tgid; made again if need be, NULL none. */
const struct cfi_table *code_table(struct code *c, uint32_t tgid, const struct mapping *m,
				   uint32_t id);

#endif /* CODE_INT_H */
