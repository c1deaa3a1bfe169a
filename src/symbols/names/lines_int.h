/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LINES_INT_H
#define LINES_INT_H
/*
 * The inside of lines.h: what the child process does with questions.
 */
#include <stdint.h>

struct lines_question { /* with the file's descriptor when it is the first about it */
	uint64_t vaddr;
	uint32_t key;
	uint32_t pad;
};

/* Answers until the other end is closed. */
void lines_child(int sock);

#endif /* LINES_INT_H */
