/* Any bytes as YAML: refused with a message, or a tree that can be walked; nothing leaks. */
#include "base/yaml.h"
#include "tests/fuzz/target.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_LEVELS = 6 };

/* Aliases make the tree larger than its text, or a circle: a few levels only. */
static void walk(const hn_yaml *value, int depth)
{
    if (value->line < 1 || value->kind > HN_YAML_OTHER)
        abort();
    if (value->kind == HN_YAML_TEXT && (!value->text || value->text[value->bytes]))
        abort();
    const bool has_items = value->kind == HN_YAML_LIST || value->kind == HN_YAML_MAP;
    for (size_t i = 0; has_items && depth < MOST_LEVELS && i < value->n; i++) {
        const hn_yaml *key = value->items[i].key;
        if ((value->kind == HN_YAML_MAP) != (key != NULL))
            abort();
        if (key && key->kind == HN_YAML_TEXT && strlen(key->text) == key->bytes && i < 8 &&
            !hn_yaml_get(value, key->text))
            abort();
        if (depth < 2 || i < 8)
            walk(value->items[i].value, depth + 1);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    hn_heap heap;
    hn_heap_init(&heap, NULL);
    heap.limit_bytes = 1 << 26;
    hn_yaml_text text;
    if (hn_yaml_read(&heap, "fuzz", 1, (const char *)data, bytes, &text) == HN_OK)
        walk(text.root, 0);
    else if (!hn_error_message()[0] || text.root)
        abort();
    hn_yaml_free(&text);
    if (atomic_load(&heap.live_blocks))
        abort();
    return 0;
}
