/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EVENT_H
#define EVENT_H
/*
 * The stored event: what a source delivers, what a capture file holds and
 * what the model is built from.  On disk as laid out here, little endian:
 * fixed-width fields, kinds and values are append only.  A reader accepts
 * a longer record of a known kind (newer writer) and a shorter one (older
 * writer: the missing tail reads as zero), and skips and counts unknown kinds.
 *
 * Times: CLOCK_MONOTONIC ns unless the name says otherwise.  Ids of threads
 * are those of the initial pid namespace.  Strings are interned: an event
 * EV_STR gives a string its id before the first use; id 0 is the empty string.
 *
 * Order: EV_META first, then as they happened, batch by batch; inside a
 * batch waits are ordered by their end only per CPU, so readers sort.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/kinds.h"

#define EVENT_HIST_CNT 48
#define EVENT_MAX_BYTES 8192 /* a longer record is a damaged file */
#define EVENT_BUILD_ID_MAX 20
#define EVENT_MODULE_MAX 65534	 /* ids are 1 to this: they fit a frame's top bits */
#define EVENT_STACK_MAX (1u << 20) /* highest id of a stack */
#define EVENT_FRAMES_MAX 512	 /* of one stack, kernel and user */
#define EVENT_INLINE_MAX 64	 /* deepest function inlined into another */

enum event_kind {
	EV_STR = 1,
	EV_META = 2,
	EV_TASK = 3,
	EV_RES = 4,
	EV_WAIT = 5,
	EV_TURN = 6,
	EV_TICK = 7,	/* ends the batch of one interval */
	EV_THREAD = 8,
	EV_END = 9,
	EV_PROC = 10,
	EV_SOCK = 11,
	EV_CULPRIT = 12,
	EV_DISK = 13,
	EV_DEV = 14,
	EV_CGROUP = 15,
	EV_HOST = 16,
	EV_LISTEN = 17,
	EV_CONN = 18,
	EV_LOSS = 19,
	EV_SELF = 20,
	EV_NOTE = 21,
	EV_MEMBER = 22,
	EV_KSTACK = 23,
	EV_MODULE = 24,
	EV_STACK = 25,
	EV_FRAME = 26,
	EV_SAMPLE = 27,
	EV_CALLS = 28, /* these and EV_CALLS_PART: store/event_calls.h */
	EV_CALL_NAME = 29,
	EV_WINDOW = 30,
	EV_CALLS_AWAY = 31,
	EV_COARSE = 32,
	EV_CALLS_PART = 33,
	EV_KIND_CNT
};

enum event_flags {
	EVENTF_GONE = 1, /* whom it tells of is gone: the last of this sum */
};

struct event_hdr {
	uint16_t size;	/* whole record, a multiple of 8 */
	uint8_t kind;
	uint8_t flags;	/* enum event_flags */
	uint32_t tid;	/* 0 where it has none */
	uint64_t ts_ns;
};

struct ev_str { struct event_hdr h; uint32_t id; uint32_t len; /* then len bytes, padded to 8 */ };

struct ev_meta {
	struct event_hdr h;	/* ts_ns: start of the observation */
	uint64_t real_ns;	/* wall clock at start */
	uint64_t boot_off_ns;	/* CLOCK_BOOTTIME - CLOCK_MONOTONIC */
	uint64_t tick_ns;
	uint32_t cpu_cnt;
	uint32_t hz_user;
	uint32_t cmdline;	/* string: how the capture was made */
	uint32_t kernel;	/* string: uname -r */
	uint32_t hostname;
	uint32_t version;	/* of heldup */
	uint32_t selection;	/* string: what was asked for */
	uint32_t self_pid;
	uint64_t sample_ns;	/* running time between two samples of a thread, 0: not sampled */
};

struct ev_task {
	struct event_hdr h;
	uint64_t start_boot_ns;
	uint64_t cgroup_id;
	uint32_t tgid;
	uint32_t ppid;
	uint32_t op;		/* enum task_op */
	uint32_t flags;		/* enum task_flags */
	uint32_t comm;		/* string */
	uint32_t cgroup;	/* string: path, 0 unknown */
	uint32_t ns_tid;	/* in its own pid namespace, 0 the same */
	uint32_t exe;		/* string: base name of the executable, 0 unknown */
	uint32_t exit_code;	/* TASK_EXIT: as wait() tells it, 0 not known */
	uint32_t pad;
};

struct ev_res {
	struct event_hdr h;
	uint64_t res;
	uint64_t ino, aux;
	uint32_t tgid, dev;
	int32_t fd;
	uint32_t magic;
	uint8_t kind, role;	/* enum res_kind, enum sock_role */
	uint16_t family, sotype;
	uint16_t lport, rport;
	uint16_t pad;
	uint32_t netns;
	uint8_t laddr[16], raddr[16];
	uint32_t name;		/* string: path, device, unix path, anon inode label */
	uint32_t peer_tgid;	/* process at the other end on this host, 0 unknown or remote */
	uint32_t peer_comm;	/* string */
	uint32_t pad2;
	uint64_t peer_res;	/* resource id of the other end, 0 unknown */
};

struct ev_wait {
	struct event_hdr h;	/* ts_ns: runs again, or end of the observation when pending */
	uint64_t off_ns;
	uint64_t wake_ns;	/* 0: preempted, or still asleep */
	uint64_t res;
	uint64_t first_io;
	uint32_t tgid, seq;
	uint32_t waker_tid, waker_tgid;
	uint32_t owner_tid;
	uint32_t kstack;	/* EV_KSTACK id, 0 none */
	int16_t sysnr;
	uint8_t cls, op, waker_ctx, pad;
	uint16_t flags, cpu, own_open;
	uint32_t proc_open;
	uint32_t ustack;	/* EV_STACK id: where it went to sleep, 0 not taken */
	uint32_t waker_stack;	/* EV_STACK id: where the waker was, 0 not taken */
};

struct ev_kstack {		/* kernel functions of an uninterruptible sleep */
	struct event_hdr h;
	uint32_t id;
	uint32_t frames;	/* string: names joined by ';', innermost first */
};

struct ev_turn {
	struct event_hdr h;
	uint64_t res, queue_ns, service_ns;
	uint32_t tgid, first_tid;
	uint32_t role, flags;	/* enum sock_role, turn_flags */
};

struct ev_tick {
	struct event_hdr h;
	uint64_t begin_ns;
	uint64_t rest_ns;	/* of old captures: time left out so far, at unknown times */
};

struct ev_thread {		/* cumulative, at ts_ns */
	struct event_hdr h;
	uint64_t since_ns;
	uint64_t run_ns, runq_ns, wait_ns[32]; /* by wait_class */
	uint64_t iowait_ns, unint_ns, wait_cnt;
	uint64_t exec_ns, run_delay_ns;
	uint64_t klock_ns, klock_cnt, reclaim_ns, reclaim_cnt;
	uint64_t stall_ns, stall_max_ns;
	uint64_t maj_flt, min_flt, read_bytes, write_bytes;
	uint32_t tgid, stall_cnt, nvcsw, nivcsw;
	uint64_t quiet_ns;	/* no socket used so long, or since tracking began; 0 not known */
};

struct ev_end {			/* a conversation's sums; cumulative */
	struct event_hdr h;
	uint32_t tgid;
	uint16_t family;
	uint8_t role, pad;
	uint16_t lport, rport;
	uint32_t name;		/* string: unix path or service name */
	uint8_t raddr[16];
	uint64_t uid;
	uint32_t peer_tgid, peer_comm;
	uint64_t turns, service_ns, answer_max_ns, queue_ns, queue_cnt, idle_ns;
	/* partial: reads with a request open; of datagrams less those answered later, may wrap */
	uint64_t txblock_ns, txblock_cnt, rx_bytes, tx_bytes, partial_cnt, conns;
	uint64_t open_now, open_oldest_ns; /* requests open at ts_ns, age of the oldest */
	uint64_t open_sum_ns;	/* ages of the open ones, summed */
	uint64_t hist[EVENT_HIST_CNT]; /* as answer_max_ns: of service and time unread */
	/*
	 * Requests open at the end of each tick times its length: what was given up
	 * without an answer is in no other sum.
	 */
	uint64_t open_tick_ns;
	uint64_t refused_cnt;	/* connections that the other end refused */
};

struct ev_proc {		/* cumulative */
	struct event_hdr h;
	uint32_t tgid, open, out, unread;
	uint64_t open_ns, out_ns, unread_ns;
	uint64_t rss_bytes, vm_swap_bytes;
};

struct ev_sock {		/* snapshot of a socket in use */
	struct event_hdr h;
	uint64_t res;
	uint64_t open_since_ns, unread_since_ns, last_rx_ns, last_tx_ns;
	uint64_t notready_ns, poll_wake_cnt;
	uint32_t tgid, last_tid, role, pad;
};

struct ev_culprit {		/* cumulative, sent when it moved */
	struct event_hdr h;	/* tid: one of its threads */
	uint32_t victim_tgid, culprit_tgid;
	uint64_t ns, cnt;
	uint32_t comm, pad;
};

struct ev_disk {		/* cumulative, sent when it moved */
	struct event_hdr h;
	uint32_t dev, tgid, op, comm;
	uint64_t ios, sectors, lat_ns, lat_max_ns;
};

struct ev_dev {			/* cumulative */
	struct event_hdr h;
	uint32_t dev, name;	/* string: sda, vda1 */
	uint64_t busy_ns, inflight_ns;
};

struct ev_cgroup {		/* cumulative, of a cgroup that watched threads are in */
	struct event_hdr h;
	uint64_t id;
	uint32_t path;
	uint32_t tgid;		/* a watched process inside, or 0 */
	uint64_t nr_periods, nr_throttled, throttled_ns;
	uint64_t quota_us, period_us;	/* quota 0: none */
	uint64_t io_rbps, io_wbps, io_riops, io_wiops; /* limits, 0 none */
	uint64_t mem_limit_bytes, mem_used_bytes, mem_failcnt; /* limit 0: none */
};

struct ev_host {		/* cumulative where a sum */
	struct event_hdr h;
	uint64_t cpu_busy_ns, cpu_idle_ns, cpu_iowait_ns, cpu_steal_ns, cpu_irq_ns;
	uint64_t mem_avail_bytes, swap_in, swap_out, maj_flt, direct_scan;
	uint64_t psi_cpu_us, psi_io_us, psi_mem_us; /* "some" totals, 0 if none */
	uint64_t listen_overflows, listen_drops, tcp_retrans;
};

struct ev_listen {		/* snapshot */
	struct event_hdr h;
	uint32_t tgid, backlog, backlog_max, name;
	uint16_t family, lport;
	uint32_t pad;
	uint64_t res;
};

struct ev_conn {		/* snapshot of connections, grouped, at start and end */
	struct event_hdr h;
	uint32_t tgid;
	uint16_t family;
	uint8_t role, pad;
	uint16_t lport, rport;
	uint32_t conns;		/* established in this group */
	uint32_t unread_conns, unread_bytes; /* data waiting to be read by us */
	uint32_t unsent_conns, unsent_bytes; /* data the peer has not taken */
	uint32_t owe_reply;	/* last received later than last sent */
	uint32_t await_reply;	/* last sent later than last received */
	uint8_t raddr[16];
	uint32_t oldest_owe_ms, oldest_await_ms;
	uint32_t peer_tgid, peer_comm;
	uint32_t stale_conns;	/* of unread_conns: nothing has come since the first snapshot */
	uint32_t held_conns;	/* of unsent_conns: the end of what was written is kept back */
	/* of owe_reply, await_reply: so since before the first snapshot */
	uint32_t owe_stale, await_stale;
	uint32_t owe_first;	/* of owe_stale: nothing was ever answered on it */
	uint32_t silent_conns;	/* accepted for 50 ms and more, and neither side said a word */
};

enum event_loss {
	LOSS_RING = 0,		/* ring buffer full */
	LOSS_TASK_STORAGE = 1,	/* a thread could not be tracked */
	LOSS_RES_MAP = 2,
	LOSS_END_MAP = 3,
	LOSS_CULPRIT_MAP = 4,
	LOSS_DISK_MAP = 5,
	LOSS_SEQ = 6,		/* gaps in a thread's sequence */
	LOSS_STRINGS = 7,	/* string table bound */
	LOSS_PEERS = 8,		/* counterpart processes over the bound */
	LOSS_MEMBERS = 9,	/* epoll members not listed */
	LOSS_SOCK_STORAGE = 10,
	LOSS_KSTACK = 11,
	LOSS_MISSED = 12,	/* BPF programs not run: one was running on that CPU */
	LOSS_STACK_BUDGET = 13,	/* stacks not taken: enough were */
	LOSS_STACK_MAP = 14,	/* stacks that end at a mapping not known yet */
	LOSS_STACK_CUT = 15,	/* stacks deeper than the limit */
	LOSS_STACK_READ = 16,	/* stacks that end where memory could not be read */
	LOSS_SAMPLES = 17,	/* samples of running threads not stored */
	LOSS_SEARCHES = 18,	/* processes, inodes, searches for an other end left out */
	LOSS_FRAME_NAMES = 19,	/* frames over the bound on names */
	LOSS_RES_INDEX = 20,	/* resources not found by their inode: too many */
	LOSS_BAD_RECORD = 21,	/* records of the kernel side of an unknown kind or size */
	LOSS_MEMBER_SETS = 22,	/* event and poll sets whose files could not be read */
	LOSS_CNT
};
struct ev_loss { struct event_hdr h; uint64_t cnt[32]; };

/* A stack or a name that is missing or short makes no sum wrong: not a lost record. */
static inline bool loss_spares_sums(unsigned loss)
{
	return (loss >= LOSS_STACK_BUDGET && loss <= LOSS_RES_INDEX) || loss == LOSS_MEMBER_SETS;
}

struct ev_self {		/* cumulative own cost */
	struct event_hdr h;
	uint64_t cpu_ns, rss_bytes, rss_max_bytes, events, bytes;
	uint64_t bpf_runs, bpf_ns;	/* bpf_ns estimated where the kernel does not measure */
	uint64_t map_bytes, bound_ns;	/* that cpu_ns and bpf_ns may come to, 0: any */
};

enum note_kind { NOTE_MISSING_HOOK = 1, NOTE_LIMIT = 2, NOTE_INFO = 3 };
struct ev_note { struct event_hdr h; uint32_t what; uint32_t text; /* string */ };

struct ev_member {		/* file inside an epoll or poll set */
	struct event_hdr h;
	uint64_t set_res, file_res; /* file_res 0: never blocked on, see name */
	uint64_t ino;
	uint32_t tgid, name;
	int32_t fd;
	uint32_t events;
};

struct ev_coarse {		/* between these times; intervals are disjoint and in order */
	struct event_hdr h;
	uint64_t begin_ns, end_ns;
	uint32_t shed, pad;	/* enum shed */
};

enum module_kind { MODULE_FILE = 0, MODULE_VDSO = 1, MODULE_JIT = 2, MODULE_ANON = 3,
		   MODULE_APP = 4, MODULE_APP_LIB = 5 }; /* of interpreted programs */

/*
 * Code of a process.  Modules, stacks and frames may come after what names
 * them, and each id once; a later EV_FRAME of the same frame replaces its name.
 */
struct ev_module {
	struct event_hdr h;
	uint32_t id;
	uint32_t path;		/* string, as people know it */
	uint64_t base_vaddr;	/* added to a frame's offset: the ELF virtual address */
	uint8_t build_id[EVENT_BUILD_ID_MAX];
	uint8_t build_id_len;	/* 0: has none */
	uint8_t kind;		/* enum module_kind */
	uint16_t pad;
	uint32_t tgid;		/* the first process seen with it */
	uint32_t pad2;
};

/*
 * Frames, here and in EV_FRAME: the top 16 bits are 0xffff for an address of
 * the kernel, else the id of a module and the rest an offset in it; id 0: an
 * address in the process that no module holds.  Those above a stack's first
 * are return addresses: the call lies before it.
 */
#define FRAME_MODULE(f) ((uint32_t)((uint64_t)(f) >> 48))
#define FRAME_OFF(f) ((uint64_t)(f) & 0xffffffffffffull)
#define FRAME_KERNEL 0xffffu

/* How a user stack ended. */
enum stack_end {
	STACK_UNKNOWN = 0,
	STACK_WHOLE = 1,	/* the outermost function was reached */
	STACK_NO_MAP = 2,	/* no module at this address, or not known yet */
	STACK_NO_RULE = 3,	/* its tables do not say how to go on */
	STACK_BAD_READ = 4,
	STACK_BAD_PC = 5,
	STACK_DEEP = 6,		/* at the limit of frames */
	STACK_END_CNT
};

struct ev_stack {
	struct event_hdr h;
	uint32_t id;		/* from 1, dense */
	uint32_t tgid;
	uint16_t user_cnt, kernel_cnt;
	uint8_t end;		/* enum stack_end */
	uint8_t pad[3];		/* then u64 frames[kernel_cnt + user_cnt], innermost first */
};

struct ev_frame {		/* the name of a frame */
	struct event_hdr h;
	uint64_t frame;
	uint32_t tgid;		/* 0 unless the module is 0 */
	uint32_t depth;		/* 0 the function itself; 1 and on: inlined, innermost highest */
	uint32_t fn, file;	/* strings; file 0: not known */
	uint32_t line;
	uint32_t off;		/* bytes, of MODULE_APP* lines, from the beginning of fn */
};

struct ev_sample {		/* a thread was running */
	struct event_hdr h;
	uint32_t tgid, stack, cpu;
	uint32_t cnt;		/* how many equal ones */
};

_Static_assert(sizeof(struct ev_meta) == 80 && sizeof(struct ev_wait) == 96, "tails");
_Static_assert(sizeof(struct ev_module) == 64 && sizeof(struct ev_stack) == 32, "stacks");
_Static_assert(sizeof(struct ev_frame) == 48 && sizeof(struct ev_sample) == 32, "names");
_Static_assert(sizeof(struct ev_coarse) == 40, "coarse");

/* A place events go to: a capture writer, the model, or both. */
struct event_sink {
	/* ev is valid during the call only.  <0 stops the source with that error. */
	int (*put)(void *ctx, const struct event_hdr *ev);
	void *ctx;
};

#endif /* EVENT_H */
