/* Any bytes as tokenizer.json: refused with a message, or a tokenizer that encodes and decodes
 * what it may; nothing leaks. */
#include "tests/fuzz/target.h"
#include "text/tokenizer/tokenizer.h"

#include <stdlib.h>

static void use(hn_heap *heap, const hn_tokenizer *tok)
{
    static const char text[] = "Hello  w\xc3\xb6rld\xff 123 ab\n<|end|>";
    const hn_encode_options o = {
        .parse_special = true, .wants_offsets = true, .add_bos = HN_YES, .add_eos = HN_YES
    };
    hn_encoding e = { 0 };
    hn_str out = hn_str_on(heap);
    if (hn_tokenizer_encode(tok, text, sizeof text - 1, &o, &e) == HN_OK) {
        for (size_t i = 0; i < e.n; i++)
            if (e.ids[i] < 0 || e.ids[i] >= hn_tokenizer_size(tok) || e.begin[i] > e.end[i] ||
                e.end[i] > sizeof text - 1)
                abort();
        hn_tokenizer_decode(tok, e.ids, e.n, false, &out);
    }
    hn_meta meta = hn_meta_on(heap, "fuzz");
    hn_tokenizer *again = NULL;
    if (hn_tokenizer_to_meta(tok, &meta) == HN_OK &&
        hn_tokenizer_from_meta(heap, &meta, &again) == HN_OK)
        hn_tokenizer_encode(again, text, sizeof text - 1, &o, &e);
    hn_encoding_free(&e);
    hn_tokenizer_free(again);
    hn_meta_free(&meta);
    hn_str_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    hn_heap heap;
    hn_heap_init(&heap, NULL);
    heap.limit_bytes = 1 << 26;
    hn_json_text *text = NULL;
    hn_tokenizer *tok = NULL;
    if (hn_json_read(&heap, "fuzz", (const char *)data, bytes, &text) == HN_OK) {
        if (hn_tokenizer_from_json(&heap, "fuzz", hn_json_root(text), NULL, NULL, &tok) ==
            HN_OK)
            use(&heap, tok);
        else if (tok || !hn_error_message()[0])
            abort();
    }
    hn_tokenizer_free(tok);
    hn_json_free(text);
    if (atomic_load(&heap.live_blocks))
        abort();
    return 0;
}
