/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JVM_H
#define JVM_H
/*
 * Asking a running Java VM to write its perf map, which makes it work for some
 * milliseconds: only for a user who asked for that.  It is what
 * `jcmd PID Compiler.perfmap` does, done without a second Java VM and without
 * trusting the process: all of it happens in a child that has the process'
 * user, root and namespaces and nothing else, and that is killed when it takes
 * too long.
 */
#include <stdint.h>

struct err;

/*
 * 0 when the VM answered that it did.  -ENOTSUP no Java VM or one that refuses
 * to be asked, -ETIME no answer within timeout_ms, -EPERM rights.
 */
int jvm_perfmap(uint32_t tgid, uint32_t timeout_ms, struct err *err);

#endif /* JVM_H */
