/* SPDX-License-Identifier: Apache-2.0 */
/* Frames that the kernel side reads while a thread runs (wire/runtimes.h). */
#include <errno.h>
#include <string.h>

#include "symbols/runtimes/runtimes_int.h"

_Static_assert(RT_STEPS >= CHAIN_STEPS, "all steps of a list fit");

bool runtime_kernel_shape(const struct runtime_proc *r, struct rt_shape *ret)
{
	const struct chain_shape *s = &r->shape;
	const struct runtime_running *k = &r->running;

	*ret = (struct rt_shape){
		.step_cnt = s->step_cnt, .len = s->elem_len - s->ref_len, .ref_len = s->ref_len,
		.ref = s->ref_off / 8, .next = s->next_off / 8, .kept_cnt = k->kept_cnt,
		.check_off = k->check_off,
	};
	if (k->native_len) {
		ret->by_fp = 1;
		ret->len = k->native_len;
		ret->back = k->back;
		ret->ref = k->ref_off / 8;
		ret->ref_add = k->ref_add;
		ret->ref_len = sizeof(uint64_t);
	}
	for (uint32_t i = 0; i < s->step_cnt; i++)
		ret->steps[i] = s->steps[i];
	for (uint32_t i = 0; i < k->kept_cnt; i++)
		ret->kept[i] = k->kept[i] / 8;
	return k->kept_cnt && !s->stride && s->elem_len <= RT_ELEM_WORDS * 8;
}

bool runtime_is_sampled(const struct runtime_proc *r)
{
	struct rt_shape shape;

	return runtime_kernel_shape(r, &shape);
}

long runtime_kept(const struct runtime_proc *r, const uint64_t *words, size_t cnt, struct buf *out)
{
	const struct runtime_running *k = &r->running;
	uint8_t elem[sizeof(uint64_t) + RT_ELEM_WORDS * 8];
	size_t len = sizeof(uint64_t) + r->shape.elem_len;

	if (!k->kept_cnt || cnt % k->kept_cnt || len > sizeof(elem))
		return -EBADMSG;
	for (size_t i = 0; i < cnt; i += k->kept_cnt) {
		memset(elem, 0, len);
		for (uint32_t n = 0; n < k->kept_cnt; n++)
			memcpy(elem + sizeof(uint64_t) + k->kept[n], &words[i + n], 8);
		buf_add(out, elem, len);
	}
	return (long)(cnt / k->kept_cnt);
}
