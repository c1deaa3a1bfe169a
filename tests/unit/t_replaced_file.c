/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "cli/files/replaced_file.h"
#include "unit.h"

#define NOBODY 65534

static char dir[] = "/tmp/heldup-unit.XXXXXX";
static char victim[64], at[64];

static void make_file(const char *path, const char *text, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);

	OK(fd >= 0);
	OK(file_write_all(fd, text, strlen(text)) == 0);
	close(fd);
}

static void set_up(mode_t mode)
{
	OK(mkdtemp(dir));
	chmod(dir, 0755);
	snprintf(victim, sizeof(victim), "%s/victim", dir);
	snprintf(at, sizeof(at), "%s/drop", dir);
	OK(mkdir(at, 0700) == 0);
	chmod(at, mode);
	snprintf(at, sizeof(at), "%s/drop/page.html", dir);
	make_file(victim, "secret", 0600);
}

static void clean(void)
{
	char drop[64];

	snprintf(drop, sizeof(drop), "%s/drop", dir);
	unlink(at);
	unlink(victim);
	rmdir(drop);
	rmdir(dir);
}

static int put(const char *path)
{
	struct buf text = {0};
	int code;

	buf_adds(&text, "page");
	code = replaced_file_check(path, NULL);
	if (code == 0)
		code = replaced_file_write(path, &text, NULL);
	else /* also without the check before */
		EQ_I(replaced_file_write(path, &text, NULL), code);
	buf_release(&text);
	return code;
}

static void holds(const char *path, const char *want, unsigned mode)
{
	struct buf text = {0};
	struct stat st;

	EQ_I(file_read(path, 100, &text, NULL), 0);
	EQ_S(buf_str(&text), want);
	EQ_I(stat(path, &st), 0);
	EQ_U(st.st_mode & 0777, mode);
	buf_release(&text);
}

TEST(replaced_file_refuses_what_others_laid_in_sticky_folders)
{
	if (geteuid() != 0)
		SKIP("not root");
	set_up(01777);
	EQ_I(symlink(victim, at), 0);
	EQ_I(lchown(at, NOBODY, NOBODY), 0);
	EQ_I(put(at), -EACCES);
	holds(victim, "secret", 0600);
	unlink(at);
	make_file(at, "theirs", 0644);
	EQ_I(chown(at, NOBODY, NOBODY), 0);
	EQ_I(put(at), -EACCES);
	holds(at, "theirs", 0644);
	clean();
}

TEST(replaced_file_follows_links_of_ones_own)
{
	struct stat st;

	set_up(01777);
	EQ_I(symlink("../victim", at), 0);
	EQ_I(put(at), 0);
	holds(victim, "page", 0600);
	EQ_I(lstat(at, &st), 0);
	OK(S_ISLNK(st.st_mode));
	clean();
}

TEST(replaced_file_makes_and_replaces)
{
	set_up(0755);
	EQ_I(put(at), 0);
	holds(at, "page", 0600);
	chmod(at, 0640);
	EQ_I(put(at), 0);
	holds(at, "page", 0640);
	EQ_I(put(dir), -EISDIR);
	EQ_I(put("/dev/null"), 0);
	clean();
}

TEST(replaced_file_writes_to_what_a_link_to_a_pipe_leads_to)
{
	int fds[2];
	char path[32], got[8] = "";

	EQ_I(pipe(fds), 0);
	snprintf(path, sizeof(path), "/dev/fd/%d", fds[1]);
	EQ_I(put(path), 0);
	EQ_I(read(fds[0], got, sizeof(got)), 4);
	EQ_S(got, "page");
}
