/* Any bytes as JSON: refused with a message, or a tree that can be walked; nothing leaks. */
#include "base/json.h"
#include "tests/fuzz/target.h"

#include <stdlib.h>
#include <string.h>

static size_t count(const hn_json *value, int depth)
{
    size_t n = 1;
    if (depth > HN_JSON_MAX_DEPTH + 1)
        abort();
    if (value->kind == HN_JSON_STRING && strlen(value->as.string.text) > value->as.string.bytes)
        abort();
    if (value->kind != HN_JSON_ARRAY && value->kind != HN_JSON_OBJECT)
        return n;
    size_t n_children = 0;
    for (const hn_json *v = value->as.children.first; v; v = v->next, n_children++)
        n += count(v, depth + 1);
    if (n_children != value->as.children.n)
        abort();
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    hn_heap heap;
    hn_heap_init(&heap, NULL);
    heap.limit_bytes = 1 << 24;
    hn_json_text *text = NULL;
    if (hn_json_read(&heap, "fuzz", (const char *)data, bytes, &text) == HN_OK) {
        if (count(hn_json_root(text), 0) > bytes)
            abort();
    } else if (!hn_error_message()[0] || text) {
        abort();
    }
    hn_json_free(text);
    if (atomic_load(&heap.live_blocks))
        abort();
    return 0;
}
