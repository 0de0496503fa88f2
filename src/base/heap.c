/* Each block has a 64-byte header before it, so that freeing needs no size and alignment holds. */
#include "base/heap.h"

#include "base/host.h"
#include "base/os/maps.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 };

typedef struct header {
    size_t bytes; /* as asked, without the header */
    hn_tag tag;
} header;

_Static_assert(sizeof(header) <= ALIGNMENT, "the header keeps the block aligned");

/* calloc, because large blocks of it are fresh pages, which nobody has to write zeros to: a cache of
 * gigabytes costs nothing until it fills. What calloc gave is kept before the aligned block. */
static void *libc_acquire(void *context, size_t bytes, size_t alignment)
{
    (void)context;
    char *own = calloc(1, bytes + alignment + sizeof(void *));
    if (!own)
        return NULL;
    const size_t past = (uintptr_t)(own + sizeof(void *)) % alignment;
    char *block = own + sizeof(void *) + (past ? alignment - past : 0);
    memcpy(block - sizeof(void *), &own, sizeof own);
    return block;
}

static void libc_release(void *context, void *block, size_t bytes)
{
    (void)context, (void)bytes;
    char *own;
    memcpy(&own, (char *)block - sizeof(void *), sizeof own);
    free(own);
}

void hn_heap_init(hn_heap *heap, const hn_heap_hook *hook)
{
    *heap = (hn_heap){ 0 };
    if (hook && hook->acquire)
        heap->hook = *hook;
    else
        heap->hook = (hn_heap_hook){ .acquire = libc_acquire, .release = libc_release,
                                     .is_zeroed = true };
}

/* A host's allocator is called as every callback: in the host's own state. */
static void *acquire(const hn_heap *heap, size_t bytes)
{
    const hn_heap_hook *hook = &heap->hook;
    if (hook->acquire == libc_acquire)
        return libc_acquire(NULL, bytes, ALIGNMENT);
    HN_CALL_HOST();
    return hook->acquire(hook->context, bytes, ALIGNMENT);
}

static void release(const hn_heap *heap, void *block, size_t bytes)
{
    const hn_heap_hook *hook = &heap->hook;
    if (hook->release == libc_release) {
        libc_release(NULL, block, bytes);
        return;
    }
    HN_CALL_HOST();
    hook->release(hook->context, block, bytes);
}

const char *hn_tag_text(hn_tag tag)
{
    static const char *const texts[] = {
#define HN_TAG_TEXT(name, text) text,
        HN_TAG_LIST(HN_TAG_TEXT)
#undef HN_TAG_TEXT
    };
    return (unsigned)tag < HN_N_TAGS ? texts[tag] : "?";
}

static header *header_of(void *block)
{
    return (header *)(void *)((char *)block - ALIGNMENT);
}

static size_t whole_bytes(size_t bytes)
{
    return (bytes + 2 * ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; /* header and round-up */
}

static void count(hn_heap *heap, hn_tag tag, int64_t bytes)
{
    const int64_t live = atomic_fetch_add(&heap->live_bytes, bytes) + bytes;
    atomic_fetch_add(&heap->tag_bytes[tag], bytes);
    int64_t peak = atomic_load(&heap->peak_bytes);
    while (live > peak && !atomic_compare_exchange_weak(&heap->peak_bytes, &peak, live)) {
    }
}

void *hn_alloc(hn_heap *heap, hn_tag tag, size_t bytes)
{
    const int64_t number = atomic_fetch_add(&heap->n_calls, 1) + 1;
    const bool over = bytes > SIZE_MAX / 2 ||
                      (heap->limit_bytes &&
                       bytes + (size_t)atomic_load(&heap->live_bytes) > heap->limit_bytes);
    void *base = NULL;
    if (!over && number != atomic_load(&heap->fail_at))
        base = acquire(heap, whole_bytes(bytes));
    if (!base) {
        hn_fail(HN_ERR_MEMORY, HN_HEAP_REFUSED ": %zu bytes for %s", bytes, hn_tag_text(tag));
        return NULL;
    }
    void *block = (char *)base + ALIGNMENT;
    hn_os_want_huge_pages(base, bytes);
    if (!heap->hook.is_zeroed)
        memset(block, 0, bytes);
    *header_of(block) = (header){ .bytes = bytes, .tag = tag };
    atomic_fetch_add(&heap->live_blocks, 1);
    count(heap, tag, (int64_t)bytes);
    return block;
}

void *hn_alloc_array(hn_heap *heap, hn_tag tag, size_t n, size_t size)
{
    if (size && n > SIZE_MAX / 2 / size) {
        hn_fail(HN_ERR_MEMORY, HN_HEAP_REFUSED ": %zu elements of %zu bytes for %s", n, size,
                hn_tag_text(tag));
        return NULL;
    }
    return hn_alloc(heap, tag, n * size);
}

void *hn_realloc_array(hn_heap *heap, hn_tag tag, void *block, size_t n, size_t size)
{
    void *grown = hn_alloc_array(heap, tag, n, size);
    if (!grown || !block)
        return grown;
    const size_t old = header_of(block)->bytes;
    memcpy(grown, block, old < n * size ? old : n * size);
    hn_free(heap, block);
    return grown;
}

char *hn_strdup(hn_heap *heap, hn_tag tag, const char *text)
{
    const size_t bytes = strlen(text) + 1;
    char *copy = hn_alloc(heap, tag, bytes);
    if (copy)
        memcpy(copy, text, bytes);
    return copy;
}

void hn_free(hn_heap *heap, void *block)
{
    if (!block)
        return;
    header *h = header_of(block);
    const size_t bytes = h->bytes;
    count(heap, h->tag, -(int64_t)bytes);
    atomic_fetch_sub(&heap->live_blocks, 1);
    release(heap, h, whole_bytes(bytes));
}

bool hn_heap_has_refused(const char *sentence) { return strstr(sentence, HN_HEAP_REFUSED) != NULL; }
