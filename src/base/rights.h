/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RIGHTS_H
#define RIGHTS_H
/*
 * Giving rights away: capabilities, and system calls (seccomp).  Nothing here
 * gives any back.  docs/security.md says which part of heldup runs with what.
 *
 * All of it is for the calling thread and what it starts from then on, so it is
 * called before there are threads.
 */
#include <stdbool.h>
#include <stdint.h>

#define RIGHTS_CAP(nr) (UINT64_C(1) << (nr))
#define RIGHTS_NONE UINT64_C(0)

/* The rights that a watch needs once its programs are loaded: reasons in rights.c. */
uint64_t rights_of_watch(void);
/* To have one's own priority raised, and to lock memory beyond a limit: guard.h. */
uint64_t rights_of_priority(void);
uint64_t rights_of_locking(void);
/* To read and write as root does whatever a user names, and no more. */
uint64_t rights_of_paths(void);
/* To put a file in the place of another user's, as that user's. */
uint64_t rights_of_owners(void);
/* To become another user. */
uint64_t rights_of_users(void);

/* Are all of mask effective now? */
bool rights_have(uint64_t mask);

/* Keeps the capabilities in mask and gives up all others; 0 or -errno. */
int rights_keep(uint64_t mask);

/* Makes none of the kept capabilities effective for a while; true gives them back. */
void rights_effective(bool on);

/*
 * A child that reads what nobody vouches for: no capability, none to be had, not
 * by exec either.  _bound comes before a change of user, which takes the right
 * to it away; without that right it does nothing, and exec gives none anyway.
 */
void rights_bound(void);
int rights_drop_child(void);

enum rights_filter {
	/* memory, descriptors it has or is sent, and its end */
	RIGHTS_READS_DESCRIPTORS,
	/* no other program, process, socket, mount or key, no tracing, no kernel code */
	RIGHTS_READS_FILES,
	/* the same, and what it opens it opens for reading, and no process is started */
	RIGHTS_ONLY_READS_FILES,
	/* the same, and connections that others make to sockets it has; no new socket */
	RIGHTS_SERVES_CONNECTIONS,
	/* what the operations of reads/ops.h need, and those processes that serve them */
	RIGHTS_SERVES_READS,
};

/*
 * Other system calls fail with EPERM from now on.  -ENOTSUP where heldup was
 * built without libseccomp, else what the kernel says.
 */
int rights_filter(enum rights_filter which);

enum rights_let {
	RIGHTS_LET_LOAD = 1 << 0, /* programs, and clocks to run them */
	RIGHTS_LET_NET = 1 << 1,  /* sockets to anybody */
};

/*
 * The same for a watch whose programs are loaded: no other program, mount or key,
 * no tracing, no other namespace, no BPF program more, and only those sockets that
 * ask the kernel about sockets; but for what let has.
 */
int rights_filter_watch(uint32_t let);

#endif /* RIGHTS_H */
