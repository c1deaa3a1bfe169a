/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer: a thread a connection, 16 clients; each request asks `backend`, a
 * process of this host, over a unix socket (--tcp: loopback TCP).  The backend
 * is one event loop that appends to a file, eight times with fdatasync, for
 * each request (--cpu: burns 3 ms instead).
 * Truth: the backend (culprit_pid), itself held up by what peer_held_by says.
 */
#include "load_net.h"
#include "load_sys.h"

static struct load_addr backend_addr;
static int burning, data_fd;

static void work(struct load_msg *m)
{
	char record[4096] = { 1 };

	m->pad[1]++;
	if (burning) {
		load_burn_us(3000);
		return;
	}
	for (int i = 0; i < 8; i++)
		if (write(data_fd, record, sizeof(record)) < 0 || fdatasync(data_fd))
			load_fail("backend");
	if (lseek(data_fd, 0, SEEK_CUR) > 64 << 20)
		lseek(data_fd, 0, SEEK_SET);
}

static void backend(void *arg)
{
	if (!burning) {
		data_fd = open(arg, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		if (data_fd < 0)
			load_fail(arg);
	}
	load_serve_epoll(load_listen(&backend_addr, 128, &load.page->upstream_port), work);
}

static void handle(struct load_msg *m)
{
	static _Thread_local int up;

	if (!up)
		up = load_connect(&backend_addr);
	load_burn_us(30);
	if (load_call(up, m))
		load_fail("backend");
}

static void serve(void *arg)
{
	load_serve_threads(load_listen(arg, 128, &load.page->port), handle);
}

int main(int argc, char **argv)
{
	struct load_clients c = { .conn_cnt = 16 };
	char sock[160], data[160];
	pid_t pid, back;

	load_init(argc, argv, "[--tcp] [--cpu]");
	burning = load_flag("--cpu");
	snprintf(sock, sizeof(sock), "%s", load_path("backend.sock"));
	snprintf(data, sizeof(data), "%s", load_path("backend.db"));
	if (!load_flag("--tcp"))
		backend_addr.unix_path = sock;
	back = load_fork("backend", backend, data);
	backend_addr.port = load_await(&load.page->upstream_port);
	pid = load_fork("peer", serve, &c.to);
	c.to.port = load_await(&load.page->port);
	load_fork("client", load_clients_main, &c);
	load_settle(1000);
	if (backend_addr.unix_path)
		load_ready("pid=%d class=peer culprit_pid=%d peer_pid=%d peer_held_by=%s "
			   "resource=%s", pid, back, back, burning ? "cpu-own" : "fsync", sock);
	else
		load_ready("pid=%d class=peer culprit_pid=%d peer_pid=%d peer_held_by=%s "
			   "resource=127.0.0.1:%d", pid, back, back,
			   burning ? "cpu-own" : "fsync", backend_addr.port);
	load_run();
}
