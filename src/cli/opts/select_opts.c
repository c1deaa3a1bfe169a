/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/opts/select_opts.h"

#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "collect/proc/procfs.h"
#include "report/lines/pen.h"

static int pid_parse(const char *text, size_t len, int32_t *ret_pid)
{
	char digits[12];
	char *end;
	long value;

	if (!len || len >= sizeof(digits))
		return -EINVAL;
	memcpy(digits, text, len);
	digits[len] = '\0';
	value = strtol(digits, &end, 10);
	if (*end || digits[0] < '0' || digits[0] > '9' || value < 1 || value > INT32_MAX)
		return -EINVAL;
	*ret_pid = (int32_t)value;
	return 0;
}

static int pids_parse(void *dst, const char *text, struct arena *arena, struct err *err)
{
	struct select_pids *pids = dst;
	int32_t *items = ARENA_ARRAY(arena, int32_t, SELECT_PIDS_MAX);
	size_t cnt = pids->cnt;

	if (cnt)
		memcpy(items, pids->items, cnt * sizeof(*items));
	for (const char *at = text;;) {
		size_t len = strcspn(at, ",");

		if (cnt >= SELECT_PIDS_MAX)
			return err_usage(err, "more than %d processes", SELECT_PIDS_MAX);
		if (pid_parse(at, len, &items[cnt++]) < 0)
			return err_usage(err, "'%.*s' is not a process id", (int)len, at);
		if (!at[len])
			break;
		at += len + 1;
	}
	*pids = (struct select_pids){.items = items, .cnt = cnt};
	return 0;
}

static int regex_parse(void *dst, const char *text, struct arena *arena, struct err *err)
{
	char why[160];
	regex_t re;
	int code = regcomp(&re, text, REG_EXTENDED | REG_NOSUB);

	(void)arena;
	if (code) {
		regerror(code, &re, why, sizeof(why));
		return err_usage(err, "'%s' is not a regular expression: %s", text, why);
	}
	regfree(&re);
	*(const char **)dst = text;
	return 0;
}

const struct opt select_running_opt_table[] = {
	{.type = OPT_CUSTOM, .short_name = 'p', .long_name = "pid", .metavar = "PID[,PID]",
	 .help = "watch these processes, with all their threads", .parse = pids_parse,
	 OPT_AT(struct select_opts, pids)},
	{.type = OPT_CUSTOM, .long_name = "comm", .metavar = "RE",
	 .help = "watch processes whose name matches", .parse = regex_parse,
	 OPT_AT(struct select_opts, comm)},
	{.type = OPT_STRING, .short_name = 'g', .long_name = "cgroup", .metavar = "CGROUP",
	 .help = "watch the processes of a cgroup", OPT_AT(struct select_opts, cgroup)},
	{.type = OPT_STRING, .short_name = 'u', .long_name = "unit", .metavar = "UNIT",
	 .help = "watch the processes of a systemd unit", OPT_AT(struct select_opts, unit)},
	{.type = OPT_STRING, .long_name = "container", .metavar = "NAME",
	 .help = "watch the processes of a container or pod: name or id",
	 OPT_AT(struct select_opts, container)},
	{.type = OPT_INT, .long_name = "port", .metavar = "N", .min = 1, .max = 65535,
	 .help = "watch the process that listens on this port", OPT_AT(struct select_opts, port)},
	{.type = OPT_FLAG, .short_name = 'a', .long_name = "all", .help = "watch every process",
	 OPT_AT(struct select_opts, all)},
	OPT_END,
};

const struct opt select_opt_table[] = {
	{.type = OPT_TYPE_GROUP, .group = select_running_opt_table},
	{.type = OPT_COMMAND, .metavar = "CMD ARGS", .help = "start this command and watch it",
	 OPT_AT(struct select_opts, command)},
	OPT_END,
};

/* A program's plain name may also lie in this directory: that is no reason to doubt. */
static bool is_file(const char *path)
{
	struct stat st;

	return strpbrk(path, "/.") && stat(path, &st) == 0 && !S_ISDIR(st.st_mode);
}

static int select_name(struct select_opts *s, const char *word, struct arena *arena,
		       struct err *err)
{
	if (is_file(word))
		return err_usage(err, "'%s' is a file: -i %s reads it, --comm %s looks for "
				      "processes of that name", word, word, word);
	if (s->comm)
		return err_usage(err, "one name, not both '%s' and '%s': --comm '%s|%s' selects "
				      "either", s->comm, word, s->comm, word);
	return regex_parse(&s->comm, word, arena, err);
}

int select_words(struct select_opts *s, int argc, char **argv, struct arena *arena,
		 struct err *err)
{
	for (int i = 0; i < argc; i++) {
		bool is_number = argv[i][strspn(argv[i], "0123456789,")] == '\0';
		int code = is_number ? pids_parse(&s->pids, argv[i], arena, err)
				     : select_name(s, argv[i], arena, err);

		if (code < 0)
			return code;
	}
	return 0;
}

static int select_cnt(const struct select_opts *s)
{
	return (s->pids.cnt > 0) + !!s->comm + !!s->cgroup + !!s->unit + !!s->container +
	       (s->port > 0) + s->all + !!s->command;
}

bool select_is_empty(const struct select_opts *s)
{
	return select_cnt(s) == 0;
}

/* Somebody copied a thread's id from another program and may think that it alone is meant. */
static void say_threads(const struct select_pids *pids)
{
	for (size_t i = 0; i < pids->cnt; i++) {
		uint32_t tid = (uint32_t)pids->items[i], tgid = procfs_tgid(tid);
		CLEANUP(buf_release) struct buf name = {0};
		char comm[PROCFS_COMM_LEN];

		if (!tgid || tgid == tid)
			continue;
		procfs_comm(tgid, comm);
		pen_clean(&name, comm, false);
		log_warn("%u is a thread of pid %u (%s): the whole process is looked at", tid,
			 tgid, buf_str(&name));
	}
}

int select_check(const struct select_opts *s, struct err *err)
{
	int cnt = select_cnt(s);

	if (cnt == 0)
		return err_usage(err, "which process? give one of PID, NAME, -p PID, "
				      "--comm RE, -g CGROUP, -u UNIT, --container NAME, "
				      "--port N, -a, -- CMD");
	if (cnt > 1)
		return err_usage(err, "give only one of -p, --comm, -g, -u, --container, --port, "
				      "-a, -- CMD");
	say_threads(&s->pids);
	return 0;
}
