/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef KTYPES_IO_H
#define KTYPES_IO_H
/* Kernel types of sockets, memory and block I/O, in the way that ktypes.h tells. */
#include "bpf/ktypes.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct {
	struct net *net;
} possible_net_t;

struct in6_addr {
	u8 in6_u[16];
};

struct sock_common {
	u32 skc_daddr;
	u32 skc_rcv_saddr;
	u16 skc_dport;
	u16 skc_num;
	unsigned short skc_family;
	volatile unsigned char skc_state;
	unsigned int skc_hash;
	possible_net_t skc_net;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
	atomic64_t skc_cookie;
};

struct inet_connection_sock {
	struct {
		u32 lrcvtime;
	} icsk_ack;
};

struct tcp_sock {
	u32 copied_seq;
	u32 rcv_nxt;
	u32 write_seq;
	u32 lsndtime;
	u64 bytes_received, bytes_acked;
	u32 rcv_tstamp;
	u32 snd_una;
};

struct sock {
	struct sock_common __sk_common;
	u16 sk_type;
	u16 sk_protocol;
	u8 sk_userlocks : 4;
	u8 sk_shutdown;
	struct socket *sk_socket;
};

struct socket {
	short type;
	unsigned long flags;
	struct file *file;
	struct sock *sk;
};

struct sockaddr_un {
	u16 sun_family;
	char sun_path[108];
};

struct unix_address {
	int len;
	struct sockaddr_un name[0];
};

struct unix_sock {
	struct sock sk;
	struct unix_address *addr;
	struct sock *peer;
	struct sock *listener;
};

struct vm_area_struct {
	unsigned long vm_start, vm_end;
	unsigned long vm_pgoff;
	unsigned long vm_flags;
	struct file *vm_file;
};

struct gendisk {
	int major;
	int first_minor;
};

struct address_space {
	struct inode *host;
};

struct page {
	struct address_space *mapping;
};

struct bio_vec {
	struct page *bv_page;
};

struct bio {
	struct bio_vec *bi_io_vec;
};

struct request_queue {
	struct gendisk *disk;
};

struct request {
	struct request_queue *q;
	unsigned int cmd_flags;
	unsigned int __data_len;
	struct bio *bio;
};

struct mutex {
	atomic64_t owner;
};

struct rw_semaphore {
	atomic64_t count;
	atomic64_t owner;
};

#pragma clang attribute pop

#endif /* KTYPES_IO_H */
