/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef TYPED_H
#define TYPED_H
/*
 * Loads of kernel memory through typed pointers: the kernel checks the address
 * by a fault, as for bpf_probe_read_kernel, but the load is one instruction
 * where that is a call of 30 ns.
 *
 *	struct file *file = AS(file, some_pointer);
 *	struct inode *inode = GET(file, f_inode);
 *
 * GET follows what the verifier knows the type of: arguments of tp_btf
 * programs, what AS returned, and what GET returned.  A bad address reads as
 * 0.  Kernels before 6.2 have no bpf_rdonly_cast; GET falls back there.
 */
#include "bpf/ktypes.h"
#include "wire/ktype_ids.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

extern void *bpf_rdonly_cast(const void *obj, __u32 btf_id) __ksym __weak;

#define HAS_CAST (&bpf_rdonly_cast != NULL)

/* Without the file of types libbpf reads all of the kernel, and knows their ids itself. */
#define TYPE_ID(type)                                                                   \
	(bpf_core_enum_value_exists(enum heldup_ktype, KTYPE_##type)                    \
		 ? bpf_core_enum_value(enum heldup_ktype, KTYPE_##type)                 \
		 : bpf_core_type_id_kernel(struct type))

#define AS(type, ptr)                                                                   \
	((struct type *)(HAS_CAST ? bpf_rdonly_cast((const void *)(ptr), TYPE_ID(type)) \
				  : (void *)(ptr)))

#define GET(ptr, field)                                                                 \
	({                                                                              \
		typeof((ptr)->field) got_;                                              \
		if (HAS_CAST)                                                           \
			got_ = (ptr)->field;                                            \
		else                                                                    \
			got_ = BPF_CORE_READ(ptr, field);                               \
		got_;                                                                   \
	})

/* The pointer at an address. */
static __always_inline void *ptr_at(const void *addr)
{
	void *ptr = NULL;

	if (HAS_CAST)
		return AS(list_head, addr)->next;
	bpf_probe_read_kernel(&ptr, sizeof(ptr), addr);
	return ptr;
}

/* The 32-bit word at an address. */
static __always_inline u32 word_at(const void *addr)
{
	u32 word = 0;

	if (HAS_CAST)
		return AS(signal_struct, addr - bpf_core_field_offset(struct signal_struct, live))
			->live.counter;
	bpf_probe_read_kernel(&word, sizeof(word), addr);
	return word;
}

/* The 64-bit word at an address. */
static __always_inline u64 long_at(const void *addr)
{
	u64 word = 0;

	if (HAS_CAST)
		return AS(sched_info, addr - bpf_core_field_offset(struct sched_info, run_delay))
			->run_delay;
	bpf_probe_read_kernel(&word, sizeof(word), addr);
	return word;
}

/* A pointer as a number: the verifier lets nobody reckon with one. */
#define GET_ADDR(type, ptr, field)                                                      \
	long_at((const void *)(ptr) + bpf_core_field_offset(struct type, field))

#endif /* TYPED_H */
