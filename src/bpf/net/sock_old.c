/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Requests on kernels before 6.3, which have no tracepoints in the socket
 * calls: the protocols' own functions instead, at their return.  Needs BPF
 * trampolines, which a locked-down kernel refuses; user space loads these only
 * where the tracepoints are absent, and does without when they are refused.
 *
 * Always reached through pointers, so that the compiler keeps them; inside
 * sock_recvmsg, whose copies it may inline.
 */
#define OLD_RECV(fn)                                                                \
	SEC("?fexit/" #fn)                                                          \
	int hu_old_##fn(u64 *ctx)                                                   \
	{                                                                           \
		struct sock *sk = ((struct socket *)ctx[0])->sk;                    \
									            \
		return sk && is_watched_here() ? sock_call(sk, ctx[4], ctx[3], true) : 0;   \
	}

#define OLD_SEND(fn)                                                                \
	SEC("?fexit/" #fn)                                                          \
	int hu_old_##fn(u64 *ctx)                                                   \
	{                                                                           \
		struct sock *sk = ((struct socket *)ctx[0])->sk;                    \
									            \
		return sk && is_watched_here() ? sock_call(sk, ctx[3], 0, false) : 0;       \
	}

OLD_RECV(inet_recvmsg)
OLD_RECV(inet6_recvmsg)
OLD_RECV(unix_stream_recvmsg)
OLD_RECV(unix_dgram_recvmsg)
OLD_SEND(inet_sendmsg)
OLD_SEND(inet6_sendmsg)
OLD_SEND(unix_stream_sendmsg)
OLD_SEND(unix_dgram_sendmsg)

SEC("?fentry/sock_def_readable")
int hu_old_sock_def_readable(u64 *ctx)
{
	return data_ready((struct sock *)ctx[0]);
}
