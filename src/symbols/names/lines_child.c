/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/names/lines_int.h"

#ifdef HAVE_LIBDW

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/vec.h"
#include "symbols/names/lines.h"

struct debug {
	Dwarf *dw;
	Elf *elf;
	int fd;
};

struct child {
	int sock;
	struct hmap by_key; /* to index + 1, 0 for a file without debug information */
	VEC(struct debug) files;
};

static void text_set(char out[LINES_TEXT_MAX], const char *text)
{
	size_t len = text ? strlen(text) : 0;

	/* of a path its end says more */
	if (len >= LINES_TEXT_MAX)
		text += len - (LINES_TEXT_MAX - 1);
	snprintf(out, LINES_TEXT_MAX, "%s", text ? text : "");
}

static const char *die_name(Dwarf_Die *die)
{
	static const unsigned names[] = {DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		Dwarf_Attribute attr;

		if (dwarf_attr_integrate(die, names[i], &attr)) {
			const char *name = dwarf_formstring(&attr);

			if (name)
				return name;
		}
	}
	return NULL;
}

static bool is_function(Dwarf_Die *die)
{
	int tag = dwarf_tag(die);

	return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
}

/* Place in its caller at which an inlined function was called. */
static void call_place(Dwarf_Die *die, Dwarf_Files *files, struct lines_frame *caller)
{
	Dwarf_Attribute attr;
	Dwarf_Word value;

	if (dwarf_formudata(dwarf_attr(die, DW_AT_call_line, &attr), &value) == 0)
		caller->line = (uint32_t)value;
	if (files && dwarf_formudata(dwarf_attr(die, DW_AT_call_file, &attr), &value) == 0)
		text_set(caller->file, dwarf_filesrc(files, value, NULL, NULL));
}

/* scopes: innermost first, up to and with the unit. */
static void fill_functions(Dwarf_Die *scopes, int cnt, Dwarf_Files *files, struct lines_answer *a)
{
	int functions = 0, depth;

	for (int i = 0; i < cnt; i++) {
		functions += is_function(&scopes[i]);
		if (dwarf_tag(&scopes[i]) == DW_TAG_subprogram)
			cnt = i + 1; /* what it is declared in is no caller */
	}
	if (functions > LINES_FRAME_MAX) /* those further in are left out */
		a->frame_cnt = LINES_FRAME_MAX;
	else
		a->frame_cnt = (uint32_t)functions;
	depth = functions;
	for (int i = 0; i < cnt; i++) {
		if (!is_function(&scopes[i]))
			continue;
		depth--;
		if (depth < LINES_FRAME_MAX)
			text_set(a->frames[depth].fn, die_name(&scopes[i]));
		if (depth > 0 && depth <= LINES_FRAME_MAX)
			call_place(&scopes[i], files, &a->frames[depth - 1]);
	}
}

/* Some compilers leave out the table of addresses: then each unit is asked. */
static bool unit_of(Dwarf *dw, uint64_t vaddr, Dwarf_Die *ret)
{
	Dwarf_Off off = 0, next;
	size_t head;

	if (dwarf_addrdie(dw, vaddr, ret))
		return true;
	for (; dwarf_nextcu(dw, off, &next, &head, NULL, NULL, NULL) == 0; off = next) {
		if (dwarf_offdie(dw, off + head, ret) && dwarf_haspc(ret, vaddr) > 0)
			return true;
	}
	return false;
}

static void answer_for(Dwarf *dw, uint64_t vaddr, struct lines_answer *a)
{
	Dwarf_Die cu, *scopes = NULL, *inner = NULL;
	Dwarf_Files *files = NULL;
	Dwarf_Line *line;
	int cnt;

	if (!unit_of(dw, vaddr, &cu))
		return;
	dwarf_getsrcfiles(&cu, &files, NULL);
	cnt = dwarf_getscopes(&cu, vaddr, &scopes);
	/* of an inlined function the scopes go on where it is written: those of its DIE do not */
	if (cnt > 0) {
		Dwarf_Die first = scopes[0];

		cnt = dwarf_getscopes_die(&first, &inner);
	}
	if (cnt > 0)
		fill_functions(inner, cnt, files, a);
	free(scopes);
	free(inner);
	if (!a->frame_cnt)
		a->frame_cnt = 1;
	line = dwarf_getsrc_die(&cu, vaddr);
	if (line) {
		struct lines_frame *f = &a->frames[a->frame_cnt - 1];
		int number = 0;

		text_set(f->file, dwarf_linesrc(line, NULL, NULL));
		if (dwarf_lineno(line, &number) == 0 && number > 0)
			f->line = (uint32_t)number;
	}
}

/* The question, and a descriptor when there is one with it; false at the end. */
static bool next_question(int sock, struct lines_question *q, int *ret_fd)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {0};
	struct iovec iov = {q, sizeof(*q)};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.bytes,
			     .msg_controllen = sizeof(control.bytes)};
	struct cmsghdr *c;

	if (recvmsg(sock, &msg, MSG_CMSG_CLOEXEC) != sizeof(*q))
		return false;
	*ret_fd = -1;
	c = CMSG_FIRSTHDR(&msg);
	if (c && c->cmsg_type == SCM_RIGHTS)
		memcpy(ret_fd, CMSG_DATA(c), sizeof(*ret_fd));
	return true;
}

static Dwarf *file_of(struct child *c, const struct lines_question *q, int fd)
{
	uint64_t idx = 0;

	if (fd >= 0) {
		/* not mapped: the file may be cut under us; descriptors stay open */
		Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
		Dwarf *dw = elf ? dwarf_begin_elf(elf, DWARF_C_READ, NULL) : NULL;

		vec_push(&c->files, ((struct debug){dw, elf, fd}));
		hmap_put(&c->by_key, q->key, dw ? c->files.cnt : 0);
	}
	hmap_get(&c->by_key, q->key, &idx);
	return idx ? c->files.items[idx - 1].dw : NULL;
}

static void child_release(struct child *c)
{
	VEC_FOREACH(&c->files, f) {
		dwarf_end(f->dw);
		elf_end(f->elf);
		close(f->fd);
	}
	vec_release(&c->files);
	hmap_release(&c->by_key);
}

void lines_child(int sock)
{
	struct child c = {.sock = sock};
	struct lines_question q;
	int fd;

	elf_version(EV_CURRENT);
	while (next_question(sock, &q, &fd)) {
		struct lines_answer a = {0};
		Dwarf *dw = file_of(&c, &q, fd);
		size_t len;

		if (dw)
			answer_for(dw, q.vaddr, &a);
		len = offsetof(struct lines_answer, frames) + a.frame_cnt * sizeof(a.frames[0]);
		if (send(sock, &a, len, MSG_NOSIGNAL) != (ssize_t)len)
			break;
	}
	child_release(&c);
}

#else

void lines_child(int sock)
{
	(void)sock;
}

#endif
