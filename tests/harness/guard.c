#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#endif
#include "tests/harness/guard.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CANARY = 0xa5, CANARY_AT_LEAST = 64 };

typedef struct mapping {
    unsigned char *base, *buffer;
    size_t mapped_bytes;
} mapping;

static mapping *mappings;
static size_t n_mappings, room;

static size_t page_bytes(void) { return (size_t)sysconf(_SC_PAGESIZE); }

static void *out_of_memory(void)
{
    fputs("guard: out of memory\n", stderr);
    exit(1);
}

void *guard_new(size_t bytes)
{
    const size_t page = page_bytes();
    const size_t inner = (bytes + CANARY_AT_LEAST + page - 1) / page * page;
    if (n_mappings == room) {
        room = room ? 2 * room : 64;
        mapping *grown = realloc(mappings, room * sizeof *mappings);
        mappings = grown ? grown : out_of_memory();
    }
    mapping *m = &mappings[n_mappings];
    m->mapped_bytes = inner + 2 * page;
    m->base = mmap(NULL, m->mapped_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (m->base == MAP_FAILED || mprotect(m->base + page, inner, PROT_READ | PROT_WRITE))
        return out_of_memory();
    m->buffer = m->base + page + inner - bytes;
    memset(m->base + page, CANARY, inner - bytes);
    n_mappings++;
    return m->buffer;
}

bool guard_all_intact(void)
{
    for (size_t i = 0; i < n_mappings; i++)
        for (unsigned char *p = mappings[i].base + page_bytes(); p < mappings[i].buffer; p++)
            if (*p != CANARY)
                return false;
    return true;
}

void guard_free_all(void)
{
    for (size_t i = 0; i < n_mappings; i++)
        munmap(mappings[i].base, mappings[i].mapped_bytes);
    n_mappings = 0;
    free(mappings);
    mappings = NULL;
    room = 0;
}
