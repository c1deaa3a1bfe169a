/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"
#include "base/json.h"
#include "report/exports.h"
#include "stacks/stacks.h"

static void put_frames(struct json *j, const struct stacks_result *r)
{
	json_kobj(j, "shared");
	json_karr(j, "frames");
	for (size_t i = 0; i < r->fn_cnt; i++) {
		const struct stack_fn *fn = &r->fns[i];

		json_obj(j);
		json_kstr(j, "name", fn->name);
		if (fn->file[0] || fn->module[0])
			json_kstr(j, "file", fn->file[0] ? fn->file : fn->module);
		else if (fn->kind == FN_KERNEL)
			json_kstr(j, "file", "kernel");
		json_obj_end(j);
	}
	json_arr_end(j);
	json_obj_end(j);
}

static void put_samples(struct json *j, const struct stacks_result *r, unsigned mode)
{
	uint32_t path[STACKS_PATH_MAX];

	json_karr(j, "samples");
	for (size_t i = r->first_row[mode]; i < r->first_row[mode + 1]; i++) {
		uint32_t cnt = stacks_path(r, &r->rows[i], path, STACKS_PATH_MAX);

		json_arr(j);
		for (uint32_t k = 0; k < cnt; k++)
			json_u64(j, path[k]);
		json_arr_end(j);
	}
	json_arr_end(j);
	json_karr(j, "weights");
	for (size_t i = r->first_row[mode]; i < r->first_row[mode + 1]; i++)
		json_u64(j, r->rows[i].ns);
	json_arr_end(j);
}

static void put_profile(struct json *j, const struct stacks_result *r, unsigned mode)
{
	static const char *const names[STACKS_MODE_CNT] = {
		"on the CPU", "off the CPU, by what was waited for", "waits and who ended them"};
	uint64_t sum = 0;

	for (size_t i = r->first_row[mode]; i < r->first_row[mode + 1]; i++)
		sum += r->rows[i].ns;
	json_obj(j);
	json_kstr(j, "type", "sampled");
	json_kstr(j, "name", names[mode]);
	json_kstr(j, "unit", "nanoseconds");
	json_ku64(j, "startValue", 0);
	json_ku64(j, "endValue", sum);
	put_samples(j, r, mode);
	json_obj_end(j);
}

void export_speedscope(const struct stacks_result *r, unsigned modes, struct buf *out)
{
	struct json j;

	json_init(&j, out, JSON_SHOWN);
	json_obj(&j);
	json_kstr(&j, "$schema", "https://www.speedscope.app/file-format-schema.json");
	json_kstr(&j, "exporter", "heldup " HELDUP_VERSION);
	json_kstr(&j, "name", r->m->selection);
	json_ku64(&j, "activeProfileIndex", 0);
	put_frames(&j, r);
	json_karr(&j, "profiles");
	for (unsigned mode = 0; mode < STACKS_MODE_CNT; mode++)
		if (modes & 1u << mode)
			put_profile(&j, r, mode);
	json_arr_end(&j);
	json_obj_end(&j);
	json_finish(&j);
}
