/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stands in a signal handler that interrupted ld.so while it looked up a
 * function for its first call.  As a library (-DLIBRARY): a thousand functions,
 * each called once through the PLT.
 */
#ifdef LIBRARY

#define ONE(n) void lazy_##n(void); void lazy_##n(void) {}
#define CALL(n) lazy_##n();
#define TEN(f, n) f(n##0) f(n##1) f(n##2) f(n##3) f(n##4) f(n##5) f(n##6) f(n##7) f(n##8) f(n##9)
#define HUNDRED(f, n)                                                               \
	TEN(f, n##0) TEN(f, n##1) TEN(f, n##2) TEN(f, n##3) TEN(f, n##4)            \
	TEN(f, n##5) TEN(f, n##6) TEN(f, n##7) TEN(f, n##8) TEN(f, n##9)
#define THOUSAND(f)                                                                 \
	HUNDRED(f, 0) HUNDRED(f, 1) HUNDRED(f, 2) HUNDRED(f, 3) HUNDRED(f, 4)       \
	HUNDRED(f, 5) HUNDRED(f, 6) HUNDRED(f, 7) HUNDRED(f, 8) HUNDRED(f, 9)

THOUSAND(ONE)

void call_all(void);
void call_all(void)
{
	THOUSAND(CALL)
}

#else

#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

static uintptr_t begin, end; /* of ld.so's code */
static volatile sig_atomic_t calling;

static int find_ld(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	(void)arg;
	for (int i = 0; strstr(info->dlpi_name, "ld-linux") && i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_LOAD && p->p_flags & PF_X) {
			begin = info->dlpi_addr + p->p_vaddr;
			end = begin + p->p_memsz;
		}
	}
	return 0;
}

static void handler(int sig, siginfo_t *info, void *context)
{
	const ucontext_t *uc = context;
	uintptr_t pc = (uintptr_t)uc->uc_mcontext.gregs[REG_RIP];

	(void)sig;
	(void)info;
	if (!calling || pc < begin || pc >= end)
		return;
	if (write(STDOUT_FILENO, "ready\n", 6) != 6)
		_exit(1);
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	struct itimerval each = {{0, 500}, {0, 500}};
	struct sigaction sa = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};

	if (argc < 2)
		return 2;
	dl_iterate_phdr(find_ld, NULL);
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &each, NULL);
	for (;;) {
		void *lib = dlopen(argv[1], RTLD_LAZY);
		void (*call_all)(void) = (void (*)(void))dlsym(lib, "call_all");

		if (!call_all)
			return 1;
		calling = 1;
		call_all();
		calling = 0;
		dlclose(lib);
	}
}

#endif
