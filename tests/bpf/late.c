/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code that comes after the watch began, for t_stacks: late WHAT [FILE]
 *
 *	dlopen FILE	loads a library and works in it
 *	exec FILE	a child executes a program
 *	jit		calls through code without frame pointers that it made itself
 *
 * With -DLIBRARY it is the library.
 */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define LATE_US 1800000

typedef double work_fn(int depth);
work_fn late_work;

#ifdef LIBRARY
double late_work(int depth)
{
	volatile double sum = 0;

	if (depth)
		return late_work(depth - 1) + 1;
	for (int i = 0; i < 200000; i++)
		sum += sin(i);
	usleep(5000);
	return sum;
}
#else
static int in_library(const char *file)
{
	void *lib = dlopen(file, RTLD_NOW);
	work_fn *work = NULL;

	if (!lib)
		return 1;
	*(void **)&work = dlsym(lib, "late_work");
	for (;;)
		work(5);
}

static int in_child(char *file)
{
	char *const argv[] = {file, NULL};

	if (fork() == 0) {
		execv(file, argv);
		_exit(1);
	}
	return wait(NULL) < 0;
}

static void stand(void)
{
	for (;;)
		usleep(5000);
}

static int in_made_code(void)
{
	static const unsigned char code[] = {0x48, 0x83, 0xec, 0x18, 0xff, 0xd7,
					     0x48, 0x83, 0xc4, 0x18, 0xc3};
	void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void (*call)(void (*fn)(void));

	if (at == MAP_FAILED)
		return 1;
	memcpy(at, code, sizeof(code));
	mprotect(at, 4096, PROT_READ | PROT_EXEC);
	*(void **)&call = at;
	call(stand);
	return 0;
}

int main(int argc, char **argv)
{
	puts("ready");
	fflush(stdout);
	usleep(LATE_US);
	if (argc == 3 && strcmp(argv[1], "dlopen") == 0)
		return in_library(argv[2]);
	if (argc == 3 && strcmp(argv[1], "exec") == 0)
		return in_child(argv[2]);
	return in_made_code();
}
#endif
