/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel lock: one thread writes to a file from a page that is not there yet;
 * its page fault goes to userfaultfd and is answered on the beat, and until
 * then it holds the inode's rwsem inside write.  Another thread writes to the
 * same file 40 ms before the beat and waits for that rwsem: 0.4 s/s.
 */
#include "load_duty.h"
#include "load_sys.h"

#include <linux/userfaultfd.h>
#include <sys/ioctl.h>

static char path[160], *absent;
static int uffd;

static void write_block(struct duty *d)
{
	if (pwrite(d->fd[0], "y", 1, 8192) != 1)
		load_fail("pwrite");
}

/* Takes the rwsem 30 ms after the beat and stays in it until the fault is answered. */
static void *holder(void *arg)
{
	struct duty *d = arg;

	load.page->tid[2] = load_tid();
	for (;;) {
		uint64_t beat = load_now_ns() / DUTY_BEAT_NS + 1;

		duty_until(beat * DUTY_BEAT_NS - 70000000);
		madvise(absent, 4096, MADV_DONTNEED);
		if (pwrite(d->fd[0], absent, 4096, 0) != 4096)
			load_fail("pwrite");
	}
	return NULL;
}

static void answer_fault(struct duty *d)
{
	static char page[4096] __attribute__((aligned(4096))) = { 1 };
	struct uffdio_copy copy = { .dst = (uint64_t)(uintptr_t)absent,
				    .src = (uint64_t)(uintptr_t)page, .len = 4096 };

	(void)d;
	if (ioctl(uffd, UFFDIO_COPY, &copy) && errno != EEXIST)
		load_fail("UFFDIO_COPY");
}

static struct duty duty = { .name = "klock", .block = write_block, .release = answer_fault };

static struct metric metrics[] = {
	DUTY_TIME("klock_wait_time", 0, NULL),
	DUTY_COUNT("klock_wait_count", 0, NULL),
	DUTY_TIME("block_time", 0, NULL),
};

static void open_uffd(void)
{
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct uffdio_api api = { .api = UFFD_API };

	uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	absent = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	reg.range.start = (uint64_t)(uintptr_t)absent;
	reg.range.len = 4096;
	if (uffd < 0 || absent == MAP_FAILED || ioctl(uffd, UFFDIO_API, &api) ||
	    ioctl(uffd, UFFDIO_REGISTER, &reg))
		load_fail("userfaultfd");
}

static void child(void *arg)
{
	(void)arg;
	open_uffd();
	duty.fd[0] = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (duty.fd[0] < 0)
		load_fail(path);
	load_thread("holder", holder, &duty);
	duty_start(&duty);
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	long fd;
	pid_t pid;

	load_init(argc, argv, "");
	fd = syscall(SYS_userfaultfd, O_CLOEXEC);
	if (fd < 0)
		load_skip("userfaultfd is not allowed here");
	close((int)fd);
	snprintf(path, sizeof(path), "%s", load_path("shared.db"));
	pid = load_fork("metric_klock", child, NULL);
	metric_run(pid, metrics, sizeof(metrics) / sizeof(metrics[0]));
}
