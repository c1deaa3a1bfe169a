/* SPDX-License-Identifier: Apache-2.0 */
/* One finding as JSON: who, what, how sure, why, and its chain. */
#include "base/json.h"
#include "report/answer/json_parts.h"
#include "report/facts.h"
#include "verdict/verdict.h"

/* An id of which 0 means none. */
static void json_kid(struct json *j, const char *key, uint32_t id)
{
	if (id)
		json_ku64(j, key, id);
	else
		json_knull(j, key);
}

static void json_party(struct json *j, const struct party *who)
{
	json_kid(j, "pid", who->pid);
	json_kid(j, "tid", who->tid);
	json_kstr(j, "comm", given(who->comm));
}

void json_strings(struct json *j, const char *key, const char **list, size_t cnt)
{
	json_karr(j, key);
	for (size_t i = 0; i < cnt; i++)
		json_str(j, list[i]);
	json_arr_end(j);
}

static void json_step_fns(struct json *j, const struct step *s)
{
	static const char *const what[] = { "", "runs", "waits", "ended" };

	json_karr(j, "functions");
	for (size_t i = 0; i < s->fn_cnt; i++) {
		const struct step_fns *f = &s->fns[i];

		json_obj(j);
		json_kstr(j, "what", what[f->what]);
		json_party(j, &f->who);
		json_kf64_dec(j, "share", f->share, 4);
		json_ku64(j, "count", f->cnt);
		json_karr(j, "frames");
		for (uint32_t k = 0; k < f->name_cnt; k++) {
			json_obj(j);
			json_kstr(j, "name", f->names[k]);
			json_kstr(j, "module", f->modules[k]);
			json_obj_end(j);
		}
		json_arr_end(j);
		json_obj_end(j);
	}
	json_arr_end(j);
}

void json_chain(struct json *j, const struct finding *f)
{
	json_karr(j, "chain");
	for (size_t i = 0; i < f->chain_len; i++) {
		const struct step *s = &f->chain[i];

		json_obj(j);
		json_party(j, &s->who);
		json_kstr(j, "role", given(s->role));
		json_kstr(j, "step", given(s->doing));
		json_kstr(j, "resource", given(s->resource));
		json_kstr(j, "kind", given(s->res_kind));
		json_kf64_dec(j, "share", s->share, 4);
		json_ku64(j, "alike", s->like_cnt);
		if (s->per_request_ns)
			json_ku64(j, "per_request_ns", s->per_request_ns);
		else
			json_knull(j, "per_request_ns");
		json_ku64(j, "count", s->cnt);
		json_step_fns(j, s);
		json_obj_end(j);
	}
	json_arr_end(j);
}

/* Writes the common head of verdict, findings[] and candidates[]. */
static void json_finding_head(struct json *j, const struct finding *f)
{
	json_kstr(j, "class", finding_name(f->cls));
	json_kstr(j, "title", finding_title(f->cls));
	json_kstr(j, "confidence", confidence_name(f->conf));
	json_strings(j, "confidence_reasons", f->doubts, f->doubt_cnt);
	json_kstr(j, "summary", given(f->summary));
	json_kstr(j, "next_step", given(f->next_step));
	json_kobj(j, "resource");
	json_kstr(j, "kind", given(f->res_kind));
	json_kstr(j, "name", given(f->resource));
	json_obj_end(j);
	json_kobj(j, "culprit");
	json_party(j, &f->culprit);
	json_obj_end(j);
}

void json_finding(struct json *j, const struct finding *f)
{
	json_finding_head(j, f);
	json_kf64_dec(j, "share", f->share, 4);
}

void json_finding_parts(struct json *j, const struct finding *f)
{
	json_finding_head(j, f);
	json_strings(j, "evidence", f->evidence, f->evidence_cnt);
	json_strings(j, "refute", f->refute, f->refute_cnt);
	json_chain(j, f);
}

void json_findings(struct json *j, const char *key, const struct finding *list, size_t cnt)
{
	json_karr(j, key);
	for (size_t i = 0; i < cnt; i++) {
		const struct finding *f = &list[i];

		json_obj(j);
		json_finding(j, f);
		json_strings(j, "evidence", f->evidence, f->evidence_cnt);
		json_strings(j, "refute", f->refute, f->refute_cnt);
		json_chain(j, f);
		json_obj_end(j);
	}
	json_arr_end(j);
}
