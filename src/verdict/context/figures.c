/* SPDX-License-Identifier: Apache-2.0 */
#include "verdict/context/figures.h"

#include <string.h>

#include "base/buf.h"
#include "base/bug.h"
#include "base/cleanup.h"
#include "verdict/context/say.h"

/* NULL for a word. */
const char *figure_unit(const struct figure *n)
{
	static const char *const units[] = {
		[FIGURE_CNT] = "count", [FIGURE_AVG] = "count",	   [FIGURE_NS] = "ns",
		[FIGURE_SHARE] = "share", [FIGURE_PER_S] = "1/s",  [FIGURE_KIB] = "bytes",
		[FIGURE_MIB] = "bytes", [FIGURE_BYTES_PER_S] = "bytes/s",
		[FIGURE_SHARE_DEC] = "share", [FIGURE_RAW_BYTES_PER_S] = "bytes/s",
		[FIGURE_BARE_S] = "ns",
	};

	return n->form < sizeof(units) / sizeof(*units) ? units[n->form] : NULL;
}

static void figure_put(struct context *k, const struct figure *n, struct buf *out)
{
	switch ((enum figure_form)n->form) {
	case FIGURE_WORD:
		buf_adds(out, n->text);
		break;
	case FIGURE_CNT:
	case FIGURE_PER_S:
	case FIGURE_RAW_BYTES_PER_S:
		buf_printf(out, "%.0f", n->value);
		break;
	case FIGURE_AVG:
		buf_printf(out, "%.1f", n->value);
		break;
	case FIGURE_NS:
		buf_adds(out, ns_text(k, n->value));
		break;
	case FIGURE_BARE_S:
		buf_printf(out, "%.1f", n->value / 1e9);
		break;
	case FIGURE_SHARE:
		buf_printf(out, "%.0f %%", 100 * n->value);
		break;
	case FIGURE_SHARE_DEC:
		buf_printf(out, "%.1f %%", 100 * n->value);
		break;
	case FIGURE_KIB:
		buf_printf(out, "%llu KiB", (unsigned long long)n->value >> 10);
		break;
	case FIGURE_MIB:
		buf_printf(out, "%llu MiB", (unsigned long long)n->value >> 20);
		break;
	case FIGURE_BYTES_PER_S:
		buf_printf(out, "%.1f MB/s", n->value / 1e6);
		break;
	}
}

static void figures_keep(struct context *k, struct finding *f, const struct figure *figures,
			 size_t cnt)
{
	struct figure *kept = ARENA_ARRAY(k->arena, struct figure, cnt + 1);
	size_t kept_cnt = 0;

	if (!f->figures)
		f->figures = ARENA_ARRAY(k->arena, struct figures, FINDING_LINES);
	for (size_t i = 0; i < cnt; i++)
		if (figures[i].form != FIGURE_WORD)
			kept[kept_cnt++] = figures[i];
	f->figures[f->evidence_cnt - 1] = (struct figures){kept, kept_cnt};
}

void say_figures_of(struct context *k, struct finding *f, const char *sentence,
		    const struct figure *figures, size_t cnt)
{
	CLEANUP(buf_release) struct buf text = {0};
	size_t at = 0, had = f->evidence_cnt;

	for (const char *hole; (hole = strstr(sentence, "{}")); sentence = hole + 2) {
		buf_add(&text, sentence, (size_t)(hole - sentence));
		BUG_ON(at >= cnt);
		figure_put(k, &figures[at++], &text);
	}
	BUG_ON(at != cnt);
	buf_adds(&text, sentence);
	say(k, f, "%s", buf_str(&text));
	if (f->evidence_cnt > had)
		figures_keep(k, f, figures, cnt);
}

void say_again(struct context *k, struct finding *f, const struct finding *of, size_t i)
{
	size_t had = f->evidence_cnt;

	say(k, f, "%s", of->evidence[i]);
	if (of->figures && f->evidence_cnt > had)
		figures_keep(k, f, of->figures[i].items, of->figures[i].cnt);
}
