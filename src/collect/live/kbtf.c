/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over all types notes where each begins, and by a hash of the name
 * those of the tracepoints (typedef btf_trace_NAME).  All else is searched when
 * it is asked for, which is rare.
 */
#include "collect/live/kbtf_int.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/btf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/vec.h"

#define KBTF_FILE "/sys/kernel/btf/vmlinux"
#define BYTES_MAX (64u << 20)
#define TRACE "btf_trace_"
#define DEPTH_MAX 8 /* of anonymous members inside each other */

const char *kbtf_str(const struct kbtf *k, uint32_t off)
{
	return off < k->strs_len ? k->strs + off : "";
}

const struct btf_type *kbtf_type(const struct kbtf *k, uint32_t id)
{
	return id && id <= k->offs.cnt ? (const void *)(k->types + k->offs.items[id - 1]) : NULL;
}

static uint32_t kind_of(const struct btf_type *t)
{
	return BTF_INFO_KIND(t->info);
}

int64_t kbtf_tail_bytes(const struct btf_type *t)
{
	uint64_t cnt = BTF_INFO_VLEN(t->info);

	switch (kind_of(t)) {
	case BTF_KIND_INT:
	case BTF_KIND_VAR:
	case BTF_KIND_DECL_TAG:
		return sizeof(uint32_t);
	case BTF_KIND_ARRAY:
		return sizeof(struct btf_array);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return cnt * sizeof(struct btf_member);
	case BTF_KIND_ENUM:
		return cnt * sizeof(struct btf_enum);
	case BTF_KIND_ENUM64:
		return cnt * sizeof(struct btf_enum64);
	case BTF_KIND_FUNC_PROTO:
		return cnt * sizeof(struct btf_param);
	case BTF_KIND_DATASEC:
		return cnt * sizeof(struct btf_var_secinfo);
	case BTF_KIND_PTR:
	case BTF_KIND_FWD:
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_FUNC:
	case BTF_KIND_FLOAT:
	case BTF_KIND_TYPE_TAG:
		return 0;
	}
	return -1;
}

static void note_trace(struct kbtf *k, const struct btf_type *t, uint32_t id)
{
	const char *name = kbtf_str(k, t->name_off);

	if (strncmp(name, TRACE, strlen(TRACE)) == 0)
		hmap_put(&k->traces, hash_bytes(name, strlen(name)), id);
}

static int index_types(struct kbtf *k, struct err *err)
{
	for (uint64_t off = 0; off < k->types_len;) {
		const struct btf_type *t = (const void *)(k->types + off);
		int64_t tail = k->types_len - off < sizeof(*t) ? -1 : kbtf_tail_bytes(t);

		if (tail < 0 || off + sizeof(*t) + (uint64_t)tail > k->types_len)
			return err_set(err, -EBADMSG, "type information is damaged at %llu",
				       (unsigned long long)off);
		vec_push(&k->offs, (uint32_t)off);
		if (kind_of(t) == BTF_KIND_TYPEDEF)
			note_trace(k, t, (uint32_t)k->offs.cnt);
		off += sizeof(*t) + (uint64_t)tail;
	}
	return 0;
}

static int parse(struct kbtf *k, const char *data, size_t len, struct err *err)
{
	struct btf_header h;

	if (len < sizeof(h) || len > BYTES_MAX)
		return err_set(err, -EBADMSG, "type information of %zu bytes", len);
	memcpy(&h, data, sizeof(h));
	if (h.magic != BTF_MAGIC || h.hdr_len < sizeof(h) || h.hdr_len > len ||
	    h.type_off > len - h.hdr_len || h.type_len > len - h.hdr_len - h.type_off ||
	    h.str_off > len - h.hdr_len || h.str_len > len - h.hdr_len - h.str_off ||
	    (h.hdr_len + h.type_off) % 4 || !h.str_len)
		return err_set(err, -EBADMSG, "type information has a bad head");
	k->types = data + h.hdr_len + h.type_off;
	k->types_len = h.type_len;
	k->strs = data + h.hdr_len + h.str_off;
	k->strs_len = h.str_len;
	if (k->strs[k->strs_len - 1])
		return err_set(err, -EBADMSG, "type information has an open string");
	return index_types(k, err);
}

/* Kernels before 6.16 cannot map it, and give 4 KiB at a time. */
static const char *load(struct kbtf *k, int fd)
{
	struct stat st;
	size_t got = 0;
	ssize_t n;

	if (fstat(fd, &st) < 0 || st.st_size <= 0 || st.st_size > BYTES_MAX)
		return NULL;
	k->len = (size_t)st.st_size;
	k->mapped = mmap(NULL, k->len, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
	if (k->mapped != MAP_FAILED)
		return k->mapped;
	k->mapped = NULL;
	k->copied = xmalloc(k->len);
	while (got < k->len && (n = read(fd, (char *)k->copied + got, k->len - got)) > 0)
		got += (size_t)n;
	return got == k->len ? k->copied : NULL;
}

struct kbtf *kbtf_new(struct err *err)
{
	CLEANUP_CLOSE int fd = open(KBTF_FILE, O_RDONLY | O_CLOEXEC);
	struct kbtf *k = xcalloc(1, sizeof(*k));
	const char *data = fd < 0 ? NULL : load(k, fd);

	if (!data)
		err_set(err, -ENOENT, "no type information (%s)", KBTF_FILE);
	if (data && parse(k, data, k->len, err) == 0)
		return k;
	kbtf_free(k);
	return NULL;
}

struct kbtf *kbtf_parse(const void *data, size_t len, struct err *err)
{
	struct kbtf *k = xcalloc(1, sizeof(*k));

	if (parse(k, data, len, err) == 0)
		return k;
	kbtf_free(k);
	return NULL;
}

void kbtf_free(struct kbtf *k)
{
	if (!k)
		return;
	if (k->mapped)
		munmap(k->mapped, k->len);
	free(k->copied);
	vec_release(&k->offs);
	hmap_release(&k->traces);
	free(k);
}

int kbtf_trace_args(const struct kbtf *k, const char *name)
{
	const struct btf_type *t;
	char type[128];
	uint64_t id;

	snprintf(type, sizeof(type), TRACE "%s", name);
	if (!hmap_get(&k->traces, hash_bytes(type, strlen(type)), &id))
		return -1;
	t = kbtf_type(k, (uint32_t)id);
	if (!t || strcmp(kbtf_str(k, t->name_off), type) != 0)
		return -1;
	t = kbtf_type(k, t->type);
	if (t && kind_of(t) == BTF_KIND_PTR)
		t = kbtf_type(k, t->type);
	return t && kind_of(t) == BTF_KIND_FUNC_PROTO ? (int)BTF_INFO_VLEN(t->info) : -1;
}

/* Its id; 0 none. */
static uint32_t find_id(const struct kbtf *k, const char *name, uint32_t kind)
{
	VEC_FOREACH(&k->offs, off) {
		const struct btf_type *t = (const void *)(k->types + *off);

		if (kind_of(t) == kind && strcmp(kbtf_str(k, t->name_off), name) == 0)
			return (uint32_t)(off - k->offs.items) + 1;
	}
	return 0;
}

static const struct btf_type *find(const struct kbtf *k, const char *name, uint32_t kind)
{
	return kbtf_type(k, find_id(k, name, kind));
}

bool kbtf_has_func(const struct kbtf *k, const char *name)
{
	return kbtf_func_id(k, name) != 0;
}

uint32_t kbtf_func_id(const struct kbtf *k, const char *name)
{
	return find_id(k, name, BTF_KIND_FUNC);
}

int64_t kbtf_percpu_off(const struct kbtf *k, const char *name)
{
	const struct btf_type *sec = find(k, ".data..percpu", BTF_KIND_DATASEC);
	const struct btf_var_secinfo *v = sec ? (const void *)(sec + 1) : NULL;

	for (uint32_t i = 0; sec && i < BTF_INFO_VLEN(sec->info); i++) {
		const struct btf_type *var = kbtf_type(k, v[i].type);

		if (var && strcmp(kbtf_str(k, var->name_off), name) == 0)
			return v[i].offset;
	}
	return -1;
}

static int64_t member_off(const struct kbtf *k, const struct btf_type *t, const char *name,
			  int depth)
{
	const struct btf_member *m = (const void *)(t + 1);

	for (uint32_t i = 0; i < BTF_INFO_VLEN(t->info); i++) {
		const struct btf_type *of = kbtf_type(k, m[i].type);
		const char *member = kbtf_str(k, m[i].name_off);
		uint32_t bits = BTF_INFO_KFLAG(t->info) ? BTF_MEMBER_BIT_OFFSET(m[i].offset)
							: m[i].offset;
		int64_t inner;

		if (strcmp(member, name) == 0)
			return bits / 8;
		if (*member || !of || depth == DEPTH_MAX ||
		    (kind_of(of) != BTF_KIND_STRUCT && kind_of(of) != BTF_KIND_UNION))
			continue;
		inner = member_off(k, of, name, depth + 1);
		if (inner >= 0)
			return bits / 8 + inner;
	}
	return -1;
}

int64_t kbtf_member_off(const struct kbtf *k, const char *type, const char *member)
{
	const struct btf_type *t = find(k, type, BTF_KIND_STRUCT);

	return t ? member_off(k, t, member, 0) : -1;
}
