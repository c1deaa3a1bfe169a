/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTAINER_H
#define CONTAINER_H
/*
 * Which container and pod a process is in.  The cgroup's path tells ids (Docker,
 * containerd, CRI-O, Podman, Kubernetes) or the name itself (LXC, systemd-nspawn);
 * names that go with ids are read from the files that the runtimes keep of what
 * runs.  These are the host's, and bounded; what else stands in them is skipped.
 */
#include <stdbool.h>
#include <stddef.h>

struct buf;

enum { CONTAINER_NAME_LEN = 128, CONTAINER_FILE_MAX = 1 << 20 };

struct container { /* texts are "" where not known */
	char runtime[24];		 /* "docker", "crio", "lxc", ...; of the path */
	char id[CONTAINER_NAME_LEN];
	char pod_uid[40];
	char name[CONTAINER_NAME_LEN];
	char pod[CONTAINER_NAME_LEN];
	char pod_namespace[CONTAINER_NAME_LEN];
};

/* By the innermost part of the path that is of a container or pod; false where none is. */
bool container_of_path(const char *cgroup, struct container *ret);

/* Fills the names.  root stands before each file's path: "" but in tests. */
void container_names(struct container *c, const char *root);

/*
 * want: a name, an id or the first 4 letters of it and more, a pod's name, NAMESPACE/POD
 * or uid.
 */
bool container_is(const struct container *c, const char *want);

/* "docker container web (3f2a9c1b7d20), pod shop/cart-1". */
void container_describe(const struct container *c, struct buf *out);

#endif /* CONTAINER_H */
