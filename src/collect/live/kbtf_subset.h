/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KBTF_SUBSET_H
#define KBTF_SUBSET_H
/*
 * The few of the kernel's types that BPF programs name, for libbpf's relocations
 * (bpf_object_open_opts.btf_custom_path).  libbpf compares each name that a program
 * uses with all 130,000 types of the kernel, which takes 60 ms of each start.
 *
 *	kbtf_subset_open, open the programs with its path, kbtf_subset_fill,
 *	load them, kbtf_subset_close
 */
struct bpf_object;
struct kbtf;

struct kbtf_subset {
	int fd;		/* a file in memory; -1 none: libbpf reads all types */
	char path[32];	/* "" then */
};

/* The file is empty until it is filled, which is before the programs are loaded. */
struct kbtf_subset kbtf_subset_open(void);

/*
 * The types of k whose names obj's own types have, and all that lies inside of them
 * by value; what a pointer leads to is left out, for relocations do not follow it.
 * And enum heldup_ktype (wire/ktype_ids.h).  -errno where the file cannot be written.
 */
int kbtf_subset_fill(struct kbtf_subset *s, const struct kbtf *k, const struct bpf_object *obj);

void kbtf_subset_close(struct kbtf_subset *s);

#endif /* KBTF_SUBSET_H */
