/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * All BPF programs of heldup, one file per subject, in one object: they share
 * maps, and the static linker of Debian 12's libbpf 1.1 does not resolve a map
 * of another object inside subprograms.  Hence the includes, each file using
 * those above it.
 *
 * It is compiled twice.  A kernel whose verifier refuses the unwinder would
 * refuse all of it, also where no stacks are asked for: HELDUP_NO_STACKS leaves
 * out what walks, and nothing else.  Maps, programs and variables are the same.
 */
#include "track.h"

#include "fill.h"
#include "regs.h"

#include "res.c"

#include "unwind.c"

#include "stacks.c"

#include "classify.c"

#include "waker.c"

#include "calls.c"

#include "blame.c"

#include "sched.c"

#include "marks.c"

#include "filelock.c"

#include "disk.c"

#include "sock.c"

#include "answers.c"

#include "connect.c"

#include "turns.c"

#include "iter_sock.c"

#include "sock_old.c"

#include "sample.c"

#include "iter.c"

#include "kname.c"

char LICENSE[] SEC("license") = "Dual BSD/GPL";
