/* SPDX-License-Identifier: Apache-2.0 */
#include "intake/token.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

bool token_same(const char *given, const char *token)
{
	size_t len = strlen(token);
	unsigned char differ = strlen(given) != len;

	for (size_t i = 0; i < len && given[i]; i++)
		differ |= (unsigned char)(given[i] ^ token[i]);
	return !differ;
}

bool token_bearer(const char *header, const char *token)
{
	return header && strncasecmp(header, "Bearer ", 7) == 0 && token_same(header + 7, token);
}
