/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNTIME_IMAGE_H
#define RUNTIME_IMAGE_H
/*
 * A struct runtime_make as bytes: its file, then the pieces of its memory that are
 * not zero.  RUNTIME_SEEDS=DIR build/obj/unit writes those of the unit tests there,
 * which are the seeds of tests/fuzz/fuzz_runtimes.c.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct runtime_make;

void runtime_image_put(const struct runtime_make *m, struct buf *out);
/* False: no such bytes.  Texts of *m lie in memory of its own, until the next call. */
bool runtime_image_take(const uint8_t *data, size_t len, struct runtime_make *m);

/* Into a file of the folder $RUNTIME_SEEDS, where that is set. */
void runtime_image_keep(const struct runtime_make *m);

#endif /* RUNTIME_IMAGE_H */
