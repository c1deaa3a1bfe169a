/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KBTF_H
#define KBTF_H
/*
 * What the running kernel has, by its type information: tracepoints, functions,
 * where things lie.  libbpf can answer this too, but takes 15 ms to read the
 * 130,000 types and searches them by name, one by one, for each question.
 *
 *	kbtf_new, questions, kbtf_free
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct kbtf;

/* NULL with *err set when the kernel has none, or it cannot be understood. */
struct kbtf *kbtf_new(struct err *err);
void kbtf_free(struct kbtf *k);

/* The same of these bytes, which are borrowed; for tests. */
struct kbtf *kbtf_parse(const void *data, size_t len, struct err *err);

/* Arguments of a tracepoint as a BTF program has them, with one before the first; -1: none such. */
int kbtf_trace_args(const struct kbtf *k, const char *name);

bool kbtf_has_func(const struct kbtf *k, const char *name);

/* Its id among the kernel's types, as programs are attached by; 0 none. */
uint32_t kbtf_func_id(const struct kbtf *k, const char *name);

/* Offset of a per-CPU variable in its section; -1 none. */
int64_t kbtf_percpu_off(const struct kbtf *k, const char *name);

/* Offset in bytes of a member, also of one inside anonymous members; -1 none. */
int64_t kbtf_member_off(const struct kbtf *k, const char *type, const char *member);

#endif /* KBTF_H */
