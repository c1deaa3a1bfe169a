/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OPS_H
#define OPS_H
/*
 * The operations of the reader (timed_call.h): all that heldup does with rights
 * over other processes once its own are given away.  Each looks at something
 * and hands it back as it is; none writes, and none takes apart what a process
 * could have made.  Arguments are checked here, whoever sent them.
 *
 * To add one: 1. a number, its arguments and its function here, 2. a line in
 * ops.c's table, 3. the system calls that it needs in base/rights.c, 4. whoever
 * asks for it in reads.c, 5. docs/security.md.
 */
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/timed/timed_call.h"

enum read_op {
	READ_MAPS = 0,
	READ_MEM = 1,
	READ_FILE = 2,	 /* of /proc/TID, by a name of the list in ops_proc.c */
	READ_FD = 3,	 /* what a descriptor is */
	READ_EXE = 4,
	READ_NS = 5,
	READ_FDS = 6,	 /* all sockets and pipes */
	READ_OPENED = 7, /* the path of a file among the descriptors */
	READ_IDS = 8,	 /* processes, or the threads of one */
	OPEN_IN_ROOT = 9,
	OPEN_MAPPED = 10,
	OPEN_DIAG = 11,	 /* a socket that asks about the sockets of a network namespace */
	OPEN_STATS = 12, /* while it is open the kernel times BPF programs */
	READ_CHAINS = 13, /* lists in memory, of threads that sleep: chains.h */
	READ_BIND = 14,	  /* whose memory is handed out from now on */
	READ_OP_CNT,
};

extern const struct timed_ops read_ops;

#define READ_NAME_MAX 64
#define READ_IDS_MAX (TIMED_CALL_OUT_MAX / sizeof(uint32_t))

struct read_tid { /* READ_EXE, READ_IDS (0: /proc itself), OPEN_DIAG */
	uint32_t tid;
};

struct read_maps {
	uint32_t tid;
	uint32_t all; /* 0: only what may be executed, by whole lines; 1: all */
};

struct read_mem {
	uint32_t tid, len;
	uint64_t addr;
};

struct read_file {
	uint32_t tid, max;
	char name[READ_NAME_MAX]; /* NUL at its end */
};

struct read_bind_proc {
	uint32_t tgid, start_ticks; /* the low half of when it began; 0: any */
};

#define READ_BIND_MAX 1000

/*
 * After the last of these memory is read of these processes, of their descendants,
 * and of the first others_max that are asked for beside; nothing opens it again.
 */
struct read_bind {
	uint32_t cnt, is_last, others_max, pad;
	struct read_bind_proc list[READ_BIND_MAX];
};

struct read_fd {
	uint32_t tid;
	int32_t fd;
};

struct read_fd_out { /* the link's text follows */
	uint64_t ino;  /* 0 unknown */
	uint32_t mode; /* of the link: how it was opened */
	uint32_t pad;
};

struct read_ns {
	uint32_t tid;
	char name[12]; /* NUL at its end */
};

struct read_fds {
	uint32_t tid, max;
};

struct read_fds_out { /* items follow */
	uint32_t seen_cnt; /* descriptors of all kinds */
	uint32_t more;	   /* 1: there are more */
};

enum read_fd_flags {
	READ_FD_PIPE = 1 << 0, /* else a socket */
	READ_FD_READ = 1 << 1, /* pipes only */
	READ_FD_WRITE = 1 << 2,
};

struct read_fds_item {
	uint64_t ino;
	int32_t fd;
	uint32_t flags;
};

struct read_opened {
	uint32_t tid, pad;
	uint64_t ino;
};

enum open_what {
	OPEN_ELF = 0,	   /* a regular file that begins as an ELF file does */
	OPEN_PERF_MAP = 1, /* /tmp/perf-N.map; no link */
	OPEN_PACKAGES = 2, /* the directory of dpkg's lists */
};

struct open_in_root {
	uint32_t tid; /* whose root; 0 ours */
	uint32_t what;
	char path[PATH_MAX];
};

struct open_mapped {
	uint32_t tid, dev_major, dev_minor;
	uint32_t by_path; /* 1: that path may be tried */
	uint64_t start, end, ino;
	char path[PATH_MAX];
};

timed_fn op_maps, op_mem, op_file, op_fd, op_exe, op_ns, op_fds, op_opened, op_ids;
timed_fn op_in_root, op_mapped, op_diag, op_stats, op_chains, op_bind;

/* In the keeper, before there is a reader. */
void bound_make(void);
/* May memory of this thread's process be read?  False: over the bound, or gone. */
bool bound_allows(uint32_t tid);

/* At most len bytes of a file of /proc; -ESRCH the process is gone. */
long read_some(const char *path, char *out, size_t len);

/* "socket:[123]" or "pipe:[123]": 0 and ino and flags are set, or -EINVAL. */
int read_fd_link(const char *link, struct read_fds_item *ret);

/*
 * A regular file below dir_fd, for reading; links do not lead out of it.  Looked
 * at before it is opened: opening a device or a FIFO may do something.  flags:
 * O_NOFOLLOW or 0.
 */
int open_regular(int dir_fd, const char *path, uint64_t flags);
int open_directory(int dir_fd, const char *path);

/* In the namespace of this process. */
int open_diag_here(void);

#endif /* OPS_H */
