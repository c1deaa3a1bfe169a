/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about system calls by their number: descriptors, results, names. */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/syscalls.h"
#include "collect/flight/flight_int.h"
#include "store/event_calls.h"

#define FD CALLI_FD
#define ZERO CALLI_ZERO

static const struct {
	short nr;
	uint8_t info;
} infos[] = {
	{SYS_read, FD | ZERO}, {SYS_pread64, FD | ZERO}, {SYS_readv, FD | ZERO},
	{SYS_preadv, FD | ZERO}, {SYS_preadv2, FD | ZERO}, {SYS_recvfrom, FD | ZERO},
	{SYS_recvmsg, FD | ZERO}, {SYS_recvmmsg, FD | ZERO}, {SYS_getdents64, FD | ZERO},
	{SYS_write, FD}, {SYS_pwrite64, FD}, {SYS_writev, FD}, {SYS_pwritev, FD},
	{SYS_pwritev2, FD}, {SYS_sendto, FD}, {SYS_sendmsg, FD}, {SYS_sendmmsg, FD},
	{SYS_sendfile, FD | ZERO}, {SYS_splice, FD | ZERO}, {SYS_tee, FD | ZERO},
	{SYS_vmsplice, FD}, {SYS_copy_file_range, FD | ZERO}, {SYS_accept, FD},
	{SYS_accept4, FD}, {SYS_connect, FD}, {SYS_bind, FD}, {SYS_listen, FD},
	{SYS_shutdown, FD}, {SYS_getsockname, FD}, {SYS_getpeername, FD},
	{SYS_setsockopt, FD}, {SYS_getsockopt, FD}, {SYS_fsync, FD}, {SYS_fdatasync, FD},
	{SYS_sync_file_range, FD}, {SYS_syncfs, FD}, {SYS_ftruncate, FD},
	{SYS_fallocate, FD}, {SYS_fstat, FD}, {SYS_fchmod, FD}, {SYS_fchown, FD},
	{SYS_readahead, FD}, {SYS_fadvise64, FD}, {SYS_lseek, FD}, {SYS_ioctl, FD},
	{SYS_fcntl, FD}, {SYS_flock, FD}, {SYS_epoll_ctl, FD}, {SYS_epoll_pwait, FD | ZERO},
	{SYS_close, FD | CALLI_CLOSE}, {SYS_dup3, CALLI_DUP}, {SYS_ppoll, ZERO},
	{SYS_pselect6, ZERO}, {SYS_io_getevents, ZERO}, {SYS_exit, CALLI_END},
	{SYS_exit_group, CALLI_END}, {SYS_timerfd_settime, FD}, {SYS_timerfd_gettime, FD},
	/* without a constant in older headers; the numbers are the same everywhere */
	{426, FD}, /* io_uring_enter */
	{436, CALLI_ALL}, /* close_range */
	{441, FD | ZERO}, /* epoll_pwait2 */
#ifdef SYS_epoll_wait /* calls that newer machines do not have */
	{SYS_epoll_wait, FD | ZERO}, {SYS_poll, ZERO}, {SYS_select, ZERO},
	{SYS_dup2, CALLI_DUP}, {SYS_getdents, FD | ZERO},
#endif
};

static const struct {
	short code;
	uint8_t result;
} results[] = {
	{EAGAIN, CALL_AGAIN}, {EINPROGRESS, CALL_AGAIN}, {EALREADY, CALL_AGAIN},
	{EINTR, CALL_INTR}, {ETIMEDOUT, CALL_TIMEOUT}, {ETIME, CALL_TIMEOUT},
	/* the kernel's own codes to begin a call again after a signal */
	{512, CALL_INTR}, {513, CALL_INTR}, {514, CALL_INTR}, {516, CALL_INTR},
};

void flight_info_fill(volatile const uint8_t *info, volatile const uint8_t *errs)
{
	uint8_t *out = (uint8_t *)(uintptr_t)info, *err = (uint8_t *)(uintptr_t)errs;

	for (size_t i = 0; i < sizeof(infos) / sizeof(infos[0]); i++)
		if (infos[i].nr >= 0 && infos[i].nr < SYS_NR_MAX)
			out[infos[i].nr] |= infos[i].info;
	memset(err, CALL_FAILED, CALL_ERRNO_MAX);
	for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++)
		err[results[i].code] = results[i].result;
}

const char *flight_call_name(unsigned nr)
{
	return nr == CALL_NR_FOREIGN ? "32-bit call" : syscall_name(nr);
}

uint8_t flight_kind(unsigned nr, uint8_t kind)
{
	if (kind != RES_EVENTFD)
		return kind;
	switch (nr) {
	case SYS_epoll_ctl:
	case SYS_epoll_pwait:
	case 441: /* epoll_pwait2 */
#ifdef SYS_epoll_wait
	case SYS_epoll_wait:
#endif
		return RES_EPOLL;
	case 426:
		return RES_IOURING;
	}
	return kind;
}
