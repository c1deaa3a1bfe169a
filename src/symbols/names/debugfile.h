/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DEBUGFILE_H
#define DEBUGFILE_H
/*
 * Where the symbols of a stripped file went: a separate debug file, by build
 * id or by the name that .gnu_debuglink gives, below the process' own root and
 * below ours.  A file is taken only when its build id is the same, or, where
 * the stripped one has none, when the checksum of the link fits.
 */
#include <stdint.h>

struct image;

#define DEBUGFILE_CRC_MAX (UINT64_C(256) << 20) /* longest file whose checksum is made */

/*
 * path: of the stripped file, as its process sees it.  root: "/proc/PID/root"
 * or NULL.  A descriptor and *ret_path, the caller's, or -ENOENT.
 */
int debugfile_open(struct image *im, const char *path, const char *root, char **ret_path);

#endif /* DEBUGFILE_H */
