/* SPDX-License-Identifier: Apache-2.0 */
/* Names of wait classes, states, kinds of resources, wakers and roles. */
#include "model/model.h"

#define NAME_OF(table, at) ((at) < sizeof(table) / sizeof(*(table)) ? (table)[at] : "?")

#define NAME(id, value, name, ...) [WAIT_##id] = (name),

static const char *const class_names[WAIT_CLASS_CNT] = {WAIT_CLASSES(NAME)};

#undef NAME

static const char *const kind_names[RES_KIND_CNT] = {
	[RES_NONE] = "none",	   [RES_FUTEX] = "futex",     [RES_PIPE] = "pipe",
	[RES_SOCKET] = "socket",   [RES_EPOLL] = "epoll",     [RES_POLLSET] = "pollset",
	[RES_FILE] = "file",	   [RES_CHARDEV] = "chardev", [RES_DISK] = "disk",
	[RES_EVENTFD] = "eventfd", [RES_TIMER] = "timer",     [RES_CHILD] = "child",
	[RES_KLOCK] = "klock",	   [RES_MEMORY] = "memory",   [RES_CPU] = "cpu",
	[RES_IOURING] = "iouring", [RES_SYSV] = "sysv",
};

static const char *const ctx_names[WAKER_CTX_CNT] = {
	[WAKER_NONE] = "none",	 [WAKER_TASK] = "task",	  [WAKER_NET] = "net",
	[WAKER_TIMER] = "timer", [WAKER_BLOCK] = "block", [WAKER_IRQ] = "irq",
	[WAKER_SELF] = "self",
};

static const char *const role_names[] = {
	[ROLE_UNKNOWN] = "unknown", [ROLE_SERVER] = "server", [ROLE_CLIENT] = "client",
	[ROLE_LISTEN] = "listen",   [ROLE_PAIR] = "pair",
};

const char *wait_class_name(unsigned cls)
{
	return NAME_OF(class_names, cls);
}

unsigned wait_class_resource(unsigned cls)
{
#define RESOURCE(id, value, name, resource, ...) [WAIT_##id] = (resource),
	static const uint8_t of[WAIT_CLASS_CNT] = {WAIT_CLASSES(RESOURCE)};
#undef RESOURCE

	return cls < WAIT_CLASS_CNT ? of[cls] : RES_NONE;
}

unsigned wait_class_traits(unsigned cls)
{
#define TRAITS(id, value, name, resource, cause, group, metric, object, traits, ...) \
	[WAIT_##id] = (traits),
	static const uint8_t of[WAIT_CLASS_CNT] = {WAIT_CLASSES(TRAITS)};
#undef TRAITS

	return cls < WAIT_CLASS_CNT ? of[cls] : 0;
}

const char *state_name(unsigned st)
{
	if (st == ST_RUN)
		return "run";
	return st == ST_RUNQ ? "runq" : wait_class_name(st - ST_WAIT);
}

const char *res_kind_name(unsigned kind)
{
	return NAME_OF(kind_names, kind);
}

const char *waker_ctx_name(unsigned ctx)
{
	return NAME_OF(ctx_names, ctx);
}

const char *sock_role_name(unsigned role)
{
	return NAME_OF(role_names, role);
}

const char *shed_name(unsigned bit)
{
	static const char *const names[SHED_BIT_CNT] = {"stacks", "wakers", "timing", "short"};

	return bit < SHED_BIT_CNT ? names[bit] : "?";
}
