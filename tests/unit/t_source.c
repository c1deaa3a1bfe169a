/* SPDX-License-Identifier: Apache-2.0 */
/* The order rules of store/event.h, on each source. */
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/err.h"
#include "collect/select.h"
#include "collect/source.h"
#include "store/capture.h"
#include "store/check.h"
#include "synth.h"
#include "unit.h"
#include "wire/wire.h"
#include "wire/conf.h"

#include "heldup.skel.h"
#include "plain.skel.h"

struct order {
	struct event_check check;
	uint64_t event_cnt, meta_cnt, tick_cnt, step_ticks;
	uint64_t begin_ns, tick_ns;
	bool ended;		/* the last step gave its answer */
};

static int order_put(void *ctx, const struct event_hdr *ev)
{
	struct order *o = ctx;

	OK(!o->ended);
	OK(((uintptr_t)ev & 7) == 0);
	EQ_I(event_check(&o->check, ev, ev->size), EVENT_PASS); /* strings before their use */
	o->event_cnt++;
	if (ev->kind == EV_STR)
		return 0;
	if (ev->kind == EV_META) {
		EQ_U(o->meta_cnt, 0);
		o->meta_cnt++;
		o->begin_ns = o->tick_ns = ev->ts_ns;
		return 0;
	}
	EQ_U(o->meta_cnt, 1); /* before all others */
	EQ_U(o->step_ticks, 0); /* nothing in a batch comes after its tick */
	if (ev->kind == EV_TICK) {
		OK(ev->ts_ns > o->tick_ns);
		o->tick_ns = ev->ts_ns;
		o->tick_cnt++;
		o->step_ticks++;
	}
	return 0;
}

static void check_order(struct source *src, struct order *o)
{
	struct event_sink sink = {.put = order_put, .ctx = o};
	struct err err = {0};
	int rc;

	do {
		o->step_ticks = 0;
		rc = source_step(src, &sink, &err);
		OK(rc >= 0);
	} while (rc > 0);
	EQ_I(source_step(src, &sink, &err), 0); /* after the end: the end */
	OK(o->tick_cnt > 0);
	event_check_release(&o->check);
}

TEST(source_file_keeps_the_order)
{
	char path[] = "/tmp/heldup-unit-XXXXXX";
	int fd = mkstemp(path);
	struct synth *s = synth_new(5000);
	struct order o = {0};
	struct event_sink sink;
	struct source *src;
	struct capture *c;
	struct err err = {0};

	OK(fd >= 0);
	close(fd);
	synth_thread(s, 1, 1, "srv");
	for (int i = 0; i < 40; i++)
		synth_wait(s, 1, WAIT_FUTEX, 7, i * 100, i * 100 + 50, i * 100 + 60, 0);
	EQ_I(capture_create(path, NULL, &c, &err), 0);
	sink = capture_sink(c);
	EQ_I(synth_play(s, &sink), 0);
	EQ_I(capture_finish(c, &err), 0);
	EQ_I(source_file(path, &src, &err), 0);
	unlink(path);
	check_order(src, &o);
	EQ_U(o.tick_cnt, 5);
	EQ_U(o.event_cnt, capture_stats(c)->event_cnt);
	EQ_U(o.tick_ns - o.begin_ns, 5 * NS_PER_SEC);
	source_free(src);
	capture_free(c);
	synth_free(s);
}

/* The process that is watched: sleeps and wakes. */
static pid_t start_napper(void)
{
	pid_t pid = fork();

	if (pid == 0)
		for (;;)
			usleep(10000);
	return pid;
}

TEST(source_live_keeps_the_order)
{
	int32_t pid = start_napper();
	struct select_opts select = {.pids = {.items = &pid, .cnt = 1}};
	struct watch_opts watch = {.select = &select, .duration_ns = 500 * NS_PER_MS,
				   .tick_ns = 200 * NS_PER_MS,
				   .unfiltered = 1}; /* LeakSanitizer traces this process */
	struct order o = {0};
	struct source *src = NULL;
	struct err err = {0};
	int rc;

	OK(pid > 0);
	rc = source_live(&watch, &src, &err);
	if (rc == 0)
		check_order(src, &o);
	source_free(src);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	if (rc < 0 && err.kind == ERR_RIGHTS)
		SKIP("no rights to watch");
	EQ_I(rc, 0);
	OK(o.tick_cnt >= 2);
}

static struct bpf_object *object_open(const void *elf, size_t size)
{
	struct bpf_object *o = bpf_object__open_mem(elf, size, NULL);

	OK(o && !libbpf_get_error(o));
	return o;
}

/* Where each variable lies, for user space sees them through one struct. */
static void sections_agree(const struct btf *a, const struct btf *b, const char *name)
{
	int ida = btf__find_by_name_kind(a, name, BTF_KIND_DATASEC);
	int idb = btf__find_by_name_kind(b, name, BTF_KIND_DATASEC);
	const struct btf_type *ta = btf__type_by_id(a, ida), *tb = btf__type_by_id(b, idb);

	OK(ida > 0 && idb > 0);
	EQ_U(ta->size, tb->size);
	EQ_U(btf_vlen(ta), btf_vlen(tb));
	for (int i = 0; i < btf_vlen(ta); i++) {
		const struct btf_var_secinfo *va = btf_var_secinfos(ta) + i;
		const struct btf_var_secinfo *vb = btf_var_secinfos(tb) + i;
		const struct btf_type *xa = btf__type_by_id(a, va->type);
		const struct btf_type *xb = btf__type_by_id(b, vb->type);

		EQ_S(btf__name_by_offset(a, xa->name_off), btf__name_by_offset(b, xb->name_off));
		EQ_U(va->offset, vb->offset);
		EQ_U(va->size, vb->size);
	}
}

/* One skeleton serves the programs with stacks and those without. */
TEST(source_plain_programs_are_alike)
{
	static const char *const sections[] = {".rodata", ".bss"};
	size_t size_a, size_b;
	const void *elf_a = heldup_bpf__elf_bytes(&size_a), *elf_b = plain_bpf__elf_bytes(&size_b);
	struct bpf_object *a = object_open(elf_a, size_a), *b = object_open(elf_b, size_b);
	struct bpf_map *map, *other;
	struct bpf_program *prog;
	size_t cnt = 0;

	OK(size_b < size_a);
	bpf_object__for_each_map(map, a) {
		const char *dot = strchr(bpf_map__name(map), '.');

		cnt++;
		if (dot) /* a section: compared below */
			continue;
		other = bpf_object__find_map_by_name(b, bpf_map__name(map));
		OK(other);
		EQ_U(bpf_map__value_size(map), bpf_map__value_size(other));
		EQ_U(bpf_map__max_entries(map), bpf_map__max_entries(other));
	}
	bpf_object__for_each_map(map, b)
		cnt--;
	EQ_U(cnt, 0);
	bpf_object__for_each_program(prog, a)
		OK(bpf_object__find_program_by_name(b, bpf_program__name(prog)));
	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++)
		sections_agree(bpf_object__btf(a), bpf_object__btf(b), sections[i]);
	bpf_object__close(a);
	bpf_object__close(b);
}
