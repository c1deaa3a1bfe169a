/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIG_H
#define SIG_H
/*
 * Function signatures: by which system call episodes a function is known,
 * learnt from call stacks (learn.h) and kept in a file.
 *
 *	sig_read (bytes of a file) or learn_model;  sig_merge;  sig_write
 *	sig_bind and automaton_new(s->episodes, ...) to look for them in a model
 *	sig_check: were they learnt for these binaries
 *
 * A symbol is an index in call_names: files hold names of calls, never
 * numbers.  Everything lives in the arena that was given and does not change.
 *
 * Two files are merged by taking of each value the larger one, so that the
 * order of merges does not matter and merging a file with itself changes
 * nothing; what is derived (specificity, choice, groups) is made again from
 * what was merged.
 *
 * Files are hostile: sizes are bounded by SIG_*_MAX and each line is checked.
 */
#include <stddef.h>
#include <stdint.h>

#include "functions/sig/episodes.h"

#define SIG_FILE_HEAD "heldup-signatures " /* then the version */

struct arena;
struct buf;
struct err;
struct model;
struct module;

enum {
	SIG_VERSION = 2,	/* 1: without places; still read */
	SIG_FILE_MAX = 64 << 20,	/* bytes */
	SIG_CALLS_MAX = 4096,		/* names of calls */
	SIG_MODULES_MAX = 4096,
	SIG_FNS_MAX = 1 << 17,
	SIG_EPS_MAX = 64,		/* closed episodes kept of a function, chosen or not */
	SIG_CHOSEN_MAX = 32,		/* of these, its signature */
	SIG_PLACES_MAX = 1024,		/* of a function, those it was seen at most */
	SIG_BASES_MAX = 4096,
	SIG_DIMS_MAX = 512,		/* calls in one baseline */
	SIG_NAME_MAX = 4096,		/* bytes of a name */
	SIG_BUILD_ID_MAX = 20,
	SIG_WHAT_MAX = (1 << 9) - 1,
	SIG_BIN_MAX = 31,
	SIG_NEAR_ONE = 1000,
};

/* Facts about a call beside its name. */
enum sig_what {
	SIG_BLOCKED = 1 << 0,		/* it gave the CPU up */
	SIG_FIRST = 1 << 1,		/* the one before is another */
	SIG_HOME = 1 << 2,		/* a wait for work */
	SIG_MAIN = 1 << 3,		/* by a process's first thread */
	SIG_KIND_SHIFT = 4		/* of its descriptor: enum res_kind */
};

/* The calls around a place, repeats of one being one; SIG_AT is the call itself. */
enum sig_around {
	SIG_BEFORE3 = 0, SIG_BEFORE2 = 1, SIG_BEFORE = 2, SIG_AT = 3, SIG_AFTER = 4,
	SIG_AFTER2 = 5, SIG_AROUND_CNT
};

struct sig_module {
	const char *name;		/* base name */
	uint8_t build_id[SIG_BUILD_ID_MAX];
	uint8_t build_id_len;		/* 0: has none */
};

struct sig_ep {				/* one episode of one function */
	uint32_t id;			/* idx in episodes */
	uint64_t support;		/* invocations with it */
	uint64_t serial;		/* non-overlapped occurrences, gaps allowed */
};

/*
 * At which place among a thread's calls a function was seen: on the stack of a
 * call, or of a sample between two of them (call_contexts.h).
 */
struct sig_place {
	uint16_t around[SIG_AROUND_CNT];/* symbols, by enum sig_around; SIG_NO_CALL: the
					   window's edge; of SIG_AT: between two calls */
	uint16_t what;			/* enum sig_what; of a gap SIG_MAIN only */
	uint8_t bin;			/* how long the gap took, or a call that blocked */
	uint64_t cnt, self_cnt;		/* calls or samples with it; with it innermost */
	uint64_t near_sum;		/* of cnt, each step outwards weighing less, in
					   thousandths (SIG_NEAR_ONE) */
};
#define SIG_NO_CALL UINT16_MAX

struct sig_fn {				/* sorted by module, build id, name */
	const char *name;
	uint32_t module;		/* idx in modules; SIG_NO_MODULE: made at run time */
	uint32_t group;			/* idx in groups */
	uint64_t begin, end;		/* ELF addresses seen of it, both 0: not known */
	uint64_t invocations;		/* 0: seen running only; 1: once, its support is 1 */
	uint64_t calls;			/* made by it or by those it called */
	uint64_t self_calls;		/* made by itself */
	const struct sig_ep *eps;	/* the chosen ones, best first, then the others */
	uint32_t ep_cnt, all_cnt;	/* chosen; with the others */
	const struct sig_place *places; uint32_t place_cnt; /* most calls and samples first */
};
#define SIG_NO_MODULE UINT32_MAX

/* Functions whose chosen episodes are the same: calls cannot distinguish them. */
struct sig_group {
	const uint32_t *fns;		/* idx, ascending */
	uint32_t cnt;
};

/*
 * A cluster of execution units as it is when all is well: centre (median) and
 * spread (scaled median absolute deviation) of ln(1 + count) and of
 * ln(1 + ns per call), for each call.
 */
struct sig_dim {
	uint16_t sym;
	double cnt_mid, cnt_dev, ns_mid, ns_dev;
};

struct sig_base {			/* sorted by key */
	const uint16_t *key;		/* ascending: the calls that stand for the cluster */
	uint32_t key_cnt;
	const struct sig_dim *dims;	/* by sym, ascending */
	uint32_t dim_cnt;
	uint64_t unit_cnt;		/* it was learnt from */
};

struct sigs {
	const char **call_names; uint32_t call_cnt; /* sorted */
	struct sig_module *modules; uint32_t module_cnt; /* sorted by name, build id */
	struct sig_fn *fns; uint32_t fn_cnt;
	struct sig_group *groups; uint32_t group_cnt; /* largest first */
	struct episode *episodes; uint32_t episode_cnt; /* distinct, of all; id is the place */
	double *specificity;		/* by episode: ln(functions / functions having it) */
	uint32_t *having;		/* by episode: functions it is in, also inside another */
	uint8_t *chosen;		/* by episode: 1 some function's signature has it */
	struct sig_base *bases; uint32_t base_cnt;
	uint64_t window_ns;		/* longest time that one of the learnings took */
	uint64_t left_out_cnt;		/* over a limit when this was made; not in files */
};
#define SIG_NO_GROUP UINT32_MAX

/* Reads a file's content: everything that is not derived. text is not ended by a NUL. */
int sig_read(const void *text, size_t len, struct arena *arena, struct sigs **ret_sigs,
	     struct err *err);
void sig_write(const struct sigs *s, struct buf *out);

/* Strings of a and b are borrowed. */
struct sigs *sig_merge(const struct sigs *a, const struct sigs *b, struct arena *arena);

/* By symbol, the number the call has among names (by nr; NULL: none); SYM_NONE: none. */
uint16_t *sig_bind(const struct sigs *s, const char *const *names, uint32_t name_cnt,
		   struct arena *arena);

/* idx of a function, UINT32_MAX; module NULL or "": any; build ids are not looked at. */
uint32_t sig_find(const struct sigs *s, const char *module, const char *name);

enum sig_fit { SIG_FITS = 0, SIG_OTHER_BUILD = 1, SIG_ABSENT = 2, SIG_NO_BUILD_ID = 3 };

struct sig_check {
	uint8_t *modules;		/* by module: enum sig_fit */
	uint32_t fn_cnt;		/* of modules that are not absent */
	uint32_t known_cnt;		/* of these, in a module that fits or has no file */
	const char *other;		/* module of another build with the most functions, NULL */
};

/* running: the modules of the processes to look at (sig_modules of a model). */
struct sig_check sig_check(const struct sigs *s, const struct sig_module *running, size_t cnt,
			   struct arena *arena);
struct sig_module sig_module_of(const struct module *mod); /* strings borrowed */
struct sig_module *sig_modules(const struct model *m, struct arena *arena, size_t *ret_cnt);

/* "learnt for another build of mariadbd: 12 of 3401 functions known", ...; NULL: fits. */
const char *sig_check_text(const struct sig_check *c, struct arena *arena);

#endif /* SIG_H */
