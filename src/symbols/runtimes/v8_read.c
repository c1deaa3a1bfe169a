/* SPDX-License-Identifier: Apache-2.0 */
/* Words and types of V8's objects. */
#include <errno.h>

#include "symbols/runtimes/v8.h"

int v8_word(const struct runtime_proc *r, uint64_t object, int32_t off, uint64_t *ret)
{
	if (!v8_is_object(object))
		return -EBADMSG;
	return runtime_read_u64(r, object - 1 + (uint64_t)off, ret);
}

int v8_type(const struct runtime_proc *r, uint64_t object, uint32_t *ret)
{
	const struct v8 *v = r->own;
	uint64_t map;
	int rc = v8_word(r, object, 0, &map);

	if (rc == 0 && !v8_is_object(map))
		rc = -EBADMSG;
	if (rc == 0)
		rc = runtime_read_u32(r, map - 1 + (uint64_t)v->at[V8_MAP_TYPE], ret);
	*ret &= 0xffff;
	return rc;
}
