/* Any bytes as README.md: refused with a message, or keys that are read back; nothing leaks,
 * and no more is written than a few times what the card says. */
#include "convert/model_card.h"
#include "tests/fuzz/target.h"

#include <stdlib.h>
#include <string.h>

static void use(const hn_hf_dir *dir, const hn_yaml *card, size_t bytes)
{
    hn_meta meta = hn_meta_on(dir->heap, "fuzz");
    size_t written = 0;
    if (hn_model_card_keys(dir, card, 7e9, &meta) != HN_OK) {
        if (!hn_error_message()[0])
            abort();
    } else {
        for (size_t i = 0; i < meta.n; i++)
            written += meta.values[i].bytes;
        if (written > 8 * (bytes + HN_YAML_MAX_REPEATED))
            abort();
    }
    hn_meta_free(&meta);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    hn_heap heap;
    char path[] = "fuzz";
    hn_yaml_text card;
    hn_heap_init(&heap, NULL);
    heap.limit_bytes = 1 << 26;
    const hn_hf_dir dir = { .heap = &heap, .path = path };
    if (hn_model_card_parse(&dir, (const char *)data, bytes, &card) == HN_OK)
        use(&dir, card.root, bytes);
    else if (!hn_error_message()[0] || card.root)
        abort();
    hn_yaml_free(&card);
    if (atomic_load(&heap.live_blocks))
        abort();
    return 0;
}
