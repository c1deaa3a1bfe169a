/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file is lines of text, so that a person can read and compare it.  Each
 * begins with what it is; names come last and their unprintable bytes are
 * escaped.  Calls, modules, functions and baselines are in that order; what
 * belongs to one follows it:
 *
 *	heldup-signatures 2
 *	window NS
 *	call NAME				symbols: from 0 in this order
 *	module BUILD-ID|- NAME			from 0
 *	fn MODULE|- BEGIN END INVOCATIONS CALLS SELF-CALLS NAME
 *	ep SUPPORT SERIAL SYMBOL...		of the function above
 *	at WHAT BIN TIMES SELF-TIMES NEAR SYMBOL|- ...
 *						the same, after its episodes; since 2
 *	base UNITS SYMBOL...
 *	dim SYMBOL COUNT-MID COUNT-DEV NS-MID NS-DEV	of the baseline above
 *	end LINES				all that came before
 */
#include <stdio.h>

#include "base/buf.h"
#include "functions/sig/sig.h"

static const char hex[] = "0123456789abcdef";

static void put_name(struct buf *out, const char *name)
{
	for (const unsigned char *at = (const unsigned char *)name; *at; at++) {
		if (*at >= ' ' && *at != 0x7f && *at != '\\') {
			buf_addch(out, (char)*at);
			continue;
		}
		buf_adds(out, "\\x");
		buf_addch(out, hex[*at >> 4]);
		buf_addch(out, hex[*at & 15]);
	}
	buf_addch(out, '\n');
}

static void put_module(struct buf *out, const struct sig_module *mod)
{
	buf_adds(out, "module ");
	for (unsigned i = 0; i < mod->build_id_len; i++) {
		buf_addch(out, hex[mod->build_id[i] >> 4]);
		buf_addch(out, hex[mod->build_id[i] & 15]);
	}
	buf_adds(out, mod->build_id_len ? " " : "- ");
	put_name(out, mod->name);
}

static void put_symbol(struct buf *out, uint16_t sym)
{
	if (sym == SIG_NO_CALL)
		buf_adds(out, " -");
	else
		buf_printf(out, " %u", sym);
}

static void put_place(struct buf *out, const struct sig_place *p)
{
	buf_printf(out, "at %u %u %llu %llu %llu", p->what, p->bin, (unsigned long long)p->cnt,
		   (unsigned long long)p->self_cnt, (unsigned long long)p->near_sum);
	for (unsigned i = 0; i < SIG_AROUND_CNT; i++)
		put_symbol(out, p->around[i]);
	buf_addch(out, '\n');
}

/* Returns how many lines. */
static uint64_t put_fn(struct buf *out, const struct sigs *s, const struct sig_fn *fn)
{
	if (fn->module == SIG_NO_MODULE)
		buf_adds(out, "fn -");
	else
		buf_printf(out, "fn %u", fn->module);
	buf_printf(out, " %llx %llx %llu %llu %llu ", (unsigned long long)fn->begin,
		 (unsigned long long)fn->end, (unsigned long long)fn->invocations,
		 (unsigned long long)fn->calls, (unsigned long long)fn->self_calls);
	put_name(out, fn->name);
	for (uint32_t i = 0; i < fn->all_cnt; i++) {
		const struct episode *ep = &s->episodes[fn->eps[i].id];

		buf_printf(out, "ep %llu %llu", (unsigned long long)fn->eps[i].support,
			 (unsigned long long)fn->eps[i].serial);
		for (unsigned k = 0; k < ep->len; k++)
			buf_printf(out, " %u", ep->syms[k]);
		buf_addch(out, '\n');
	}
	for (uint32_t i = 0; i < fn->place_cnt; i++)
		put_place(out, &fn->places[i]);
	return 1 + fn->all_cnt + fn->place_cnt;
}

static uint64_t put_base(struct buf *out, const struct sig_base *base)
{
	buf_printf(out, "base %llu", (unsigned long long)base->unit_cnt);
	for (uint32_t i = 0; i < base->key_cnt; i++)
		buf_printf(out, " %u", base->key[i]);
	buf_addch(out, '\n');
	for (uint32_t i = 0; i < base->dim_cnt; i++) {
		const struct sig_dim *d = &base->dims[i];

		/* 17 digits read back as the same number */
		buf_printf(out, "dim %u %.17g %.17g %.17g %.17g\n", d->sym, d->cnt_mid,
			 d->cnt_dev, d->ns_mid, d->ns_dev);
	}
	return 1 + base->dim_cnt;
}

void sig_write(const struct sigs *s, struct buf *out)
{
	uint64_t lines = 2;

	buf_printf(out, SIG_FILE_HEAD "%d\nwindow %llu\n", SIG_VERSION,
		   (unsigned long long)s->window_ns);
	for (uint32_t i = 0; i < s->call_cnt; i++, lines++) {
		buf_adds(out, "call ");
		put_name(out, s->call_names[i]);
	}
	for (uint32_t i = 0; i < s->module_cnt; i++, lines++)
		put_module(out, &s->modules[i]);
	for (uint32_t i = 0; i < s->fn_cnt; i++)
		lines += put_fn(out, s, &s->fns[i]);
	for (uint32_t i = 0; i < s->base_cnt; i++)
		lines += put_base(out, &s->bases[i]);
	buf_printf(out, "end %llu\n", (unsigned long long)lines);
}
