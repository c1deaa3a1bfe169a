/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/points/point_price.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/stop.h"
#include "collect/points/point_links.h"
#include "collect/points/point_sites.h"
#include "symbols/files/image.h"
#include "wire/path_events.h"

#define CALLS 400	/* of each: 8 ms where a hit takes 20 us */
#define WARM 20		/* before: the first hits fault pages in */

#if defined(__x86_64__)
/* Two functions whose first instruction is known: one that is emulated, one that is stepped. */
__asm__(".pushsection .text.hu_price, \"ax\", @progbits\n"
	".p2align 4\n"
	".type hu_price_fast, @function\n"
	"hu_price_fast:\n"
	"	.cfi_startproc\n"
	"	push %rbp\n"
	"	.cfi_def_cfa_offset 16\n"
	"	lea 1(%rdi), %rax\n"
	"	pop %rbp\n"
	"	.cfi_def_cfa_offset 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size hu_price_fast, . - hu_price_fast\n"
	".p2align 4\n"
	".type hu_price_slow, @function\n"
	"hu_price_slow:\n"
	"	.cfi_startproc\n"
	"	lea 1(%rdi), %rax\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size hu_price_slow, . - hu_price_slow\n"
	".popsection\n");
#else
#error "point_price: no functions for this machine"
#endif

extern uint64_t hu_price_fast(uint64_t n);
extern uint64_t hu_price_slow(uint64_t n);

typedef uint64_t (*price_fn)(uint64_t n);

struct timed {			/* what the child says after each run */
	uint64_t ns, sum;
};

static struct timed run(price_fn fn)
{
	struct timed t = {0};
	uint64_t begin;

	for (int i = 0; i < WARM; i++)
		fn(0);
	begin = clock_mono_ns();
	for (int i = 0; i < CALLS; i++)
		t.sum = fn(t.sum);
	t.ns = clock_mono_ns() - begin;
	return t;
}

/* Two functions at each byte that it is sent, until the other end closes. */
static void child(int fd)
{
	char any;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	stop_child();
	while (read(fd, &any, 1) == 1) {
		struct timed both[2] = {run(hu_price_fast), run(hu_price_slow)};

		if (write(fd, both, sizeof(both)) != sizeof(both))
			break;
	}
	_exit(0);
}

static int ask(int fd, struct timed ret[2])
{
	if (write(fd, "", 1) != 1 ||
	    recv(fd, ret, 2 * sizeof(*ret), MSG_WAITALL) != (ssize_t)(2 * sizeof(*ret)))
		return -EIO;
	return ret[0].sum == CALLS && ret[1].sum == CALLS ? 0 : -EIO;
}

static int base_of(struct dl_phdr_info *info, size_t size, void *ctx)
{
	(void)size;
	*(uint64_t *)ctx = info->dlpi_addr;
	return 1;	/* the first one is the program */
}

static int place_of(struct point_file *f, price_fn fn, uint64_t image_base,
		    struct point_place *ret)
{
	struct point_site site;
	uint64_t base = 0;

	dl_iterate_phdr(base_of, &base);
	if (point_file_site(f, (uint64_t)(uintptr_t)fn - base - image_base, &site) != POINT_OK)
		return -EINVAL;
	*ret = (struct point_place){.fd = point_file_fd(f), .file_off = site.file_off,
				    .point = POINT_MAX};
	return site.slow == (fn == hu_price_slow) ? 0 : -EINVAL;
}

static int places_make(struct point_file *f, struct point_place ret[2], struct err *err)
{
	struct image *im = image_open(point_file_fd(f), err);
	uint64_t base;

	if (!im)
		return err->code;
	base = image_base_vaddr(im);
	image_free(im);
	if (place_of(f, hu_price_fast, base, &ret[0]) < 0 ||
	    place_of(f, hu_price_slow, base, &ret[1]) < 0)
		return err_set(err, -EINVAL, "heldup's own code is not where it should be");
	return 0;
}

static int measure(int fd, pid_t pid, int prog_fd, const struct point_place *places,
		   struct point_price *ret, struct err *err)
{
	const uint32_t tgid = (uint32_t)pid;
	struct timed before[2], with[2], after[2];
	struct point_links links;
	int rc = ask(fd, before), with_rc = 0;

	if (rc == 0)
		rc = point_links_open(&links, prog_fd, PATH_PRICE_ROUND, places, 2, &tgid, 1, err);
	if (rc < 0)
		return err->code ? rc : err_errno(err, rc, "try tracepoints on a child");
	with_rc = ask(fd, with);
	point_links_close(&links);
	if (with_rc < 0 || ask(fd, after) < 0)
		return err_set(err, -EIO, "tracepoints do not work here: a child that had some "
			       "counted wrong or died");
	ret->fast_ns = (double)(with[0].ns > before[0].ns ? with[0].ns - before[0].ns : 0) / CALLS;
	ret->slow_ns = (double)(with[1].ns > before[1].ns ? with[1].ns - before[1].ns : 0) / CALLS;
	return 0;
}

static int with_child(int prog_fd, const struct point_place *places, struct point_price *ret,
		      struct err *err)
{
	int ends[2], rc;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return err_errno(err, -errno, "talk to a child");
	pid = fork();
	if (pid == 0) {
		close(ends[0]);
		child(ends[1]);
	}
	close(ends[1]);
	rc = pid < 0 ? err_errno(err, -errno, "start a child")
		     : measure(ends[0], pid, prog_fd, places, ret, err);
	close(ends[0]);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	return rc;
}

int point_price(int prog_fd, struct point_price *ret, struct err *err)
{
	CLEANUP_CLOSE int exe = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct point_place places[2];
	struct point_file *f;
	int rc;

	if (exe < 0)
		return err_errno(err, -errno, "open heldup itself");
	f = point_file_open(exe, err);
	if (!f)
		return err->code;
	rc = places_make(f, places, err);
	if (rc == 0)
		rc = with_child(prog_fd, places, ret, err);
	point_file_close(f);
	return rc;
}
