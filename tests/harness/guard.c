#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#endif
#include "tests/harness/guard.h"

#include "base/os/maps.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(_WIN32)
#include <windows.h>
#else
#include <sys/mman.h>
#endif

enum { CANARY = 0xa5, CANARY_AT_LEAST = 64 };

typedef struct mapping {
    unsigned char *base, *buffer;
    size_t mapped_bytes;
} mapping;

static mapping *mappings;
static size_t n_mappings, room;

static size_t page_bytes(void) { return hn_os_page(); }

/* `inner` bytes that may be read and written, between two pages that may not. NULL: there are none. */
static unsigned char *between_pages(size_t inner, size_t page)
{
#if defined(_WIN32)
    DWORD before;
    unsigned char *base = VirtualAlloc(NULL, inner + 2 * page, MEM_RESERVE | MEM_COMMIT, PAGE_NOACCESS);
    return base && VirtualProtect(base + page, inner, PAGE_READWRITE, &before) ? base : NULL;
#else
    unsigned char *base = mmap(NULL, inner + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return base != MAP_FAILED && !mprotect(base + page, inner, PROT_READ | PROT_WRITE) ? base : NULL;
#endif
}

static void give_back(const mapping *m)
{
#if defined(_WIN32)
    VirtualFree(m->base, 0, MEM_RELEASE);
#else
    munmap(m->base, m->mapped_bytes);
#endif
}

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
    m->base = between_pages(inner, page);
    if (!m->base)
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
        give_back(&mappings[i]);
    n_mappings = 0;
    free(mappings);
    mappings = NULL;
    room = 0;
}
