/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/services.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/vec.h"
#include "collect/proc/cgroups.h"
#include "collect/proc/container.h"
#include "collect/proc/fdscan.h"
#include "collect/proc/procfs.h"
#include "collect/resources/netlink_diag.h"
#include "collect/select.h"
#include "collect/target/target.h"
#include "serve/settings.h"
#include "store/event.h"

#define NETNS_MAX 64
#define FDS_MAX 200000 /* descriptors read at one look: a fifth of a second */
#define NETNS_NS (60 * NS_PER_SEC) /* how late those of a new network name space may be seen */
#define DEPTH_MAX 64   /* of a chain of parents of the same program */

struct owner {
	uint32_t tgid;
	uint16_t ports[SERVICES_PORTS_MAX];
	uint32_t port_cnt;
};

struct services_int {
	const struct serve_service *named;
	size_t named_cnt;
	struct hmap tgids;	/* to 1 + index of its service */
	struct hmap inodes;	/* of listening sockets, to their port */
	uint64_t inodes_hash;	/* of the last look */
	struct hmap netns;	/* to a process in it */
	uint64_t netns_ns;	/* when they are found again */
	VEC(struct owner) owners;
	uint64_t fd_cnt;
	struct cgroups *cgroups;
	void (*add)(void *ctx, uint32_t tgid);
	void *ctx;
};

/* As the settings name it: "unit nginx.service", "port 80". */
static void kind_set(struct service *it, const struct select_opts *o)
{
	if (o->unit)
		snprintf(it->kind, sizeof(it->kind), "unit %.48s%s", o->unit,
			 strchr(o->unit, '.') ? "" : ".service");
	else if (o->container)
		snprintf(it->kind, sizeof(it->kind), "container %.48s", o->container);
	else if (o->cgroup)
		snprintf(it->kind, sizeof(it->kind), "cgroup %.48s", o->cgroup);
	else if (o->comm)
		snprintf(it->kind, sizeof(it->kind), "program %.48s", o->comm);
	else if (o->port)
		snprintf(it->kind, sizeof(it->kind), "port %lld", (long long)o->port);
	else
		snprintf(it->kind, sizeof(it->kind), "as set");
}

struct services *services_new(const struct serve_service *named, size_t named_cnt)
{
	struct services *s = xcalloc(1, sizeof(*s));

	s->in = xcalloc(1, sizeof(*s->in));
	s->in->named = named;
	s->in->named_cnt = named_cnt;
	s->in->cgroups = cgroups_new();
	for (size_t i = 0; i < named_cnt && i < LINK_SERVICES_MAX; i++) {
		struct service *it = &s->items[s->cnt++];

		snprintf(it->name, sizeof(it->name), "%s", named[i].name);
		kind_set(it, &named[i].select);
		it->is_named = it->has_changed = true;
	}
	s->over_cnt = named_cnt - s->cnt;
	return s;
}

void services_free(struct services *s)
{
	if (!s)
		return;
	hmap_release(&s->in->tgids);
	hmap_release(&s->in->inodes);
	hmap_release(&s->in->netns);
	vec_release(&s->in->owners);
	cgroups_free(s->in->cgroups);
	free(s->in);
	free(s);
}

int services_of(const struct services *s, uint32_t tgid)
{
	uint64_t at;

	return hmap_get(&s->in->tgids, tgid, &at) && at ? (int)at - 1 : SERVICES_NONE;
}

/* False: it was known. */
static bool take(struct services *s, uint32_t tgid, uint32_t at)
{
	struct service *it = &s->items[at];

	if (services_of(s, tgid) != SERVICES_NONE)
		return false;
	if (s->in->tgids.cnt >= SERVICES_PROCESSES_MAX) {
		s->processes_over_cnt++;
		return false;
	}
	hmap_put(&s->in->tgids, tgid, at + 1);
	it->process_cnt++;
	it->has_changed = true;
	if (!it->pid)
		it->pid = tgid;
	return true;
}

static void drop(struct services *s, uint32_t tgid)
{
	int at = services_of(s, tgid);

	if (at == SERVICES_NONE)
		return;
	hmap_del(&s->in->tgids, tgid);
	s->items[at].process_cnt--;
	s->items[at].has_changed = true;
	if (s->items[at].pid == tgid)
		s->items[at].pid = 0;
}

void services_put(struct services *s, const struct ev_task *ev)
{
	int at;

	if (ev->op == TASK_EXIT) {
		if (ev->h.tid == ev->tgid)
			drop(s, ev->tgid);
		return;
	}
	at = services_of(s, ev->ppid);
	if (at != SERVICES_NONE && ev->h.tid == ev->tgid)
		take(s, ev->tgid, (uint32_t)at);
}

/* ---- listening sockets */

static int listen_take(void *ctx, const struct diag_sock *sock)
{
	struct services_int *in = ctx;

	if (sock->ino)
		hmap_put(&in->inodes, sock->ino, sock->lport);
	return 0;
}

/* Each network name space, by a process in it. */
static int netns_find(void *ctx, uint32_t tgid)
{
	struct services_int *in = ctx;
	uint64_t ns = procfs_ns(tgid, "net");

	if (ns && in->netns.cnt < NETNS_MAX && !hmap_get(&in->netns, ns, NULL))
		hmap_put(&in->netns, ns, tgid);
	return 0;
}

static void netns_look(struct services_int *in, uint32_t tgid)
{
	struct diag_inet_query q = {.proto = IPPROTO_TCP, .states = 1u << DIAG_LISTEN};

	CLEANUP_CLOSE int fd = diag_open(tgid);
	if (fd < 0) {
		in->netns_ns = 0; /* that process is gone: another is looked for next time */
		return;
	}
	q.family = AF_INET;
	diag_inet(fd, &q, listen_take, in);
	q.family = AF_INET6;
	diag_inet(fd, &q, listen_take, in);
}

static uint64_t inodes_hash(const struct services_int *in)
{
	struct hmap_entry e;
	uint64_t sum = in->inodes.cnt;
	size_t pos = 0;

	while (hmap_next(&in->inodes, &pos, &e))
		sum += hash_pair(e.key, e.value);
	return sum;
}

static void port_add(uint16_t *ports, uint32_t *cnt, uint16_t port)
{
	for (uint32_t i = 0; i < *cnt; i++)
		if (ports[i] == port)
			return;
	if (*cnt < SERVICES_PORTS_MAX)
		ports[(*cnt)++] = port;
}

static int fd_look(void *ctx, const struct fdscan_item *item)
{
	struct services_int *in = ctx;
	struct owner *o = vec_last(&in->owners);
	uint64_t port;

	if (!item->is_pipe && hmap_get(&in->inodes, item->ino, &port))
		port_add(o->ports, &o->port_cnt, (uint16_t)port);
	return 0;
}

static int process_look(void *ctx, uint32_t tgid)
{
	struct services_int *in = ctx;
	struct procfs_stat st;
	struct owner *o;
	long cnt;

	if (tgid == 1 || in->fd_cnt >= FDS_MAX || procfs_stat(tgid, &st) < 0 ||
	    st.ppid == (uint32_t)getppid()) /* heldup's own */
		return 0;
	o = vec_add(&in->owners);
	o->tgid = tgid;
	cnt = fdscan(tgid, FDS_MAX - in->fd_cnt, fd_look, in, NULL);
	in->fd_cnt += cnt > 0 ? (uint64_t)cnt : 0;
	if (!vec_last(&in->owners)->port_cnt)
		in->owners.cnt--;
	return 0;
}

/* ---- from a process that listens to its service */

/*
 * The name that people know it by: what the program calls itself, for some files have
 * several names (redis-server is a link), unless that is cut or a thread's of a runtime.
 */
static const char *program_name(uint32_t tgid, const char *exe, char comm[PROCFS_COMM_LEN])
{
	size_t len;

	procfs_comm(tgid, comm);
	len = strlen(comm);
	return len && len < PROCFS_COMM_LEN - 1 &&
		       len == strspn(comm, "abcdefghijklmnopqrstuvwxyz0123456789._-")
		       ? comm : exe;
}

/* The topmost process of the same program above it: masters hand sockets to workers. */
static uint32_t root_of(uint32_t tgid, char *ret_exe, size_t size)
{
	struct procfs_stat st;
	char exe[LINK_NAME_LEN];

	procfs_exe(tgid, ret_exe, size);
	for (unsigned i = 0; i < DEPTH_MAX; i++) {
		if (procfs_stat(tgid, &st) < 0 || st.ppid <= 1)
			break;
		if (!*ret_exe || strcmp(procfs_exe(st.ppid, exe, sizeof(exe)), ret_exe) != 0)
			break;
		tgid = st.ppid;
	}
	return tgid;
}

/* "nginx" of ".../system.slice/nginx.service"; false: it is in no unit of a service. */
static bool unit_of(const char *cgroup, char *ret, size_t size)
{
	const char *end = strstr(cgroup, ".service"), *begin = end;

	if (!end || strstr(cgroup, "user.slice"))
		return false;
	while (begin > cgroup && begin[-1] != '/')
		begin--;
	if (end == begin)
		return false;
	snprintf(ret, size, "%.*s", (int)(end - begin), begin);
	return true;
}

static int find_by(const struct services *s, const char *name, const char *kind)
{
	for (uint32_t i = 0; i < s->cnt; i++)
		if (strcmp(s->items[i].name, name) == 0 &&
		    (!kind || strcmp(s->items[i].kind, kind) == 0))
			return (int)i;
	return SERVICES_NONE;
}

/* The place of a service by its name; of two programs of one name each has its port behind it. */
static int place(struct services *s, const struct owner *o, const char *name, const char *kind)
{
	char longer[LINK_NAME_LEN + 8];
	int at = find_by(s, name, kind);

	if (at != SERVICES_NONE && s->items[at].process_cnt && strncmp(kind, "program", 7) == 0) {
		snprintf(longer, sizeof(longer), "%.50s:%u", name, o->ports[0]);
		name = longer;
		at = find_by(s, name, kind);
	}
	if (at != SERVICES_NONE)
		return at;
	if (s->cnt >= LINK_SERVICES_MAX) {
		s->over_cnt++;
		return SERVICES_NONE;
	}
	snprintf(s->items[s->cnt].name, LINK_NAME_LEN, "%.63s", name);
	snprintf(s->items[s->cnt].kind, LINK_NAME_LEN, "%.63s", kind);
	return (int)s->cnt++;
}

static void tell(struct services *s, uint32_t tgid, uint32_t at)
{
	if (take(s, tgid, at) && s->in->add)
		s->in->add(s->in->ctx, tgid);
}

static void owner_take(struct services *s, const struct owner *o)
{
	char exe[LINK_NAME_LEN] = "", name[LINK_NAME_LEN], kind[LINK_NAME_LEN + 16];
	char comm[PROCFS_COMM_LEN];
	uint32_t root = root_of(o->tgid, exe, sizeof(exe));
	const char *cgroup = cgroups_path_of(s->in->cgroups, o->tgid);
	struct container c;
	int at = services_of(s, root);

	if (at == SERVICES_NONE)
		at = services_of(s, o->tgid);
	if (at == SERVICES_NONE && container_of_path(cgroup, &c)) {
		container_names(&c, "");
		snprintf(name, sizeof(name), "%.63s", *c.name ? c.name : c.id);
		snprintf(kind, sizeof(kind), "container %.40s", name);
		at = place(s, o, name, kind);
	} else if (at == SERVICES_NONE && unit_of(cgroup, name, sizeof(name))) {
		snprintf(kind, sizeof(kind), "unit %.40s.service", name);
		at = place(s, o, name, kind);
	} else if (at == SERVICES_NONE && *exe) {
		snprintf(name, sizeof(name), "%s", program_name(root, exe, comm));
		snprintf(kind, sizeof(kind), "program %.50s", name);
		at = place(s, o, name, kind);
	}
	if (at == SERVICES_NONE)
		return;
	for (uint32_t i = 0; i < o->port_cnt; i++)
		port_add(s->items[at].ports, &s->items[at].port_cnt, o->ports[i]);
	tell(s, root, (uint32_t)at);
	tell(s, o->tgid, (uint32_t)at);
}

/* Descendants of a service's processes that were there before the watch. */
static int child_look(void *ctx, uint32_t tgid)
{
	struct services *s = ctx;
	struct procfs_stat st;
	int at;

	if (services_of(s, tgid) != SERVICES_NONE || procfs_stat(tgid, &st) < 0 ||
	    procfs_has_ended(&st))
		return 0;
	at = services_of(s, st.ppid);
	if (at != SERVICES_NONE)
		tell(s, tgid, (uint32_t)at);
	return 0;
}

/* Those that ended unseen: their exit may have been lost. */
static void drop_ended(struct services *s)
{
	VEC(uint32_t) gone = {0};
	struct hmap_entry e;
	size_t pos = 0;

	while (hmap_next(&s->in->tgids, &pos, &e)) {
		struct procfs_stat st;

		if (procfs_stat((uint32_t)e.key, &st) < 0 || procfs_has_ended(&st))
			vec_push(&gone, (uint32_t)e.key);
	}
	VEC_FOREACH(&gone, tgid)
		drop(s, *tgid);
	vec_release(&gone);
}

static void named_find(struct services *s)
{
	for (uint32_t i = 0; i < s->cnt; i++) {
		struct target t = {0};
		struct err err = {0};

		if (s->items[i].process_cnt ||
		    target_resolve(&s->in->named[i].select, &t, &err) < 0)
			continue;
		for (size_t j = 0; j < t.chosen_cnt; j++)
			tell(s, t.chosen[j], i);
		for (size_t j = 0; j < t.cnt; j++)
			tell(s, t.tgids[j], i);
		if (s->in->named[i].select.port)
			port_add(s->items[i].ports, &s->items[i].port_cnt,
				 (uint16_t)s->in->named[i].select.port);
		target_release(&t);
	}
}

void services_find(struct services *s, void (*add)(void *ctx, uint32_t tgid), void *ctx)
{
	struct services_int *in = s->in;
	struct hmap_entry ns;
	uint64_t hash;
	size_t pos = 0;

	in->add = add;
	in->ctx = ctx;
	drop_ended(s);
	if (in->named_cnt) {
		named_find(s);
		return;
	}
	hmap_clear(&in->inodes);
	if (clock_mono_ns() >= in->netns_ns) {
		hmap_clear(&in->netns);
		procfs_each_id(0, netns_find, in);
		in->netns_ns = clock_mono_ns() + NETNS_NS;
	}
	while (hmap_next(&in->netns, &pos, &ns))
		netns_look(in, (uint32_t)ns.value);
	hash = inodes_hash(in);
	if (hash == in->inodes_hash)
		return;
	in->inodes_hash = hash;
	in->fd_cnt = 0;
	vec_clear(&in->owners);
	procfs_each_id(0, process_look, in);
	VEC_FOREACH(&in->owners, o)
		owner_take(s, o);
	procfs_each_id(0, child_look, s);
}

void services_describe(const struct service *s, char *ret, size_t size)
{
	size_t len = (size_t)snprintf(ret, size, "%s", s->kind);

	uint32_t cnt = strncmp(s->kind, "port ", 5) == 0 ? 0 : s->port_cnt;

	for (uint32_t i = 0; i < cnt && len < size; i++)
		len += (size_t)snprintf(ret + len, size - len, "%s%u", i ? ", " : ", port ",
					s->ports[i]);
	if (len < size)
		snprintf(ret + len, size - len, ", %u process%s", s->process_cnt,
			 s->process_cnt == 1 ? "" : "es");
}
