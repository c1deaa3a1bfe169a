/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYNTH_H
#define SYNTH_H
/*
 * Models made from literal events, for unit tests.  Not a source: it has no
 * kernel and no file, and gives the events to the model (or any sink) itself.
 *
 *	struct synth *s = synth_new(2000);		window of 2 s, ticks of 1 s
 *	synth_thread(s, 11, 10, "worker");		a target's thread
 *	synth_res(s, 7, RES_FUTEX, "lock");
 *	synth_wait(s, 11, WAIT_FUTEX, 7, 100, 900, 900, 12);
 *	const struct model *m = synth_model(s);
 *	synth_free(s);
 *
 * Times are milliseconds from the start of the window.  What a thread does
 * between its waits is running; a thread without waits is not tracked, unless
 * synth_snap gives it a snapshot.  Calls that return an event return it for
 * further fields to be set, valid until synth_free; it is handed on by
 * synth_model, so set them before.  tid 0 as waker: none known.
 */
#include "model/model.h"

struct synth;

struct synth *synth_new(double window_ms);
void synth_free(struct synth *s);

/* Between these, detail was left out; shed: bits of enum shed. */
void synth_coarse(struct synth *s, double begin_ms, double end_ms, uint32_t shed);

/* The model's bound on waits; before synth_model. */
void synth_max_waits(struct synth *s, uint32_t max_waits);

/* The model, finished; owned by s.  May be called again after more events. */
const struct model *synth_model(struct synth *s);

/* The events in the order of a source, to any sink; 0 or the sink's error. */
int synth_play(struct synth *s, struct event_sink *sink);

/* Id of the string. */
uint32_t synth_str(struct synth *s, const char *text);
uint64_t synth_ns(const struct synth *s, double ms);

/* tid == tgid is the process's main thread. */
struct ev_task *synth_thread(struct synth *s, uint32_t tid, uint32_t tgid, const char *comm);
/* The same for one that is not a target: flags of enum task_flags. */
struct ev_task *synth_task(struct synth *s, uint32_t tid, uint32_t tgid, const char *comm,
			   uint32_t flags);
struct ev_task *synth_exit(struct synth *s, uint32_t tid, double at_ms);

/* name NULL: the model makes one up. */
struct ev_res *synth_res(struct synth *s, uint64_t res, unsigned kind, const char *name);
/* A socket to (client) or from (server) an IPv4 address in host order. */
struct ev_res *synth_sock(struct synth *s, uint64_t res, unsigned role, uint32_t addr,
			  uint16_t port);

/* waker 0: context none; else context task. */
struct ev_wait *synth_wait(struct synth *s, uint32_t tid, unsigned cls, uint64_t res,
			   double off_ms, double wake_ms, double end_ms, uint32_t waker_tid);
/* The same woken from an interrupt: ctx of enum waker_ctx. */
struct ev_wait *synth_irq_wait(struct synth *s, uint32_t tid, unsigned cls, uint64_t res,
			       double off_ms, double wake_ms, double end_ms, unsigned ctx);
/* Still waiting when the window ends. */
struct ev_wait *synth_pending(struct synth *s, uint32_t tid, unsigned cls, uint64_t res,
			      double off_ms);
/* Without a CPU though it wanted one. */
struct ev_wait *synth_preempted(struct synth *s, uint32_t tid, double off_ms, double end_ms);

/* Cumulative records: what the window's sum shall be, a zero one at its start is added. */
struct ev_end *synth_end(struct synth *s, uint32_t tgid, unsigned role, uint16_t port,
			 uint64_t turns, double service_ms);
struct ev_proc *synth_proc(struct synth *s, uint32_t tgid);
struct ev_thread *synth_snap(struct synth *s, uint32_t tid);
struct ev_culprit *synth_culprit(struct synth *s, uint32_t victim_tgid, uint32_t culprit_tgid,
				 const char *comm, double ms);
struct ev_disk *synth_disk(struct synth *s, uint32_t dev, uint32_t tgid, uint32_t op,
			   const char *comm, uint64_t sectors);
struct ev_dev *synth_dev(struct synth *s, uint32_t dev, const char *name, double busy_ms,
			 double inflight_ms);
struct ev_cgroup *synth_cgroup(struct synth *s, uint64_t id, const char *path);
struct ev_host *synth_host(struct synth *s);

/*
 * The id of a stack, innermost first: "futex_wait@k;lock@libc.so.6;work;main".
 * A function's module stands after the @, k for the kernel, j for code of the
 * process itself; without one it is the program, "prog".  "inner+outer": one
 * frame with a function inlined into another.  A stack given before keeps its id.
 */
uint32_t synth_stack(struct synth *s, uint32_t tgid, const char *text);
/* The clock's period; before synth_model. */
void synth_sampled(struct synth *s, uint64_t ns);
struct ev_sample *synth_sample(struct synth *s, uint32_t tid, uint32_t stack, double at_ms,
			       uint32_t cnt);

/* Any other event: zeroed, of this kind and size, at at_ms. */
void *synth_event(struct synth *s, unsigned kind, size_t size, double at_ms);

#endif /* SYNTH_H */
