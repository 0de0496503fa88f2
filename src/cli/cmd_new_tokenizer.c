/* hone new-tokenizer: a byte-level BPE tokenizer made from texts, in a GGUF file without tensors,
 * for hone new --tokenizer. */
#include "base/file.h"
#include "cli/command.h"
#include "data/record.h"
#include "data/source.h"
#include "io/weights_writer.h"
#include "text/tokenizer/bpe_train.h"

#include <string.h>

typedef struct new_tokenizer_args {
    hn_sink result;
    int64_t vocab;
} new_tokenizer_args;

static const hn_option options[] = {
    HN_RESULT(new_tokenizer_args, result, 0),
    HN_INT(new_tokenizer_args, vocab, "vocab", "N", 261, 1 << 20,
           "at most so many tokens, bytes and special ones included (4096)"),
    HN_OPTION_END,
};

static const new_tokenizer_args defaults = { .vocab = 4096 };

enum { BEGIN, END, SYSTEM, USER, ASSISTANT, N_SPECIAL };
static const char *const special[N_SPECIAL] = { "<|begin|>", "<|end|>", "<|system|>",
                                                "<|user|>", "<|assistant|>" };

/* A role is one token, and every turn ends as a text does: <|begin|> is the tokenizer's. */
static const char template_text[] =
    "{{ '<|begin|>' }}{% for message in messages %}{{ '<|' + message['role'] + '|>' }}"
    "{% if message['role'] == 'assistant' %}{% generation %}{{ message['content'] + '<|end|>' }}"
    "{% endgeneration %}{% else %}{{ message['content'] + '<|end|>' }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}";

static hn_status add_example(hn_bpe_trainer *trainer, const hn_data_source *source, size_t i,
                             hn_record *record)
{
    if (source->layout == HN_LAYOUT_PARAGRAPHS) {
        const hn_span text = hn_data_source_bytes(source, i);
        return hn_bpe_trainer_add(trainer, text.data, text.bytes);
    }
    const hn_record_options plain = { .plain = true }; /* refuses messages */
    hn_json_text *json;
    HN_TRY(hn_data_source_read(source, i, &json));
    hn_status status = hn_record_read(record, hn_json_root(json), source->format, &plain);
    for (int p = 0; p < record->n_parts && status == HN_OK; p++) {
        const hn_record_part *part = &record->part[p];
        status = hn_bpe_trainer_add(trainer, part->prompt.data, part->prompt.bytes);
        if (status == HN_OK)
            status = hn_bpe_trainer_add(trainer, part->completion.data, part->completion.bytes);
    }
    hn_json_free(json);
    return status;
}

static hn_status add_file(hn_heap *heap, hn_bpe_trainer *trainer, const char *path)
{
    const hn_data_source_options o = { 0 };
    hn_data_source source;
    HN_TRY(hn_data_source_open(&source, heap, path, &o));
    hn_record record = hn_record_on(heap);
    hn_status status = HN_OK;
    for (size_t i = 0; i < source.n && status == HN_OK; i++)
        status = add_example(trainer, &source, i, &record);
    hn_record_free(&record);
    hn_data_source_close(&source);
    return status;
}

static hn_status write_keys(const hn_bpe_trainer *trainer, uint32_t n_made, hn_meta *meta)
{
    HN_TRY(hn_meta_set_text(meta, "general.type", "vocab"));
    HN_TRY(hn_meta_set_text(meta, "general.name", "tokenizer"));
    HN_TRY(hn_bpe_trainer_write(trainer, special, N_SPECIAL, meta));
    HN_TRY(hn_meta_set_int(meta, "tokenizer.ggml.bos_token_id", HN_META_U32, n_made + BEGIN));
    HN_TRY(hn_meta_set_int(meta, "tokenizer.ggml.eos_token_id", HN_META_U32, n_made + END));
    HN_TRY(hn_meta_set_bool(meta, "tokenizer.ggml.add_bos_token", true));
    return hn_meta_set_text(meta, "tokenizer.chat_template", template_text);
}

static hn_status write_file(hn_heap *heap, const hn_bpe_trainer *trainer, uint32_t n_made,
                            hn_sink to)
{
    hn_meta meta = hn_meta_on(heap, to.path);
    hn_weights_writer *writer;
    hn_status status = write_keys(trainer, n_made, &meta);
    if (status == HN_OK)
        status = hn_gguf_create(heap, to, &meta, NULL, 0, &writer);
    if (status == HN_OK)
        status = hn_weights_writer_finish(writer);
    hn_meta_free(&meta);
    return status;
}

static hn_status run(const void *parsed, int n_operands, char **operands, FILE *out)
{
    const new_tokenizer_args *args = parsed;
    hn_heap heap;
    hn_heap_init(&heap, NULL);
    hn_bpe_trainer *trainer;
    uint32_t n_made = 0;
    HN_TRY(hn_bpe_trainer_new(&heap, &trainer));
    hn_status status = HN_OK;
    for (int i = 1; i < n_operands && status == HN_OK; i++)
        status = add_file(&heap, trainer, operands[i]);
    if (status == HN_OK)
        status = hn_bpe_trainer_run(trainer, (uint32_t)args->vocab - N_SPECIAL, &n_made);
    if (status == HN_OK)
        status = write_file(&heap, trainer, n_made, args->result);
    if (status == HN_OK)
        fprintf(out, "%s: %u tokens\n", operands[0], (unsigned)(n_made + N_SPECIAL));
    hn_bpe_trainer_free(trainer);
    return status;
}

const hn_command hn_cmd_new_tokenizer = {
    .name = "new-tokenizer",
    .operands = "OUT.gguf TEXTS...",
    .summary = "make a tokenizer from texts, for hone new --tokenizer",
    .example = "new-tokenizer t.gguf text.txt --vocab 4096",
    .options = options,
    .defaults = &defaults,
    .args_size = sizeof(new_tokenizer_args),
    .min_operands = 2,
    .max_operands = HN_MAX_OPERANDS,
    .run = run,
};
