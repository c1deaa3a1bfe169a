/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef KTYPE_IDS_H
#define KTYPE_IDS_H
/*
 * The kernel types that BPF programs cast addresses to (bpf/typed.h).  The loader
 * gives libbpf an enum of this name whose values are the types' ids on the running
 * kernel, so that they become constants of the programs.
 *
 * To add one: its row here.
 */
#define KTYPE_IDS_H
/*
 * The kernel types that BPF programs cast addresses to (bpf/typed.h), by their
 * ids on the running kernel.  The loader fills them in before it loads; a type
 * that the kernel lacks stays 0, and no program gets as far as to cast to it.
 *
 * To add one: its row here.
 */
#define KTYPE_IDS(X)                                                                    \
	X(file)                                                                         \
	X(file_lock)                                                                    \
	X(inet_connection_sock)                                                         \
	X(list_head)                                                                    \
	X(request)                                                                      \
	X(sched_info)                                                                   \
	X(signal_struct)                                                                \
	X(sock)                                                                         \
	X(socket)                                                                       \
	X(task_struct)                                                                  \
	X(tcp_sock)                                                                     \
	X(unix_sock)                                                                    \
	X(vm_area_struct)

enum heldup_ktype {
	KTYPE_NONE,
#define X(name) KTYPE_##name,
	KTYPE_IDS(X)
#undef X
};

#endif /* KTYPE_IDS_H */
