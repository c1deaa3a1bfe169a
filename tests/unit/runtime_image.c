/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime_image.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/bug.h"
#include "base/hash.h"
#include "runtime_make.h"

enum { NAME_MAX_LEN = 30, RODATA_MAX = 4096, GAP = 8 };

static void put_number(struct buf *out, uint64_t n, size_t len)
{
	buf_add(out, &n, len);
}

static void put_memory(const struct runtime_make *m, struct buf *out)
{
	for (size_t at = 0; at < sizeof(m->mem);) {
		size_t end = at, zeros = 0;

		if (!m->mem[at]) {
			at++;
			continue;
		}
		for (; end < sizeof(m->mem) && zeros < GAP && end - at < UINT16_MAX; end++)
			zeros = m->mem[end] ? 0 : zeros + 1;
		end -= zeros;
		put_number(out, at, 2);
		put_number(out, end - at, 2);
		buf_add(out, m->mem + at, end - at);
		at = end;
	}
}

void runtime_image_put(const struct runtime_make *m, struct buf *out)
{
	size_t len = m->rodata_len ? m->rodata_len : strlen(m->rodata) + 1;

	buf_add(out, m->name, strlen(m->name) + 1);
	put_number(out, len, 2);
	buf_add(out, m->rodata, len);
	put_number(out, m->symbol_cnt, 1);
	for (size_t i = 0; i < m->symbol_cnt; i++) {
		buf_add(out, m->symbols[i].name, strlen(m->symbols[i].name) + 1);
		put_number(out, m->symbols[i].value, 8);
		put_number(out, m->symbols[i].size, 8);
	}
	put_number(out, m->bss, 8);
	put_number(out, m->bss_len, 8);
	put_number(out, m->loop, 8);
	put_number(out, m->loop_len, 8);
	put_memory(m, out);
}

struct cursor {
	const uint8_t *at, *end;
	bool bad;
};

static uint64_t take_number(struct cursor *c, size_t len)
{
	uint64_t n = 0;

	c->bad |= (size_t)(c->end - c->at) < len;
	if (c->bad)
		return 0;
	memcpy(&n, c->at, len);
	c->at += len;
	return n;
}

static const uint8_t *take_bytes(struct cursor *c, size_t len)
{
	const uint8_t *at = c->at;

	c->bad |= (size_t)(c->end - c->at) < len;
	if (c->bad)
		return NULL;
	c->at += len;
	return at;
}

/* A text of at most NAME_MAX_LEN bytes, where it lies. */
static const char *take_text(struct cursor *c)
{
	const char *text = (const char *)c->at;
	size_t len = strnlen(text, (size_t)(c->end - c->at));

	c->bad |= len > NAME_MAX_LEN;
	return take_bytes(c, len + 1) ? text : "";
}

bool runtime_image_take(const uint8_t *data, size_t len, struct runtime_make *m)
{
	static struct runtime_make_symbol symbols[31];
	struct cursor c = {.at = data, .end = data + len};
	const uint8_t *bytes;

	*m = (struct runtime_make){.name = take_text(&c), .symbols = symbols};
	m->rodata_len = take_number(&c, 2);
	m->rodata = (const char *)take_bytes(&c, m->rodata_len);
	m->symbol_cnt = take_number(&c, 1);
	if (c.bad || !m->rodata_len || m->rodata_len > RODATA_MAX ||
	    m->symbol_cnt > sizeof(symbols) / sizeof(symbols[0]))
		return false;
	for (size_t i = 0; i < m->symbol_cnt; i++) {
		symbols[i].name = take_text(&c);
		symbols[i].value = take_number(&c, 8);
		symbols[i].size = take_number(&c, 8);
	}
	m->bss = take_number(&c, 8);
	m->bss_len = take_number(&c, 8);
	m->loop = take_number(&c, 8);
	m->loop_len = take_number(&c, 8);
	while (!c.bad && c.at < c.end) {
		size_t at = take_number(&c, 2), cnt = take_number(&c, 2);

		bytes = take_bytes(&c, cnt);
		if (bytes && cnt <= sizeof(m->mem) - at)
			memcpy(m->mem + at, bytes, cnt);
	}
	return !c.bad;
}

void runtime_image_keep(const struct runtime_make *m)
{
	const char *dir = getenv("RUNTIME_SEEDS");
	struct buf out = {0};
	char path[4096];
	int fd;

	if (!dir)
		return;
	runtime_image_put(m, &out);
	snprintf(path, sizeof(path), "%s/made_%016llx", dir,
		 (unsigned long long)hash_bytes(out.data, out.len));
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	BUG_ON(fd < 0 || write(fd, out.data, out.len) != (ssize_t)out.len);
	close(fd);
	buf_release(&out);
}
