/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOTSPOT_H
#define HOTSPOT_H
/*
 * Inside symbols/runtimes: HotSpot, the Java VM of OpenJDK.
 *
 *	hotspot_vm.c	where things lie: the VM has tables that describe it
 *	hotspot_pages.c	its memory, a page at a time
 *	hotspot_code.c	from an address in compiled code to the methods there
 *	hotspot_names.c	from a method to its name, file and line
 *	hotspot_lines.c	its packed numbers and tables of lines
 *	hotspot_locks.c	the monitor that a thread waits for
 *	hotspot.c	its threads, and the frames on a copied stack
 *
 * Bounds: HOTSPOT_*_MAX; all that is found out is kept up to them, then anew.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"
#include "symbols/runtimes/runtimes_int.h"

#define HOTSPOT_NONE UINT64_MAX

enum {
	HOTSPOT_PAGES = 32,
	HOTSPOT_PAGE_LEN = 4096,
	HOTSPOT_HEAPS_MAX = 8,
	HOTSPOT_HEAD_MAX = 512,	    /* bytes of the head of a piece of code */
	HOTSPOT_INLINED_MAX = 128,  /* methods inlined into each other */
	HOTSPOT_SITES_MAX = 16384,  /* places in code */
	HOTSPOT_CALLS_MAX = 262144, /* methods at these */
	HOTSPOT_KNOWN_MAX = 4096,   /* threads */
};

/* Places that the tables of the VM name: offsets, sizes, numbers, addresses of statics. */
enum hotspot_item {
	HS_THREAD_LIST, HS_LIST_LEN, HS_LIST_THREADS, HS_THREAD_OS, HS_THREAD_ANCHOR,
	HS_THREAD_STACK_BASE, HS_OS_TID, HS_OS_PTHREAD, HS_ANCHOR_SP, HS_ANCHOR_PC, HS_ANCHOR_FP,
	HS_WRAPPER_ANCHOR, HS_ENTRY_WRAPPER, HS_CALL_STUB_RETURN,
	HS_HEAPS, HS_ARRAY_LEN, HS_ARRAY_DATA, HS_HEAP_MEMORY, HS_HEAP_SEGMAP, HS_HEAP_SHIFT,
	HS_SPACE_LOW, HS_SPACE_HIGH, HS_HEAP_BLOCK_LEN, HS_BLOB_NAME, HS_BLOB_LEN,
	HS_BLOB_FRAME_WORDS, HS_BLOB_CODE, HS_NM_METHOD, HS_NM_SCOPES, HS_NM_PCS, HS_NM_PCS_END,
	HS_NM_METADATA, HS_NM_DEOPT, HS_NM_ORIG_PC, HS_NM_ID, HS_NM_HEAD_LEN,
	HS_PC_LEN, HS_PC_AT, HS_PC_SCOPE,
	HS_METHOD_CONST, HS_CONST_POOL, HS_CONST_FLAGS, HS_CONST_CODE_LEN, HS_CONST_NAME,
	HS_CONST_WORDS, HS_CONST_HEAD_LEN, HS_HAS_LINES,
	HS_POOL_HOLDER, HS_POOL_LEN, HS_POOL_HEAD_LEN, HS_POOL_SOURCE, HS_CLASS_SOURCE,
	HS_CLASS_NAME, HS_SYMBOL_LEN, HS_SYMBOL_LEN_HIGH, HS_SYMBOL_BODY,
	HS_THREAD_MONITOR, HS_THREAD_STACK_LEN, HS_MONITOR_OWNER, HS_MONITOR_OBJECT,
	HS_OBJECT_CLASS, HS_CLASS_BASE, HS_CLASS_SHIFT,
	HS_JDK_VERSION, HS_JDK_MAJOR, HS_VM_RELEASE,
	HS_ITEM_CNT,
};

struct hotspot_page {
	uint64_t at; /* 0: none */
	uint8_t bytes[HOTSPOT_PAGE_LEN];
};

struct hotspot_heap { /* of code */
	uint64_t low, high, segmap;
	uint32_t shift;
};

enum hotspot_kind {
	HOTSPOT_INTERPRETED,
	HOTSPOT_COMPILED,
	HOTSPOT_ENTRY, /* the VM called Java */
	HOTSPOT_STUB,  /* of the VM's own, no method of the program */
};

struct hotspot_call {
	uint64_t method, at; /* at: the bytecode's index */
};

struct hotspot_site { /* a return address in code made at run time */
	enum hotspot_kind kind;
	uint64_t cookie, checked_ns;
	uint32_t frame_len; /* bytes; 0: by the frame pointer */
	uint32_t orig_pc;   /* not 0: the true address lies here above the stack pointer */
	size_t call_at, call_cnt; /* innermost first */
};

struct hotspot_thread {
	uint64_t checked_ns, pthread, until, len; /* len: of its stack, which ends at until */
	uint32_t tid;
};

struct hotspot {
	uint64_t at[HS_ITEM_CNT]; /* HOTSPOT_NONE: not there */
	unsigned major;
	struct hotspot_heap heaps[HOTSPOT_HEAPS_MAX];
	size_t heap_cnt;
	uint64_t call_stub_return;
	struct hotspot_page *pages; /* HOTSPOT_PAGES */
	VEC(struct hotspot_site) sites;
	struct hmap by_pc; /* index + 1 */
	VEC(struct hotspot_call) calls;
	VEC(struct hotspot_thread) threads;
	struct hmap by_thread; /* index + 1 */
};

/* ---- hotspot_pages.c: reads are of up to a page's age until they are dropped */

int hotspot_get(struct runtime_proc *r, uint64_t addr, void *out, size_t len);
int hotspot_u64(struct runtime_proc *r, uint64_t addr, uint64_t *ret);
int hotspot_u32(struct runtime_proc *r, uint64_t addr, uint32_t *ret);
void hotspot_pages_drop(struct runtime_proc *r);

/* ---- hotspot_vm.c */

/* Fills at and version; -ENOTSUP where something that is needed is not described. */
int hotspot_vm_read(struct runtime_proc *r, struct image *im, struct err *err);

/* ---- hotspot_code.c */

int hotspot_heaps_read(struct runtime_proc *r);

/* NULL: no code of the VM is there, or it is damaged.  Good until the next call. */
const struct hotspot_site *hotspot_site(struct runtime_proc *r, uint64_t pc, uint64_t now);

/* ---- hotspot_lines.c */

/* A number of one to five bytes at *at, which moves on; 0 behind the end. */
uint32_t hotspot_unsigned5(const uint8_t **at, const uint8_t *end, bool no_zero);

/* The line of a bytecode in a table; 0 none.  no_zero: JDK 20 and later. */
uint32_t hotspot_line(const uint8_t *table, size_t len, uint32_t bci, bool no_zero);

/* ---- hotspot_names.c */

int hotspot_cookie(struct runtime_proc *r, uint64_t method, uint64_t *ret);
int hotspot_describe(struct runtime_proc *r, const struct runtime_frame *f,
		     struct runtime_name *ret);

/* Text of a Symbol, appended; a class has its packages with dots. */
int hotspot_symbol(struct runtime_proc *r, uint64_t addr, bool is_class, struct buf *out);

/* ---- hotspot_locks.c: as runtime_lock_of */

bool hotspot_lock(struct runtime_proc *r, const uint8_t *elems, size_t cnt,
		  struct runtime_lock *ret);

#endif /* HOTSPOT_H */
