/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Types keep the order in which they are first asked for.  A number in
 * `moved` is a type's place among the new ones; the queue is what is still
 * to be written, so that no depth of nesting takes more of the stack.
 */
#include "collect/live/kbtf_subset.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "collect/live/kbtf_int.h"
#include "wire/ktype_ids.h"

#define BYTES_MAX (64u << 20) /* as kbtf.c takes of all types */

/* The types that programs cast to, by enum heldup_ktype. */
static const char *const ktype_names[] = {
	"",
#define X(name) [KTYPE_##name] = #name,
	KTYPE_IDS(X)
#undef X
};

#define KTYPE_CNT (sizeof(ktype_names) / sizeof(ktype_names[0]))

struct subset {
	const struct kbtf *k;
	struct hmap moved;	/* old id to new */
	VEC(uint32_t) order;	/* old ids, by new id - 1 */
	struct buf types, strs;
	uint32_t ids[KTYPE_CNT]; /* by enum heldup_ktype */
};

static uint32_t move(struct subset *s, uint32_t old)
{
	uint64_t id;

	if (!kbtf_type(s->k, old))
		return 0;
	if (hmap_get(&s->moved, old, &id))
		return (uint32_t)id;
	vec_push(&s->order, old);
	hmap_put(&s->moved, old, s->order.cnt);
	return (uint32_t)s->order.cnt;
}

static uint32_t name_add(struct subset *s, const char *str)
{
	uint32_t at = (uint32_t)s->strs.len;

	if (!*str)
		return 0;
	buf_add(&s->strs, str, strlen(str) + 1);
	return at;
}

static uint32_t name(struct subset *s, uint32_t off)
{
	return name_add(s, kbtf_str(s->k, off));
}

static void add_members(struct subset *s, const struct btf_type *t)
{
	const struct btf_member *m = (const void *)(t + 1);

	for (uint32_t i = 0; i < BTF_INFO_VLEN(t->info); i++) {
		struct btf_member copy = m[i];

		copy.name_off = name(s, m[i].name_off);
		copy.type = move(s, m[i].type);
		buf_add(&s->types, &copy, sizeof(copy));
	}
}

/* Both kinds begin with the name; the rest are numbers. */
static void add_values(struct subset *s, const struct btf_type *t, size_t size)
{
	const char *at = (const char *)(t + 1);

	for (uint32_t i = 0; i < BTF_INFO_VLEN(t->info); i++, at += size) {
		uint32_t off;

		memcpy(&off, at, sizeof(off));
		off = name(s, off);
		buf_add(&s->types, &off, sizeof(off));
		buf_add(&s->types, at + sizeof(off), size - sizeof(off));
	}
}

/* A pointer to nothing stands for each kind that relocations never look into. */
static void add_type(struct subset *s, const struct btf_type *t)
{
	struct btf_type copy = *t;
	struct btf_array array;

	copy.name_off = name(s, t->name_off);
	switch (BTF_INFO_KIND(t->info)) {
	case BTF_KIND_INT:
	case BTF_KIND_FLOAT:
	case BTF_KIND_FWD:
		buf_add(&s->types, &copy, sizeof(copy));
		buf_add(&s->types, t + 1, (size_t)kbtf_tail_bytes(t));
		return;
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_CONST:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_TYPE_TAG:
		copy.type = move(s, t->type);
		buf_add(&s->types, &copy, sizeof(copy));
		return;
	case BTF_KIND_ARRAY:
		memcpy(&array, t + 1, sizeof(array));
		array.type = move(s, array.type);
		array.index_type = move(s, array.index_type);
		buf_add(&s->types, &copy, sizeof(copy));
		buf_add(&s->types, &array, sizeof(array));
		return;
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		buf_add(&s->types, &copy, sizeof(copy));
		add_members(s, t);
		return;
	case BTF_KIND_ENUM:
		buf_add(&s->types, &copy, sizeof(copy));
		add_values(s, t, sizeof(struct btf_enum));
		return;
	case BTF_KIND_ENUM64:
		buf_add(&s->types, &copy, sizeof(copy));
		add_values(s, t, sizeof(struct btf_enum64));
		return;
	}
	copy = (struct btf_type){.info = BTF_KIND_PTR << 24};
	buf_add(&s->types, &copy, sizeof(copy));
}

/* Programs name types, and flavours of them: name___what. */
static size_t essential_len(const char *str)
{
	const char *flavour = strstr(str + (*str != 0), "___");

	return flavour ? (size_t)(flavour - str) : strlen(str);
}

static bool can_be_named(uint32_t kind)
{
	return kind == BTF_KIND_STRUCT || kind == BTF_KIND_UNION || kind == BTF_KIND_TYPEDEF ||
	       kind == BTF_KIND_ENUM || kind == BTF_KIND_ENUM64;
}

static void wanted_names(const struct btf *local, struct hmap *names)
{
	for (uint32_t id = 1; id < btf__type_cnt(local); id++) {
		const struct btf_type *t = btf__type_by_id(local, id);
		const char *str = btf__name_by_offset(local, t->name_off);

		if (can_be_named(BTF_INFO_KIND(t->info)) && str && *str)
			hmap_put(names, hash_bytes(str, essential_len(str)), 1);
	}
}

static void note_id(struct subset *s, const char *str, uint32_t id)
{
	for (size_t i = 1; i < KTYPE_CNT; i++)
		if (!s->ids[i] && strcmp(str, ktype_names[i]) == 0)
			s->ids[i] = id;
}

/* Two names of one hash bring in a type too many, which does no harm. */
static void choose(struct subset *s, const struct btf *local)
{
	struct hmap names = {0};

	wanted_names(local, &names);
	for (uint32_t id = 1; id <= s->k->offs.cnt; id++) {
		const struct btf_type *t = kbtf_type(s->k, id);
		const char *str = kbtf_str(s->k, t->name_off);

		if (!can_be_named(BTF_INFO_KIND(t->info)) || !*str ||
		    !hmap_get(&names, hash_bytes(str, essential_len(str)), NULL))
			continue;
		move(s, id);
		if (BTF_INFO_KIND(t->info) == BTF_KIND_STRUCT)
			note_id(s, str, id);
	}
	hmap_release(&names);
}

/* Comes last, so it moves no other type. */
static void add_ktypes(struct subset *s)
{
	struct btf_type t = {
		.name_off = name_add(s, "heldup_ktype"),
		.info = BTF_KIND_ENUM << 24 | (KTYPE_CNT - 1),
		.size = sizeof(uint32_t),
	};

	buf_add(&s->types, &t, sizeof(t));
	for (size_t i = 1; i < KTYPE_CNT; i++) {
		char text[64];
		struct btf_enum e = {.val = (int32_t)s->ids[i]};

		snprintf(text, sizeof(text), "KTYPE_%s", ktype_names[i]);
		e.name_off = name_add(s, text);
		buf_add(&s->types, &e, sizeof(e));
	}
}

static int write_all(int fd, const struct subset *s)
{
	struct btf_header h = {
		.magic = BTF_MAGIC,
		.version = BTF_VERSION,
		.hdr_len = sizeof(h),
		.type_len = (uint32_t)s->types.len,
		.str_off = (uint32_t)s->types.len,
		.str_len = (uint32_t)s->strs.len,
	};
	int rc = file_write_all(fd, &h, sizeof(h));

	if (rc == 0)
		rc = file_write_all(fd, s->types.data, s->types.len);
	return rc < 0 ? rc : file_write_all(fd, s->strs.data, s->strs.len);
}

struct kbtf_subset kbtf_subset_open(void)
{
	struct kbtf_subset s = {.fd = -1};
	struct rlimit max;

	/* files in memory are bounded as others are */
	if (getrlimit(RLIMIT_FSIZE, &max) < 0 || max.rlim_cur < BYTES_MAX)
		return s;
	s.fd = memfd_create("types", MFD_CLOEXEC);
	if (s.fd >= 0)
		snprintf(s.path, sizeof(s.path), "/proc/self/fd/%d", s.fd);
	return s;
}

int kbtf_subset_fill(struct kbtf_subset *sub, const struct kbtf *k, const struct bpf_object *obj)
{
	struct subset s = {.k = k};
	int rc;

	if (sub->fd < 0)
		return 0;
	buf_addch(&s.strs, 0);
	choose(&s, bpf_object__btf(obj));
	for (size_t i = 0; i < s.order.cnt; i++) /* grows meanwhile */
		add_type(&s, kbtf_type(k, s.order.items[i]));
	add_ktypes(&s);
	rc = write_all(sub->fd, &s);
	hmap_release(&s.moved);
	vec_release(&s.order);
	buf_release(&s.types);
	buf_release(&s.strs);
	return rc;
}

void kbtf_subset_close(struct kbtf_subset *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}
