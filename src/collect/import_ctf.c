/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "base/err.h"
#include "collect/import.h"

int import_open_dir(const char *path, struct source **ret_src, struct err *err)
{
	(void)ret_src;
	return err_set(err, -EISDIR, "'%s' is a directory, not a heldup capture", path);
}
