/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOKEN_H
#define TOKEN_H
/* The secret that those who are not on this host must know. */
#include <stdbool.h>

/* In a time that says nothing of where they differ. */
bool token_same(const char *given, const char *token);

/* A header Authorization (NULL: there is none) has it: "Bearer TOKEN". */
bool token_bearer(const char *header, const char *token);

#endif /* TOKEN_H */
