/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel's name of one of its addresses: /proc/kallsyms would have to be
 * read whole for it, which takes the kernel 40 ms.  Run by user space.
 */
char kname[128] = {0};

/* Empty: what the kernel says of it is what its timing takes. */
SEC("raw_tp")
int hu_nothing(void *ctx __attribute__((unused)))
{
	return 0;
}

SEC("raw_tp")
int hu_kname(u64 *ctx)
{
	static const char fmt[] = "%ps";
	u64 addr = ctx[0];

	bpf_snprintf(kname, sizeof(kname), fmt, &addr, sizeof(addr));
	return 0;
}
