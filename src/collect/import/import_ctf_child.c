/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The child's side: a graph of libbabeltrace2 of a source for each trace, a
 * muxer, and a sink of our own.  The library is loaded here only, so that
 * neither it nor a hostile trace ever touches the process that asks.
 */
#include "collect/import/import_ctf.h"

#ifdef HAVE_BABELTRACE2

#include <babeltrace2/babeltrace.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/hash.h"

#define FUNCTIONS(X)                                                                              \
	X(bt_logging_set_global_level) X(bt_graph_create) X(bt_graph_run_once)                    \
	X(bt_graph_add_source_component) X(bt_graph_add_filter_component)                         \
	X(bt_graph_add_simple_sink_component) X(bt_graph_connect_ports) X(bt_plugin_find)         \
	X(bt_plugin_borrow_source_component_class_by_name_const)                                  \
	X(bt_plugin_borrow_filter_component_class_by_name_const)                                  \
	X(bt_component_source_get_output_port_count)                                              \
	X(bt_component_source_borrow_output_port_by_index_const)                                  \
	X(bt_component_filter_borrow_input_port_by_index_const)                                   \
	X(bt_component_filter_borrow_output_port_by_index_const)                                  \
	X(bt_component_sink_borrow_input_port_by_index_const) X(bt_value_map_create)              \
	X(bt_value_array_create) X(bt_value_array_append_string_element)                          \
	X(bt_value_map_insert_entry) X(bt_message_iterator_next) X(bt_message_get_type)           \
	X(bt_message_put_ref) X(bt_message_event_borrow_event_const)                              \
	X(bt_message_event_borrow_default_clock_snapshot_const)                                   \
	X(bt_clock_snapshot_get_ns_from_origin) X(bt_message_discarded_events_get_count)          \
	X(bt_event_borrow_class_const) X(bt_event_class_get_name)                                 \
	X(bt_event_borrow_payload_field_const) X(bt_event_borrow_common_context_field_const)      \
	X(bt_event_borrow_specific_context_field_const) X(bt_event_borrow_packet_const)           \
	X(bt_packet_borrow_context_field_const) X(bt_field_get_class_type)                        \
	X(bt_field_structure_borrow_member_field_by_name_const)                                   \
	X(bt_field_integer_signed_get_value) X(bt_field_integer_unsigned_get_value)               \
	X(bt_field_string_get_value)

struct library {
#define X(name) __typeof__(&name) name;
	FUNCTIONS(X)
#undef X
};

struct child {
	struct library bt;
	int fd;
	bool failed;		/* the parent is gone, or the trace cannot be read */
	struct hmap on_cpu;	/* by CPU: tid, from sched_switch */
	uint32_t cnt;
	struct ctf_record out[256];
};

static void flush(struct child *c)
{
	const char *at = (const char *)c->out;
	size_t left = c->cnt * sizeof(c->out[0]);

	while (left && !c->failed) {
		ssize_t n = write(c->fd, at, left);

		if (n <= 0) {
			c->failed = true;
			return;
		}
		at += n;
		left -= (size_t)n;
	}
	c->cnt = 0;
}

static void put(struct child *c, struct ctf_record r, const char *text)
{
	snprintf(r.text, sizeof(r.text), "%s", text ? text : "");
	c->out[c->cnt++] = r;
	if (c->cnt == sizeof(c->out) / sizeof(c->out[0]))
		flush(c);
}

/* ---- fields */

static const bt_field *member(struct child *c, const bt_field *of, const char *name)
{
	if (!of || c->bt.bt_field_get_class_type(of) != BT_FIELD_CLASS_TYPE_STRUCTURE)
		return NULL;
	return c->bt.bt_field_structure_borrow_member_field_by_name_const(of, name);
}

static bool number(struct child *c, const bt_field *f, int64_t *ret)
{
	bt_field_class_type type = f ? c->bt.bt_field_get_class_type(f) : 0;

	if (f && bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_SIGNED_INTEGER))
		*ret = c->bt.bt_field_integer_signed_get_value(f);
	else if (f && bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER))
		*ret = (int64_t)c->bt.bt_field_integer_unsigned_get_value(f);
	else
		return false;
	return true;
}

static bool number_in(struct child *c, const bt_field *of, const char *name, int64_t *ret)
{
	return number(c, member(c, of, name), ret);
}

/* From the contexts: add-context tid, pid, procname of LTTng. */
static void from_contexts(struct child *c, const bt_event *e, struct ctf_record *r)
{
	const bt_field *of[] = {c->bt.bt_event_borrow_common_context_field_const(e),
				c->bt.bt_event_borrow_specific_context_field_const(e)};
	int64_t value;

	for (int i = 0; i < 2; i++) {
		const bt_field *comm = member(c, of[i], "procname");

		if (number_in(c, of[i], "tid", &value) ||
		    (!r->tid && number_in(c, of[i], "vtid", &value)))
			r->tid = (uint32_t)value;
		if (number_in(c, of[i], "pid", &value) ||
		    (!r->tgid && number_in(c, of[i], "vpid", &value)))
			r->tgid = (uint32_t)value;
		if (comm && c->bt.bt_field_get_class_type(comm) == BT_FIELD_CLASS_TYPE_STRING)
			snprintf(r->comm, sizeof(r->comm), "%s",
				 c->bt.bt_field_string_get_value(comm));
	}
}

/* ---- events */

static void switched(struct child *c, const bt_field *payload, struct ctf_record *r)
{
	int64_t prev = 0, next = 0, state = 1;

	number_in(c, payload, "prev_tid", &prev);
	number_in(c, payload, "prev_state", &state);
	if (number_in(c, payload, "next_tid", &next))
		hmap_put(&c->on_cpu, r->cpu, (uint64_t)next);
	r->what = CTF_SWITCH;
	r->tid = (uint32_t)prev;
	r->value = state != 0;
	put(c, *r, "");
}

static bool begins(const char *text, const char *with, const char **ret_rest)
{
	size_t len = strlen(with);

	if (strncmp(text, with, len) != 0)
		return false;
	*ret_rest = text + len;
	return true;
}

static void take_event(struct child *c, const bt_message *msg)
{
	const bt_event *e = c->bt.bt_message_event_borrow_event_const(msg);
	const bt_field *payload = c->bt.bt_event_borrow_payload_field_const(e);
	const bt_packet *packet = c->bt.bt_event_borrow_packet_const(e);
	const char *name = c->bt.bt_event_class_get_name(c->bt.bt_event_borrow_class_const(e));
	struct ctf_record r = {.cpu = 0xffff};
	int64_t ns = 0, value;
	uint64_t on_cpu;

	name = name ? name : "";
	c->bt.bt_clock_snapshot_get_ns_from_origin(
		c->bt.bt_message_event_borrow_default_clock_snapshot_const(msg), &ns);
	r.ns = ns > 0 ? (uint64_t)ns : 0;
	if (packet && number_in(c, c->bt.bt_packet_borrow_context_field_const(packet), "cpu_id",
				&value))
		r.cpu = (uint16_t)value;
	from_contexts(c, e, &r);
	if (strcmp(name, "sched_switch") == 0) {
		switched(c, payload, &r);
		return;
	}
	if (!r.tid && hmap_get(&c->on_cpu, r.cpu, &on_cpu))
		r.tid = (uint32_t)on_cpu;
	if (begins(name, "syscall_entry_", &name) || begins(name, "compat_syscall_entry_", &name) ||
	    begins(name, "sys_", &name))
		r.what = CTF_ENTER;
	else if (begins(name, "syscall_exit_", &name) ||
		 begins(name, "compat_syscall_exit_", &name) || strcmp(name, "exit_syscall") == 0)
		r.what = CTF_LEAVE;
	if (r.what == CTF_LEAVE && !number_in(c, payload, "ret", &r.value))
		r.what = 0;
	if (!r.what || !r.tid)
		r.what = CTF_FOREIGN;
	put(c, r, name);
}

static bt_graph_simple_sink_component_consume_func_status consume(bt_message_iterator *it,
								  void *data)
{
	struct child *c = data;
	bt_message_array_const msgs;
	uint64_t cnt = 0, lost = 0;
	bt_message_iterator_next_status rc = c->bt.bt_message_iterator_next(it, &msgs, &cnt);

	if (rc != BT_MESSAGE_ITERATOR_NEXT_STATUS_OK)
		return (bt_graph_simple_sink_component_consume_func_status)rc;
	for (uint64_t i = 0; i < cnt; i++) {
		switch (c->bt.bt_message_get_type(msgs[i])) {
		case BT_MESSAGE_TYPE_EVENT:
			take_event(c, msgs[i]);
			break;
		case BT_MESSAGE_TYPE_DISCARDED_EVENTS:
			if (c->bt.bt_message_discarded_events_get_count(msgs[i], &lost) !=
			    BT_PROPERTY_AVAILABILITY_AVAILABLE)
				lost = 1;
			put(c, (struct ctf_record){.what = CTF_LOST, .value = (int64_t)lost}, "");
			break;
		default:
			break;
		}
		c->bt.bt_message_put_ref(msgs[i]);
	}
	return c->failed ? BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_END
			 : BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_OK;
}

/* ---- the graph */

static bool load(struct library *bt)
{
	void *lib = dlopen("libbabeltrace2.so.0", RTLD_NOW);

	if (!lib)
		return false;
#define X(name)                                               \
	bt->name = (__typeof__(bt->name))dlsym(lib, #name);   \
	if (!bt->name)                                        \
		return false;
	FUNCTIONS(X)
#undef X
	return true;
}

static bt_value *params_for(const struct library *bt, const char *dir)
{
	bt_value *params = bt->bt_value_map_create(), *inputs = bt->bt_value_array_create();

	if (!params || !inputs || bt->bt_value_array_append_string_element(inputs, dir) != 0 ||
	    bt->bt_value_map_insert_entry(params, "inputs", inputs) != 0)
		return NULL;
	return params;
}

struct parts {
	bt_graph *graph;
	const bt_plugin *ctf, *utils;
	const bt_component_class_source *fs;
	const bt_component_filter *muxer;
	uint64_t inputs;
};

static const char *add_trace(const struct library *bt, struct parts *p, const char *dir,
			     unsigned number)
{
	const bt_component_source *src = NULL;
	bt_value *params = params_for(bt, dir);
	char name[32];

	snprintf(name, sizeof(name), "trace-%u", number);
	if (!params || bt->bt_graph_add_source_component(p->graph, p->fs, name, params,
							 BT_LOGGING_LEVEL_NONE, &src) != 0)
		return "libbabeltrace2 cannot read its metadata or streams";
	for (uint64_t i = 0; i < bt->bt_component_source_get_output_port_count(src); i++) {
		const bt_port_output *out =
			bt->bt_component_source_borrow_output_port_by_index_const(src, i);
		const bt_port_input *in =
			bt->bt_component_filter_borrow_input_port_by_index_const(p->muxer,
										 p->inputs++);

		if (bt->bt_graph_connect_ports(p->graph, out, in, NULL) != 0)
			return "libbabeltrace2 cannot read its streams together";
	}
	return NULL;
}

/* NULL, or why there is no graph. */
static const char *make_graph(struct child *c, struct parts *p, const char *const *dirs,
			      unsigned dir_cnt)
{
	const struct library *bt = &c->bt;
	const bt_component_class_filter *muxer;
	const bt_component_sink *sink;
	const char *why;

	if (bt->bt_plugin_find("ctf", BT_FALSE, BT_FALSE, BT_TRUE, BT_TRUE, BT_FALSE, &p->ctf) ||
	    bt->bt_plugin_find("utils", BT_FALSE, BT_FALSE, BT_TRUE, BT_TRUE, BT_FALSE, &p->utils))
		return "libbabeltrace2 has no plugin for it";
	p->fs = bt->bt_plugin_borrow_source_component_class_by_name_const(p->ctf, "fs");
	muxer = bt->bt_plugin_borrow_filter_component_class_by_name_const(p->utils, "muxer");
	p->graph = bt->bt_graph_create(0);
	if (!p->fs || !muxer || !p->graph ||
	    bt->bt_graph_add_filter_component(p->graph, muxer, "muxer", NULL,
					      BT_LOGGING_LEVEL_NONE, &p->muxer) != 0 ||
	    bt->bt_graph_add_simple_sink_component(p->graph, "sink", NULL, consume, NULL, c,
						   &sink) != 0)
		return "libbabeltrace2 makes no graph";
	for (unsigned i = 0; i < dir_cnt; i++) {
		why = add_trace(bt, p, dirs[i], i);
		if (why)
			return why;
	}
	if (p->inputs == 0)
		return "there are no events in it";
	return bt->bt_graph_connect_ports(
		       p->graph,
		       bt->bt_component_filter_borrow_output_port_by_index_const(p->muxer, 0),
		       bt->bt_component_sink_borrow_input_port_by_index_const(sink, 0), NULL) == 0
		       ? NULL : "libbabeltrace2 connects nothing";
}

void ctf_child(int fd, const char *const *dirs, unsigned dir_cnt)
{
	struct child *c = xcalloc(1, sizeof(*c));
	struct parts parts = {0};
	const char *why = NULL;
	int rc = 0;

	c->fd = fd;
	if (!load(&c->bt)) {
		why = "libbabeltrace2 is not installed (Debian: libbabeltrace2-0)";
	} else {
		c->bt.bt_logging_set_global_level(BT_LOGGING_LEVEL_NONE);
		why = make_graph(c, &parts, dirs, dir_cnt);
	}
	while (!why && !c->failed && (rc = c->bt.bt_graph_run_once(parts.graph)) == 0)
		;
	if (!why && rc != BT_GRAPH_RUN_ONCE_STATUS_END && !c->failed)
		why = "the trace is damaged or cut";
	put(c, (struct ctf_record){.what = why ? CTF_FAILED : CTF_END}, why);
	flush(c);
}

#else

void ctf_child(int fd, const char *const *dirs, unsigned dir_cnt)
{
	(void)fd, (void)dirs, (void)dir_cnt;
}

#endif
