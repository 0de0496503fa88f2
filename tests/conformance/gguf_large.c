/* A model of 20 GB, of which only the header is on the disk: opening it takes less than 0.1 s
 * of processor time, `hone inspect` 0.2 s, and neither more than 50 MB.
 *
 *     gguf_large [--hone PROGRAM]
 *
 * Processor time and the system's own count of memory do not depend on how busy a machine is.
 */
#include "io/gguf.h"
#include "tests/conformance/gguf_bytes.h"
#include "tests/harness/check.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define IS_SANITIZED true
#endif
#endif
#ifndef IS_SANITIZED
#define IS_SANITIZED false
#endif

enum { LAYERS = 48, WIDTH = 5120, FFN = 13824, VOCAB = 151936, N_TENSORS = 3 + 9 * LAYERS };

static gguf_bytes b;

static void add_tensor(const char *name, uint64_t n, uint64_t m, uint64_t *at)
{
    const uint64_t bytes = 2 * n * (m ? m : 1);
    gguf_tensor(&b, name, n, m, 30, *at); /* bf16 */
    *at += (bytes + 31) / 32 * 32;
}

static void add_layer(int i, uint64_t *at)
{
    static const struct {
        const char *name;
        uint64_t n, m;
    } parts[9] = { { "attn_norm", WIDTH, 0 },      { "attn_q", WIDTH, 5120 },
                   { "attn_k", WIDTH, 1024 },      { "attn_v", WIDTH, 1024 },
                   { "attn_output", 5120, WIDTH }, { "ffn_norm", WIDTH, 0 },
                   { "ffn_gate", WIDTH, FFN },     { "ffn_up", WIDTH, FFN },
                   { "ffn_down", FFN, WIDTH } };
    for (int k = 0; k < 9; k++) {
        char name[64];
        snprintf(name, sizeof name, "blk.%d.%s.weight", i, parts[k].name);
        add_tensor(name, parts[k].n, parts[k].m, at);
    }
}

/* As a 14B model's file is: with a vocabulary and its merges. */
static uint64_t make_header(void)
{
    uint64_t at = 0;
    gguf_begin(&b, 3, N_TENSORS, 11);
    gguf_key(&b, "general.architecture", HN_META_STRING);
    gguf_text(&b, "llama");
    gguf_int(&b, "llama.block_count", HN_META_U32, LAYERS);
    gguf_int(&b, "llama.embedding_length", HN_META_U32, WIDTH);
    gguf_int(&b, "llama.feed_forward_length", HN_META_U32, FFN);
    gguf_int(&b, "llama.attention.head_count", HN_META_U32, 40);
    gguf_int(&b, "llama.attention.head_count_kv", HN_META_U32, 8);
    gguf_int(&b, "llama.context_length", HN_META_U32, 40960);
    gguf_int(&b, "llama.attention.layer_norm_rms_epsilon", HN_META_F32, 0x3727c5ac); /* 1e-5 */
    gguf_key(&b, "tokenizer.ggml.model", HN_META_STRING);
    gguf_text(&b, "gpt2");
    gguf_array(&b, "tokenizer.ggml.tokens", HN_META_STRING, VOCAB);
    for (int i = 0; i < VOCAB; i++) {
        char token[16];
        snprintf(token, sizeof token, "token%d", i);
        gguf_text(&b, token);
    }
    gguf_array(&b, "tokenizer.ggml.token_type", HN_META_I32, VOCAB);
    for (int i = 0; i < VOCAB; i++)
        gguf_put(&b, 1, 4);
    add_tensor("token_embd.weight", WIDTH, VOCAB, &at);
    for (int i = 0; i < LAYERS; i++)
        add_layer(i, &at);
    add_tensor("output_norm.weight", WIDTH, 0, &at);
    add_tensor("output.weight", WIDTH, VOCAB, &at);
    gguf_pad(&b, 32);
    return b.n + at;
}

static hn_status open_and_close(const char *path)
{
    hn_heap heap;
    hn_gguf *gguf;
    hn_heap_init(&heap, NULL);
    HN_TRY(hn_gguf_open(&heap, path, &gguf));
    const hn_status status = hn_gguf_weights(gguf)->n == N_TENSORS ? HN_OK : HN_ERR_FORMAT;
    hn_gguf_close(gguf);
    return status;
}

static double seconds_of(const struct rusage *used)
{
    return (double)(used->ru_utime.tv_sec + used->ru_stime.tv_sec) +
           1e-6 * (double)(used->ru_utime.tv_usec + used->ru_stime.tv_usec);
}

/* Runs `hone inspect`, or opens the file, in a process of its own. */
static void measure(const char *what, const char *hone, const char *path, double limit)
{
    struct rusage before, used; /* of all children so far; the largest memory of any */
    int status = -1;
    CHECK(getrusage(RUSAGE_CHILDREN, &before) == 0);
    const pid_t child = fork();
    if (child == 0) {
        if (!hone)
            _exit(open_and_close(path) == HN_OK ? 0 : 1);
        const int null = open("/dev/null", O_WRONLY);
        dup2(null, STDOUT_FILENO);
        execl(hone, hone, "inspect", path, (char *)NULL);
        _exit(127);
    }
    if (!CHECK(child > 0 && waitpid(child, &status, 0) == child &&
               getrusage(RUSAGE_CHILDREN, &used) == 0))
        return;
    CHECK_THAT(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s: status %d", what, status);
    const double seconds = seconds_of(&used) - seconds_of(&before);
    printf("%s: %.4f s of processor time, %.1f MB\n", what, seconds,
           (double)used.ru_maxrss / 1024);
    if (IS_SANITIZED) {
        check_skip(what, "sanitizers take time and memory of their own");
        return;
    }
    CHECK_THAT(seconds < limit, "%s took %.3f s: expected less than %.1f", what, seconds,
               limit);
    CHECK_THAT(used.ru_maxrss < 50 * 1024, "%s took %ld KB: expected less than 50 MB", what,
               used.ru_maxrss);
}

int main(int argc, char **argv)
{
    char path[] = "/tmp/hone-large-XXXXXX";
    check_open(argc, argv);
    const int file = mkstemp(path);
    const uint64_t bytes = make_header();
    CHECK_THAT(b.n < GGUF_BYTES_ROOM && bytes > UINT64_C(20) << 30, "%zu and %llu bytes", b.n,
               (unsigned long long)bytes);
    if (CHECK(file >= 0 && write(file, b.data, b.n) == (ssize_t)b.n &&
              ftruncate(file, (off_t)bytes) == 0)) {
        const char *hone = check_option("--hone");
        struct stat about;
        CHECK(fstat(file, &about) == 0 && about.st_blocks * 512 < 16 << 20);
        measure("opening", NULL, path, 0.1);
        if (hone)
            measure("hone inspect", hone, path, 0.2);
    }
    close(file);
    unlink(path);
    return check_close();
}
