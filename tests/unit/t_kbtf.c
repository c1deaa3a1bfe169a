/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "collect/live/kbtf.h"
#include "collect/live/kbtf_subset.h"
#include "wire/wire.h"
#include "wire/conf.h"
#include "heldup.skel.h"

static const char *const names[] = {"sched_switch", "sched_waking", "sys_enter", "block_rq_issue",
				    "no_such_tracepoint", ""};

/* As libbpf reads it. */
static int trace_args(const struct btf *btf, const char *name)
{
	char type[64];
	int id;

	snprintf(type, sizeof(type), "btf_trace_%s", name);
	id = btf__find_by_name_kind(btf, type, BTF_KIND_TYPEDEF);
	if (id < 0)
		return -1;
	id = (int)btf__type_by_id(btf, (uint32_t)id)->type;
	id = (int)btf__type_by_id(btf, (uint32_t)id)->type;
	return btf_vlen(btf__type_by_id(btf, (uint32_t)id));
}

TEST(kbtf_agrees_with_libbpf)
{
	struct btf *btf = btf__load_vmlinux_btf();
	struct kbtf *k;

	if (libbpf_get_error(btf))
		SKIP("this kernel has no type information");
	k = kbtf_new(NULL);
	OK(k);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		EQ_I(kbtf_trace_args(k, names[i]), trace_args(btf, names[i]));
	OK(kbtf_has_func(k, "vfs_read"));
	OK(!kbtf_has_func(k, "no_such_function"));
	EQ_I(kbtf_member_off(k, "list_head", "prev"), 8);
	EQ_I(kbtf_member_off(k, "list_head", "none"), -1);
	EQ_I(kbtf_percpu_off(k, "no_such_variable"), -1);
	kbtf_free(k);
	btf__free(btf);
}

TEST(kbtf_refuses_what_is_damaged)
{
	struct btf *btf = btf__new_empty();
	struct kbtf *k;
	const void *raw;
	uint32_t len;
	char *copy;

	btf__add_int(btf, "int", 4, BTF_INT_SIGNED);
	btf__add_struct(btf, "pair", 8);
	btf__add_field(btf, "a", 1, 0, 0);
	btf__add_field(btf, "b", 1, 32, 0);
	raw = btf__raw_data(btf, &len);
	copy = malloc(len);
	memcpy(copy, raw, len);
	k = kbtf_parse(copy, len, NULL);
	OK(k);
	EQ_I(kbtf_member_off(k, "pair", "b"), 4);
	kbtf_free(k);
	for (uint32_t cut = 0; cut < len; cut++)
		OK(!kbtf_parse(copy, cut, NULL));
	for (uint32_t at = 0; at < len; at++) { /* read or refused, never beyond its end */
		copy[at] = (char)~copy[at];
		k = kbtf_parse(copy, len, NULL);
		if (k) {
			kbtf_member_off(k, "pair", "b");
			kbtf_percpu_off(k, "x");
			kbtf_trace_args(k, "x");
		}
		kbtf_free(k);
		copy[at] = (char)~copy[at];
	}
	free(copy);
	btf__free(btf);
}

/* The programs' own types are some of the kernel's names: what libbpf would look for. */
static const struct btf_type *subset_struct(const struct btf *btf, const char *name)
{
	int id = btf__find_by_name_kind(btf, name, BTF_KIND_STRUCT);

	return id < 0 ? NULL : btf__type_by_id(btf, (uint32_t)id);
}

static int ktype_id(const struct btf *btf, const char *name)
{
	int id = btf__find_by_name_kind(btf, "heldup_ktype", BTF_KIND_ENUM);
	const struct btf_type *t = id < 0 ? NULL : btf__type_by_id(btf, (uint32_t)id);

	for (uint32_t i = 0; t && i < btf_vlen(t); i++)
		if (strcmp(btf__name_by_offset(btf, btf_enum(t)[i].name_off), name) == 0)
			return btf_enum(t)[i].val;
	return -1;
}

TEST(kbtf_subset_has_what_programs_name)
{
	static const char *const structs[] = {"task_struct", "tcp_sock", "request", "file"};
	struct btf *all = btf__load_vmlinux_btf(), *few;
	struct kbtf_subset s = kbtf_subset_open();
	struct heldup_bpf *skel = heldup_bpf__open();
	struct kbtf *k = kbtf_new(NULL);

	if (libbpf_get_error(all) || !k)
		SKIP("this kernel has no type information");
	OK(skel);
	EQ_I(kbtf_subset_fill(&s, k, skel->obj), 0);
	few = btf__parse(s.path, NULL);
	OK(!libbpf_get_error(few));
	EQ_I(ktype_id(few, "KTYPE_task_struct"),
	     btf__find_by_name_kind(all, "task_struct", BTF_KIND_STRUCT));
	EQ_I(ktype_id(few, "KTYPE_unix_sock"),
	     btf__find_by_name_kind(all, "unix_sock", BTF_KIND_STRUCT));
	OK(btf__type_cnt(few) < btf__type_cnt(all) / 20);
	for (size_t i = 0; i < sizeof(structs) / sizeof(structs[0]); i++) {
		const struct btf_type *a = subset_struct(all, structs[i]);
		const struct btf_type *b = subset_struct(few, structs[i]);

		OK(a && b);
		EQ_I(a->size, b->size);
		EQ_I(btf_vlen(a), btf_vlen(b));
		for (uint32_t m = 0; m < btf_vlen(a); m++) {
			EQ_S(btf__name_by_offset(all, btf_members(a)[m].name_off),
			     btf__name_by_offset(few, btf_members(b)[m].name_off));
			EQ_I(btf_members(a)[m].offset, btf_members(b)[m].offset);
			EQ_I(btf__resolve_size(all, btf_members(a)[m].type),
			     btf__resolve_size(few, btf_members(b)[m].type));
		}
	}
	btf__free(few);
	btf__free(all);
	heldup_bpf__destroy(skel);
	kbtf_free(k);
	kbtf_subset_close(&s);
	OK(s.fd < 0);
}
