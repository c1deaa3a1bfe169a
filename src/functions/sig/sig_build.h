/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIG_BUILD_H
#define SIG_BUILD_H
/*
 * How a struct sigs is made, by whoever has its parts: the learner, the reader
 * of files, the merger, the maker of baselines.
 *
 *	b = sig_builder_new();
 *	sig_builder_call for each name of a call, _module, _fn, _ep, _base
 *	sigs = sig_builder_finish(b, arena);  sig_builder_free(b)
 *
 * What is added twice is joined: the larger value of each.  Symbols are those
 * that sig_builder_call gave out.  Everything is copied.
 */
#include "functions/sig/sig.h"

struct sig_builder;

struct sig_builder *sig_builder_new(void);
void sig_builder_free(struct sig_builder *b);

/* SYM_NONE (normalize.h) over the limit; else the same for the same name. */
uint16_t sig_builder_call(struct sig_builder *b, const char *name);

/* UINT32_MAX over the limit, here and below. */
uint32_t sig_builder_module(struct sig_builder *b, const struct sig_module *mod);

/* Takes name, module (as given out here), begin, end, the counts from fn; no episodes. */
uint32_t sig_builder_fn(struct sig_builder *b, const struct sig_fn *fn);
void sig_builder_ep(struct sig_builder *b, uint32_t fn, const struct episode *ep,
		    uint64_t support, uint64_t serial);

void sig_builder_place(struct sig_builder *b, uint32_t fn, const struct sig_place *place);

/* Keeps, of two with the same key, the one learnt from more units. */
void sig_builder_base(struct sig_builder *b, const struct sig_base *base);
void sig_builder_window(struct sig_builder *b, uint64_t window_ns);

/* Call once.  Sorts, drops what is over the limits, derives specificity, choice and groups. */
struct sigs *sig_builder_finish(struct sig_builder *b, struct arena *arena);

#endif /* SIG_BUILD_H */
