/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FUZZ_H
#define FUZZ_H
/* What the fuzz targets share: libFuzzer's entry points, and all that comes after a model. */
#include <stddef.h>
#include <stdint.h>

struct model;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

/* Analyses, judges and renders what a command would of this model. */
void fuzz_answer(const struct model *m);

#endif /* FUZZ_H */
