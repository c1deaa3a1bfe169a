/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/doctor/doctor.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/bug.h"
#include "base/clock.h"
#include "collect/live/bpf_links.h"
#include "collect/live/hooks.h"

#define ORPHAN_WAIT_NS (2 * NS_PER_SEC)

static const char *why_not(int err)
{
	switch (err) {
	case -ENOENT:
		return "this kernel has none";
	case -EPERM:
		return "refused: rights or lockdown";
	default:
		return "refused by the kernel";
	}
}

/* Without rights every hook is refused, which says nothing about the kernel. */
static bool may_probe(struct doctor *d, const struct btf *vmlinux)
{
	static const struct doctor_mend mend = {"everything", "run as root: sudo heldup doctor"};
	const struct hook *ring = hooks_find("ring buffer");

	BUG_ON(!ring);
	if (hooks_probe(ring, vmlinux) != -EPERM)
		return true;
	doctor_add(d, DOCTOR_FAILED, "hooks", "all", &mend,
		   "%zu not tried: the rights above are missing", hooks_cnt);
	return false;
}

static void check_hooks(struct doctor *d, const struct btf *vmlinux)
{
	if (!may_probe(d, vmlinux))
		return;
	for (size_t i = 0; i < hooks_cnt; i++) {
		const struct hook *h = &hooks_table[i];
		const char *kind = hooks_kind_name(h->kind);
		int err = h->kind == HOOK_FUNC ? 0 : hooks_probe(h, vmlinux);
		const struct hook *instead = h->instead ? hooks_find(h->instead) : NULL;
		struct doctor_mend mend = {.cost = h->cost, .mend = h->mend};
		enum doctor_state state = h->required ? DOCTOR_FAILED : DOCTOR_DEGRADED;

		if (h->kind == HOOK_FUNC)
			continue; /* spoken of where it is used */
		if (err == -EPERM)
			mend.mend = "run as root: sudo heldup doctor";
		else if (!mend.mend)
			mend.mend = "a newer kernel, or one built with it";
		if (err == 0) {
			doctor_add(d, DOCTOR_OK, "hooks", h->name, NULL, "%s, gives %s", kind,
				   h->cost);
		} else if (instead && hooks_probe(instead, vmlinux) == 0) {
			doctor_add(d, DOCTOR_INFO, "hooks", h->name, NULL,
				   "%s, %s; %s is used instead", kind, why_not(err), instead->name);
		} else {
			doctor_add(d, state, "hooks", h->name, &mend, "%s, %s", kind, why_not(err));
		}
	}
}

static void check_btf(struct doctor *d, const struct btf *vmlinux)
{
	static const struct doctor_mend mend = {
		"everything: programs cannot be fitted to this kernel",
		"a kernel built with CONFIG_DEBUG_INFO_BTF=y (Debian's and most others are)",
	};

	if (vmlinux)
		doctor_add(d, DOCTOR_OK, "kernel", "BTF", NULL, "%u types",
			   btf__type_cnt(vmlinux));
	else if (access("/sys/kernel/btf/vmlinux", F_OK) == 0)
		doctor_add(d, DOCTOR_FAILED, "kernel", "BTF", &mend,
			   "/sys/kernel/btf/vmlinux cannot be read");
	else
		doctor_add(d, DOCTOR_FAILED, "kernel", "BTF", &mend,
			   "no /sys/kernel/btf/vmlinux%s",
			   access("/sys/kernel", F_OK) == 0 ? "" : " (/sys is not mounted)");
}

/* Lists what other runs have in the kernel at this moment. */
static void check_attached(struct doctor *d, struct doctor_result *r)
{
	static const struct doctor_mend mend = {
		"the kernel keeps running programs that nobody reads",
		"they are pinned: find / -fstype bpf -name 'hu_*' and remove the files"};
	struct attached *a = arena_alloc(d->arena, sizeof(*a));
	uint64_t until = clock_mono_ns() + ORPHAN_WAIT_NS;
	int err = attached_read(a);

	/* what has just been closed is there until a grace period is over */
	while (err == 0 && attached_held_by(a, 0) && clock_mono_ns() < until) {
		usleep(20000);
		err = attached_read(a);
	}
	if (err) {
		doctor_add(d, DOCTOR_INFO, "self-test", "attached now", NULL,
			   "cannot be listed: %s", strerror(-err));
		return;
	}
	r->attached = a;
	size_t orphans = attached_held_by(a, 0);
	if (orphans)
		doctor_add(d, DOCTOR_DEGRADED, "self-test", "attached now", &mend,
			   "%zu programs of heldup are held by no process", orphans);
	else if (a->prog_cnt)
		doctor_add(d, DOCTOR_INFO, "self-test", "attached now", NULL,
			   "%zu programs, %zu links, %zu maps of a heldup that runs (pid %u)",
			   a->prog_cnt, a->link_cnt, a->map_cnt, a->progs[0].pid);
	else
		doctor_add(d, DOCTOR_OK, "self-test", "attached now", NULL,
			   "nothing of heldup is in the kernel");
}

static void run_checks(struct doctor *d, const struct doctor_opts *opts, struct doctor_result *r)
{
	struct btf *vmlinux = btf__load_vmlinux_btf();

	if (libbpf_get_error(vmlinux))
		vmlinux = NULL;
	doctor_rights(d);
	doctor_kernel(d);
	check_btf(d, vmlinux);
	check_hooks(d, vmlinux);
	btf__free(vmlinux);
	doctor_files(d);
	check_attached(d, r);
	if (!opts->no_self_test) {
		doctor_self_test(d);
		r->self_tested = true;
	}
}

struct doctor_result doctor_run(struct arena *arena, const struct doctor_opts *opts)
{
	struct doctor d = {.arena = arena};
	struct doctor_result r = {0};
	libbpf_print_fn_t print = libbpf_set_print(NULL); /* a check reports each failure */

	run_checks(&d, opts, &r);
	libbpf_set_print(print);
	VEC_FOREACH(&d.checks, c) {
		r.degraded_cnt += c->state == DOCTOR_DEGRADED;
		r.failed_cnt += c->state == DOCTOR_FAILED;
	}
	r.check_cnt = d.checks.cnt;
	r.checks = arena_dup(arena, d.checks.items, d.checks.cnt * sizeof(*d.checks.items));
	vec_release(&d.checks);
	return r;
}
