/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/opts/per_process.h"

#include <stdio.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/json.h"
#include "base/log.h"
#include "collect/target/target.h"

static int each(const struct per_process *p, struct json *j, struct err *err)
{
	size_t done = 0;

	for (size_t i = 0; i < p->target->chosen_cnt; i++) {
		int code = p->show(p->ctx, p->target->chosen[i], j, err);

		if (code < 0 && p->target->chosen_cnt > 1)
			log_warn("%s", err->msg);
		done += code == 0;
	}
	return done ? 0 : err->code;
}

int per_process_text(const struct per_process *p, struct err *err)
{
	return each(p, NULL, err);
}

int per_process_json(const struct per_process *p, const char *schema, struct err *err)
{
	CLEANUP(buf_release) struct buf out = {0};
	struct json j;
	int code;

	json_init(&j, &out, JSON_PRETTY);
	json_obj(&j);
	json_kstr(&j, "schema", schema);
	json_kstr(&j, "version", HELDUP_VERSION);
	json_karr(&j, "processes");
	code = each(p, &j, err);
	json_arr_end(&j);
	if (p->tail)
		p->tail(p->ctx, &j);
	json_obj_end(&j);
	json_finish(&j);
	if (code == 0)
		fwrite(buf_str(&out), 1, out.len, stdout);
	return code;
}
