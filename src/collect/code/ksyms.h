/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KSYMS_H
#define KSYMS_H
/*
 * Kernel addresses to function names, for EV_KSTACK.  Someone who can ask the
 * kernel for one name is asked first (ksyms_ask); where nobody can, /proc/kallsyms
 * is read at the first question, function symbols only (about 3 MiB, 50 ms).
 *
 *	struct ksyms *ks = ksyms_new();  ksyms_frames ...  ksyms_free(ks)
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct ksyms;

#define KSYMS_FRAME_MAX 12

struct ksyms *ksyms_new(void);
void ksyms_free(struct ksyms *ks);

/* Writes the name of the function at addr to ret_name; false when it is not known. */
typedef bool (*ksyms_ask_fn)(void *ctx, uint64_t addr, char *ret_name, size_t size);
void ksyms_ask(struct ksyms *ks, ksyms_ask_fn ask, void *ctx);

/* "hu_switch" of "bpf_prog_0123456789abcdef_hu_switch"; NULL for what is no program of heldup. */
const char *ksyms_own_program(const char *name);

/* Name of the function that holds addr, "" when unknown.  Borrowed until ksyms_free. */
const char *ksyms_name(struct ksyms *ks, uint64_t addr);

/*
 * Appends "jbd2_log_wait_commit;ext4_sync_file;..." to out: innermost first,
 * at most KSYMS_FRAME_MAX, the scheduler's own frames at the start and the
 * entry code at the end left out.  0 frames known: nothing is appended.
 */
size_t ksyms_frames(struct ksyms *ks, const uint64_t *ips, size_t ip_cnt, struct buf *out);

/* False where the addresses are hidden (kptr_restrict) or the file is missing. */
int ksyms_usable(struct ksyms *ks);

/* For tests: reads another file than /proc/kallsyms. */
struct ksyms *ksyms_new_from(const char *path);

#endif /* KSYMS_H */
