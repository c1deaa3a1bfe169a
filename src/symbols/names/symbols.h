/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYMBOLS_H
#define SYMBOLS_H
/*
 * Addresses to function names, for programs stripped or not, for code made at
 * run time, for processes in namespaces of their own.  Not for unwinding (cfi.h)
 * and not for the kernel's addresses (collect/code/ksyms.h).
 *
 *	symbols_new
 *	symbols_module (one call for each mapped file) ... symbols_name
 *	symbols_jit_name for what lies in no file
 *	symbols_stats, symbols_free
 *
 * A module is one file, whoever maps it: it is known by device, inode, size and
 * times, and one with the same build id, size and owner is the same module.
 * Its tables are read at the first question for a name in it, and given back
 * when all tables exceed max_bytes (the least recently used first); they are
 * read again when asked for.  Names come from the first of these that has a
 * function at the address:
 *
 *	.symtab, .gnu_debugdata, a separate debug file (.note.gnu.build-id,
 *	.gnu_debuglink; debuginfod where it is switched on), .dynsym, the table
 *	that Go's runtime has of itself, and the range of the function's FDE,
 *	named "file+0xSTART".
 *
 * There is always a name: where nothing covers an address it is
 * "file+0xADDRESS".  Strings handed out are borrowed until symbols_free.
 *
 * Not for use by two threads at a time.  Bounds: SYMBOLS_*_MAX, and those of
 * symtab.h, perfmap.h, lines.h; what is over one is counted in symbols_stats.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/names/symbol_source.h"

struct err;
struct symbols;

enum {
	SYMBOLS_MODULE_MAX = 65470, /* ids fit a frame's 16 bits; 64 stand for languages */
	SYMBOLS_FRAME_MAX = 16,	    /* inlined into one another, the function itself included */
	SYMBOLS_JIT_MAX = 1024,	    /* processes with a perf map that are kept */
};

struct symbols_opts {		/* a zero field means its default */
	uint64_t max_bytes;	/* of all tables; default 64 MiB */
	uint32_t debuginfod_ms; /* waiting for debuginfod in all; 0: never asked */
	uint32_t lines_ms;	/* finding lines and inlined functions in all; 0: not looked for */
	uint32_t read_ms;	/* reading tables in all, and 2 % of the time on top; default 5 s */
	uint32_t max_files;	/* kept open; default 400, of more the names are copied */
	bool no_debug_files;	/* look for no separate debug files */
};

struct symbol_frame {
	const char *fn;	  /* short: no parameters, no template arguments */
	const char *full; /* as the compiler's demangler has it; never NULL */
	const char *file; /* NULL when unknown */
	uint32_t line;	  /* 0 when unknown; of an outer frame: of the call inlined there */
};

struct symbol_name {
	/* by depth: [0] the function itself, the last is where the address really is */
	struct symbol_frame frames[SYMBOLS_FRAME_MAX];
	uint32_t frame_cnt; /* at least 1 */
	uint32_t off;	    /* from the function's start */
	uint64_t start;	    /* of the function, as pc offset (module) or address (JIT) */
	enum symbol_source source;
};

/* opts is copied, may be NULL. */
struct symbols *symbols_new(const struct symbols_opts *opts);
void symbols_free(struct symbols *s);

/*
 * The module of a file that a process maps, given as an open descriptor, which
 * is duplicated when it is kept.  path is for people and may be that of another
 * namespace; root is "/proc/PID/root" of a process that maps it, below which
 * debug files are looked for beside the own /usr/lib/debug, or NULL.
 * *ret_id is from 1, dense, and the same for the same file.
 * -ENOSPC when there are SYMBOLS_MODULE_MAX, -ENOEXEC for what is no ELF file.
 */
int symbols_module(struct symbols *s, const char *path, int fd, const char *root, uint32_t *ret_id,
		   struct err *err);

/* The same for bytes, which are copied: a vdso (path "[vdso]"). */
int symbols_module_bytes(struct symbols *s, const char *path, const void *data, size_t len,
			 uint32_t *ret_id, struct err *err);

/*
 * The pc offset of a byte of the file, as mappings tell them: what lies at
 * file_off of an executable segment.  -ENOENT when nothing does.
 */
int symbols_pc_of(const struct symbols *s, uint32_t module, uint64_t file_off,
		  uint64_t *ret_pc_off);

/*
 * What is at pc_off (address minus the lowest of the executable segments', see
 * image_base_vaddr).  is_return: pc_off is a return address, so the call before
 * it is meant.  A number that is no module's gives "?+0xADDRESS".
 */
void symbols_name(struct symbols *s, uint32_t module, uint64_t pc_off, bool is_return,
		  struct symbol_name *ret_name);

/*
 * The same for an address of process tgid that lies in no file, from
 * /tmp/perf-PID.map in the process' own namespaces (perfmap.h).  The map is
 * read at the first question and again when an address is missing and the file
 * has grown, at most once a second.  Without an answer the name is mapping's
 * ("[anon]" for NULL), so that such addresses fold together, in full
 * "[anon]+0xADDRESS".
 */
void symbols_jit_name(struct symbols *s, uint32_t tgid, uint64_t addr, const char *mapping,
		      struct symbol_name *ret_name);

struct symbols_jit_info {
	char path[64];	      /* of the map, as the process sees it */
	uint32_t fn_cnt;      /* 0: there is none, or nothing in it */
	uint64_t refused_cnt; /* lines that are none, or over a bound */
	uint64_t over_bytes;  /* of the map that were not read, since it is too long */
	char problem[160];    /* why it was not read; "" when it was, or is not there */
};

/* Reads the map of process tgid when it has one. */
void symbols_jit_info(struct symbols *s, uint32_t tgid, struct symbols_jit_info *ret_info);

/* The process ended, or was replaced by exec. */
void symbols_jit_forget(struct symbols *s, uint32_t tgid);

struct symbols_module_info {
	const char *path;
	const uint8_t *build_id;
	size_t build_id_len;
	enum symbol_source source; /* the best there is */
	const char *debug_path;	   /* of the separate debug file, or NULL */
	uint32_t fn_cnt;	   /* with a name */
	uint32_t fde_cnt;	   /* functions that have only bounds */
	bool has_lines;		   /* there is debug information for lines */
	const char *problem;	   /* why something could not be read, or NULL */
	uint64_t bytes;		   /* memory its tables take */
};

/* Reads the tables when they are not there.  -ENOENT for no module's number. */
int symbols_module_info(struct symbols *s, uint32_t module, struct symbols_module_info *ret_info);

struct symbols_stats {
	uint32_t module_cnt;
	uint64_t bytes;		 /* of the tables at present */
	uint64_t evicted_cnt;	 /* tables given back */
	uint64_t refused_cnt;	 /* tables or files that are damaged or over a bound */
	uint64_t over_cnt;	 /* tables left out or cut for the memory that they would take */
	uint64_t late_cnt;	 /* files not read: those before took all the time there is */
	uint64_t debuginfod_cnt; /* files that debuginfod had */
	uint64_t debuginfod_late_cnt; /* not waited for any longer */
	uint64_t debuginfod_over_cnt; /* too large to be fetched */
	uint64_t lines_late_cnt;      /* addresses without lines since the time was used up */
	uint64_t lines_lost_cnt;      /* processes that read debug information and died of it */
	uint64_t cut_cnt;	      /* names cut, frames inlined deeper, strings over the bound */
};

/* ".symtab", "debug file": where names come from, for people and in JSON. */
const char *symbol_source_name(enum symbol_source source);

void symbols_stats(const struct symbols *s, struct symbols_stats *ret_stats);

#endif /* SYMBOLS_H */
