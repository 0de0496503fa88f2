/* Any bytes as YAML: refused with a message, or a tree that can be walked; nothing leaks. */
#include "base/yaml.h"
#include "tests/fuzz/target.h"

#include <stdlib.h>
#include <string.h>

static size_t count(const hn_yaml *value, int depth)
{
    size_t n = 1;
    if (depth > HN_YAML_MAX_DEPTH + 1 || value->line < 1)
        abort();
    if (value->kind != HN_YAML_LIST && value->kind != HN_YAML_MAP && value->first)
        abort();
    if ((value->kind == HN_YAML_TEXT || value->kind == HN_YAML_OTHER) && !value->text)
        abort();
    for (const hn_yaml *v = value->first; v; v = v->next) {
        n += count(v, depth + 1);
        if (v->key && !hn_yaml_get(value, v->key))
            abort();
    }
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    hn_heap heap;
    hn_heap_init(&heap, NULL);
    heap.limit_bytes = 1 << 24;
    hn_yaml_text text;
    if (hn_yaml_read(&heap, "fuzz", 1, (const char *)data, bytes, &text) == HN_OK) {
        if (count(text.root, 0) > bytes + 1)
            abort();
    } else if (!hn_error_message()[0] || text.root) {
        abort();
    }
    hn_yaml_free(&text);
    if (atomic_load(&heap.live_blocks))
        abort();
    return 0;
}
