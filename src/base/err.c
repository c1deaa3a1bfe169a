/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/bug.h"

static void err_fill(struct err *err, int code, enum err_kind kind, const char *fmt, va_list ap)
	__attribute__((format(printf, 4, 0)));

static void err_fill(struct err *err, int code, enum err_kind kind, const char *fmt, va_list ap)
{
	BUG_ON(code >= 0);
	if (!err)
		return;
	err->code = code;
	err->kind = kind;
	vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
}

int err_set(struct err *err, int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	err_fill(err, code, ERR_FAILED, fmt, ap);
	va_end(ap);
	return code;
}

int err_rights(struct err *err, int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	err_fill(err, code, ERR_RIGHTS, fmt, ap);
	va_end(ap);
	return code;
}

int err_usage(struct err *err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	err_fill(err, -EINVAL, ERR_USAGE, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

int err_errno(struct err *err, int code, const char *fmt, ...)
{
	size_t len;
	va_list ap;

	va_start(ap, fmt);
	err_fill(err, code, ERR_FAILED, fmt, ap);
	va_end(ap);
	if (!err)
		return code;
	len = strlen(err->msg);
	snprintf(err->msg + len, sizeof(err->msg) - len, ": %s", strerror(-code));
	return code;
}

int err_prefix(struct err *err, const char *fmt, ...)
{
	char tail[ERR_MSG_MAX];
	va_list ap;
	size_t room;
	int len;

	if (!err)
		return 0;
	memcpy(tail, err->msg, sizeof(tail));
	va_start(ap, fmt);
	len = vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
	va_end(ap);
	if (len < 0 || len >= ERR_MSG_MAX)
		return err->code;
	room = sizeof(err->msg) - (size_t)len;
	/* A text that does not fit is cut: what is in front says more. */
	snprintf(err->msg + len, room, ": %.*s", room > 2 ? (int)room - 3 : 0, tail);
	return err->code;
}
