/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FIGURES_H
#define FIGURES_H
/*
 * Evidence with its numbers: the sentence is made of them, so that people read
 * and machines are given the same.
 *
 *	say_figures(k, f, "{} waits, longest {}", N_CNT("waits", cnt), N_NS("longest", ns));
 *
 * Each {} is the next figure; there must be as many.  Keys are stable and say what
 * of, not in which unit: that is in the figure's form.
 */
#include "verdict/context/finding.h"

struct context;

#define N_FORM(key_, form_, value_) \
	((struct figure){.key = (key_), .form = (form_), .value = (double)(value_)})
#define N_CNT(key, n) N_FORM(key, FIGURE_CNT, n)	/* "12" */
#define N_AVG(key, n) N_FORM(key, FIGURE_AVG, n)	/* "1.5", of whatever was counted */
#define N_NS(key, ns) N_FORM(key, FIGURE_NS, ns)	/* "12 ms" */
#define N_SHARE(key, part) N_FORM(key, FIGURE_SHARE, part) /* "12 %" of 0.12 */
#define N_SHARE_DEC(key, part) N_FORM(key, FIGURE_SHARE_DEC, part) /* "0.1 %" */
#define N_PER_S(key, n) N_FORM(key, FIGURE_PER_S, n)	/* "12", the unit is the sentence's */
#define N_KIB(key, bytes) N_FORM(key, FIGURE_KIB, bytes) /* "12 KiB" */
#define N_MIB(key, bytes) N_FORM(key, FIGURE_MIB, bytes) /* "12 MiB" */
#define N_BYTES_PER_S(key, n) N_FORM(key, FIGURE_BYTES_PER_S, n) /* "1.5 MB/s" */
#define N_RAW_BYTES_PER_S(key, n) N_FORM(key, FIGURE_RAW_BYTES_PER_S, n) /* "1500" */
#define N_BARE_S(key, ns) N_FORM(key, FIGURE_BARE_S, ns) /* "1.5" seconds, named further on */
#define N_WORD(text_) ((struct figure){.text = (text_)}) /* no number: a name, an ending */

/* As say.  The texts of figures are borrowed until it returns. */
#define say_figures(k, f, sentence, ...)                                           \
	say_figures_of(k, f, sentence, (const struct figure[]){__VA_ARGS__},       \
		       sizeof((const struct figure[]){__VA_ARGS__}) / sizeof(struct figure))
void say_figures_of(struct context *k, struct finding *f, const char *sentence,
		    const struct figure *figures, size_t cnt);

/* Line i of another finding, with its figures. */
void say_again(struct context *k, struct finding *f, const struct finding *of, size_t i);

#endif /* FIGURES_H */
