/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEBHOOK_POST_H
#define WEBHOOK_POST_H
/*
 * One POST of JSON to an address of http or https, by libcurl, in a child that has no
 * right and no descriptor of its parent's.  The library is looked for when it is used.
 */
#include <stdint.h>
#include <sys/types.h>

struct err;

/* How the child ends. */
enum post_code { POST_TAKEN = 0, POST_REFUSED = 1, POST_FAILED = 2, POST_NO_LIBRARY = 3 };

#define POST_NS UINT64_C(20000000000)

/* Is url one, and is the library there?  -EINVAL, -ENOENT. */
int post_check(const char *url, struct err *err);

/* The child's pid, 0 when there is none. */
pid_t post_start(const char *url, const char *json);

const char *post_words(int code);

#endif /* WEBHOOK_POST_H */
