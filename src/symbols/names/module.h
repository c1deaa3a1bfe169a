/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODULE_H
#define MODULE_H
/*
 * One mapped file and the tables of its names, read when they are first asked
 * for.  Not for choosing which module an address is in, nor for the words of a
 * name: see symbols.h, whose inside this is.
 *
 *	module_new or module_new_bytes, module_load ... module_unload, module_free
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "symbols/files/image.h"
#include "symbols/names/symtab.h"

struct debuginfod;

struct module_key { /* the same file when all of it is equal */
	uint64_t dev, ino, size, mtime_ns, ctime_ns, uid; /* no holes: it is hashed */
};

enum { MODULE_SEGMENT_MAX = 8 }; /* executable ones */

struct module_segment {
	uint64_t off, len; /* in the file */
	uint64_t pc;	   /* as pc offset */
};

struct module {
	char *path;	 /* for people */
	const char *name;/* its last part */
	char *root;	 /* NULL: ours only */
	int fd;		 /* -1: bytes */
	uint8_t *bytes;
	size_t bytes_len;
	struct module_key key;
	uint8_t build_id[IMAGE_BUILD_ID_MAX];
	size_t build_id_len;
	uint64_t base_vaddr;
	struct module_segment segments[MODULE_SEGMENT_MAX];
	size_t segment_cnt;
	/* after module_load: */
	bool is_loaded;
	struct symtab tab;
	enum symbol_source source; /* the best there is */
	int debug_fd;		   /* of the separate debug file, -1 none */
	char *debug_path;
	bool has_lines;	       /* .debug_info is in debug_fd or fd */
	bool lines_in_debug;   /* it is in debug_fd */
	bool is_late;	       /* it was asked for when there was no time left */
	bool is_over;	       /* something was left out for the memory that it would take */
	char *problem;	       /* NULL: none */
	uint64_t used_seq;     /* for giving back the least recently used */
};

struct module_load_opts {
	bool no_debug_files;
	bool copy; /* the names too: the file is closed then, and no debug file is kept open */
	struct debuginfod *debuginfod; /* NULL: not asked */
	uint64_t deadline_ns;	       /* for debuginfod */
};

struct module_load_result {
	uint64_t debuginfod_ns; /* of waiting for it */
	bool debuginfod_had;  /* it gave a file */
	bool debuginfod_late; /* not waited for any longer */
	bool debuginfod_over; /* more bytes than are left for it */
};

struct module_key module_key_of(const struct stat *st);

/* fd is duplicated; root may be NULL.  NULL with *err set for what is no ELF file. */
struct module *module_new(const char *path, int fd, const char *root, struct err *err);
struct module *module_new_bytes(const char *path, const void *data, size_t len, struct err *err);

/* Fills tab and what follows; problem says what cannot be read. */
void module_load(struct module *m, const struct module_load_opts *opts,
		 struct module_load_result *ret_result);
void module_unload(struct module *m);

/* Without tables from now on, for this reason: its addresses have no names. */
void module_close(struct module *m, const char *problem);

/* False when what it was read from is closed. */
bool module_can_reload(const struct module *m);

void module_free(struct module *m);

#endif /* MODULE_H */
