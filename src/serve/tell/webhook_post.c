/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/tell/webhook_post.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"

/* All of it, so that what a slow receiver takes ends before the parent's patience. */
#define TOTAL_S 15L
#define CONNECT_S 5L
#define ANSWER_MAX 65536 /* of what a receiver answers; it is not looked at */

/*
 * The part of libcurl's interface that is used, as its headers have it and its ABI keeps
 * it: building needs no headers of it.
 */
enum {
	CURLOPT_LONG = 0, CURLOPT_POINTER = 10000, CURLOPT_FUNCTION = 20000,
	CURLOPT_WRITEDATA = CURLOPT_POINTER + 1, CURLOPT_URL = CURLOPT_POINTER + 2,
	CURLOPT_POSTFIELDS = CURLOPT_POINTER + 15, CURLOPT_HTTPHEADER = CURLOPT_POINTER + 23,
	CURLOPT_WRITEFUNCTION = CURLOPT_FUNCTION + 11,
	CURLOPT_TIMEOUT = CURLOPT_LONG + 13, CURLOPT_CONNECTTIMEOUT = CURLOPT_LONG + 78,
	CURLOPT_NOSIGNAL = CURLOPT_LONG + 99, CURLOPT_PROTOCOLS = CURLOPT_LONG + 181,
	CURLPROTO_HTTP = 1 << 0, CURLPROTO_HTTPS = 1 << 1,
	CURLINFO_RESPONSE_CODE = 0x200000 + 2,
	CURLE_OK = 0, CURL_GLOBAL_DEFAULT = 3,
};

struct curl {			/* its functions */
	int (*global_init)(long flags);
	void *(*easy_init)(void);
	int (*easy_setopt)(void *easy, int option, ...);
	int (*easy_perform)(void *easy);
	int (*easy_getinfo)(void *easy, int info, ...);
	void *(*slist_append)(void *list, const char *text);
};

static int curl_load(struct curl *c)
{
	static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
	void *lib = NULL;

	for (unsigned i = 0; i < sizeof(names) / sizeof(*names) && !lib; i++)
		lib = dlopen(names[i], RTLD_NOW);
	if (!lib)
		return -ENOENT;
	c->global_init = (int (*)(long))dlsym(lib, "curl_global_init");
	c->easy_init = (void *(*)(void))dlsym(lib, "curl_easy_init");
	c->easy_setopt = (int (*)(void *, int, ...))dlsym(lib, "curl_easy_setopt");
	c->easy_perform = (int (*)(void *))dlsym(lib, "curl_easy_perform");
	c->easy_getinfo = (int (*)(void *, int, ...))dlsym(lib, "curl_easy_getinfo");
	c->slist_append = (void *(*)(void *, const char *))dlsym(lib, "curl_slist_append");
	return c->global_init && c->easy_init && c->easy_setopt && c->easy_perform &&
	       c->easy_getinfo && c->slist_append ? 0 : -ENOENT;
}

/* In a child: a library that is loaded once stays. */
static int library_is_there(void)
{
	static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};

	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
		void *lib = dlopen(names[i], RTLD_LAZY);

		if (!lib)
			continue;
		dlclose(lib);
		return 1;
	}
	return 0;
}

int post_check(const char *url, struct err *err)
{
	const char *at = strncmp(url, "http://", 7) == 0 ? url + 7
			 : strncmp(url, "https://", 8) == 0 ? url + 8 : "";

	if (!*at || *at == '/')
		return err_usage(err, "webhook '%s': give http://HOST/... or https://HOST/...",
				 url);
	if (!library_is_there())
		return err_set(err, -ENOENT, "a webhook needs libcurl.so.4: apt install libcurl4");
	return 0;
}

static size_t discard(char *data, size_t size, size_t cnt, void *ctx)
{
	size_t *sum = ctx;

	(void)data;
	*sum += size * cnt;
	return *sum > ANSWER_MAX ? 0 : size * cnt;
}

/* Too many requests, and what the receiver says is its own trouble, may go by. */
static int code_of(long status)
{
	if (status >= 200 && status < 300)
		return POST_TAKEN;
	return status == 429 || status == 408 || status >= 500 ? POST_FAILED : POST_REFUSED;
}

static int post(const char *url, const char *json)
{
	struct curl c;
	size_t sum = 0;
	long status = 0;
	void *easy, *headers;
	int rc;

	if (curl_load(&c) < 0)
		return POST_NO_LIBRARY;
	if (c.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK || !(easy = c.easy_init()))
		return POST_FAILED;
	headers = c.slist_append(NULL, "Content-Type: application/json");
	c.easy_setopt(easy, CURLOPT_URL, url);
	c.easy_setopt(easy, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
	c.easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
	c.easy_setopt(easy, CURLOPT_POSTFIELDS, json);
	c.easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	c.easy_setopt(easy, CURLOPT_TIMEOUT, TOTAL_S);
	c.easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, CONNECT_S);
	c.easy_setopt(easy, CURLOPT_WRITEFUNCTION, discard);
	c.easy_setopt(easy, CURLOPT_WRITEDATA, &sum);
	rc = c.easy_perform(easy);
	/* an answer that is too long was one */
	if (c.easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status) != CURLE_OK || !status)
		return POST_FAILED;
	return rc == CURLE_OK || sum > ANSWER_MAX ? code_of(status) : POST_FAILED;
}

pid_t post_start(const char *url, const char *json)
{
	pid_t pid = fork();

	if (pid)
		return pid < 0 ? 0 : pid;
	prctl(PR_SET_NAME, "heldup-post");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	syscall(SYS_close_range, 3u, ~0u, 0u);
	_exit(post(url, json));
}

const char *post_words(int code)
{
	static const char *const words[] = {"taken", "the receiver refused it",
					    "the receiver could not be reached, or failed",
					    "libcurl.so.4 cannot be loaded"};

	return code >= 0 && (size_t)code < sizeof(words) / sizeof(*words) ? words[code]
									  : "the child failed";
}
