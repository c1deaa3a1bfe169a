/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCREEN_H
#define SCREEN_H
/*
 * The terminal: shows cells, gives keys.  The only file that knows ncurses.
 *
 *	screen_open, screen_show and screen_key ..., screen_close
 *
 * Uses 256 colours, 8 or none (NO_COLOR, or a terminal without).  After
 * screen_close, also on a signal, the terminal is as it was before.
 */
#include <stdbool.h>
#include <stdint.h>

struct cells;
struct err;
struct screen;

/* -ENOTTY: not a terminal; -ENOTSUP: TERM unknown, or built without ncurses. */
int screen_open(bool colour, struct screen **ret_screen, struct err *err);

/* NULL is fine. */
void screen_close(struct screen *s);

void screen_size(const struct screen *s, uint32_t *ret_width, uint32_t *ret_height);

/* Draws what differs from what is shown. */
void screen_show(struct screen *s, const struct cells *c);

/* The next key typed, enum ui_key or a byte; 0 when there is none.  Takes note of a resize. */
int screen_key(struct screen *s);

#endif /* SCREEN_H */
