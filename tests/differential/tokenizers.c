/* Tokenizers of each family against Hugging Face's `tokenizers`: texts written out, 10,000
 * random ones and every character; tools/reference/tokenizers_reference.py made the hashes.
 *
 *     tokenizers [--print FAMILY --text N]      prints the ids of random text N
 *     tokenizers --quick                        one block of texts and characters in sixteen */
#include "base/file.h"
#include "base/json.h"
#include "tests/differential/random_text.h"
#include "tests/harness/check.h"
#include "text/tokenizer/tokenizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FOLDER HN_SOURCE_DIR "/tests/differential/tokenizers/"
enum { BLOCK = 100, SWEEP = 4096 };

/* Sanitized programs are some ten times slower: they see one block of characters in sixteen. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static int sweep_every = 16, random_every = 1;
#else
static int sweep_every = 1, random_every = 1;
#endif

static hn_heap heap;
static const char *const families[] = {
    "gpt2",        "llama3",      "qwen2",           "qwen35",
    "starcoder",   "falcon",      "deepseek-llm",    "deepseek-coder",
    "deepseek-v3", "tekken",      "o200k",           "bloom",
    "viking",      "superbpe",    "llama",           "gemma4",
    "t5",          "bert",        "bert-cased",      "added",
    "words",       "precompiled", "precompiled-odd", "level",
};

static hn_status load(const char *family, hn_tokenizer **out)
{
    char path[1024];
    void *file;
    size_t bytes;
    hn_json_text *text;
    *out = NULL;
    snprintf(path, sizeof path, FOLDER "%s.json", family);
    HN_TRY(hn_file_read(&heap, path, 1 << 24, &file, &bytes));
    hn_status status = hn_json_read(&heap, family, file, bytes, &text);
    if (status == HN_OK) {
        status = hn_tokenizer_from_json(&heap, family, hn_json_root(text), NULL, NULL, out);
        hn_json_free(text);
    }
    hn_free(&heap, file);
    return status;
}

static uint64_t fnv(uint64_t state, const hn_encoding *e)
{
    for (size_t i = 0; i <= e->n; i++) {
        uint32_t id = i < e->n ? (uint32_t)e->ids[i] : UINT32_MAX;
        for (int k = 0; k < 4; k++, id >>= 8)
            state = (state ^ (id & 0xff)) * 0x100000001b3u;
    }
    return state;
}

typedef struct family {
    const char *name;
    hn_tokenizer *tok;
    const text_alphabet *alphabet;
    const hn_json *explicit;
    hn_encoding encoding;
    hn_str text;
} family;

static uint64_t add(family *f, uint64_t state, const char *text, size_t bytes)
{
    const hn_encode_options o = { .add_bos = HN_NO, .add_eos = HN_NO, .parse_special = true };
    CHECK_OK(hn_tokenizer_encode(f->tok, text, bytes, &o, &f->encoding));
    return fnv(state, &f->encoding);
}

static uint64_t hash_of(family *f, const char *what, int block)
{
    uint64_t state = 0xcbf29ce484222325u;
    if (strcmp(what, "explicit") == 0) {
        const hn_json *text = hn_json_at(f->explicit, (size_t)block);
        return text ? add(f, state, text->as.string.text, text->as.string.bytes) : 0;
    }
    const bool is_cluster = strcmp(what, "cluster") == 0;
    if (is_cluster || strcmp(what, "random") == 0) {
        for (int i = 0; i < BLOCK; i++) {
            (is_cluster ? cluster_text : random_text)(f->alphabet,
                                                      (uint64_t)(block * BLOCK + i), &f->text);
            state = add(f, state, f->text.text, f->text.length);
        }
        return state;
    }
    const uint32_t n_chars = 0x110000 - 0x800;
    for (uint32_t i = (uint32_t)block * SWEEP; i < (uint32_t)(block + 1) * SWEEP && i < n_chars;
         i++) {
        sweep_text(i < 0xd800 ? i : i + 0x800, &f->text);
        state = add(f, state, f->text.text, f->text.length);
    }
    return state;
}

static void check_family(family *f)
{
    char path[1024];
    void *file;
    size_t bytes;
    snprintf(path, sizeof path, FOLDER "%s.ref", f->name);
    check_group(f->name);
    if (!CHECK_OK(hn_file_read(&heap, path, 1 << 24, &file, &bytes)))
        return;
    for (char *line = file, *next; line && *line; line = next) {
        char what[16];
        int block;
        unsigned long long want;
        next = strchr(line, '\n');
        next = next ? next + 1 : NULL;
        if (sscanf(line, "%15s %d %llx", what, &block, &want) != 3) {
            CHECK_THAT(false, "%s: cannot be read", path);
            break;
        }
        if (strcmp(what, "sweep") == 0 ? block % sweep_every : strcmp(what, "random") == 0 && block % random_every)
            continue;
        const uint64_t got = hash_of(f, what, block);
        CHECK_THAT(got == want, "%s block %d differs", what, block);
    }
    hn_free(&heap, file);
}

/* The GGUF keys say the same as tokenizer.json, or name what they cannot say. */
static void check_export(family *f)
{
    static const char *const unsaid[] = { "falcon", "bert-cased", "added", "words", "gemma4", "level" };
    bool is_unsaid = false;
    for (size_t i = 0; i < sizeof unsaid / sizeof *unsaid; i++)
        is_unsaid |= strcmp(unsaid[i], f->name) == 0;
    hn_meta meta = hn_meta_on(&heap, f->name);
    hn_tokenizer *again = NULL, *first = f->tok;
    const hn_status status = hn_tokenizer_to_meta(f->tok, &meta);
    CHECK_THAT(status == (is_unsaid ? HN_ERR_UNSUPPORTED : HN_OK), "to GGUF: %s",
               status == HN_OK ? "no refusal" : hn_error_message());
    if (status == HN_OK && CHECK_OK(hn_tokenizer_from_meta(&heap, &meta, &again))) {
        for (uint64_t i = 0; i < 1000; i++) {
            random_text(f->alphabet, 20000 + i, &f->text);
            const uint64_t want = add(f, 0, f->text.text, f->text.length);
            f->tok = again;
            const uint64_t got = add(f, 0, f->text.text, f->text.length);
            f->tok = first;
            CHECK_THAT(want == got, "through GGUF, random text %d differs", (int)(20000 + i));
        }
    }
    hn_tokenizer_free(again);
    hn_meta_free(&meta);
}

static void print(family *f, uint64_t number)
{
    const hn_encode_options o = { .add_bos = HN_NO, .add_eos = HN_NO, .parse_special = true };
    random_text(f->alphabet, number, &f->text);
    if (CHECK_OK(hn_tokenizer_encode(f->tok, f->text.text, f->text.length, &o, &f->encoding)))
        for (size_t i = 0; i < f->encoding.n; i++)
            printf(i ? ", %d" : "[%d", (int)f->encoding.ids[i]);
    printf("]\n");
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    if (check_flag("--quick"))
        sweep_every = random_every = 16;
    hn_heap_init(&heap, NULL);
    void *file = NULL;
    size_t bytes = 0;
    hn_json_text *explicit = NULL;
    text_alphabet *alphabet = text_alphabet_read(&heap, FOLDER "alphabet.txt");
    CHECK(alphabet != NULL);
    CHECK_OK(hn_file_read(&heap, FOLDER "explicit.json", 1 << 20, &file, &bytes));
    CHECK_OK(hn_json_read(&heap, "explicit.json", file, bytes, &explicit));
    const char *only = check_option("--print"), *number = check_option("--text");
    for (size_t i = 0; i < sizeof families / sizeof *families && alphabet && explicit; i++) {
        family f = { .name = families[i],
                     .alphabet = alphabet,
                     .explicit = hn_json_root(explicit),
                     .text = hn_str_on(&heap) };
        if (only && strcmp(only, f.name) != 0)
            continue;
        check_group(f.name);
        if (!CHECK_OK(load(f.name, &f.tok)))
            continue;
        if (number)
            print(&f, strtoull(number, NULL, 10));
        else
            check_family(&f), check_export(&f);
        hn_encoding_free(&f.encoding);
        hn_str_free(&f.text);
        hn_tokenizer_free(f.tok);
    }
    if (sweep_every > 1)
        check_skip("sweep", random_every > 1 ? "15 of 16 blocks of characters and texts: --quick"
                                             : "15 of 16 blocks of characters: the program is sanitized");
    hn_json_free(explicit);
    hn_free(&heap, file);
    text_alphabet_free(&heap, alphabet);
    CHECK_INT(0, atomic_load(&heap.live_blocks));
    return check_close();
}
