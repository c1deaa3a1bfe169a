/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PAGE_H
#define PAGE_H
/*
 * A page that stands alone: no network, opens from disk.  Its parts are files
 * that the Makefile puts into the binary, NUL-terminated; page.html has the
 * marks {{title}}, {{css}}, {{text}}, {{data}} and {{js}}, once each and in this
 * order, which page_write fills.
 */

struct buf;

enum { PAGE_PARTS = 4 };

struct page {
	const char *title, *text; /* any text; the latter for who has no script */
	const char *data;	  /* JSON of the JSON writer */
	const char *css[PAGE_PARTS], *js[PAGE_PARTS]; /* up to the first NULL */
};

void page_write(const struct page *page, struct buf *out);

extern const char embed_page_html[];
extern const char embed_page_css[];
extern const char embed_parts_js[];
extern const char embed_page_js[];
extern const char embed_flame_css[];
extern const char embed_flame_js[];
extern const char embed_stacks_js[];

#endif /* PAGE_H */
