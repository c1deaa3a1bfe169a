/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mm_held: a server whose memory map is locked for good.  A file system in user
 * space, `fused`, stops answering; one thread of the server replaces a mapping
 * of a file there that it wrote to, which waits for the write with the process'
 * mmap lock held.  Four threads wait for a mutex of that thread.
 * Truth: nobody can read /proc/PID/maps or memory until `fused` ends.
 *
 * The mount is seen by these processes only, and goes with them.
 */
#include "load_sys.h"

#include <linux/fuse.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/mount.h>

#define BLOCK 4096
#define FILE_NODE 2
#define THREADS 4

static int fuse_fd;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void reply(const struct fuse_in_header *in, int error, const void *data, size_t len)
{
	char out[sizeof(struct fuse_out_header) + BLOCK];
	struct fuse_out_header h = { (uint32_t)(sizeof(h) + len), error, in->unique };

	memcpy(out, &h, sizeof(h));
	if (len)
		memcpy(out + sizeof(h), data, len);
	if (write(fuse_fd, out, h.len) < 0 && errno != ENOENT)
		load_fail("reply");
}

static struct fuse_attr attr_of(uint64_t node)
{
	return (struct fuse_attr){ .ino = node, .nlink = 1, .size = BLOCK,
				   .mode = node == FILE_NODE ? S_IFREG | 0666 : S_IFDIR | 0777 };
}

/* false: this request is never answered, nor any that comes later. */
static int serve_file(const struct fuse_in_header *in)
{
	static const char data[BLOCK] = { 1 };
	struct fuse_init_out init = { .major = FUSE_KERNEL_VERSION, .minor = 31,
				      .max_write = BLOCK };
	struct fuse_entry_out entry = { .nodeid = FILE_NODE, .attr = attr_of(FILE_NODE),
					.entry_valid = 600, .attr_valid = 600 };
	struct fuse_attr_out attr = { .attr_valid = 600, .attr = attr_of(in->nodeid) };
	struct fuse_open_out opened = { 0 };

	switch (in->opcode) {
	case FUSE_INIT:
		reply(in, 0, &init, sizeof(init));
		return 1;
	case FUSE_LOOKUP:
		reply(in, 0, &entry, sizeof(entry));
		return 1;
	case FUSE_GETATTR:
		reply(in, 0, &attr, sizeof(attr));
		return 1;
	case FUSE_OPEN:
		reply(in, 0, &opened, sizeof(opened));
		return 1;
	case FUSE_READ:
		reply(in, 0, data, sizeof(data));
		return 1;
	case FUSE_WRITE:
		return 0;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		return 1;
	default:
		reply(in, -ENOSYS, NULL, 0);
		return 1;
	}
}

static void fused(void *arg)
{
	static char buf[FUSE_MIN_READ_BUFFER + BLOCK];

	load.page->tid[1] = load_tid();
	while (read(fuse_fd, buf, sizeof(buf)) > 0)
		if (!serve_file((const struct fuse_in_header *)(const void *)buf))
			break;
	load.page->tid[3] = load_tid();
	for (;;)
		pause();
	(void)arg;
}

static void mount_fuse(const char *dir)
{
	char opts[64];

	fuse_fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (fuse_fd < 0)
		load_skip("no /dev/fuse");
	snprintf(opts, sizeof(opts), "fd=%d,rootmode=40000,user_id=0,group_id=0", fuse_fd);
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mkdir(dir, 0700) || mount("fused", dir, "fuse", MS_NOSUID | MS_NODEV, opts))
		load_skip("cannot mount a file system in user space");
}

static void *wait_for_lock(void *arg)
{
	pthread_mutex_lock(&lock);
	return arg;
}

/* The write that `fused` does not answer is waited for within mmap. */
static void serve(void *arg)
{
	int fd = open(arg, O_RDWR | O_CLOEXEC);
	char *at = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	pthread_t t;

	if (fd < 0 || at == MAP_FAILED)
		load_fail(arg);
	close(fuse_fd);
	at[0] = 2;
	pthread_mutex_lock(&lock);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&t, NULL, wait_for_lock, NULL);
	load_sleep_us(200000);
	load.page->tid[2] = load_tid();
	mmap(at, BLOCK, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	char dir[160], file[192];
	pid_t pid, server;

	load_init(argc, argv, "");
	snprintf(dir, sizeof(dir), "%s", load_path("mnt"));
	snprintf(file, sizeof(file), "%s/data", dir);
	mount_fuse(dir);
	server = load_fork("fused", fused, NULL);
	load_await(&load.page->tid[1]);
	pid = load_fork("mm_held", serve, file);
	close(fuse_fd); /* when the last of them closes, `fused`, everybody goes on */
	load_await(&load.page->tid[3]);
	load_settle(300);
	load_ready("pid=%d class=hung culprit_pid=%d resource=data", pid, server);
	load_run();
}
