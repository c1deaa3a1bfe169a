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
#include "bpf/track.h"

#include "bpf/fill.h"
#include "bpf/regs.h"

#include "bpf/res.c"

#include "bpf/unwind/unwind_user.c"

#include "bpf/unwind/runtime_frames.c"

#include "bpf/unwind/stack_take.c"

#include "bpf/classify.c"

#include "bpf/waker.c"

#include "bpf/blocking_calls.c"

#include "bpf/blame.c"

#include "bpf/sched.c"

#include "bpf/marks.c"

#include "bpf/filelock.c"

#include "bpf/block_io.c"

#include "bpf/net/datagrams.c"

#include "bpf/net/sock.c"

#include "bpf/net/answers.c"

#include "bpf/net/connect.c"

#include "bpf/net/request_times.c"

#include "bpf/net/iter_sock.c"

#include "bpf/net/sock_old.c"

#include "bpf/sample.c"

#include "bpf/iter.c"

#include "bpf/kname.c"

char LICENSE[] SEC("license") = "Dual BSD/GPL";
