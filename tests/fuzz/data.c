/* Any bytes as a file of examples: refused with a message that names the file, or examples
 * whose tokens, masks and labels fit together; nothing leaks. */
#include "base/file.h"
#include "convert/byte_tokenizer.h"
#include "data/pack.h"
#include "data/preflight.h"
#include "data/steps.h"
#include "tests/fuzz/target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct fixture {
    hn_heap heap;
    hn_meta meta;
    hn_tokenizer *tok;
    hn_chat_format *chat;
    char path[64];
} fixture;

static fixture *the_fixture(void)
{
    static fixture f;
    if (f.tok)
        return &f;
    static const char source[] =
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}"
        "{% for c in m.tool_calls %}{{ c.function.arguments | tojson }}"
        "{% endfor %}<|im_end|>\n{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";
    hn_heap_init(&f.heap, NULL);
    f.meta = hn_meta_on(&f.heap, "bytes");
    if (hn_byte_tokenizer(&f.meta, HN_BYTE_TOKENS) != HN_OK ||
        hn_tokenizer_from_meta(&f.heap, &f.meta, &f.tok) != HN_OK ||
        hn_chat_format_new(&f.heap, "bytes", &f.chat) != HN_OK ||
        hn_chat_format_add_meta(f.chat, &f.meta) != HN_OK ||
        hn_chat_format_add(f.chat, "unmarked", source, sizeof source - 1) != HN_OK)
        abort();
    snprintf(f.path, sizeof f.path, "%s/hone-fuzz-%ld.jsonl",
             access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm", (long)getpid());
    return &f;
}

static void release(void)
{
    fixture *f = the_fixture();
    unlink(f->path);
    hn_chat_format_free(f->chat);
    hn_tokenizer_free(f->tok);
    hn_meta_free(&f->meta);
}

static void check_sample(const hn_sample *s)
{
    size_t n = 0;
    for (size_t t = 0; t < s->n; t++) {
        if (s->ids[t] < 0 || s->ids[t] >= HN_BYTE_TOKENS || s->begin[t] > s->end[t] ||
            s->end[t] > s->text.length || !(s->weights[t] >= 0))
            abort();
        n += s->weights[t] > 0;
    }
    if (n != s->n_supervised || (s->n && s->weights[0] > 0))
        abort();
}

static void check_examples(hn_heap *heap, hn_dataset *d)
{
    hn_example e = hn_example_on(heap);
    hn_pack pack = hn_pack_on(heap);
    hn_steps steps;
    hn_data_step step = { 0 };
    for (uint64_t i = 0; i < d->n; i++) {
        if (hn_dataset_read(d, i, &e) != HN_OK)
            abort();
        for (int k = 0; k < e.n_parts; k++)
            check_sample(&e.part[k]);
        hn_pack_clear(&pack);
        if (hn_pack_add_example(&pack, &e) != HN_OK || pack.n != d->tokens[i])
            abort();
    }
    const hn_steps_options o = { .batch = 2, .epochs = 1.5, .window = 2 };
    uint64_t n = 0;
    if (hn_steps_init(&steps, heap, d, &o) == HN_OK)
        for (uint64_t k = 0; hn_steps_at(&steps, k, &step) == HN_OK && step.n; k++)
            n += step.n;
    if (n != (steps.epoch_size ? steps.n_examples : 0))
        abort();
    hn_data_step_free(heap, &step);
    hn_pack_free(&pack);
    hn_example_free(&e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    fixture *f = the_fixture();
    static bool is_known;
    if (!is_known)
        is_known = atexit(release) == 0;
    FILE *file = fopen(f->path, "wb");
    if (!file || fwrite(data, 1, bytes, file) != bytes || fclose(file))
        abort();
    hn_heap *heap = &f->heap;
    heap->limit_bytes = 1 << 26;
    const int64_t n_blocks = atomic_load(&heap->live_blocks);
    static const char *const kinds[] = { NULL, "csv", "tsv", "paragraphs", "json", "csv,alpaca" };
    const hn_data_file source = { .path = f->path,
                                  .format = bytes % 13 < 8 ? NULL : kinds[bytes % 13 - 7] };
    const hn_dataset_options o = {
        .files = &source,
        .n_files = 1,
        .rule = { .tok = f->tok,
                  .chat = f->chat,
                  .template_name = bytes % 3 ? "unmarked" : NULL,
                  .plain = bytes % 5 == 0,
                  .wants_roles = bytes % 2,
                  .loss = (hn_loss_on)(bytes % 4),
                  .max_length = bytes % 7 ? 0 : 20,
                  .cut = (hn_cut)(bytes % 4),
                  .context = bytes % 6 ? 0 : 30 },
        .drop_empty = bytes % 2,
        .held_fraction = bytes % 11 ? 0 : 0.5,
    };
    hn_dataset *d = NULL;
    hn_preflight report;
    hn_status status = hn_dataset_open(&d, heap, &o);
    if (status != HN_OK && d)
        abort();
    if (status == HN_OK)
        status = hn_preflight_run(d, &report, NULL, NULL);
    if (status == HN_OK) {
        check_examples(heap, d);
        status = hn_preflight_verdict(&report, d);
    }
    if (status != HN_OK && status != HN_ERR_MEMORY && !strstr(hn_error_message(), f->path))
        abort();
    hn_dataset_close(d);
    if (atomic_load(&heap->live_blocks) != n_blocks)
        abort();
    return 0;
}
