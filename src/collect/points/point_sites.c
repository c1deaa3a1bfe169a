/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/points/point_sites.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/err.h"
#include "base/search.h"
#include "symbols/files/image.h"
#include "symbols/unwind/cfi.h"

#define CODE_BYTES 5	/* of the longest instruction that is known here */

struct point_file {
	int fd;
	struct image *image;
	struct cfi_table table;
	struct cfi_fn *fns;	/* ascending; equal neighbours in the table are one row */
	size_t fn_cnt;
	bool has_table;
	uint64_t base_vaddr;
};

struct point_file *point_file_open(int fd, struct err *err)
{
	struct image *im = image_open(fd, err);
	struct point_file *f;
	struct err ignored = {0};

	if (!im)
		return NULL;
	f = xcalloc(1, sizeof(*f));
	f->image = im;
	f->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (f->fd < 0) {
		err_errno(err, -errno, "keep a file open");
		point_file_close(f);
		return NULL;
	}
	f->base_vaddr = image_base_vaddr(im);
	f->has_table = cfi_build(im, &f->table, &ignored) == 0 &&
		       cfi_functions(im, &f->fns, &f->fn_cnt, &ignored) == 0;
	return f;
}

void point_file_close(struct point_file *f)
{
	if (!f)
		return;
	image_free(f->image);
	cfi_release(&f->table);
	free(f->fns);
	if (f->fd >= 0)
		close(f->fd);
	free(f);
}

int point_file_fd(const struct point_file *f)
{
	return f->fd;
}

uint32_t point_file_functions(const struct point_file *f)
{
	return (uint32_t)f->fn_cnt;
}

/*
 * The kernel emulates push, jumps, calls and short nops; all else runs out of line
 * with a trap after it.  Measured per first instruction: 20 times as dear.
 */
static bool is_fast(const uint8_t *code, uint32_t len)
{
	if (!len)
		return false;
	if ((code[0] >= 0x50 && code[0] <= 0x57) || (code[0] >= 0x70 && code[0] <= 0x7f) ||
	    code[0] == 0x90 || code[0] == 0xe8 || code[0] == 0xe9 || code[0] == 0xeb)
		return true;
	if (len >= 2 && code[0] == 0x41 && code[1] >= 0x50 && code[1] <= 0x57)
		return true;
	if (len >= 2 && code[0] == 0x66 && code[1] == 0x90)
		return true;
	if (len < 2 || code[0] != 0x0f)
		return false;
	if (code[1] >= 0x80 && code[1] <= 0x8f)
		return true;
	return len >= 3 && code[1] == 0x1f && (code[2] == 0x40 || code[2] == 0x44);
}

static bool begins_function(const struct point_file *f, uint32_t pc)
{
	size_t at = SORTED_PREFIX(f->fns, f->fn_cnt, fn, fn->pc < pc);

	return at < f->fn_cnt && f->fns[at].pc == pc;
}

enum point_refusal point_file_site(struct point_file *f, uint64_t pc, struct point_site *ret)
{
	uint8_t code[CODE_BYTES];
	const struct unw_row *row;
	struct err err = {0};
	uint64_t off, left;

	if (!f->has_table)
		return POINT_NO_TABLE;
	if (pc > UINT32_MAX)
		return POINT_NO_ENTRY;
	row = cfi_row(&f->table, (uint32_t)pc);
	if (!row || row->kind != UNW_RSP || row->cfa_off != 1 || !begins_function(f, (uint32_t)pc))
		return POINT_NO_ENTRY;
	if (image_vaddr_off(f->image, f->base_vaddr + pc, &off, &left) < 0 ||
	    left < sizeof(code) || image_read(f->image, off, code, sizeof(code), &err) < 0)
		return POINT_NOT_IN_FILE;
	ret->file_off = off;
	ret->slow = !is_fast(code, sizeof(code));
	return POINT_OK;
}

const char *point_refusal_words(enum point_refusal why)
{
	static const char *const words[POINT_REFUSAL_CNT] = {
		[POINT_OK] = "",
		[POINT_NO_TABLE] = "its file has no unwinding table",
		[POINT_NO_ENTRY] = "no function begins there",
		[POINT_NOT_IN_FILE] = "its bytes are not in the file",
	};

	return why < POINT_REFUSAL_CNT ? words[why] : "";
}
