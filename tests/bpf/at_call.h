/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AT_CALL_H
#define AT_CALL_H
/* Between tests/bpf/at_call.bpf.c and tests/bpf/at_call.c. */

#define AT_CALL 200 /* beside enum wire_kind */

enum { AT_ENTER = 0, AT_EXIT = 1 };

struct at_call {
	struct wire_hdr hdr;
	u32 stack;
	u32 what;
	u64 nr;
};

#endif /* AT_CALL_H */
