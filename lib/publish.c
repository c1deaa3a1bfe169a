/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For readers outside, as profilers are: the resource in a mapping of its own name (OTEP 4719),
 * and of each thread the request and span it works for (OTEP 4947), in the variable that these
 * readers look for.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

static const char mapping_name[] = "OTEL_CTX";

enum { MAPPING_BYTES = 4096, MAPPING_VERSION = 2 };

struct mapping {
	char signature[8];
	uint32_t version, payload_size;
	uint64_t published_at_ns;	/* of CLOCK_BOOTTIME; 0 while it is written */
	uint64_t payload;		/* address */
	uint8_t bytes[MAPPING_BYTES - 32];
};
_Static_assert(sizeof(struct mapping) == MAPPING_BYTES, "header of 32 bytes");

static struct mapping *mapping;
static pid_t mapping_pid;	/* a child does not have it */

static struct mapping *mapping_new(void)
{
	int fd = memfd_create(mapping_name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	void *at = MAP_FAILED;

	if (fd >= 0 && ftruncate(fd, MAPPING_BYTES) == 0)
		at = mmap(NULL, MAPPING_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	if (fd >= 0)
		close(fd);
	if (at == MAP_FAILED)
		at = mmap(NULL, MAPPING_BYTES, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		return NULL;
	if (madvise(at, MAPPING_BYTES, MADV_DONTFORK) == 0)
		return at;
	munmap(at, MAPPING_BYTES);
	return NULL;
}

/* Again after another heldup_start: the resource may have changed. */
void publish_process(void)
{
	struct timespec ts;
	size_t len;

	if (!mapping || mapping_pid != getpid())
		mapping = mapping_new();
	mapping_pid = getpid();
	if (!mapping)
		return;
	__atomic_store_n(&mapping->published_at_ns, 0, __ATOMIC_SEQ_CST);
	len = otlp_process(mapping->bytes, sizeof(mapping->bytes));
	if (!len)
		return;
	clock_gettime(CLOCK_BOOTTIME, &ts);
	mapping->version = MAPPING_VERSION;
	mapping->payload_size = (uint32_t)len;
	mapping->payload = (uint64_t)(uintptr_t)mapping->bytes;
	__atomic_store_n(&mapping->published_at_ns,
			 (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec,
			 __ATOMIC_SEQ_CST);
	memcpy(mapping->signature, mapping_name, sizeof(mapping->signature));
	(void)prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, mapping, MAPPING_BYTES, mapping_name);
}

struct thread_record {		/* OTEP 4947's layout */
	uint64_t trace_hi, trace_lo, span;	/* the first byte is the highest */
	uint8_t valid, flags;
	uint16_t attrs_size;
	uint32_t pad;
};

/* The name is the OTEP's. */
HELDUP_API __thread struct thread_record *otel_thread_ctx_v1;
static __thread struct thread_record thread_record;

void publish_thread(const struct heldup_context *context, uint64_t span)
{
	struct thread_record *r = &thread_record;

	__atomic_store_n(&r->valid, 0, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	otel_thread_ctx_v1 = r;
	if (!context || !span)
		return;
	r->trace_hi = htobe64(context->trace_hi);
	r->trace_lo = htobe64(context->trace_lo);
	r->span = htobe64(span);
	r->flags = 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&r->valid, 1, __ATOMIC_RELAXED);
}
