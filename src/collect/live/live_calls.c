/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system calls that can sleep, and how a sleep in each is to be
 * understood.  The numbers are the build machine's own, so that the BPF side
 * knows none; what a kernel header lacks is left out.
 */
#include "collect/live/live_int.h"

#include <sys/syscall.h>

static const struct {
	short nr;
	uint8_t kind;
} calls[] = {
	{SYS_read, SYSK_READ},
	{SYS_pread64, SYSK_READ},
	{SYS_readv, SYSK_READ},
	{SYS_preadv, SYSK_READ},
	{SYS_preadv2, SYSK_READ},
	{SYS_recvfrom, SYSK_READ},
	{SYS_recvmsg, SYSK_READ},
	{SYS_recvmmsg, SYSK_READ},
	{SYS_write, SYSK_WRITE},
	{SYS_pwrite64, SYSK_WRITE},
	{SYS_writev, SYSK_WRITE},
	{SYS_pwritev, SYSK_WRITE},
	{SYS_pwritev2, SYSK_WRITE},
	{SYS_sendto, SYSK_WRITE},
	{SYS_sendmsg, SYSK_WRITE},
	{SYS_sendmmsg, SYSK_WRITE},
	{SYS_sendfile, SYSK_SENDFILE},
	{SYS_splice, SYSK_SPLICE},
	{SYS_tee, SYSK_SPLICE},
	{SYS_vmsplice, SYSK_WRITE},
	{SYS_copy_file_range, SYSK_SPLICE},
	{SYS_accept, SYSK_ACCEPT},
	{SYS_accept4, SYSK_ACCEPT},
	{SYS_connect, SYSK_CONNECT},
	{SYS_fsync, SYSK_FSYNC},
	{SYS_fdatasync, SYSK_FSYNC},
	{SYS_sync_file_range, SYSK_FSYNC},
	{SYS_syncfs, SYSK_FSYNC},
	{SYS_sync, SYSK_SYNC},
	{SYS_msync, SYSK_MSYNC},
	{SYS_futex, SYSK_FUTEX},
	{SYS_epoll_pwait, SYSK_EPOLL},
	{SYS_ppoll, SYSK_PPOLL},
	{SYS_pselect6, SYSK_SELECT},
	{SYS_nanosleep, SYSK_TIMER},
	{SYS_clock_nanosleep, SYSK_TIMER},
	{SYS_wait4, SYSK_CHILD},
	{SYS_waitid, SYSK_CHILD},
	{SYS_close, SYSK_FILE_FD},
	{SYS_ftruncate, SYSK_FILE_FD},
	{SYS_fallocate, SYSK_FILE_FD},
	{SYS_getdents64, SYSK_FILE_FD},
	{SYS_fstat, SYSK_FILE_FD},
	{SYS_fchmod, SYSK_FILE_FD},
	{SYS_fchown, SYSK_FILE_FD},
	{SYS_readahead, SYSK_FILE_FD},
	{SYS_fadvise64, SYSK_FILE_FD},
	{SYS_truncate, SYSK_FILE_PATH},
	{SYS_unlinkat, SYSK_FILE_PATH},
	{SYS_renameat2, SYSK_FILE_PATH},
	{SYS_mkdirat, SYSK_FILE_PATH},
	{SYS_linkat, SYSK_FILE_PATH},
	{SYS_symlinkat, SYSK_FILE_PATH},
	{SYS_readlinkat, SYSK_FILE_PATH},
	{SYS_newfstatat, SYSK_FILE_PATH},
	{SYS_statx, SYSK_FILE_PATH},
	{SYS_faccessat, SYSK_FILE_PATH},
	{SYS_utimensat, SYSK_FILE_PATH},
	{SYS_execve, SYSK_FILE_PATH},
	{SYS_execveat, SYSK_FILE_PATH},
	{SYS_openat, SYSK_PATH_ANY},
	{SYS_io_getevents, SYSK_AIO},
	{SYS_flock, SYSK_FLOCK},
	{SYS_fcntl, SYSK_FCNTL},
	{SYS_semop, SYSK_SYSV},
	{SYS_semtimedop, SYSK_SYSV},
	{SYS_msgrcv, SYSK_SYSV},
	{SYS_msgsnd, SYSK_SYSV},
	{SYS_mq_timedreceive, SYSK_SYSV},
	{SYS_mq_timedsend, SYSK_SYSV},
	{SYS_rt_sigsuspend, SYSK_SIGNAL},
	{SYS_rt_sigtimedwait, SYSK_SIGNAL},
	/* without a constant in older headers; the numbers are the same everywhere */
	{426, SYSK_IOURING},	/* io_uring_enter */
	{437, SYSK_PATH_ANY},	/* openat2 */
	{441, SYSK_EPOLL2},	/* epoll_pwait2 */
	{449, SYSK_FUTEX_WAITV},
	{455, SYSK_FUTEX_WAIT2},
	{456, SYSK_FUTEX_REQUEUE2},
#ifdef SYS_io_pgetevents
	{SYS_io_pgetevents, SYSK_AIO},
#endif
	/* calls that newer machines do not have */
#ifdef SYS_open
	{SYS_open, SYSK_PATH_ANY},
	{SYS_creat, SYSK_FILE_PATH},
	{SYS_stat, SYSK_FILE_PATH},
	{SYS_lstat, SYSK_FILE_PATH},
	{SYS_access, SYSK_FILE_PATH},
	{SYS_unlink, SYSK_FILE_PATH},
	{SYS_rename, SYSK_FILE_PATH},
	{SYS_mkdir, SYSK_FILE_PATH},
	{SYS_rmdir, SYSK_FILE_PATH},
	{SYS_link, SYSK_FILE_PATH},
	{SYS_symlink, SYSK_FILE_PATH},
	{SYS_readlink, SYSK_FILE_PATH},
	{SYS_getdents, SYSK_FILE_FD},
	{SYS_poll, SYSK_POLL},
	{SYS_select, SYSK_SELECT},
	{SYS_epoll_wait, SYSK_EPOLL},
	{SYS_pause, SYSK_SIGNAL},
	{SYS_vfork, SYSK_CHILD},
#endif
};

void live_sys_fill(volatile const uint8_t *kinds)
{
	uint8_t *out = (uint8_t *)(uintptr_t)kinds;

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (calls[i].nr >= 0 && calls[i].nr < SYS_NR_MAX)
			out[calls[i].nr] = calls[i].kind;
}
