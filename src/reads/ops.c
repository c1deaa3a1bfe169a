/* SPDX-License-Identifier: Apache-2.0 */
#include "reads/ops.h"

#include "base/rights.h"
#include "reads/chains.h"

static void confine(void)
{
	bound_make();
	rights_filter(RIGHTS_SERVES_READS); /* where the kernel has none it must do without */
}

#define FIXED(type) sizeof(struct type), sizeof(struct type)
#define TEXT(type, text) offsetof(struct type, text) + 1, sizeof(struct type)

static const struct timed_op list[READ_OP_CNT] = {
	[READ_MAPS] = {op_maps, FIXED(read_maps)},
	[READ_MEM] = {op_mem, FIXED(read_mem)},
	[READ_FILE] = {op_file, FIXED(read_file)},
	[READ_FD] = {op_fd, FIXED(read_fd)},
	[READ_EXE] = {op_exe, FIXED(read_tid)},
	[READ_NS] = {op_ns, FIXED(read_ns)},
	[READ_FDS] = {op_fds, FIXED(read_fds)},
	[READ_OPENED] = {op_opened, FIXED(read_opened)},
	[READ_IDS] = {op_ids, FIXED(read_tid)},
	[OPEN_IN_ROOT] = {op_in_root, TEXT(open_in_root, path)},
	[OPEN_MAPPED] = {op_mapped, TEXT(open_mapped, path)},
	[OPEN_DIAG] = {op_diag, FIXED(read_tid)},
	[OPEN_STATS] = {op_stats, 0, 0},
	[READ_CHAINS] = {op_chains, FIXED(read_chains)},
	[READ_BIND] = {op_bind, FIXED(read_bind)},
};

const struct timed_ops read_ops = {.list = list, .cnt = READ_OP_CNT, .confine = confine};
