/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * All BPF programs of heldup, one header per subject, in one object: they
 * share maps, and the static linker of Debian 12's libbpf 1.1 does not
 * resolve a map that another object defines inside subprograms.
 */
#include "track.h"

#include "sched.h"

#include "marks.h"

#include "disk.h"

#include "sock.h"

#include "iter.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";
