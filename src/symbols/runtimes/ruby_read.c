/* SPDX-License-Identifier: Apache-2.0 */
/* The frames of Ruby's main thread, their ends, and what a function has. */
#include <errno.h>

#include "symbols/runtimes/ruby.h"
#include "symbols/runtimes/runtimes_int.h"

enum {
	EC_STACK = 0, EC_WORDS = 8,
	FUNC_BODY = 16, FUNC_LEN = 24,
};

#define TYPE_FUNC 0x701au /* an internal object, of the kind that functions are */

uint64_t ruby_frames_end(const struct ruby_layout *at, const uint8_t *ec)
{
	return runtime_u64(ec, EC_STACK) + runtime_u64(ec, EC_WORDS) * 8 - at->frame_len;
}

int ruby_main_read(const struct runtime_proc *r, const struct ruby_layout *at, uint64_t vm,
		   struct ruby_main *ret)
{
	uint64_t thread, its_vm, ec;
	uint8_t bytes[RUBY_EC_LEN];

	if (runtime_read_u64(r, vm + at->vm_main, &thread) < 0 ||
	    runtime_read_u64(r, thread + at->thread_vm, &its_vm) < 0 || its_vm != vm ||
	    runtime_read_u64(r, thread + at->thread_ec, &ec) < 0 ||
	    runtime_read(r, ec, bytes, sizeof(bytes)) < 0)
		return -ENOENT;
	ret->frame = runtime_u64(bytes, RUBY_EC_FRAME);
	ret->end = ruby_frames_end(at, bytes);
	if (ret->frame > ret->end || ret->frame < runtime_u64(bytes, EC_STACK) ||
	    (ret->end - ret->frame) % at->frame_len)
		return -EBADMSG;
	return 0;
}

int ruby_body_read(const struct runtime_proc *r, uint64_t addr, uint8_t *body, uint64_t *cookie)
{
	uint8_t func[FUNC_LEN];
	int rc = runtime_read(r, addr, func, sizeof(func));

	if (rc < 0)
		return rc;
	if ((runtime_u64(func, 0) & 0xf01f) != TYPE_FUNC)
		return -EBADMSG;
	rc = runtime_read(r, runtime_u64(func, FUNC_BODY), body, RUBY_BODY_LEN);
	if (rc < 0)
		return rc;
	*cookie = runtime_u64(body, RUBY_BODY_CODE) * 31 + runtime_u64(body, RUBY_BODY_LABEL) * 7 +
		  runtime_u64(body, RUBY_BODY_PATH);
	return 0;
}

int ruby_frame_word(const struct runtime_proc *r, uint64_t frame, uint64_t *ret)
{
	uint8_t body[RUBY_BODY_LEN];
	uint64_t func, cookie;
	int rc = runtime_read_u64(r, frame + RUBY_FRAME_FUNC, &func);

	if (rc == 0)
		rc = ruby_body_read(r, func, body, &cookie);
	return rc < 0 ? rc : runtime_read_u64(r, runtime_u64(body, RUBY_BODY_CODE), ret);
}
