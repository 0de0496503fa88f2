/* Tokenizers that are made of texts. */
#include "data/record.h"
#include "data/source.h"
#include "engine/files.h"
#include "io/weights_writer.h"
#include "text/tokenizer/bpe_train.h"

#include <string.h>

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
    for (size_t i = 0; i < source.n && status == HN_OK; i++) {
        status = hn_work_tell(i, source.n, path);
        if (status == HN_OK)
            status = add_example(trainer, &source, i, &record);
    }
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

enum { LEAST_TOKENS = 261, MOST_TOKENS = 1 << 20, DEFAULT_TOKENS = 4096 };

static hn_status take_options(const hn_lm_tokenizer_options *options, hn_lm_tokenizer_options *o)
{
    HN_TRY(hn_take_struct("hn_lm_tokenizer_options", options, sizeof *o, o));
    o->tokens = o->tokens ? o->tokens : DEFAULT_TOKENS;
    HN_REQUIRE(o->tokens >= LEAST_TOKENS && o->tokens <= MOST_TOKENS, HN_ERR_ARGUMENT,
               "hn_lm_tokenizer_options.tokens is %lld: expected %d to %d", (long long)o->tokens, LEAST_TOKENS,
               MOST_TOKENS);
    return HN_OK;
}

hn_status hn_lm_make_tokenizer(hn_engine *engine, const char *const *texts, int32_t n_texts, const char *out,
                               const hn_lm_tokenizer_options *options, int64_t *n_tokens)
{
    HN_ENTER();
    hn_lm_tokenizer_options o;
    hn_sink to;
    hn_bpe_trainer *trainer;
    uint32_t n_made = 0;
    HN_REQUIRE(engine && texts && n_texts > 0 && out, HN_ERR_ARGUMENT,
               "hn_lm_make_tokenizer: expected engine, texts and out, found NULL or none");
    HN_TRY(take_options(options, &o));
    HN_TRY(hn_engine_check(engine));
    HN_TRY(hn_take_sink(out, o.overwrite, &to));
    HN_TELLS(engine);
    hn_heap *heap = &engine->heap;
    HN_TRY(hn_bpe_trainer_new(heap, &trainer));
    hn_status status = HN_OK;
    for (int32_t i = 0; i < n_texts && status == HN_OK; i++) {
        const hn_work_part part = hn_work_part_begin(0.5 * i / n_texts, 0.5 * (i + 1) / n_texts);
        status = texts[i] ? add_file(heap, trainer, texts[i])
                          : hn_fail(HN_ERR_ARGUMENT, "hn_lm_make_tokenizer: texts[%d] is NULL", i);
        hn_work_part_end(&part, status);
    }
    const hn_work_part merging = hn_work_part_begin(0.5, 1);
    if (status == HN_OK)
        status = hn_bpe_trainer_run(trainer, (uint32_t)o.tokens - N_SPECIAL, &n_made);
    hn_work_part_end(&merging, status);
    if (status == HN_OK)
        status = write_file(heap, trainer, n_made, to);
    if (status == HN_OK && n_tokens)
        *n_tokens = (int64_t)n_made + N_SPECIAL;
    hn_bpe_trainer_free(trainer);
    return hn_work_done(status, out);
}
