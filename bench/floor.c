/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Empty BPF programs on hooks: what any program there costs at least.
 *
 *	floor [raw_tp:NAME | tp_btf:NAME | fentry:NAME | fexit:NAME]...
 *
 * Attaches one program of two instructions to each, prints "ready" and waits
 * to be killed.  The programs are called f_NAME.
 */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct kind {
	const char *name;
	enum bpf_prog_type type;
	enum bpf_attach_type attach;
};

static const struct kind kinds[] = {
	{ "raw_tp:", BPF_PROG_TYPE_RAW_TRACEPOINT, 0 },
	{ "tp_btf:", BPF_PROG_TYPE_TRACING, BPF_TRACE_RAW_TP },
	{ "fentry:", BPF_PROG_TYPE_TRACING, BPF_TRACE_FENTRY },
	{ "fexit:", BPF_PROG_TYPE_TRACING, BPF_TRACE_FEXIT },
};

static int attach(const struct kind *kind, const char *name)
{
	static const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = kind->attach);
	char prog_name[16];
	int fd;

	if (kind->type == BPF_PROG_TYPE_TRACING) {
		int id = libbpf_find_vmlinux_btf_id(name, kind->attach);

		if (id < 0)
			return id;
		opts.attach_btf_id = (__u32)id;
	}
	snprintf(prog_name, sizeof(prog_name), "f_%s", name);
	fd = bpf_prog_load(kind->type, prog_name, "GPL", insns, 2, &opts);
	if (fd < 0)
		return fd;
	return bpf_raw_tracepoint_open(kind->type == BPF_PROG_TYPE_TRACING ? NULL : name, fd);
}

static int attach_word(const char *word)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		size_t len = strlen(kinds[i].name);

		if (!strncmp(word, kinds[i].name, len))
			return attach(&kinds[i], word + len);
	}
	return -1;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		int fd = attach_word(argv[i]);

		if (fd < 0) {
			fprintf(stderr, "floor: %s: error %d\n", argv[i], fd);
			return 1;
		}
	}
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
