/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FUZZ_IMPORT_H
#define FUZZ_IMPORT_H
/* Traces through an importer, the border of a capture and the model. */
#include <stddef.h>

#include "collect/import/import_int.h"
#include "store/check.h"

struct model;

struct fuzz_import {
	struct import *import;
	struct event_sink sink;
	struct event_check check;
	struct model *m;
};

void fuzz_import_begin(struct fuzz_import *f, const char *what);
void fuzz_import_tick(struct fuzz_import *f);
void fuzz_import_end(struct fuzz_import *f); /* and what must be true of the model */

/* The bytes are a trace in that text format. */
void fuzz_import(const struct import_format *format, const void *data, size_t size);

#endif /* FUZZ_IMPORT_H */
