/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where things lie in HotSpot.  It exports tables for debuggers that name each
 * field with its offset or address, each type with its size, and constants; how
 * an entry of a table is laid out is exported as well.  So no version needs a
 * table here; a name that changed has another row.
 */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "symbols/files/image.h"
#include "symbols/runtimes/hotspot.h"

#define ENTRIES_MAX 8192
#define ENTRY_MAX 256 /* bytes of one */
#define NAME_MAX_LEN 64
#define MAJOR_FIRST 10
#define MAJOR_LAST 22

struct row {
	enum hotspot_item item;
	const char *type, *name;
};

static const struct row fields[] = {
	{HS_THREAD_LIST, "ThreadsSMRSupport", "_java_thread_list"},
	{HS_LIST_LEN, "ThreadsList", "_length"},
	{HS_LIST_THREADS, "ThreadsList", "_threads"},
	{HS_THREAD_OS, "JavaThread", "_osthread"},
	{HS_THREAD_OS, "Thread", "_osthread"},
	{HS_THREAD_ANCHOR, "JavaThread", "_anchor"},
	{HS_THREAD_STACK_BASE, "JavaThread", "_stack_base"},
	{HS_THREAD_STACK_BASE, "Thread", "_stack_base"},
	{HS_OS_TID, "OSThread", "_thread_id"},
	{HS_OS_PTHREAD, "OSThread", "_pthread_id"},
	{HS_ANCHOR_SP, "JavaFrameAnchor", "_last_Java_sp"},
	{HS_ANCHOR_PC, "JavaFrameAnchor", "_last_Java_pc"},
	{HS_ANCHOR_FP, "JavaFrameAnchor", "_last_Java_fp"},
	{HS_WRAPPER_ANCHOR, "JavaCallWrapper", "_anchor"},
	{HS_CALL_STUB_RETURN, "StubRoutines", "_call_stub_return_address"},
	{HS_HEAPS, "CodeCache", "_heaps"},
	{HS_ARRAY_LEN, "GrowableArrayBase", "_len"},
	{HS_ARRAY_LEN, "GenericGrowableArray", "_len"},
	{HS_ARRAY_DATA, "GrowableArray<int>", "_data"},
	{HS_HEAP_MEMORY, "CodeHeap", "_memory"},
	{HS_HEAP_SEGMAP, "CodeHeap", "_segmap"},
	{HS_HEAP_SHIFT, "CodeHeap", "_log2_segment_size"},
	{HS_SPACE_LOW, "VirtualSpace", "_low_boundary"},
	{HS_SPACE_HIGH, "VirtualSpace", "_high_boundary"},
	{HS_BLOB_NAME, "CodeBlob", "_name"},
	{HS_BLOB_LEN, "CodeBlob", "_size"},
	{HS_BLOB_FRAME_WORDS, "CodeBlob", "_frame_size"},
	{HS_BLOB_CODE, "CodeBlob", "_code_begin"},
	{HS_NM_METHOD, "CompiledMethod", "_method"},
	{HS_NM_METHOD, "nmethod", "_method"},
	{HS_NM_SCOPES, "CompiledMethod", "_scopes_data_begin"},
	{HS_NM_PCS, "nmethod", "_scopes_pcs_offset"},
	{HS_NM_PCS_END, "nmethod", "_dependencies_offset"},
	{HS_NM_METADATA, "nmethod", "_metadata_offset"},
	{HS_NM_DEOPT, "CompiledMethod", "_deopt_handler_begin"},
	{HS_NM_ORIG_PC, "nmethod", "_orig_pc_offset"},
	{HS_NM_ID, "nmethod", "_compile_id"},
	{HS_PC_AT, "PcDesc", "_pc_offset"},
	{HS_PC_SCOPE, "PcDesc", "_scope_decode_offset"},
	{HS_METHOD_CONST, "Method", "_constMethod"},
	{HS_CONST_POOL, "ConstMethod", "_constants"},
	{HS_CONST_FLAGS, "ConstMethod", "_flags"},
	{HS_CONST_FLAGS, "ConstMethod", "_flags._flags"},
	{HS_CONST_CODE_LEN, "ConstMethod", "_code_size"},
	{HS_CONST_NAME, "ConstMethod", "_name_index"},
	{HS_CONST_WORDS, "ConstMethod", "_constMethod_size"},
	{HS_POOL_HOLDER, "ConstantPool", "_pool_holder"},
	{HS_POOL_LEN, "ConstantPool", "_length"},
	{HS_POOL_SOURCE, "ConstantPool", "_source_file_name_index"},
	{HS_CLASS_SOURCE, "InstanceKlass", "_source_file_name_index"},
	{HS_CLASS_NAME, "Klass", "_name"},
	{HS_SYMBOL_LEN, "Symbol", "_length"},
	{HS_SYMBOL_LEN_HIGH, "Symbol", "_length_and_refcount"},
	{HS_SYMBOL_BODY, "Symbol", "_body"},
	{HS_SYMBOL_BODY, "Symbol", "_body[0]"},
	{HS_THREAD_MONITOR, "JavaThread", "_current_pending_monitor"},
	{HS_THREAD_STACK_LEN, "JavaThread", "_stack_size"},
	{HS_THREAD_STACK_LEN, "Thread", "_stack_size"},
	{HS_MONITOR_OWNER, "ObjectMonitor", "_owner"},
	{HS_MONITOR_OBJECT, "ObjectMonitor", "_object"},
	{HS_OBJECT_CLASS, "oopDesc", "_metadata._compressed_klass"},
	{HS_CLASS_BASE, "CompressedKlassPointers", "_narrow_klass._base"},
	{HS_CLASS_SHIFT, "CompressedKlassPointers", "_narrow_klass._shift"},
	{HS_JDK_VERSION, "JDK_Version", "_current"},
	{HS_JDK_MAJOR, "JDK_Version", "_major"},
	{HS_VM_RELEASE, "Abstract_VM_Version", "_s_vm_release"},
};

static const struct row types[] = {
	{HS_HEAP_BLOCK_LEN, "HeapBlock", NULL},
	{HS_NM_HEAD_LEN, "nmethod", NULL},
	{HS_PC_LEN, "PcDesc", NULL},
	{HS_CONST_HEAD_LEN, "ConstMethod", NULL},
	{HS_POOL_HEAD_LEN, "ConstantPool", NULL},
};

static const struct row constants[] = {
	{HS_ENTRY_WRAPPER, "frame::entry_frame_call_wrapper_offset", NULL},
	{HS_HAS_LINES, "ConstMethod::_has_linenumber_table", NULL},
};

/* Some versions do not have these. */
static const enum hotspot_item optional[] = {
	HS_POOL_SOURCE, HS_CLASS_SOURCE, HS_SYMBOL_LEN, HS_SYMBOL_LEN_HIGH, HS_HAS_LINES,
	HS_OS_PTHREAD, HS_VM_RELEASE, HS_THREAD_MONITOR, HS_THREAD_STACK_LEN, HS_MONITOR_OWNER,
	HS_MONITOR_OBJECT, HS_OBJECT_CLASS, HS_CLASS_BASE, HS_CLASS_SHIFT,
};

#define PARTS_MAX 7
struct table {
	const char *symbols[PARTS_MAX]; /* where it is, stride, names, what is said */
	const struct row *rows;
	size_t row_cnt;
};
enum part { PART_TABLE, PART_STRIDE, PART_TYPE, PART_VALUE, PART_FIELD, PART_STATIC, PART_ADDR };

static const struct table tables[] = {
	{{"gHotSpotVMStructs", "gHotSpotVMStructEntryArrayStride",
	  "gHotSpotVMStructEntryTypeNameOffset", "gHotSpotVMStructEntryOffsetOffset",
	  "gHotSpotVMStructEntryFieldNameOffset", "gHotSpotVMStructEntryIsStaticOffset",
	  "gHotSpotVMStructEntryAddressOffset"}, fields, sizeof(fields) / sizeof(fields[0])},
	{{"gHotSpotVMTypes", "gHotSpotVMTypeEntryArrayStride",
	  "gHotSpotVMTypeEntryTypeNameOffset", "gHotSpotVMTypeEntrySizeOffset"},
	 types, sizeof(types) / sizeof(types[0])},
	{{"gHotSpotVMIntConstants", "gHotSpotVMIntConstantEntryArrayStride",
	  "gHotSpotVMIntConstantEntryNameOffset", "gHotSpotVMIntConstantEntryValueOffset"},
	 constants, sizeof(constants) / sizeof(constants[0])},
};

struct reading {
	struct runtime_proc *r;
	struct image *im;
	const struct table *t;
	uint64_t part[PARTS_MAX];
};

/* Names are constants of the file: they are read there, not in the process. */
static bool name_read(const struct reading *g, uint64_t addr, char ret[NAME_MAX_LEN])
{
	uint64_t off, left;

	memset(ret, 0, NAME_MAX_LEN);
	if (!addr || image_vaddr_off(g->im, addr - g->r->bias, &off, &left) < 0)
		return false;
	left = left < NAME_MAX_LEN ? left : NAME_MAX_LEN;
	return image_read(g->im, off, ret, left, NULL) == 0 && memchr(ret, '\0', NAME_MAX_LEN);
}

static void value_take(struct reading *g, const struct row *row, const uint8_t *entry)
{
	struct hotspot *h = g->r->own;
	uint64_t *ret = &h->at[row->item];

	if (*ret != HOTSPOT_NONE)
		return;
	if (g->t->rows == constants)
		*ret = (uint64_t)(int64_t)(int32_t)runtime_u32(entry, g->part[PART_VALUE]);
	else if (g->t->rows == fields && runtime_u32(entry, g->part[PART_STATIC]))
		*ret = runtime_u64(entry, g->part[PART_ADDR]);
	else
		*ret = runtime_u64(entry, g->part[PART_VALUE]);
}

static void entry_take(struct reading *g, const uint8_t *entry)
{
	char type[NAME_MAX_LEN], field[NAME_MAX_LEN] = "";

	if (!name_read(g, runtime_u64(entry, g->part[PART_TYPE]), type))
		return;
	for (size_t i = 0; i < g->t->row_cnt; i++) {
		const struct row *row = &g->t->rows[i];

		if (strcmp(row->type, type) != 0)
			continue;
		if (row->name && !*field &&
		    !name_read(g, runtime_u64(entry, g->part[PART_FIELD]), field))
			return;
		if (!row->name || strcmp(row->name, field) == 0)
			value_take(g, row, entry);
	}
}

static int table_find(struct reading *g)
{
	uint64_t addr[PARTS_MAX] = {0};
	struct runtime_symbol wanted[PARTS_MAX];
	size_t cnt = 0;

	for (; cnt < PARTS_MAX && g->t->symbols[cnt]; cnt++)
		wanted[cnt] = (struct runtime_symbol){g->t->symbols[cnt], &addr[cnt], NULL};
	runtime_symbols(g->im, g->r->bias, wanted, cnt);
	for (size_t i = 0; i < cnt; i++)
		if (!addr[i] || hotspot_u64(g->r, addr[i], &g->part[i]) < 0 ||
		    (i > PART_STRIDE && g->part[i] > ENTRY_MAX - sizeof(uint64_t)))
			return -ENOTSUP;
	return g->part[PART_STRIDE] && g->part[PART_STRIDE] <= ENTRY_MAX ? 0 : -ENOTSUP;
}

static int table_read(struct runtime_proc *r, struct image *im, const struct table *t)
{
	struct reading g = {.r = r, .im = im, .t = t};
	int rc = table_find(&g);

	for (unsigned i = 0; i < ENTRIES_MAX && rc == 0; i++) {
		uint8_t entry[ENTRY_MAX + sizeof(uint64_t)] = {0};

		rc = hotspot_get(r, g.part[PART_TABLE] + i * g.part[PART_STRIDE], entry,
				 g.part[PART_STRIDE]);
		if (rc < 0 || !runtime_u64(entry, g.part[PART_TYPE]))
			return rc;
		entry_take(&g, entry);
	}
	return rc < 0 ? rc : -E2BIG;
}

static bool is_optional(enum hotspot_item item)
{
	for (size_t i = 0; i < sizeof(optional) / sizeof(optional[0]); i++)
		if (optional[i] == item)
			return true;
	return false;
}

static const struct row *row_of(enum hotspot_item item)
{
	for (size_t t = 0; t < sizeof(tables) / sizeof(tables[0]); t++)
		for (size_t i = 0; i < tables[t].row_cnt; i++)
			if (tables[t].rows[i].item == item)
				return &tables[t].rows[i];
	return NULL;
}

/* The release's text is shown to a person: digits and dots of it. */
static void version_read(struct runtime_proc *r)
{
	struct hotspot *h = r->own;
	char text[sizeof(r->version)] = "";
	uint64_t addr;
	uint8_t major = 0;

	if (h->at[HS_JDK_VERSION] != HOTSPOT_NONE && h->at[HS_JDK_MAJOR] < ENTRY_MAX)
		(void)hotspot_get(r, h->at[HS_JDK_VERSION] + h->at[HS_JDK_MAJOR], &major, 1);
	h->major = major;
	snprintf(r->version, sizeof(r->version), "%u", h->major);
	if (h->at[HS_VM_RELEASE] == HOTSPOT_NONE || h->major < MAJOR_FIRST ||
	    hotspot_u64(r, h->at[HS_VM_RELEASE], &addr) < 0 ||
	    hotspot_get(r, addr, text, sizeof(text) - 1) < 0)
		return;
	text[strspn(text, "0123456789.")] = '\0';
	if (*text)
		memcpy(r->version, text, sizeof(text));
}

int hotspot_vm_read(struct runtime_proc *r, struct image *im, struct err *err)
{
	struct hotspot *h = r->own;

	if (image_machine(im) != EM_X86_64)
		return err_set(err, -ENOTSUP, "Java on another machine than x86-64");
	for (int i = 0; i < HS_ITEM_CNT; i++)
		h->at[i] = HOTSPOT_NONE;
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		if (table_read(r, im, &tables[i]) < 0)
			return err_set(err, -ENOTSUP, "a Java VM without the tables of HotSpot "
				       "(%s)", tables[i].symbols[0]);
	version_read(r);
	if (h->major < MAJOR_FIRST || h->major > MAJOR_LAST)
		return err_set(err, -ENOTSUP, "Java %s is not known (%d to %d are)", r->version,
			       MAJOR_FIRST, MAJOR_LAST);
	for (int i = 0; i < HS_ITEM_CNT; i++)
		if (h->at[i] == HOTSPOT_NONE && !is_optional(i))
			return err_set(err, -ENOTSUP, "Java %s does not say where its %s %s is",
				       r->version, row_of(i)->type,
				       row_of(i)->name ? row_of(i)->name : "");
	return 0;
}
