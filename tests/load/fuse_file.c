/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer: each request reads one file, whose file system `fused` serves in user
 * space: one thread, which sleeps 20 ms in each read.  8 clients.
 * Truth: fused (culprit_pid), itself held up by a timer; no disk does anything.
 *
 * --sendfile: the file is sent to a socket with sendfile, which waits for the
 * file and not for who reads the socket.
 *
 * The mount is seen by these processes only, and goes with them.
 */
#include "load_net.h"
#include "load_sys.h"

#include <linux/fuse.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/socket.h>

#define BLOCK 4096
#define BLOCK_CNT (1 << 20)	/* of the file: no request comes to a block that is cached */
#define FILE_NODE 2

static int fuse_fd;
static const char *path;

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
	return (struct fuse_attr){ .ino = node, .nlink = 1, .size = (uint64_t)BLOCK * BLOCK_CNT,
				   .mode = node == FILE_NODE ? S_IFREG | 0444 : S_IFDIR | 0555 };
}

static void serve_file(const struct fuse_in_header *in)
{
	static const char data[BLOCK] = { 1 };
	struct fuse_init_out init = { .major = FUSE_KERNEL_VERSION, .minor = 31,
				      .max_write = BLOCK };
	struct fuse_entry_out entry = { .nodeid = FILE_NODE, .attr = attr_of(FILE_NODE),
					.entry_valid = 600, .attr_valid = 600 };
	struct fuse_attr_out attr = { .attr_valid = 600, .attr = attr_of(in->nodeid) };
	struct fuse_open_out opened = { .open_flags = FOPEN_DIRECT_IO };

	switch (in->opcode) {
	case FUSE_INIT:
		reply(in, 0, &init, sizeof(init));
		return;
	case FUSE_LOOKUP:
		reply(in, 0, &entry, sizeof(entry));
		return;
	case FUSE_GETATTR:
		reply(in, 0, &attr, sizeof(attr));
		return;
	case FUSE_OPEN:
		reply(in, 0, &opened, sizeof(opened));
		return;
	case FUSE_READ:
		load_sleep_us(20000);
		reply(in, 0, data, sizeof(data));
		return;
	case FUSE_RELEASE:
		reply(in, 0, NULL, 0);
		return;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		return;
	default:
		reply(in, -ENOSYS, NULL, 0);
	}
}

static void fused(void *arg)
{
	static char buf[FUSE_MIN_READ_BUFFER + BLOCK];

	load.page->tid[1] = load_tid();
	while (read(fuse_fd, buf, sizeof(buf)) > 0)
		serve_file((const struct fuse_in_header *)(const void *)buf);
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

static int open_file(void)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		load_fail(path);
	return fd;
}

static void handle_read(struct load_msg *m)
{
	static _Thread_local char buf[BLOCK];
	static _Thread_local int fd;

	if (!fd)
		fd = open_file();
	if (pread(fd, buf, sizeof(buf), 0) != sizeof(buf))
		load_fail("pread");
	m->pad[0]++;
}

static void handle_send(struct load_msg *m)
{
	static _Thread_local int fd, to[2];
	static _Thread_local char buf[BLOCK];
	static _Thread_local unsigned seed;
	off_t at;

	if (!fd) {
		seed = (unsigned)load_tid();
		fd = open_file();
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, to))
			load_fail("socketpair");
	}
	at = rand_r(&seed) % BLOCK_CNT * (off_t)BLOCK;
	if (sendfile(to[0], fd, &at, sizeof(buf)) != sizeof(buf) ||
	    load_read(to[1], buf, sizeof(buf)))
		load_fail("sendfile");
	m->pad[0]++;
}

static void serve(void *arg)
{
	load_serve_threads(load_listen(arg, 128, &load.page->port),
			   load_flag("--sendfile") ? handle_send : handle_read);
}

int main(int argc, char **argv)
{
	struct load_clients c = { .conn_cnt = 8 };
	char dir[160], file[192];
	pid_t pid, server;

	load_init(argc, argv, "[--sendfile]");
	snprintf(dir, sizeof(dir), "%s", load_path("mnt"));
	snprintf(file, sizeof(file), "%s/data", dir);
	path = file;
	mount_fuse(dir);
	server = load_fork("fused", fused, NULL);
	load_await(&load.page->tid[1]);
	pid = load_fork("fuse_file", serve, &c.to);
	c.to.port = load_await(&load.page->port);
	load_fork("client", load_clients_main, &c);
	load_settle(1000);
	load_ready("pid=%d class=peer culprit_pid=%d peer_pid=%d peer_held_by=timer resource=data",
		   pid, server, server);
	load_run();
}
