/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ERR_H
#define ERR_H
/*
 * Why something failed, for a person.  Passed as the last parameter where
 * somebody must learn the reason; each layer prepends what it was doing:
 *
 *	open store 'x': index: bad crc at 4096
 *
 *	struct err err = {0};
 *	if (thing_open(&t, path, &err) < 0)
 *		... err.msg, err.kind
 *
 *	return err_set(err, -EINVAL, "bad magic at %zu", off);
 *	return err_prefix(err, "open '%s'", path);
 *
 * An all-zero err is valid and owns nothing.  A NULL err is fine: the code is
 * returned and the words are dropped.  Messages are one line and are cut at
 * ERR_MSG_MAX.
 */

enum { ERR_MSG_MAX = 480 };

enum err_kind {
	ERR_FAILED = 0,	/* the thing asked for did not work */
	ERR_USAGE = 1,	/* asked for in a wrong way */
	ERR_RIGHTS = 2,	/* needs rights or a kernel feature that are not there */
};

struct err {
	int code; /* -errno, 0 when nothing was set */
	enum err_kind kind;
	char msg[ERR_MSG_MAX];
};

/* Sets code (negative) and message; returns code. */
int err_set(struct err *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* As err_set, with ERR_RIGHTS: say in the message which command mends it. */
int err_rights(struct err *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* As err_set, with ERR_USAGE and -EINVAL. */
int err_usage(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* As err_set with the words of the code added: "read 'x': No such file or directory". */
int err_errno(struct err *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Puts "WHAT: " before the message; returns the code that was set, 0 for a NULL err. */
int err_prefix(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif /* ERR_H */
