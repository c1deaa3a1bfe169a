/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ruby that exports neither its virtual machine nor its loop (3.3 of distributions, where
 * all tables of symbols are stripped).
 *
 * The pointer to the machine is among the library's variables: it is the one that leads to
 * a main thread which leads back, with frames that end where they should.  The loop is the
 * function in which the words of instructions lie: the first word of any function of the
 * program is the address of code there.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "symbols/files/image.h"
#include "symbols/runtimes/ruby.h"
#include "symbols/runtimes/runtimes_int.h"
#include "symbols/unwind/cfi.h"

enum {
	SCAN_MAX = 1 << 20, SCAN_PART = 4096, /* bytes of variables */
	TRY_MAX = 1 << 14,		      /* pointers that are followed */
	FRAMES_MAX = 64,		      /* looked at for one of the program */
	LOWEST = 4096,			      /* no pointer is below */
};

struct scan {
	const struct runtime_proc *r;
	const struct ruby_layout *at;
	uint64_t start, end; /* the library's own addresses */
	unsigned left;
};

/* 0: not among them. */
static uint64_t scan_words(struct scan *s, uint64_t addr, const uint8_t *bytes, size_t len)
{
	struct ruby_main thread;

	for (size_t i = 0; i + sizeof(uint64_t) <= len && s->left; i += sizeof(uint64_t)) {
		uint64_t word = runtime_u64(bytes, i);

		if (word < LOWEST || word % sizeof(uint64_t) ||
		    (word >= s->start && word < s->end))
			continue;
		s->left--;
		if (ruby_main_read(s->r, s->at, word, &thread) == 0)
			return addr + i;
	}
	return 0;
}

int ruby_find_vm(const struct runtime_proc *r, struct image *im, const struct ruby_layout *at,
		 uint64_t *ret)
{
	const struct image_section *bss = image_find(im, ".bss");
	struct scan s = {.r = r, .at = at, .start = r->bias, .left = TRY_MAX};
	uint8_t bytes[SCAN_PART];

	if (!bss)
		return -ENOENT;
	s.end = r->bias + bss->vaddr + bss->size;
	for (uint64_t off = 0; off < bss->size && off < SCAN_MAX; off += SCAN_PART) {
		uint64_t addr = (r->bias + bss->vaddr + 7) / 8 * 8 + off, found;
		size_t len = s.end - addr < SCAN_PART ? (size_t)(s.end - addr) : SCAN_PART;

		if (addr >= s.end || runtime_read(r, addr, bytes, len) < 0)
			continue;
		found = scan_words(&s, addr, bytes, len);
		if (found) {
			*ret = found;
			return 0;
		}
	}
	return -ENOENT;
}

/* The address of an instruction's code, out of the frames of the main thread. */
static int instruction_of(const struct runtime_proc *r, const struct ruby_layout *at, uint64_t vm,
			  uint64_t *ret)
{
	struct ruby_main thread;
	int rc = ruby_main_read(r, at, vm, &thread);

	for (unsigned i = 0; rc == 0 && i < FRAMES_MAX && thread.frame < thread.end; i++) {
		if (ruby_frame_word(r, thread.frame, ret) == 0)
			return 0;
		thread.frame += at->frame_len;
	}
	return rc < 0 ? rc : -ENOENT;
}

int ruby_find_loop(const struct runtime_proc *r, struct image *im, const struct ruby_layout *at,
		   uint64_t vm, struct runtime_range *ret)
{
	CLEANUP_FREE struct cfi_fn *fns = NULL;
	uint64_t base = r->bias + image_base_vaddr(im), word;
	size_t cnt = 0;
	int rc = instruction_of(r, at, vm, &word);

	if (rc == 0)
		rc = cfi_functions(im, &fns, &cnt, NULL);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < cnt; i++) {
		if (word - base - fns[i].pc >= fns[i].len)
			continue;
		*ret = (struct runtime_range){base + fns[i].pc, base + fns[i].pc + fns[i].len};
		return 0;
	}
	return -ENOENT;
}
