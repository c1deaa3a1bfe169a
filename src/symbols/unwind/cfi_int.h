/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CFI_INT_H
#define CFI_INT_H
/*
 * Inside of cfi_*.c: the bytes, the rules of one place, the CIEs, and the
 * table while it is made.
 *
 *	cfi.c       reads all entries, sorts the FDEs, ties the rest together
 *	cfi_find.c  finds the sections
 *	cfi_plt.c   adds what some linkers leave out
 *	cfi_bytes.c numbers and pointers
 *	cfi_entry.c headers of CIEs and FDEs
 *	cfi_prog.c  runs the programs in them (DWARF 5, 6.4.2)
 *	cfi_expr.c  knows the few expressions that occur
 *	cfi_rows.c  turns the rules of a place into a row
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "symbols/unwind/cfi.h"

enum { REG_RBX = 3, REG_RBP = 6, REG_RSP = 7, REG_RA = 16, REG_CNT = 17 };

/* Reading past the end gives 0 and sets bad: looked at once, after a whole entry. */
struct cfi_bytes {
	const uint8_t *at;
	const uint8_t *end;
	bool bad;
};

enum { /* DW_EH_PE_*: format in the low, base in the high half */
	PE_ABSPTR = 0x00,
	PE_ULEB = 0x01,
	PE_UDATA2 = 0x02,
	PE_UDATA4 = 0x03,
	PE_UDATA8 = 0x04,
	PE_SLEB = 0x09,
	PE_SDATA2 = 0x0a,
	PE_SDATA4 = 0x0b,
	PE_SDATA8 = 0x0c,
	PE_FORMAT = 0x0f,
	PE_PCREL = 0x10,
	PE_ALIGNED = 0x50,
	PE_BASE = 0x70,
	PE_OMIT = 0xff,
};

uint64_t cfi_uint(struct cfi_bytes *b, size_t size); /* 1, 2, 4 or 8 bytes */
uint64_t cfi_uleb(struct cfi_bytes *b);
int64_t cfi_sleb(struct cfi_bytes *b);
void cfi_skip(struct cfi_bytes *b, uint64_t len);

enum cfi_cfa_how {
	CFA_UNSET = 0,
	CFA_REG,   /* reg + off */
	CFA_DEREF, /* *(reg + off) + add */
	CFA_PLT,   /* rsp + off + ((pc & 15) >= add ? 8 : 0) */
	CFA_ODD,
};

enum cfi_rule_how {
	RULE_UNSET = 0,
	RULE_SAME,
	RULE_UNDEFINED,
	RULE_AT_CFA, /* at CFA + off */
	RULE_AT_REG, /* at reg + off */
	RULE_REG,    /* in reg */
	RULE_ODD,
};

struct cfi_rule {
	uint8_t how;
	uint8_t reg;
	int32_t off;
};

struct cfi_state {
	uint8_t cfa_how;
	uint8_t cfa_reg;
	int32_t cfa_off;
	int32_t cfa_add;
	struct cfi_rule ra, rbx, rbp, rsp;
};

/* A section with entries; vaddr is where its first byte lies in the program. */
struct cfi_section {
	const uint8_t *data;
	size_t len;
	uint64_t vaddr;
	bool debug;	   /* .debug_frame: other marks for CIEs */
	bool ends_at_zero; /* its length is not known: the first length of 0 ends it */
};

struct cfi_cie {
	const struct cfi_section *sec;
	uint32_t off; /* of its length field */
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra_reg;
	uint8_t fde_enc; /* DW_EH_PE_* */
	bool has_aug_len;
	bool signal;
	bool bad;
	struct cfi_state init;
};

struct cfi_fde {
	uint32_t pc; /* from base_vaddr */
	uint32_t len;
	uint32_t cie; /* index */
	uint32_t off, end; /* its program, in the CIE's section */
};

/* The table while it is made; rows are put in ascending order. */
struct cfi_maker {
	VEC(struct unw_row) rows;
	VEC(struct unw_ext) exts;
	VEC(struct cfi_cie) cies;
	VEC(struct cfi_fde) fdes;
	uint64_t base_vaddr;
	uint64_t text_len;
	uint32_t fde_cnt, bad_cnt, odd_cnt;
	size_t file_bytes;
	size_t cie_max, fde_max, row_max; /* of this file, at most the bounds of all */
	bool full; /* row_max was reached */
	bool on_rbx;   /* a CFA is on rbx */
	bool with_rbx; /* so rows say where that is */
};

/* One length field and what it spans; false at the end or where nothing can be read. */
struct cfi_entry {
	struct cfi_bytes body; /* after the CIE id */
	uint32_t off;	       /* of the entry */
	uint64_t cie_off;      /* of an FDE's CIE */
	bool is_cie;
};
bool cfi_entry_next(const struct cfi_section *sec, size_t *pos, struct cfi_entry *ret);

/* The sections of im that have entries, at most CFI_SECTION_CNT; 0 or -errno. */
enum { CFI_SECTION_CNT = 2 };
struct cfi_sections {
	struct cfi_section list[CFI_SECTION_CNT];
	size_t cnt;
	uint8_t *own; /* bytes that are not a section of im */
	size_t own_len;
};
int cfi_find(struct image *im, struct cfi_sections *ret, struct err *err);
void cfi_sections_release(struct cfi_sections *s);

/* Reads a CIE and runs its program.  A bad one is marked so, for its FDEs to be counted. */
void cfi_cie_read(const struct cfi_section *sec, const struct cfi_entry *e, struct cfi_cie *ret);

/* false when it is bad or outside the text; *ret's cie is not set. */
bool cfi_fde_read(const struct cfi_maker *m, const struct cfi_cie *cie, struct cfi_entry *e,
		  struct cfi_fde *ret);

/* A pointer in encoding enc that stands at b->at. */
uint64_t cfi_pointer(const struct cfi_section *sec, struct cfi_bytes *b, uint8_t enc);

/* FDEs of our own for PLTs that no FDE covers; all of the file's were read. */
void cfi_plt_add(struct cfi_maker *m, struct image *im);
/* All that these depend on, other than the file's FDEs. */
enum { CFI_PLT_CNT = 4 };
void cfi_plt_facts(struct image *im, uint64_t ret[3 * CFI_PLT_CNT]);

/* The destination of a program's rows: at pc from start on, below limit; a NULL m drops them. */
struct cfi_run {
	struct cfi_maker *m;
	const struct cfi_cie *cie;
	uint32_t pc, limit;
};

/* false: the program is damaged; some of its rows may have been put. */
bool cfi_prog_run(struct cfi_run *run, struct cfi_bytes b, struct cfi_state *st);

void cfi_expr_cfa(struct cfi_bytes b, struct cfi_state *st);
struct cfi_rule cfi_expr_rule(struct cfi_bytes b);

/* The rules hold from pc on. */
void cfi_rows_put(struct cfi_maker *m, uint32_t pc, const struct cfi_state *st, bool signal);
/* From pc on nothing is known. */
void cfi_rows_none(struct cfi_maker *m, uint32_t pc);

#endif /* CFI_INT_H */
