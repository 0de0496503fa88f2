/* How fast a tokenizer encodes a file, and loads.
 *
 *     tokenizer MODEL.gguf TEXT [ROUNDS]       prints seconds to load and MB/s of the best
 * round */
#include "text/tokenizer/tokenizer.h"
#include "base/os/clock.h"
#include "base/file.h"
#include "io/gguf.h"

#include <stdio.h>
#include <stdlib.h>

static double seconds_now(void) { return (double)hn_clock_ns() * 1e-9; }

static hn_status measure(hn_heap *heap, const char *model, const char *path, int n_rounds)
{
    void *text;
    size_t bytes;
    hn_gguf *gguf;
    hn_tokenizer *tok;
    HN_TRY(hn_file_read(heap, path, 1u << 30, &text, &bytes));
    const double start = seconds_now();
    HN_TRY(hn_gguf_open(heap, model, &gguf));
    HN_TRY(hn_tokenizer_from_meta(heap, hn_gguf_meta(gguf), &tok));
    const double loaded = seconds_now();
    double best = 1e30;
    size_t n = 0;
    for (int i = 0; i < n_rounds; i++) {
        hn_encoding e = { 0 }; /* remembers nothing from the round before */
        const hn_encode_options o = { .add_bos = HN_NO, .add_eos = HN_NO };
        const double begin = seconds_now();
        HN_TRY(hn_tokenizer_encode(tok, text, bytes, &o, &e));
        const double seconds = seconds_now() - begin;
        best = seconds < best ? seconds : best;
        n = e.n;
        hn_encoding_free(&e);
    }
    printf("load %.3f s, %zu tokens, %.1f MB/s, heap %.1f MB\n", loaded - start, n,
           (double)bytes / 1e6 / best, (double)atomic_load(&heap->peak_bytes) / 1e6);
    hn_tokenizer_free(tok);
    hn_gguf_close(gguf);
    hn_free(heap, text);
    return HN_OK;
}

int main(int argc, char **argv)
{
    hn_heap heap;
    hn_heap_init(&heap, NULL);
    if (argc < 3) {
        fprintf(stderr, "tokenizer MODEL.gguf TEXT [ROUNDS]\n");
        return 2;
    }
    if (measure(&heap, argv[1], argv[2], argc > 3 ? (int)strtol(argv[3], NULL, 10) : 3) ==
        HN_OK)
        return 0;
    fprintf(stderr, "%s\n", hn_error_message());
    return 1;
}
