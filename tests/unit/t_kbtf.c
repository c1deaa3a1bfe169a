/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "collect/live/kbtf.h"

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
