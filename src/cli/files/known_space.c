/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/files/known_space.h"

#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "cli/files/file_kind.h"
#include "cli/files/packed_file.h"
#include "requests/forest/space_file.h"

int known_space_read(const char *path, struct space *space, struct points *points,
		     struct strtab *strings, bool *ret_known, struct err *err)
{
	CLEANUP(buf_release) struct buf bytes = {0};
	int code;

	*ret_known = false;
	if (access(path, F_OK) < 0)
		return 0;
	code = packed_file_read(path, &bytes, err);
	if (code == 0)
		code = space_read(bytes.data, bytes.len, points, strings, space, err);
	*ret_known = code == 0;
	if (code < 0)
		file_kind_say(path, FILE_SPACE, err);
	return code < 0 ? err_prefix(err, "--space %s", path) : 0;
}

int known_space_write(const char *path, const struct space *space, const struct points *points,
		      const struct strtab *strings, struct err *err)
{
	CLEANUP(buf_release) struct buf bytes = {0};

	space_write(space, points, strings, &bytes);
	return packed_file_write(path, SPACE_FILE_WHAT, &bytes, err);
}
