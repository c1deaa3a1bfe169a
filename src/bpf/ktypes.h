/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef KTYPES_H
#define KTYPES_H
/*
 * The kernel types and fields that the BPF programs read, and no others.
 * Offsets here mean nothing: preserve_access_index makes the loader put in
 * those of the running kernel (CO-RE), by name.  A field that a kernel may
 * lack is asked for with bpf_core_field_exists first; a type whose field was
 * renamed has a flavour, name___what.
 */
#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s16 s16;
typedef __s32 s32;
typedef __s64 s64;

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct list_head {
	struct list_head *next, *prev;
};

typedef struct {
	int counter;
} atomic_t;

typedef struct {
	s64 counter;
} atomic64_t;

struct qstr {
	const unsigned char *name;
};

struct hlist_node {
	struct hlist_node *next;
};

struct hlist_head {
	struct hlist_node *first;
};

struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
	union {
		struct hlist_node d_alias;
	} d_u;
};

struct vfsmount;

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
};

struct super_block {
	u32 s_dev;
	unsigned long s_magic;
};

struct file_lock_context {
	struct list_head flc_flock;
	struct list_head flc_posix;
};

struct inode {
	u16 i_mode;
	struct super_block *i_sb;
	unsigned long i_ino;
	u32 i_rdev;
	struct hlist_head i_dentry;
	struct file_lock_context *i_flctx;
};

struct file {
	void *private_data;
	struct inode *f_inode;
	unsigned int f_flags;
	struct path f_path;
};

struct file_lock_core {
	struct list_head flc_list;
	void *flc_owner;
	unsigned char flc_type;
	int flc_pid;
	struct file *flc_file;
};

struct file_lock {
	struct file_lock_core c;
	long long fl_start;
	long long fl_end;
};

/* Before 6.9. */
struct file_lock___flat {
	struct list_head fl_list;
	void *fl_owner;
	unsigned char fl_type;
	unsigned int fl_pid;
	struct file *fl_file;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct sched_info {
	unsigned long long run_delay;
	unsigned long long last_arrival;
	unsigned long long last_queued;
};

struct rq {
	u64 clock;
};

struct cfs_rq {
	struct rq *rq;
};

struct thread_info {
	u64 preempt_count; /* not on x86 */
};

struct sched_entity {
	struct cfs_rq *cfs_rq;
	u64 sum_exec_runtime;
	u64 exec_start;
};

struct task_io_accounting {
	u64 read_bytes;
	u64 write_bytes;
};

struct kernfs_node {
	u64 id;
};

struct cgroup {
	struct kernfs_node *kn;
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

struct signal_struct {
	atomic_t live;
};

struct ns_common {
	unsigned int inum;
};

struct net {
	struct ns_common ns;
};

struct mm_struct {
	unsigned long exec_vm;
	unsigned long mmap_base;
	unsigned long start_code, end_code;
	struct file *exe_file;
};

struct thread_struct {
#if defined(__TARGET_ARCH_x86)
	unsigned long fsbase;
#endif
};

struct task_struct {
	struct thread_info thread_info;
	unsigned int __state;
	unsigned int flags;
	int on_cpu;
	int on_rq;
	int exit_state;
	int exit_code; /* as wait() tells it */
	unsigned long jobctl;
	struct sched_entity se;
	bool throttled; /* 6.18: dequeued by its cgroup's CPU quota */
	struct sched_info sched_info;
	struct mm_struct *mm;
	unsigned int in_iowait : 1;
	u32 pid;
	u32 tgid;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	unsigned long nvcsw, nivcsw;
	u64 start_boottime;
	unsigned long min_flt, maj_flt;
	char comm[16];
	struct files_struct *files;
	struct signal_struct *signal;
	struct css_set *cgroups;
	struct task_io_accounting ioac;
	struct thread_struct thread;
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
	u64 session_id;
	u64 seq_num;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

struct bpf_map;

struct bpf_iter__bpf_sk_storage_map {
	struct bpf_iter_meta *meta;
	struct bpf_map *map;
	struct sock *sk;
	void *value;
};

struct bpf_iter__task_file {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	u32 fd;
	struct file *file;
};

struct linux_binprm;

#pragma clang attribute pop

/* Bits of task_struct.__state; others (freezable, killable) are masked off. */
#define KSTATE_INTERRUPTIBLE 0x1
#define KSTATE_UNINTERRUPTIBLE 0x2
#define KSTATE_STOPPED 0x4
#define KSTATE_TRACED 0x8
#define KSTATE_DEAD 0x80
#define KSTATE_RTLOCK 0x1000
#define KSTATE_FROZEN 0x8000 /* by the freezer of cgroups v1, or for a suspend; from 6.1 on */
#define KSTATE_HALTED (KSTATE_STOPPED | KSTATE_TRACED | KSTATE_FROZEN)
#define KJOBCTL_TRAP_FREEZE (1ul << 23) /* by cgroup.freeze of v2 */
#define KSTATE_SLEEPS                                                                \
	(KSTATE_INTERRUPTIBLE | KSTATE_UNINTERRUPTIBLE | KSTATE_STOPPED | KSTATE_TRACED | \
	 KSTATE_DEAD | KSTATE_RTLOCK | 0x10 | 0x20 | 0x40 | KSTATE_FROZEN)

#define KPF_KTHREAD 0x00200000
#define KPF_USER_WORKER 0x00004000 /* 6.4; io workers before: 0x10 */
#define KPF_IO_WORKER 0x00000010

#define KS_IFMT 0170000
#define KS_IFSOCK 0140000
#define KS_IFLNK 0120000
#define KS_IFREG 0100000
#define KS_IFBLK 0060000
#define KS_IFDIR 0040000
#define KS_IFCHR 0020000
#define KS_IFIFO 0010000

#define KMAGIC_ANON_INODE 0x09041934
#define KO_DIRECT 00040000
#define KSOCK_NOSPACE (1 << 2) /* of socket.flags: someone waits for room to send */
#define KLOCK_WRITE 1 /* F_WRLCK */
#define KEAGAIN 11
#define KO_DSYNC 00010000

#define KVM_SHARED 8

#define KAF_UNIX 1
#define KAF_INET 2
#define KAF_INET6 10
#define KSOCK_STREAM 1
#define KIPPROTO_TCP 6
#define KIPPROTO_UDP 17

#endif /* KTYPES_H */
