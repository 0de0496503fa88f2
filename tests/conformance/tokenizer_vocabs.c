/* The real vocabularies in ../shared/data/vocab: each text has the ids that the model's own
 * tokenizer gives it, alone and one id at a time; and no byte is lost. */
#include "base/file.h"
#include "io/gguf.h"
#include "tests/harness/check.h"
#include "text/tokenizer/tokenizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static hn_heap heap;
static const char *const names[] = { "bert-bge",     "gemma-4", "gpt-2",     "llama-bpe",
                                     "llama-spm",    "qwen2",   "command-r", "deepseek-coder",
                                     "deepseek-llm", "falcon",  "mpt",       "phi-3",
                                     "qwen35",       "refact",  "starcoder" };
enum { N_SHARED = 6 }; /* the others only where --folder has them */

static hn_status open_tokenizer(const char *path, hn_tokenizer **out)
{
    hn_gguf *gguf;
    HN_TRY(hn_gguf_open(&heap, path, &gguf));
    const hn_status status = hn_tokenizer_from_meta(&heap, hn_gguf_meta(gguf), out);
    hn_gguf_close(gguf);
    return status;
}

static bool read_file(const char *path, char **text, size_t *bytes)
{
    void *data = NULL;
    const bool is_there = hn_file_read(&heap, path, 1 << 24, &data, bytes) == HN_OK;
    *text = data;
    return is_there;
}

static void check_decode(const hn_tokenizer *tok, const char *text, size_t bytes,
                         const hn_encoding *e)
{
    hn_str whole = hn_str_on(&heap), stream = hn_str_on(&heap);
    CHECK_OK(hn_tokenizer_decode(tok, e->ids, e->n, false, &whole));
    hn_decoder decoder = hn_decoder_on(tok, false);
    for (size_t i = 0; i < e->n; i++) {
        CHECK_OK(hn_decoder_add(&decoder, e->ids[i], &stream));
        CHECK_THAT(decoder.n_held < 4, "holds %d bytes", decoder.n_held);
    }
    CHECK_OK(hn_decoder_finish(&decoder, &stream));
    CHECK_THAT(whole.length == stream.length && !memcmp(whole.text, stream.text, whole.length),
               "a stream gives '%s', not '%s'", stream.text, whole.text);
    if (strcmp(hn_tokenizer_kind(tok), "bert") != 0)
        CHECK_THAT(whole.length == bytes && !memcmp(whole.text, text, bytes),
                   "decodes to '%s', not '%s'", whole.text, text);
    hn_str_free(&whole);
    hn_str_free(&stream);
}

static void check_ids(const hn_tokenizer *tok, const char *text, size_t bytes,
                      const char **expected)
{
    const hn_encode_options o = { .add_bos = HN_NO, .add_eos = HN_NO };
    hn_encoding e = { 0 };
    if (!CHECK_OK(hn_tokenizer_encode(tok, text, bytes, &o, &e)))
        return;
    bool is_equal = true;
    const char *at = *expected;
    for (size_t i = 0; i < e.n; i++) {
        char *end;
        const long id = strtol(at, &end, 10);
        is_equal &= end > at && id == e.ids[i];
        at = end;
    }
    while (*at == ' ')
        at++;
    is_equal &= *at == '\n' || !*at;
    const char *newline = strchr(*expected, '\n');
    CHECK_THAT(is_equal, "text '%.*s': expected %.*s, found %zu ids from %d on", (int)bytes,
               text, newline ? (int)(newline - *expected) : 0, *expected, e.n,
               e.n ? (int)e.ids[0] : -1);
    for (size_t i = 0; !is_equal && i < e.n; i++)
        fprintf(stderr, "%d ", (int)e.ids[i]);
    *expected = newline ? newline + 1 : "";
    check_decode(tok, text, bytes, &e);
    hn_encoding_free(&e);
}

static void check_folder(const char *folder, const char *name, bool must_be)
{
    char path[3][1024], *input = NULL, *output = NULL;
    size_t n_input, n_output;
    static const char separator[] = "\n__ggml_vocab_test__\n";
    for (int i = 0; i < 3; i++)
        snprintf(path[i], sizeof path[i], "%s/ggml-vocab-%s.gguf%s", folder, name,
                 i == 0   ? ""
                 : i == 1 ? ".inp"
                          : ".out");
    if (!read_file(path[1], &input, &n_input) || !read_file(path[2], &output, &n_output)) {
        if (must_be)
            check_skip(name, "no such vocabulary in ../shared/data/vocab");
        hn_free(&heap, input);
        return;
    }
    check_group(name);
    hn_tokenizer *tok = NULL;
    if (CHECK_OK(open_tokenizer(path[0], &tok))) {
        const char *expected = output;
        for (char *text = input, *end; text; text = end) {
            char *next = strstr(text, separator);
            end = next ? next + sizeof separator - 1 : NULL;
            size_t bytes = next ? (size_t)(next - text) : strlen(text);
            if (!next && bytes && text[bytes - 1] == '\n')
                bytes--;
            if (next || bytes)
                check_ids(tok, text, bytes, &expected);
        }
    }
    hn_tokenizer_free(tok);
    hn_free(&heap, input);
    hn_free(&heap, output);
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    hn_heap_init(&heap, NULL);
    const char *folder = check_option("--folder");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        check_folder(folder ? folder : HN_SOURCE_DIR "/../shared/data/vocab", names[i],
                     i < N_SHARED);
    CHECK_INT(0, atomic_load(&heap.live_blocks));
    return check_close();
}
