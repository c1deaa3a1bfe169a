/* SPDX-License-Identifier: Apache-2.0 */
#include "spans/pending.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/file.h"
#include "spans/reading.h"

/* Header of a span's record; its attributes and references follow. */
struct record {
	struct trace_id trace;
	struct span span;
	uint64_t off, word;
};

struct pending {
	struct buf records;
	int fd;			/* -1: none was needed */
	size_t cnt, spilled_cnt;
	struct making m;	/* for reading back */
};

struct pending *pending_new(void)
{
	struct pending *p = xcalloc(1, sizeof(*p));

	p->fd = -1;
	return p;
}

static void drop_file(struct pending *p)
{
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
	p->spilled_cnt = 0;
}

void pending_free(struct pending *p)
{
	if (!p)
		return;
	drop_file(p);
	buf_release(&p->records);
	making_release(&p->m);
	free(p);
}

size_t pending_cnt(const struct pending *p)
{
	return p->cnt;
}

static int spill(struct pending *p)
{
	const char *dir = getenv("TMPDIR");
	int rc;

	if (p->fd < 0)
		p->fd = open(dir && *dir ? dir : "/var/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (p->fd < 0)
		return -errno;
	rc = file_write_all(p->fd, p->records.data, p->records.len);
	if (rc < 0)
		return rc;
	p->spilled_cnt = p->cnt;
	buf_clear(&p->records);
	return 0;
}

int pending_add(struct pending *p, const struct making *m, uint64_t word)
{
	struct record rec = {.trace = m->trace, .span = m->span, .off = m->off, .word = word};

	rec.span.attr_cnt = (uint32_t)m->attrs.cnt;
	rec.span.ref_cnt = (uint32_t)m->refs.cnt;
	if (p->records.len >= PENDING_BYTES) {
		int rc = spill(p);

		if (rc < 0)
			return rc;
	}
	buf_add(&p->records, &rec, sizeof(rec));
	if (m->attrs.cnt)
		buf_add(&p->records, m->attrs.items, m->attrs.cnt * sizeof(*m->attrs.items));
	if (m->refs.cnt)
		buf_add(&p->records, m->refs.items, m->refs.cnt * sizeof(*m->refs.items));
	p->cnt++;
	return 0;
}

/* The next bytes of memory (at) or of the file; false: they are not there. */
static bool get(FILE *file, const char **at, void *to, size_t len)
{
	if (!len)
		return true;
	if (file)
		return fread(to, 1, len, file) == len;
	memcpy(to, *at, len);
	*at += len;
	return true;
}

static int take_back(struct pending *p, FILE *file, const char **at, uint64_t *ret_word)
{
	struct making *m = &p->m;
	struct record rec;

	if (!get(file, at, &rec, sizeof(rec)))
		return -EIO;
	making_begin(m, rec.off);
	m->trace = rec.trace;
	m->span = rec.span;
	*ret_word = rec.word;
	vec_reserve(&m->attrs, rec.span.attr_cnt);
	vec_reserve(&m->refs, rec.span.ref_cnt);
	m->attrs.cnt = rec.span.attr_cnt;
	m->refs.cnt = rec.span.ref_cnt;
	if (!get(file, at, m->attrs.items, m->attrs.cnt * sizeof(*m->attrs.items)) ||
	    !get(file, at, m->refs.items, m->refs.cnt * sizeof(*m->refs.items)))
		return -EIO;
	return 0;
}

static FILE *open_back(struct pending *p)
{
	FILE *file;

	if (lseek(p->fd, 0, SEEK_SET) < 0)
		return NULL;
	file = fdopen(p->fd, "r");
	if (file)
		p->fd = -1; /* fclose closes it */
	return file;
}

int pending_take(struct pending *p, int (*take)(void *ctx, struct making *m, uint64_t word),
		 void *ctx)
{
	FILE *file = p->spilled_cnt ? open_back(p) : NULL;
	int rc = p->spilled_cnt && !file ? -EIO : 0;
	const char *at = p->records.data;
	uint64_t word;

	for (size_t i = 0; i < p->cnt && rc == 0; i++) {
		rc = take_back(p, i < p->spilled_cnt ? file : NULL, &at, &word);
		if (rc == 0)
			rc = take(ctx, &p->m, word);
	}
	if (file)
		fclose(file);
	drop_file(p);
	buf_clear(&p->records);
	p->cnt = 0;
	return rc;
}
