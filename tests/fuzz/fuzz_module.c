/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two ELF files: a mapped one, and what lies where its debug file is looked for,
 * by build id and by the name of its .gnu_debuglink.  The first four bytes are
 * the length of the first.  All that is made of a file by its descriptor is
 * reached: names left in the file, packed ones, Go's table, debug files.
 */
#include "fuzz.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bug.h"
#include "symbols/files/image.h"
#include "symbols/names/symbols.h"

static char root[64];

static void root_remove(void)
{
	char cmd[sizeof(root) + 16];

	snprintf(cmd, sizeof(cmd), "rm -rf '%s'", root);
	(void)!system(cmd);
}

static void root_make(void)
{
	static const char *const dirs[] = {"", "/usr", "/usr/lib", "/usr/lib/debug",
					   "/usr/lib/debug/.build-id"};
	char path[128];

	snprintf(root, sizeof(root), "/dev/shm/heldup-fuzz-%d", getpid());
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", root, dirs[i]);
		BUG_ON(mkdir(path, 0700) < 0);
	}
	atexit(root_remove);
}

/* The file at this place below root, removed again by the caller. */
static void put(const char *path, const uint8_t *data, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return; /* a name that no file can have */
	BUG_ON(write(fd, data, size) != (ssize_t)size);
	close(fd);
}

static void by_build_id(const struct image *im, char dir[128], char path[256])
{
	size_t len, at;
	const uint8_t *id = image_build_id(im, &len);

	*path = '\0';
	if (len < 2)
		return;
	at = (size_t)snprintf(dir, 128, "%s/usr/lib/debug/.build-id/%02x", root, id[0]);
	mkdir(dir, 0700);
	memcpy(path, dir, at);
	path[at++] = '/';
	for (size_t i = 1; i < len; i++)
		at += (size_t)snprintf(path + at, 3, "%02x", id[i]);
	memcpy(path + at, ".debug", sizeof(".debug"));
}

static void by_link(struct image *im, char path[512])
{
	const struct image_section *sec = image_find(im, ".gnu_debuglink");
	const uint8_t *data;
	size_t len, name;

	*path = '\0';
	if (!sec || image_data(im, sec, &data, &len, NULL) < 0)
		return;
	name = strnlen((const char *)data, len);
	if (name && name < 256 && name < len && !memchr(data, '/', name) && data[0] != '.')
		snprintf(path, 512, "%s/%.*s", root, (int)name, (const char *)data);
}

static void ask(struct symbols *s, uint32_t id)
{
	struct symbols_module_info info;
	struct symbol_name name;

	symbols_module_info(s, id, &info);
	for (uint64_t at = 0; at < 4096; at += 29) {
		symbols_name(s, id, at, at & 1, &name);
		BUG_ON(!name.frame_cnt || !name.frames[0].fn || !name.frames[0].full);
	}
}

/* With the file kept open, or, by its length, with the names copied out of it. */
static void load(const uint8_t *data, size_t size)
{
	struct symbols_opts opts = {.max_files = size & 1 ? 0 : 1};
	struct symbols *s = symbols_new(&opts);
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	uint32_t id;

	BUG_ON(fd < 0 || write(fd, data, size) != (ssize_t)size);
	if (symbols_module(s, "/fuzz", fd, root, &id, NULL) == 0)
		ask(s, id);
	close(fd);
	symbols_free(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char dir[128], id_path[256], link_path[512];
	struct image *im;
	uint32_t first;

	if (size < 4)
		return 0;
	if (!*root)
		root_make();
	memcpy(&first, data, 4);
	data += 4, size -= 4;
	first = first < size ? first : (uint32_t)size;
	im = image_open_bytes(data, first, NULL);
	if (!im)
		return 0;
	by_build_id(im, dir, id_path);
	by_link(im, link_path);
	image_free(im);
	if (*id_path)
		put(id_path, data + first, size - first);
	if (*link_path)
		put(link_path, data + first, size - first);
	load(data, first);
	if (*id_path && unlink(id_path) == 0)
		rmdir(dir);
	if (*link_path)
		unlink(link_path);
	return 0;
}
