/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BPF_LINKS_H
#define BPF_LINKS_H
/*
 * Parts of heldup that are loaded in the kernel now, whoever loaded it: BPF
 * programs, links and maps, known by their names (HOOKS_PREFIX), and the
 * processes that hold them.  Needs CAP_SYS_ADMIN.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ATTACHED_MAX 512 /* programs listed; more are only counted */

struct attached_prog {
	uint32_t id;
	uint32_t pid;	/* a process that holds it, 0 nobody found */
	char name[16];
	char comm[16];	/* of pid */
};

struct attached {
	struct attached_prog progs[ATTACHED_MAX];
	size_t prog_cnt; /* may be more than are listed */
	size_t link_cnt; /* links of these programs */
	size_t map_cnt;
};

/* 0 or -errno; -EPERM when the ids may not be walked. */
int attached_read(struct attached *ret);

/* Programs of list that pid holds. */
size_t attached_held_by(const struct attached *list, uint32_t pid);

/* True while a program with this id is in the kernel. */
bool attached_prog_exists(uint32_t id);

/* "prog_id:\t12" anywhere in an fdinfo text; 0 when absent. */
uint32_t attached_parse_fdinfo(const char *text);

#endif /* BPF_LINKS_H */
