/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FUZZ_IMPORT_H
#define FUZZ_IMPORT_H
/* The bytes are a trace in that format: through the importer, the border and the model. */
#include <stddef.h>

struct import_format;

void fuzz_import(const struct import_format *format, const void *data, size_t size);

#endif /* FUZZ_IMPORT_H */
