/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PAGE_H
#define PAGE_H
/*
 * Files that the Makefile puts into the binary, NUL-terminated.  page.html
 * has the marks {{title}}, {{css}}, {{text}}, {{data}} and {{js}}, once each
 * and in this order, which answer_html fills.
 */

extern const char embed_page_html[];
extern const char embed_page_css[];
extern const char embed_page_js[];

#endif /* PAGE_H */
