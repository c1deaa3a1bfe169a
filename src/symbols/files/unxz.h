/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UNXZ_H
#define UNXZ_H
/*
 * .gnu_debugdata is a small ELF file packed with xz.
 */
#include <stddef.h>
#include <stdint.h>

#define UNXZ_MAX (128u << 20)	     /* bytes that come out */
/* Address space that the packer's settings may ask for; no more is touched than comes out. */
#define UNXZ_MEMORY_MAX (128u << 20)

/*
 * At most max bytes come out, and as many are needed besides meanwhile.
 * *ret_data is the caller's.  -EBADMSG damaged, -E2BIG over a bound, -ENOTSUP
 * not built in.
 */
int unxz(const void *data, size_t len, size_t max, uint8_t **ret_data, size_t *ret_len);

#endif /* UNXZ_H */
