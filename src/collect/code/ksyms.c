/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Function symbols in two arrays: addresses (sorted) and offsets into one
 * string of names.  Names of modules are kept too; data symbols are not.
 */
#include "collect/code/ksyms.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/cmp.h"
#include "base/hash.h"
#include "base/search.h"
#include "base/vec.h"

#define KSYMS_MAX 1000000u
#define KSYMS_NAME_LEN 128
#define KSYMS_NAMES_MAX (32u * 1024 * 1024)

struct ksym {
	uint64_t addr;
	uint32_t name_off;
};

struct ksyms {
	char *path;
	int is_read;
	VEC(struct ksym) syms;
	struct buf names;
	ksyms_ask_fn ask;
	void *ask_ctx;
	struct hmap known; /* address to a string in asked, 0: not known */
	struct strtab asked;
};

struct ksyms *ksyms_new_from(const char *path)
{
	struct ksyms *ks = xcalloc(1, sizeof(*ks));

	ks->path = xstrdup(path);
	return ks;
}

struct ksyms *ksyms_new(void)
{
	return ksyms_new_from("/proc/kallsyms");
}

void ksyms_free(struct ksyms *ks)
{
	if (!ks)
		return;
	free(ks->path);
	vec_release(&ks->syms);
	buf_release(&ks->names);
	hmap_release(&ks->known);
	strtab_release(&ks->asked);
	free(ks);
}

static int by_addr(const void *a, const void *b)
{
	const struct ksym *x = a, *y = b;

	CMP(x->addr, y->addr);
	CMP(x->name_off, y->name_off);
	return 0;
}

/* "ffffffff81000000 T name\t[module]" */
static void add_line(struct ksyms *ks, char *line)
{
	char *end;
	uint64_t addr = strtoull(line, &end, 16);

	if (addr == 0 || end == line || end[0] != ' ' || !end[1] || end[2] != ' ')
		return;
	if (!strchr("tTwW", end[1]))
		return;
	char *name = end + 3;
	size_t len = strcspn(name, "\t \n");
	/* __pfx_ symbols are the padding in front of a function, not a function */
	if (len == 0 || strncmp(name, "__pfx_", 6) == 0)
		return;
	if (ks->syms.cnt >= KSYMS_MAX || ks->names.len + len >= KSYMS_NAMES_MAX)
		return;
	struct ksym sym = {.addr = addr, .name_off = (uint32_t)ks->names.len};
	buf_add(&ks->names, name, len);
	buf_addch(&ks->names, '\0');
	vec_push(&ks->syms, sym);
}

static bool is_sorted(const struct ksyms *ks)
{
	for (size_t i = 1; i < ks->syms.cnt; i++) {
		if (ks->syms.items[i - 1].addr > ks->syms.items[i].addr)
			return false;
	}
	return true;
}

/* The kernel needs most of the time that this takes: 50 ms for 120,000 symbols. */
static void read_all(struct ksyms *ks)
{
	char line[1024];

	ks->is_read = 1;
	CLEANUP_FCLOSE FILE *file = fopen(ks->path, "re");
	if (!file)
		return;
	while (fgets_unlocked(line, sizeof(line), file))
		add_line(ks, line);
	if (!is_sorted(ks)) /* modules come in the order they were loaded */
		vec_sort(&ks->syms, by_addr);
}

void ksyms_ask(struct ksyms *ks, ksyms_ask_fn ask, void *ctx)
{
	ks->ask = ask;
	ks->ask_ctx = ctx;
}

/* Looks one address up, without reading them all. */
static const char *asked_name(struct ksyms *ks, uint64_t addr)
{
	char name[KSYMS_NAME_LEN];
	uint64_t id;

	if (!hmap_get(&ks->known, addr, &id)) {
		id = 0;
		if (ks->ask(ks->ask_ctx, addr, name, sizeof(name)))
			id = strtab_add(&ks->asked, name);
		hmap_put(&ks->known, addr, id);
	}
	return strtab_str(&ks->asked, id);
}

const char *ksyms_name(struct ksyms *ks, uint64_t addr)
{
	if (ks->ask)
		return asked_name(ks, addr);
	if (!ks->is_read)
		read_all(ks);
	size_t after = SORTED_PREFIX(ks->syms.items, ks->syms.cnt, it, it->addr <= addr);
	if (after == 0)
		return "";
	/* of several names for one address the first in the file */
	size_t i = after - 1;
	while (i > 0 && ks->syms.items[i - 1].addr == ks->syms.items[i].addr)
		i--;
	return buf_str(&ks->names) + ks->syms.items[i].name_off;
}

int ksyms_usable(struct ksyms *ks)
{
	if (!ks->is_read)
		read_all(ks);
	return ks->syms.cnt > 0;
}

const char *ksyms_own_program(const char *name)
{
	static const char prefix[] = "bpf_prog_";
	const char *tag = name + sizeof(prefix) - 1;
	size_t len;

	if (strncmp(name, prefix, sizeof(prefix) - 1) != 0)
		return NULL;
	len = strspn(tag, "0123456789abcdef");
	return strncmp(tag + len, "_hu_", 4) == 0 ? tag + len + 1 : NULL;
}

static int has_prefix_of(const char *name, const char *const *list, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		size_t len = strlen(list[i]);
		if (list[i][len - 1] == '*' ? strncmp(name, list[i], len - 1) == 0
					    : strcmp(name, list[i]) == 0)
			return 1;
	}
	return 0;
}

/* Every sleep ends in these; which function called them is what tells. */
static int is_sched_frame(const char *name)
{
	static const char *const frames[] = {
		"bpf_*",	"__bpf_*",	   "__traceiter_*",	"trace_*",
		"__schedule",	"schedule",	   "schedule_*",	"preempt_schedule*",
		"io_schedule*", "__cond_resched",  "__traceprobe*",	"do_nanosleep",
		"__wait_on_bit*", "bit_wait*",	   "out_of_line_wait_on_bit*",
		"wait_for_completion*", "__wait_for_common",
	};
	return has_prefix_of(name, frames, sizeof(frames) / sizeof(frames[0]));
}

static int is_entry_frame(const char *name)
{
	static const char *const frames[] = {
		"entry_SYSCALL*", "do_syscall_64", "x64_sys_call",    "ret_from_fork*",
		"asm_*",	  "el0*",	   "do_el0_svc",      "el0t_64_sync*",
		"invoke_syscall*", "kthread",
	};
	return has_prefix_of(name, frames, sizeof(frames) / sizeof(frames[0]));
}

size_t ksyms_frames(struct ksyms *ks, const uint64_t *ips, size_t ip_cnt, struct buf *out)
{
	size_t cnt = 0;

	for (size_t i = 0; i < ip_cnt && ips[i] && cnt < KSYMS_FRAME_MAX; i++) {
		const char *name = ksyms_name(ks, ips[i]);
		if (!*name || (cnt == 0 && is_sched_frame(name)))
			continue;
		if (is_entry_frame(name))
			break;
		if (cnt++)
			buf_addch(out, ';');
		buf_adds(out, name);
	}
	return cnt;
}
