/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the stacks of a stopped process by the unwinder in user space, for
 * comparison with others at the same stop (oracle.py):
 *
 *	build/tests/unwind PID		thread TID END
 *					PC exact|return FILE+OFFSET
 *	build/tests/unwind -r FILE	the rows of a file's table: START END CFA RBP RA
 *
 * Threads are attached to, read and let go one by one; the process should have
 * been stopped before (SIGSTOP) and stays so.
 */
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "base/alloc.h"
#include "base/err.h"
#include "base/vec.h"
#include "symbols/unwind/cfi.h"
#include "symbols/files/image.h"
#include "symbols/unwind/unwind.h"

enum { FRAMES_MAX = 1024 };

struct map {
	uint64_t start, end, off;
	char path[512];
	bool tried;
	bool has_table;
	struct cfi_table table;
	uint64_t base;
};

struct target {
	pid_t pid;
	VEC(struct map) maps;
};

static void maps_read(struct target *t)
{
	char path[64], line[1024];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", t->pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		struct map m = {0};
		char perms[5] = "";

		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %511[^\n]",
			   &m.start, &m.end, perms, &m.off, m.path) >= 4 && perms[2] == 'x')
			vec_push(&t->maps, m);
	}
	if (f)
		fclose(f);
}

static bool target_read(void *ctx, uint64_t addr, void *buf, size_t len)
{
	const struct target *t = ctx;
	struct iovec to = {buf, len}, from = {(void *)(uintptr_t)addr, len};

	return process_vm_readv(t->pid, &to, 1, &from, 1, 0) == (ssize_t)len;
}

/* Where the mapping's first byte is in the address space that the file describes. */
static bool base_find(struct map *m, const struct image *im)
{
	for (size_t i = 0; i < image_segment_cnt(im); i++) {
		const struct image_segment *s = image_segment(im, i);

		if (s->type != PT_LOAD || !(s->flags & PF_X) ||
		    m->off + (m->end - m->start) <= s->off || m->off >= s->off + s->filesz)
			continue;
		m->base = m->start - m->off - (s->vaddr - s->off) + image_base_vaddr(im);
		return true;
	}
	return false;
}

static struct image *map_image(const struct target *t, const struct map *m, void **ret_bytes)
{
	struct err err = {0};
	struct image *im;
	char path[96];
	int fd;

	if (strcmp(m->path, "[vdso]") == 0) {
		*ret_bytes = xmalloc(m->end - m->start);
		if (!target_read((void *)t, m->start, *ret_bytes, m->end - m->start))
			return NULL;
		return image_open_bytes(*ret_bytes, m->end - m->start, &err);
	}
	if (m->path[0] != '/')
		return NULL;
	snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, t->pid, m->start,
		 m->end);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	im = image_open(fd, &err);
	close(fd);
	return im;
}

static void map_load(const struct target *t, struct map *m)
{
	struct err err = {0};
	void *bytes = NULL;
	struct image *im = map_image(t, m, &bytes);

	m->tried = true;
	m->base = m->start;
	if (im && base_find(m, im) && cfi_build(im, &m->table, &err) == 0)
		m->has_table = true;
	else if (m->path[0] == '/')
		fprintf(stderr, "%s: no table: %s\n", m->path, err.msg);
	image_free(im);
	free(bytes);
}

static struct map *map_of(struct target *t, uint64_t pc)
{
	VEC_FOREACH(&t->maps, m)
		if (pc >= m->start && pc < m->end) {
			if (!m->tried)
				map_load(t, m);
			return m;
		}
	return NULL;
}

static bool target_find(void *ctx, uint64_t pc, struct unwind_place *ret)
{
	struct map *m = map_of(ctx, pc);

	if (!m)
		return false;
	ret->table = m->has_table ? &m->table : NULL;
	ret->base = m->base;
	return true;
}

static bool regs_read(pid_t tid, struct unwind_regs *ret)
{
	struct user_regs_struct r;
	struct iovec io = {&r, sizeof(r)};
	int status;

	if (ptrace(PTRACE_SEIZE, tid, 0, 0) < 0)
		return false;
	ptrace(PTRACE_INTERRUPT, tid, 0, 0);
	if (waitpid(tid, &status, __WALL) != tid ||
	    ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &io) < 0) {
		ptrace(PTRACE_DETACH, tid, 0, 0);
		return false;
	}
	*ret = (struct unwind_regs){.reg = {r.rax, r.rdx, r.rcx, r.rbx, r.rsi, r.rdi, r.rbp, r.rsp,
					    r.r8, r.r9, r.r10, r.r11, r.r12, r.r13, r.r14, r.r15},
				    .pc = r.rip};
	return true;
}

static void thread_show(struct target *t, pid_t tid)
{
	static const char *const ends[] = {"unknown", "outermost", "no-map", "no-rule",
					   "bad-read", "bad-pc", "depth"};
	static struct unwind_frame frames[FRAMES_MAX];
	struct unwind_ops ops = {.ctx = t, .find = target_find, .read = target_read};
	struct unwind_regs regs;
	enum unw_end end;
	size_t cnt;

	if (!regs_read(tid, &regs)) {
		fprintf(stderr, "thread %d: %s\n", tid, strerror(errno));
		return;
	}
	end = unwind_walk(&ops, &regs, frames, FRAMES_MAX, &cnt);
	ptrace(PTRACE_DETACH, tid, 0, 0);
	printf("thread %d %s\n", tid, ends[end]);
	for (size_t i = 0; i < cnt; i++) {
		const struct unwind_frame *f = &frames[i];
		const struct map *m = map_of(t, f->exact ? f->pc : f->pc - 1);
		const char *name = m->path[0] ? m->path : "[anon]";

		printf("%#" PRIx64 " %s%s %s+%#" PRIx64 "\n", f->pc, f->exact ? "exact" : "return",
		       f->guessed ? "-fp" : "", name, f->pc - m->base);
	}
}

static int process_show(pid_t pid)
{
	struct target t = {.pid = pid};
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	if (!dir) {
		fprintf(stderr, "no process %d\n", pid);
		return 1;
	}
	maps_read(&t);
	for (struct dirent *e = readdir(dir); e; e = readdir(dir))
		if (e->d_name[0] != '.')
			thread_show(&t, (pid_t)strtol(e->d_name, NULL, 10));
	closedir(dir);
	VEC_FOREACH(&t.maps, m)
		cfi_release(&m->table);
	vec_release(&t.maps);
	return 0;
}

static const char *const REGS[] = {"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp",
				   "r8",  "r9",	 "r10", "r11", "r12", "r13", "r14", "r15"};

static void row_show(const struct cfi_table *t, const struct unw_row *r, uint64_t end)
{
	uint8_t kind = r->kind & UNW_CFA_MASK;

	printf("%" PRIx64 " %" PRIx64 " ", t->base_vaddr + r->pc, t->base_vaddr + end);
	if (kind == UNW_RSP || kind == UNW_RBP) {
		printf("%s+%d ", kind == UNW_RSP ? "rsp" : "rbp", r->cfa_off * 8);
		if (r->kind & UNW_RBP_SAVED)
			printf("c%+d c-8\n", r->rbp_off * 8);
		else
			printf("u c-8\n");
	} else if (kind == UNW_EXT) {
		const struct unw_ext *x = &t->exts[r->cfa_off];

		if (x->flags & ~UNW_X_RBX || x->ra_base != UNW_B_CFA || x->rbp_base > UNW_B_SAME) {
			printf("exp\n");
			return;
		}
		printf("%s%+d ", REGS[x->cfa_reg], x->cfa_off);
		if (x->rbp_base == UNW_B_CFA)
			printf("c%+d ", x->rbp_off);
		else
			printf("u ");
		printf("c%+d\n", x->flags & UNW_X_RBX ? -8 : x->ra_off);
	} else {
		puts(kind == UNW_LAST ? "last" : "none");
	}
}

static int rows_show(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct cfi_table t = {0};
	struct err err = {0};
	struct image *im = fd < 0 ? NULL : image_open(fd, &err);

	if (!im || cfi_build(im, &t, &err) < 0) {
		fprintf(stderr, "%s: %s\n", path, err.msg);
		image_free(im);
		return 1;
	}
	for (size_t i = 0; i < t.row_cnt; i++)
		row_show(&t, &t.rows[i], i + 1 < t.row_cnt ? t.rows[i + 1].pc : t.text_len);
	image_free(im);
	cfi_release(&t);
	close(fd);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "-r") == 0)
		return rows_show(argv[2]);
	if (argc != 2) {
		fprintf(stderr, "usage: unwind PID | unwind -r FILE\n");
		return 2;
	}
	return process_show((pid_t)strtol(argv[1], NULL, 10));
}
