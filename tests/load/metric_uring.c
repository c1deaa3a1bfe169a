/* SPDX-License-Identifier: Apache-2.0 */
/*
 * io_uring: one thread submits a read of an empty pipe and waits for its
 * completion in io_uring_enter, 0.4 s/s; the other writes the pipe.  Raw
 * system calls, one entry at a time.
 */
#include "load_duty.h"

#include <linux/io_uring.h>

static struct {
	int fd;
	_Atomic uint32_t *sq_tail, *cq_head, *cq_tail;
	uint32_t *sq_array, *sq_mask;
	struct io_uring_sqe *sqes;
} ring;

static void ring_init(void)
{
	struct io_uring_params p = { 0 };
	char *sq, *cq;

	ring.fd = (int)syscall(SYS_io_uring_setup, 4, &p);
	if (ring.fd < 0)
		load_fail("io_uring_setup");
	sq = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd, IORING_OFF_SQ_RING);
	cq = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd, IORING_OFF_CQ_RING);
	ring.sqes = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd, IORING_OFF_SQES);
	if (sq == MAP_FAILED || cq == MAP_FAILED || ring.sqes == MAP_FAILED)
		load_fail("mmap of the ring");
	ring.sq_tail = (_Atomic uint32_t *)(sq + p.sq_off.tail);
	ring.sq_mask = (uint32_t *)(sq + p.sq_off.ring_mask);
	ring.sq_array = (uint32_t *)(sq + p.sq_off.array);
	ring.cq_head = (_Atomic uint32_t *)(cq + p.cq_off.head);
	ring.cq_tail = (_Atomic uint32_t *)(cq + p.cq_off.tail);
}

static void uring_block(struct duty *d)
{
	static char byte;
	uint32_t at = *ring.sq_tail & *ring.sq_mask;

	memset(&ring.sqes[at], 0, sizeof(ring.sqes[at]));
	ring.sqes[at].opcode = IORING_OP_READ;
	ring.sqes[at].fd = d->fd[0];
	ring.sqes[at].addr = (uint64_t)(uintptr_t)&byte;
	ring.sqes[at].len = 1;
	ring.sq_array[at] = at;
	(*ring.sq_tail)++;
	if (syscall(SYS_io_uring_enter, ring.fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0)
		load_fail("io_uring_enter");
	*ring.cq_head = *ring.cq_tail;
}

static struct duty duty = { .name = "uring", .block = uring_block, .release = duty_write };

static struct metric metrics[] = {
	DUTY_TIME("iouring_wait_time", 0, "io_uring"),
	DUTY_COUNT("iouring_wait_count", 0, "io_uring"),
};

static void child(void *arg)
{
	(void)arg;
	ring_init();
	if (pipe2(duty.fd, O_CLOEXEC))
		load_fail("pipe2");
	duty_start(&duty);
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	pid_t pid;

	load_init(argc, argv, "");
	if (syscall(SYS_io_uring_setup, 0, NULL) < 0 && (errno == ENOSYS || errno == EPERM))
		load_skip("this kernel does not allow io_uring");
	pid = load_fork("metric_uring", child, NULL);
	metric_run(pid, metrics, sizeof(metrics) / sizeof(metrics[0]));
}
