/* Any bytes through a tokenizer: no byte is lost, a stream of ids gives the same bytes as all
 * at once, offsets ascend, and what is remembered changes nothing. */
#include "text/tokenizer/tokenizer.h"
#include "base/utf8.h"
#include "tests/fuzz/target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every byte, a few merges, a special token and one that is not. */
static const char merges[] =
    "[\"a b\",\"ab c\",\"\xc4\xa0 t\",\"t h\",\"th e\",\"1 2\",\"\xc4\xa0 \xc4\xa0\"]";

static void write_json(hn_heap *heap, hn_str *out)
{
    static const char *const made[] = { "ab",  "abc", "\xc4\xa0t",       "th",
                                        "the", "12",  "\xc4\xa0\xc4\xa0" };
    (void)heap;
    hn_str_add(out,
               "{\"added_tokens\":[{\"id\":263,\"content\":\"<|end|>\",\"special\":true,"
               "\"normalized\":false},"
               "{\"id\":264,\"content\":\"<x>\",\"lstrip\":true,\"rstrip\":true,\"normalized\":"
               "false}],"
               "\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false},"
               "\"decoder\":{\"type\":\"ByteLevel\"},\"model\":{\"type\":\"BPE\",\"merges\":");
    hn_str_add(out, merges);
    hn_json_writer w = hn_json_write_to(out);
    hn_str_add(out, ",\"vocab\":");
    hn_json_begin_object(&w);
    for (int i = 0; i < 256; i++) {
        char text[5] = "";
        text[hn_utf8_put(hn_byte_char((uint8_t)i), text)] = 0;
        hn_json_key(&w, text);
        hn_json_add_int(&w, i);
    }
    for (int i = 0; i < 7; i++) {
        hn_json_key(&w, made[i]);
        hn_json_add_int(&w, 256 + i);
    }
    hn_json_end_object(&w);
    hn_str_add(out, "}}");
}

static hn_tokenizer *make(hn_heap *heap)
{
    hn_tokenizer *tok = NULL;
    hn_json_text *text = NULL;
    hn_str json = hn_str_on(heap);
    write_json(heap, &json);
    if (hn_json_read(heap, "fuzz", json.text, json.length, &text) != HN_OK ||
        hn_tokenizer_from_json(heap, "fuzz", hn_json_root(text), NULL, NULL, &tok) != HN_OK) {
        fprintf(stderr, "%s\n", hn_error_message());
        abort();
    }
    hn_json_free(text);
    hn_str_free(&json);
    return tok;
}

static void check(hn_heap *heap, const hn_tokenizer *tok, const char *text, size_t bytes,
                  bool special)
{
    const hn_encode_options o = { .parse_special = special, .wants_offsets = true },
                            plain = { .parse_special = special };
    hn_encoding with = { 0 }, first = { 0 };
    hn_str whole = hn_str_on(heap), stream = hn_str_on(heap);
    if (hn_tokenizer_encode(tok, text, bytes, &o, &with) != HN_OK)
        abort();
    for (int round = 0; round < 2; round++)
        if (hn_tokenizer_encode(tok, text, bytes, &plain, &first) != HN_OK ||
            first.n != with.n ||
            (first.n && memcmp(first.ids, with.ids, first.n * sizeof *first.ids) != 0))
            abort();
    hn_decoder decoder = hn_decoder_on(tok, false);
    for (size_t i = 0; i < with.n; i++) {
        if (with.begin[i] > with.end[i] || with.end[i] > bytes ||
            (i && with.begin[i] < with.begin[i - 1]))
            abort();
        if (hn_decoder_add(&decoder, with.ids[i], &stream) != HN_OK)
            abort();
    }
    hn_decoder_finish(&decoder, &stream);
    hn_tokenizer_decode(tok, with.ids, with.n, false, &whole);
    if (whole.length != stream.length || memcmp(whole.text, stream.text, whole.length) != 0)
        abort();
    bool takes_blanks = false; /* <x> does, and they are not given back */
    for (size_t i = 0; i < with.n; i++)
        takes_blanks |= with.ids[i] == 264;
    if (!takes_blanks &&
        (whole.length != bytes || (bytes && memcmp(whole.text, text, bytes) != 0)))
        abort();
    hn_str_free(&whole);
    hn_str_free(&stream);
    hn_encoding_free(&with);
    hn_encoding_free(&first);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static hn_heap heap;
    static hn_tokenizer *tok;
    if (!tok) {
        hn_heap_init(&heap, NULL);
        tok = make(&heap);
    }
    check(&heap, tok, (const char *)data, bytes, false);
    check(&heap, tok, (const char *)data, bytes, true);
    return 0;
}
