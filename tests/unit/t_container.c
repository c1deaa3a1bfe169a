/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "collect/proc/container.h"

#define ID "3f2a9c1b7d203f2a9c1b7d203f2a9c1b7d203f2a9c1b7d203f2a9c1b7d20abcd"
#define UID "0a1b2c3d-0000-1111-2222-333344445555"
#define UID_ "0a1b2c3d_0000_1111_2222_333344445555"

TEST(container_of_cgroup_paths)
{
	static const struct {
		const char *path, *text;
	} rows[] = {
		{"/docker/" ID, "docker container 3f2a9c1b7d20"},
		{"/system.slice/docker-" ID ".scope", "docker container 3f2a9c1b7d20"},
		{"/machine.slice/libpod-" ID ".scope/container", "libpod container 3f2a9c1b7d20"},
		{"/kubepods/burstable/pod" UID "/" ID, "container 3f2a9c1b7d20, pod " UID},
		{"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_
		 ".slice/cri-containerd-" ID ".scope",
		 "cri-containerd container 3f2a9c1b7d20, pod " UID},
		{"/kubepods.slice/kubepods-pod" UID_ ".slice/crio-" ID ".scope",
		 "crio container 3f2a9c1b7d20, pod " UID},
		{"/kubepods/pod" UID, "pod " UID},
		{"/lxc.payload.web-1/system.slice/nginx.service", "lxc container web-1"},
		{"/machine.slice/machine-deb\\x2dian.scope/payload", "nspawn container deb-ian"},
		{"/lxc.payload.a/docker/" ID, "docker container 3f2a9c1b7d20"},
		{"/system.slice/nginx.service", ""},
		{"/docker/" ID "0", ""},
		{"/user.slice/x" ID, ""},
		{"/pod1234", ""},
		{"/", ""},
		{"", ""},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct container c = {0};
		struct buf b = {0};

		EQ_I(container_of_path(rows[i].path, &c), *rows[i].text != '\0');
		container_describe(&c, &b);
		EQ_S(buf_str(&b), rows[i].text);
		buf_release(&b);
	}
}

static void file_put(const char *root, const char *path, const char *text)
{
	char full[400], *at;
	FILE *f;

	snprintf(full, sizeof(full), "%s%s", root, path);
	for (at = strchr(full + strlen(root) + 1, '/'); at; at = strchr(at + 1, '/')) {
		*at = '\0';
		mkdir(full, 0700);
		*at = '/';
	}
	f = fopen(full, "w");
	OK(f != NULL);
	fputs(text, f);
	fclose(f);
}

static void names_are(const char *file, const char *text, const char *want)
{
	char root[] = "/tmp/heldup-container-XXXXXX", command[100];
	struct container c = {0};
	struct buf b = {0};

	OK(mkdtemp(root) != NULL);
	OK(container_of_path("/docker/" ID, &c));
	file_put(root, file, text);
	container_names(&c, root);
	container_describe(&c, &b);
	EQ_S(buf_str(&b), want);
	buf_release(&b);
	snprintf(command, sizeof(command), "rm -r %s", root);
	EQ_I(system(command), 0);
}

TEST(container_names_from_what_runtimes_keep)
{
	static const char docker[] = "/var/lib/docker/containers/" ID "/config.v2.json";
	static const char plain[] = "docker container 3f2a9c1b7d20";

	names_are(docker, "{\"ID\":\"x\",\"Name\":\"/web\"}",
		  "docker container web (3f2a9c1b7d20)");
	names_are("/run/containerd/io.containerd.runtime.v2.task/k8s.io/" ID "/config.json",
		  "{\"annotations\": {\"io.kubernetes.cri.container-name\": \"app\",\n"
		  "\"io.kubernetes.cri.sandbox-name\": \"cart-1\",\n"
		  "\"io.kubernetes.cri.sandbox-namespace\": \"shop\"}}",
		  "docker container app (3f2a9c1b7d20), pod shop/cart-1");
	names_are(docker, "{\"Name\":\"a\\u001b[31m\"}", plain);
	names_are(docker, "{\"Name\":7}", plain);
	names_are(docker, "{\"Name\"", plain);
	names_are(docker, "", plain);
}

TEST(container_is_named_in_several_ways)
{
	const struct container c = {.id = ID, .name = "web", .pod = "cart-1",
				    .pod_namespace = "shop", .pod_uid = UID};
	static const struct {
		const char *want;
		bool is;
	} rows[] = {
		{"web", true}, {"we", false}, {ID, true}, {"3f2a", true}, {"3f2", false},
		{"3f2b", false}, {"cart-1", true}, {"shop/cart-1", true}, {"shop/cart", false},
		{"shopcart-1", false}, {UID, true}, {"", false}, {"/", false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		EQ_I(container_is(&c, rows[i].want), rows[i].is);
}
