/* SPDX-License-Identifier: Apache-2.0 */
#include "verdict/context/targets.h"

bool thread_is_target(const struct model *m, uint32_t thread)
{
	return thread != NO_IDX && proc_is_target(m, m->threads[thread].proc);
}

bool proc_is_target(const struct model *m, uint32_t proc)
{
	return proc != NO_IDX && m->procs[proc].target;
}

bool tgid_is_target(const struct model *m, uint32_t tgid)
{
	return proc_is_target(m, model_proc_by_tgid(m, tgid));
}

bool is_child_of_target(const struct context *k, uint32_t tgid)
{
	uint32_t p = model_proc_by_tgid(k->m, tgid);
	uint32_t parent = p != NO_IDX ? model_proc_by_tgid(k->m, k->m->procs[p].ppid) : NO_IDX;

	return parent != NO_IDX && k->m->procs[p].target && k->m->procs[parent].target;
}
