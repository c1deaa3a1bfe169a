/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "functions/sig/sig.h"
#include "model/model.h"
#include "report/functions/sig_out.h"

bool sig_wanted(const struct sig_view *v, const char *fn)
{
	bool wanted = v->wanted_cnt == 0;

	for (size_t i = 0; i < v->wanted_cnt; i++)
		wanted = wanted || strstr(fn, v->wanted[i]);
	return wanted;
}

static void put_episode(struct json *j, const struct sigs *s, const struct sig_fn *fn, uint32_t at)
{
	const struct sig_ep *ep = &fn->eps[at];
	const struct episode *e = &s->episodes[ep->id];

	json_obj(j);
	json_karr(j, "calls");
	for (unsigned i = 0; i < e->len; i++)
		json_str(j, s->call_names[e->syms[i]]);
	json_arr_end(j);
	json_kbool(j, "chosen", at < fn->ep_cnt);
	json_ku64(j, "support", ep->support);
	json_kf64_dec(j, "share", fn->invocations ? (double)ep->support / (double)fn->invocations
						  : 0, 4);
	json_ku64(j, "serial", ep->serial);
	json_kf64_dec(j, "specificity", s->specificity[ep->id], 4);
	json_ku64(j, "functions", s->having[ep->id]);
	json_obj_end(j);
}

static void put_call(struct json *j, const char *key, const struct sigs *s, uint16_t sym)
{
	json_kstr(j, key, sym == SIG_NO_CALL ? NULL : s->call_names[sym]);
}

static void put_place(struct json *j, const struct sigs *s, const struct sig_place *p)
{
	static const char *const keys[] = {
		[SIG_BEFORE3] = "before3", [SIG_BEFORE2] = "before2", [SIG_BEFORE] = "before",
		[SIG_AT] = "call", [SIG_AFTER] = "after", [SIG_AFTER2] = "after2"};
	bool gap = p->around[SIG_AT] == SIG_NO_CALL;

	json_obj(j);
	for (unsigned i = 0; i < SIG_AROUND_CNT; i++)
		put_call(j, keys[i], s, p->around[i]);
	if (gap) {
		json_knull(j, "kind");
		json_knull(j, "repeats");
		json_knull(j, "blocked");
		json_knull(j, "waits_for_work");
	} else {
		json_kstr(j, "kind", res_kind_name(p->what >> SIG_KIND_SHIFT));
		json_kbool(j, "repeats", !(p->what & SIG_FIRST));
		json_kbool(j, "blocked", p->what & SIG_BLOCKED);
		json_kbool(j, "waits_for_work", p->what & SIG_HOME);
	}
	json_kbool(j, "main_thread", p->what & SIG_MAIN);
	if (gap || p->what & SIG_BLOCKED)
		json_ku64(j, "at_least_ns", UINT64_C(1) << 2 * p->bin);
	else
		json_knull(j, "at_least_ns");
	json_ku64(j, "times", p->cnt);
	json_ku64(j, "self_times", p->self_cnt);
	json_obj_end(j);
}

static void put_address(struct json *j, const char *key, uint64_t addr)
{
	CLEANUP(buf_release) struct buf text = {0};

	buf_printf(&text, "0x%llx", (unsigned long long)addr);
	json_kstr(j, key, addr ? buf_str(&text) : NULL);
}

static void put_fn(struct json *j, const struct sigs *s, const struct sig_fn *fn)
{
	json_obj(j);
	json_kstr(j, "name", fn->name);
	json_kstr(j, "module", fn->module == SIG_NO_MODULE ? NULL : s->modules[fn->module].name);
	put_address(j, "begin", fn->begin);
	put_address(j, "end", fn->end);
	json_ku64(j, "invocations", fn->invocations);
	json_ku64(j, "calls", fn->calls);
	json_ku64(j, "self_calls", fn->self_calls);
	if (fn->group == SIG_NO_GROUP)
		json_knull(j, "group");
	else
		json_ku64(j, "group", fn->group);
	json_karr(j, "episodes");
	for (uint32_t i = 0; i < fn->all_cnt; i++)
		put_episode(j, s, fn, i);
	json_arr_end(j);
	json_karr(j, "places");
	for (uint32_t i = 0; i < fn->place_cnt; i++)
		put_place(j, s, &fn->places[i]);
	json_arr_end(j);
	json_obj_end(j);
}

static void put_module(struct json *j, const struct sig_module *mod)
{
	CLEANUP(buf_release) struct buf id = {0};

	for (unsigned i = 0; i < mod->build_id_len; i++)
		buf_printf(&id, "%02x", mod->build_id[i]);
	json_obj(j);
	json_kstr(j, "name", mod->name);
	json_kstr(j, "build_id", mod->build_id_len ? buf_str(&id) : NULL);
	json_obj_end(j);
}

static void put_base(struct json *j, const struct sigs *s, const struct sig_base *b)
{
	json_obj(j);
	json_karr(j, "key");
	for (uint32_t i = 0; i < b->key_cnt; i++)
		json_str(j, s->call_names[b->key[i]]);
	json_arr_end(j);
	json_ku64(j, "units", b->unit_cnt);
	json_karr(j, "calls");
	for (uint32_t i = 0; i < b->dim_cnt; i++) {
		const struct sig_dim *d = &b->dims[i];

		json_obj(j);
		json_kstr(j, "call", s->call_names[d->sym]);
		json_kf64(j, "log_count", d->cnt_mid);
		json_kf64(j, "log_count_spread", d->cnt_dev);
		json_kf64(j, "log_ns", d->ns_mid);
		json_kf64(j, "log_ns_spread", d->ns_dev);
		json_obj_end(j);
	}
	json_arr_end(j);
	json_obj_end(j);
}

static void put_groups(struct json *j, const struct sigs *s)
{
	json_karr(j, "groups");
	for (uint32_t g = 0; g < s->group_cnt; g++) {
		json_arr(j);
		for (uint32_t i = 0; i < s->groups[g].cnt; i++)
			json_str(j, s->fns[s->groups[g].fns[i]].name);
		json_arr_end(j);
	}
	json_arr_end(j);
}

void sig_json(const struct sig_view *v, struct buf *out)
{
	const struct sigs *s = v->sigs;
	struct json j;

	json_init(&j, out, JSON_PRETTY);
	json_obj(&j);
	json_kstr(&j, "schema", "heldup/learn/1");
	json_kstr(&j, "version", HELDUP_VERSION);
	json_ku64(&j, "window_ns", s->window_ns);
	json_ku64(&j, "function_count", s->fn_cnt);
	json_karr(&j, "modules");
	for (uint32_t i = 0; i < s->module_cnt; i++)
		put_module(&j, &s->modules[i]);
	json_arr_end(&j);
	json_karr(&j, "functions");
	for (uint32_t i = 0; i < s->fn_cnt; i++)
		if (sig_wanted(v, s->fns[i].name))
			put_fn(&j, s, &s->fns[i]);
	json_arr_end(&j);
	put_groups(&j, s);
	json_karr(&j, "baselines");
	for (uint32_t i = 0; i < s->base_cnt; i++)
		put_base(&j, s, &s->bases[i]);
	json_arr_end(&j);
	json_obj_end(&j);
	json_finish(&j);
}
