/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JUDGED_H
#define JUDGED_H
/* A synthetic world with what the waits engine and the verdict say of it. */
#include "base/arena.h"
#include "synth.h"
#include "verdict/verdict.h"
#include "waits/waits.h"

struct judged {
	struct synth *s;
	struct arena arena;
	const struct model *m;
	const struct waits_result *w;
	struct verdict *v;
};

static inline void judge(struct judged *j, struct synth *s)
{
	*j = (struct judged){ .s = s };
	j->m = synth_model(s);
	j->w = waits_analyse(j->m, NULL, &j->arena);
	j->v = verdict_make(j->m, j->w, NULL, NULL, &j->arena);
}

static inline void judged_release(struct judged *j)
{
	arena_release(&j->arena);
	synth_free(j->s);
}

#endif /* JUDGED_H */
