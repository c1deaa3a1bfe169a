/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A signature fits a binary when both have the same build id: another build
 * may have other functions under the same names, or the same under others.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/file.h"
#include "base/search.h"
#include "functions/units/normalize.h"
#include "functions/sig/sig.h"
#include "model/model.h"
#include "model/stack.h"

uint16_t *sig_bind(const struct sigs *s, const char *const *names, uint32_t name_cnt,
		   struct arena *arena)
{
	uint16_t *nrs = ARENA_ARRAY(arena, uint16_t, (size_t)s->call_cnt + 1);

	for (uint32_t i = 0; i < s->call_cnt; i++)
		nrs[i] = SYM_NONE;
	for (uint32_t nr = 0; nr < name_cnt && nr < SYM_NONE; nr++) {
		size_t at = names[nr] ? SORTED_PREFIX(s->call_names, s->call_cnt, it,
						      strcmp(*it, names[nr]) < 0)
				      : s->call_cnt;

		if (at < s->call_cnt && strcmp(s->call_names[at], names[nr]) == 0)
			nrs[at] = (uint16_t)nr;
	}
	return nrs;
}

uint32_t sig_find(const struct sigs *s, const char *module, const char *name)
{
	for (uint32_t i = 0; i < s->fn_cnt; i++) {
		const struct sig_fn *fn = &s->fns[i];

		if (strcmp(fn->name, name) != 0)
			continue;
		if (!module || !module[0] ||
		    (fn->module != SIG_NO_MODULE &&
		     strcmp(s->modules[fn->module].name, module) == 0))
			return i;
	}
	return UINT32_MAX;
}

static enum sig_fit fit_of(const struct sig_module *mod, const struct sig_module *running,
			   size_t cnt)
{
	enum sig_fit fit = SIG_ABSENT;

	for (size_t i = 0; i < cnt; i++) {
		const struct sig_module *run = &running[i];

		if (strcmp(run->name, mod->name) != 0)
			continue;
		if (run->build_id_len == 0 || mod->build_id_len == 0)
			fit = SIG_NO_BUILD_ID;
		else if (run->build_id_len == mod->build_id_len &&
			 memcmp(run->build_id, mod->build_id, mod->build_id_len) == 0)
			return SIG_FITS;
		else if (fit == SIG_ABSENT)
			fit = SIG_OTHER_BUILD;
	}
	return fit;
}

/* Another build of what this file knows by its right build too is no news. */
static bool known_otherwise(const struct sigs *s, const struct sig_check *c, uint32_t mod)
{
	for (uint32_t i = 0; i < s->module_cnt; i++)
		if (c->modules[i] == SIG_FITS &&
		    strcmp(s->modules[i].name, s->modules[mod].name) == 0)
			return true;
	return false;
}

static void count_fns(const struct sigs *s, struct sig_check *c)
{
	uint32_t *fns = xcalloc((size_t)s->module_cnt + 1, sizeof(*fns)), most = 0;

	for (uint32_t i = 0; i < s->fn_cnt; i++) {
		uint32_t mod = s->fns[i].module;

		if (mod != SIG_NO_MODULE && (c->modules[mod] == SIG_ABSENT))
			continue;
		c->fn_cnt++;
		if (mod == SIG_NO_MODULE || c->modules[mod] == SIG_FITS)
			c->known_cnt++;
		else if (c->modules[mod] == SIG_OTHER_BUILD)
			fns[mod]++;
	}
	for (uint32_t i = 0; i < s->module_cnt; i++)
		if (fns[i] > most && !known_otherwise(s, c, i)) {
			most = fns[i];
			c->other = s->modules[i].name;
		}
	free(fns);
}

struct sig_check sig_check(const struct sigs *s, const struct sig_module *running, size_t cnt,
			   struct arena *arena)
{
	struct sig_check c = {.modules = ARENA_ARRAY(arena, uint8_t, (size_t)s->module_cnt + 1)};

	for (uint32_t i = 0; i < s->module_cnt; i++)
		c.modules[i] = (uint8_t)fit_of(&s->modules[i], running, cnt);
	count_fns(s, &c);
	return c;
}

struct sig_module *sig_modules(const struct model *m, struct arena *arena, size_t *ret_cnt)
{
	struct sig_module *mods = ARENA_ARRAY(arena, struct sig_module, m->module_cnt + 1);
	size_t cnt = 0;

	for (size_t i = 0; i < m->module_cnt; i++) {
		const struct module *mod = &m->modules[i];

		if (mod->kind == MODULE_FILE && mod->path[0])
			mods[cnt++] = sig_module_of(mod);
	}
	*ret_cnt = cnt;
	return mods;
}

struct sig_module sig_module_of(const struct module *mod)
{
	struct sig_module sig = {.name = file_base_name(mod->path)};

	sig.build_id_len = mod->build_id_len < SIG_BUILD_ID_MAX ? mod->build_id_len
								: SIG_BUILD_ID_MAX;
	memcpy(sig.build_id, mod->build_id, sig.build_id_len);
	return sig;
}

const char *sig_check_text(const struct sig_check *c, struct arena *arena)
{
	if (c->fn_cnt == 0)
		return "learnt for other programs: none of its functions can be here";
	if (!c->other)
		return NULL;
	return arena_printf(arena, "learnt for another build of %s: %u of %u functions known",
			    c->other, c->known_cnt, c->fn_cnt);
}
