/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROCFS_H
#define PROCFS_H
/*
 * Reading /proc/PID, with the text taken as hostile: a process chooses its
 * own name, and lines may be cut short when it goes away.  Plain functions
 * without state; ids are those of this process's pid namespace.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

#define PROCFS_COMM_LEN 16
#define PROCFS_FILE_MAX (256 * 1024) /* longest file read in one piece */

struct procfs_stat {
	char comm[PROCFS_COMM_LEN];
	char state;	    /* R S D T t Z X I */
	uint32_t ppid;
	uint32_t flags;	    /* PF_* */
	uint32_t thread_cnt;
	uint64_t start_ticks;
	uint64_t min_flt, maj_flt;
	uint64_t rss_pages;
};

/* Text of a stat file: 0, or -EINVAL with *ret_stat untouched. */
int procfs_parse_stat(const char *text, struct procfs_stat *ret_stat);

/* /proc/TID/stat: 0, -ESRCH gone, -EINVAL unreadable. */
int procfs_stat(uint32_t tid, struct procfs_stat *ret_stat);
bool procfs_is_kthread(const struct procfs_stat *st);
/* False for a main thread that has ended before its others: the process lives on. */
bool procfs_has_ended(const struct procfs_stat *st);

/*
 * The thread whose /proc/TID shows the memory, root and files of a process:
 * tgid itself but for one whose main thread has ended before its others.
 */
uint32_t procfs_living_tid(uint32_t tgid);

/* A number of /proc/TID/status such as "Tgid" or "VmSwap" (in kB there). -ESRCH, -ENOENT. */
int procfs_status_u64(uint32_t tid, const char *key, uint64_t *ret_value);

/* The same from text already read; for several keys of one file, and tests. */
int procfs_parse_status(const char *text, const char *key, uint64_t *ret_value);

/* Process of a thread id; 0 when there is none. */
uint32_t procfs_tgid(uint32_t tid);

/*
 * Thread id of tgid's own pid namespace to ours: the NSpid line of its
 * threads.  0 when no thread of tgid has that number.
 */
uint32_t procfs_tid_from_ns(uint32_t tgid, uint32_t ns_tid);

/* Id of tid in its own pid namespace, 0 when it is the same as ours or tid is gone. */
uint32_t procfs_ns_tid(uint32_t tid);

/* comm of a thread or process into out, "" when gone. */
void procfs_comm(uint32_t tid, char out[PROCFS_COMM_LEN]);

/* Base name of the executable, " (deleted)" removed; "" when none.  Returns out. */
char *procfs_exe(uint32_t tgid, char *out, size_t out_len);

/* Calls fn for each thread of tgid, 0: each process; stops at fn's first non-zero. */
int procfs_each_id(uint32_t tgid, int (*fn)(void *ctx, uint32_t id), void *ctx);

/* System call in progress: number and six arguments.  -EAGAIN running, -ENODATA none, -ESRCH. */
struct procfs_syscall {
	int64_t nr;
	uint64_t args[6];
	uint64_t sp, pc; /* 0 where the text ends before them */
};
int procfs_syscall(uint32_t tid, struct procfs_syscall *ret_call);
int procfs_parse_syscall(const char *text, struct procfs_syscall *ret_call);

/*
 * What a descriptor of tgid is, as its link says, and its inode, 0 unknown.
 * Never waits for a file system.  -ENOENT when there is none.
 */
int procfs_fd(uint32_t tgid, int fd, char *out, size_t cap, uint64_t *ret_ino);

/*
 * Reads memory of tgid: bytes read, or -errno.  A short count is not an error;
 * -ETIMEDOUT when its mmap lock is not let go of (timed_call.h).
 */
long procfs_read_mem(uint32_t tgid, uint64_t addr, void *out, size_t len);

/* Inode of /proc/TID/ns/NAME ("net", "mnt", "pid"), 0 when it cannot be read. */
uint64_t procfs_ns(uint32_t tid, const char *name);

/* Decimal number of at most max at the start of text; -EINVAL, -ERANGE.  *ret_end may be NULL. */
int procfs_parse_u64(const char *text, uint64_t max, uint64_t *ret_value, const char **ret_end);

#endif /* PROCFS_H */
