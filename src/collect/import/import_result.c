/* SPDX-License-Identifier: Apache-2.0 */
/* Meaning of a value that a call returned, and of a descriptor's name. */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

#include "collect/import/import_int.h"

/* Calls whose 0 is the end of a file, no event, no bytes; for others it is success. */
static bool zero_is_none(int nr)
{
	switch (nr) {
	case SYS_read:
	case SYS_readv:
	case SYS_pread64:
	case SYS_preadv:
	case SYS_preadv2:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_recvmmsg:
	case SYS_ppoll:
	case SYS_pselect6:
	case SYS_epoll_pwait:
	case SYS_epoll_pwait2:
	case SYS_getdents64:
	case SYS_sendfile:
	case SYS_splice:
	case SYS_tee:
	case SYS_copy_file_range:
	case SYS_io_getevents:
	case SYS_io_pgetevents:
#ifdef SYS_poll /* newer machines have only the calls above */
	case SYS_poll:
	case SYS_select:
	case SYS_epoll_wait:
	case SYS_getdents:
#endif
		return true;
	default:
		return false;
	}
}

int import_result(int nr, int64_t value)
{
	if (value > 0 || value < -4095)
		return CALL_OK;
	switch (-value) {
	case 0:
		return zero_is_none(nr) ? CALL_NONE : CALL_OK;
	case EAGAIN:
	case EINPROGRESS:
	case EALREADY:
		return CALL_AGAIN;
	case EINTR:
	case 512: /* the kernel's own: the call will be made again, or EINTR */
	case 513:
	case 514:
	case 516:
		return CALL_INTR;
	case ETIMEDOUT:
	case ETIME:
		return CALL_TIMEOUT;
	default:
		return CALL_FAILED;
	}
}

/* result for "EAGAIN", "ERESTARTSYS", ... */
static int import_result_name(const char *name, size_t len)
{
	static const struct {
		const char *name;
		int result;
	} rows[] = {
		{"EAGAIN", CALL_AGAIN},	     {"EWOULDBLOCK", CALL_AGAIN},
		{"EINPROGRESS", CALL_AGAIN}, {"EALREADY", CALL_AGAIN},
		{"EINTR", CALL_INTR},	     {"ERESTARTSYS", CALL_INTR},
		{"ERESTARTNOINTR", CALL_INTR}, {"ERESTARTNOHAND", CALL_INTR},
		{"ERESTART_RESTARTBLOCK", CALL_INTR}, {"ETIMEDOUT", CALL_TIMEOUT},
		{"ETIME", CALL_TIMEOUT},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strlen(rows[i].name) == len && memcmp(rows[i].name, name, len) == 0)
			return rows[i].result;
	return CALL_FAILED;
}

int import_result_text(int nr, struct text t, int64_t *ret_value)
{
	bool is_error = take_word(&t, "-1 "), unknown = !is_error && take_char(&t, '?');
	const char *from;
	uint64_t value = 0;

	*ret_value = -1;
	take_space(&t);
	from = t.at;
	if (is_error && text_is(&t, '(')) { /* perf trace, of one without a name */
		from = text_find(&t, "strerror_r(");
		t.at = from ? from + strlen("strerror_r(") : t.at;
		return take_uint(&t, &value) ? import_result(nr, -(int64_t)(value & 4095))
					     : CALL_FAILED;
	}
	if (is_error || unknown) {
		while (t.at < t.end && *t.at != ' ')
			t.at++;
		return t.at == from ? CALL_UNKNOWN
				    : import_result_name(from, (size_t)(t.at - from));
	}
	if (take_char(&t, '-')) {
		take_uint(&t, &value);
		return import_result(nr, value ? -1 : 0);
	}
	if (t.at == t.end)
		return CALL_UNKNOWN;
	if (t.end - t.at > 1 && t.at[0] == '0' && t.at[1] == 'x')
		take_hex(&t, &value);
	else
		take_uint(&t, &value);
	*ret_value = value > INT64_MAX ? INT64_MAX : (int64_t)value;
	return import_result(nr, *ret_value);
}

bool import_never_returns(int nr)
{
	return nr == SYS_exit || nr == SYS_exit_group;
}

int import_kind(const struct text *t)
{
	static const struct {
		const char *begin;
		int kind;
	} rows[] = {
		{"socket:", RES_SOCKET},   {"TCP", RES_SOCKET},	      {"UDP", RES_SOCKET},
		{"UNIX", RES_SOCKET},	   {"NETLINK", RES_SOCKET},   {"RAW", RES_SOCKET},
		{"PING", RES_SOCKET},	   {"pipe:", RES_PIPE},
		{"anon_inode:[eventpoll", RES_EPOLL},
		{"anon_inode:[io_uring", RES_IOURING},
		{"anon_inode:", RES_EVENTFD},
		{"/dev/shm/", RES_FILE},   {"/dev/hugepages", RES_FILE}, {"/dev/", RES_CHARDEV},
		{"char ", RES_CHARDEV},	   {"/", RES_FILE},
	};
	struct text s = *t;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (take_word(&s, rows[i].begin))
			return rows[i].kind;
	return RES_NONE;
}
