/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INTAKE_INT_H
#define INTAKE_INT_H
/* One intake, and what both protocols need of it: the inside of this folder. */
#include "intake/intake.h"

struct otlp_grpc;
struct otlp_http;

struct intake_watch {		/* of a descriptor, in the intake's epoll */
	void (*ready)(void *ctx, uint32_t events);
	void *ctx;
};

struct intake {
	struct intake_opts opts;
	struct intake_stats stats;
	uint64_t body_bytes;	/* held for requests that are being received */
	int epoll;
	struct otlp_http *http;
	struct otlp_grpc *grpc;
};

/* events as epoll's; 0 or -errno. */
int intake_watch(struct intake *in, int fd, uint32_t events, struct intake_watch *watch);
void intake_watch_events(struct intake *in, int fd, uint32_t events, struct intake_watch *watch);

/* listen is a socket that becomes its own; token NULL: none is asked for. */
int otlp_http_open(struct intake *in, int listen, const char *token, struct otlp_http **ret,
		   struct err *err);
void otlp_http_run(struct otlp_http *h);	/* what its descriptors had, and its time limits */
void otlp_http_wake(struct otlp_http *h);
void otlp_http_close(struct otlp_http *h);

int otlp_grpc_open(struct intake *in, int listen, const char *token, struct otlp_grpc **ret,
		   struct err *err);
void otlp_grpc_run(struct otlp_grpc *g);	/* its time limits */
void otlp_grpc_close(struct otlp_grpc *g);

#endif /* INTAKE_INT_H */
