/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/names/runtime.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

static bool starts(const char *name, const char *start)
{
	return strncmp(name, start, strlen(start)) == 0;
}

static bool is_java(const char *name)
{
	return strcmp(name, "libjvm.so") == 0;
}

static bool is_node(const char *name)
{
	return strcmp(name, "node") == 0 || strcmp(name, "nodejs") == 0 ||
	       starts(name, "libnode.so");
}

static bool is_python(const char *name)
{
	return starts(name, "python3") || starts(name, "libpython3");
}

static bool is_dotnet(const char *name)
{
	return strcmp(name, "libcoreclr.so") == 0;
}

static bool is_erlang(const char *name)
{
	return starts(name, "beam.");
}

static bool is_ruby(const char *name)
{
	return starts(name, "ruby") || starts(name, "libruby");
}

static const struct runtime runtimes[] = {
	{"Java", is_java,
	 "ask the running one with --jit (Java 17 and newer), again when it compiled more; "
	 "-XX:+PreserveFramePointer at its start makes its stacks whole",
	 true},
	{"Node.js", is_node,
	 "start it with NODE_OPTIONS='--perf-basic-prof-only-functions "
	 "--interpreted-frames-native-stack'; a running one cannot be asked",
	 false},
	{"Python", is_python,
	 "start it with PYTHONPERFSUPPORT=1 (python3 -X perf); a running one cannot be asked from "
	 "outside, but may call sys.activate_stack_trampoline(\"perf\")",
	 false},
	{".NET", is_dotnet, "start it with DOTNET_PerfMapEnabled=1", false},
	{"Erlang", is_erlang, "start it with ERL_FLAGS='+JPperf true' (OTP 25 and newer)", false},
	{"Ruby", is_ruby, "start it with --yjit-perf (Ruby 3.3 and newer, with YJIT)", false},
};

const struct runtime *runtime_of_file(const char *base_name)
{
	for (size_t i = 0; i < sizeof(runtimes) / sizeof(runtimes[0]); i++) {
		if (runtimes[i].is_file(base_name))
			return &runtimes[i];
	}
	return NULL;
}

/* Perf maps came with Python 3.12. */
static bool is_old_python(const struct runtime *r, const char *base_name)
{
	const char *at = strstr(base_name, "python3.");
	unsigned minor;

	return r->is_file == is_python && at && sscanf(at, "python3.%3u", &minor) == 1 &&
	       minor < 12;
}

const char *runtime_advice(const struct runtime *r, const char *base_name)
{
	if (is_old_python(r, base_name))
		return "this version cannot tell its names, so functions of the interpreter stand "
		       "for them: Python 3.12 and newer can (python3 -X perf)";
	return r->how;
}
