/* SPDX-License-Identifier: Apache-2.0 */
#ifndef READS_H
#define READS_H
/*
 * What heldup looks at of other processes: their files in /proc, their memory,
 * and files opened as they see them.  What may hang is always done by the reader
 * (timed_call.h).  The rest is done here while this process has rights of its
 * own, and by the reader once they are given away:
 *
 *	reads_start (early) ... reads_bind, reads_apart (when the rights are given away)
 *
 * tid: a thread or process; where both are wanted tgid is the process that hangs
 * when no answer comes.  All but the first two fail with -ESRCH, -ENOENT (gone),
 * -EACCES, -EPERM (rights), -ETIMEDOUT (timed_call.h) or -EAGAIN (no reader).
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct read_chains;

void reads_start(void);
void reads_apart(void);

/* Lines of /proc/TID/maps, appended: those of what may be executed, or all. */
long reads_maps(uint32_t tgid, uint32_t tid, bool all, struct buf *out);

/* Bytes read, a short count is no error. */
long reads_mem(uint32_t tgid, uint32_t tid, uint64_t addr, void *out, size_t len);

/*
 * /proc/TID/NAME, of the names in ops_proc.c: at most cap - 1 bytes, with a NUL
 * behind, their count returned.
 */
long reads_file(uint32_t tid, const char *name, char *out, size_t cap);
/* The same, appended, at most max bytes; for what may be long. */
long reads_text(uint32_t tid, const char *name, size_t max, struct buf *out);

/*
 * From now on memory is read of these processes (start_ticks: the low half of when each
 * began, 0 any), of their descendants, and of no more than others_max beside: -EDQUOT.
 * Once, before the rights are given away; for a watch whose processes are known.
 */
struct reads_bound {
	const uint32_t *tgids, *start_ticks;
	size_t cnt;
	uint32_t others_max;
};
void reads_bind(const struct reads_bound *b);

struct reads_fd {
	uint64_t ino;  /* 0 unknown */
	uint32_t mode; /* of the link: how it was opened */
};

/* Describes a descriptor by its link, cut at cap; 0. Never waits for a file system. */
int reads_fd(uint32_t tgid, int fd, char *out, size_t cap, struct reads_fd *ret);

/* The path of the open file with this inode, among the first 512 descriptors; 0. */
int reads_opened(uint32_t tgid, uint64_t ino, char *out, size_t cap);

/* As /proc/TGID/exe says, cut at cap; 0. */
int reads_exe(uint32_t tgid, char *out, size_t cap);

/* Inode of /proc/TID/ns/NAME ("net", "pid"), 0 when it cannot be read. */
uint64_t reads_ns(uint32_t tid, const char *name);

/* struct read_fds_out and items (ops.h) of at most max descriptors, appended. */
long reads_fds(uint32_t tgid, uint32_t max, struct buf *out);

/* uint32_t each, appended: the processes that there are (tgid 0), or the threads of one. */
long reads_ids(uint32_t tgid, struct buf *out);

/* Descriptors; those of a process' root are what open_what (ops.h) says, 0 is our own. */
int reads_open_in_root(uint32_t tgid, uint32_t what, const char *path);

struct reads_mapped {
	uint32_t dev_major, dev_minor;
	uint64_t start, end, ino;
	const char *path; /* NULL: it is not tried */
};

/* The ELF file that tid maps there; -ENOEXEC it is none. */
int reads_open_mapped(uint32_t tgid, uint32_t tid, const struct reads_mapped *m);

/* Lists in memory of tgid (chains.h): what op_chains puts out, appended; its length. */
long reads_chains(uint32_t tgid, const struct read_chains *what, struct buf *out);

/* A socket that asks about the sockets of the network namespace of tgid. */
int reads_open_diag(uint32_t tgid);

/* While it is open the kernel times BPF programs. */
int reads_open_stats(void);

#endif /* READS_H */
