/* hone logits: what a model gives for each next token of a sequence. */
#include "base/file.h"
#include "cli/command.h"
#include "cli/ignore_option.h"
#include "cli/lora_options.h"
#include "cli/machine_options.h"
#include "cli/progress.h"
#include "cli/session_options.h"
#include "infer/forward.h"
#include "io/npy.h"
#include "models/open_tokenizer.h"

#include <stdlib.h>
#include <string.h>

typedef struct logits_args {
    const char *tokens, *tokens_file, *prompt, *plan, *cache;
    hn_sink out;
    hn_machine_args machine;
    hn_lora_args lora;
    hn_list ignore;
} logits_args;

static const hn_option options[] = {
    HN_TEXT(logits_args, tokens, "tokens", "1,2,3", "ids of the sequence"),
    HN_TEXT(logits_args, tokens_file, "tokens-file", "T.npy", "the same, integers in a file"),
    HN_TEXT(logits_args, prompt, "prompt", "TEXT", "a text, as the model tokenises it"),
    HN_OUT(logits_args, out, "out", "L.npy", "f32 [tokens, vocabulary]; required"),
    HN_TEXT(logits_args, plan, "plan", "MODE", "separate, reuse, inplace (the default) or poison"),
    HN_MACHINE_OPTIONS(logits_args, HN_NUMERICS_OF_RUNS),
    HN_TEXT(logits_args, cache, "cache", "TYPE", HN_CACHE_HELP),
    HN_LORA_OPTIONS(logits_args),
    HN_IGNORE_OPTION(logits_args),
    HN_OPTION_END,
};

typedef struct sequence {
    int32_t *ids;
    size_t n;
} sequence;

static hn_status add(hn_heap *heap, sequence *s, int64_t id)
{
    HN_REQUIRE(id >= INT32_MIN && id <= INT32_MAX, HN_ERR_ARGUMENT, "token %lld", (long long)id);
    int32_t *ids = hn_realloc_array(heap, HN_TAG_TEXT, s->ids, s->n + 1, sizeof *ids);
    if (!ids)
        return HN_ERR_MEMORY;
    s->ids = ids;
    s->ids[s->n++] = (int32_t)id;
    return HN_OK;
}

static hn_status parse_list(hn_heap *heap, const char *text, sequence *out)
{
    for (const char *at = text;;) {
        char *end;
        const long long id = strtoll(at, &end, 10);
        HN_REQUIRE(end != at && (!*end || *end == ','), HN_ERR_ARGUMENT,
                   "--tokens %s: expected integers separated by commas", text);
        HN_TRY(add(heap, out, id));
        if (!*end)
            return HN_OK;
        at = end + 1;
    }
}

static hn_status read_array(hn_heap *heap, const char *path, sequence *out)
{
    hn_npy array;
    HN_TRY(hn_npy_read(heap, path, &array));
    hn_status status = HN_OK;
    if (array.rank != 1 || (array.dtype != HN_I32 && array.dtype != HN_I64))
        status = hn_fail(HN_ERR_SHAPE, "%s: expected a vector of i32 or i64", path);
    for (int64_t i = 0; status == HN_OK && i < array.dim[0]; i++)
        status = add(heap, out, array.dtype == HN_I32 ? ((const int32_t *)array.data)[i]
                                                      : ((const int64_t *)array.data)[i]);
    hn_npy_free(&array);
    return status;
}

static hn_status tokenize(hn_heap *heap, const char *model, const char *text, sequence *out)
{
    hn_tokenizer *tok;
    hn_encoding encoding = { 0 };
    HN_TRY(hn_open_tokenizer(heap, model, &tok));
    hn_status status = hn_tokenizer_encode(tok, text, strlen(text), &(hn_encode_options){ 0 },
                                           &encoding);
    for (size_t i = 0; i < encoding.n && status == HN_OK; i++)
        status = add(heap, out, encoding.ids[i]);
    hn_encoding_free(&encoding);
    hn_tokenizer_free(tok);
    return status;
}

static hn_status read_sequence(const logits_args *args, hn_heap *heap, const char *model,
                               sequence *out)
{
    const int given = !!args->tokens + !!args->tokens_file + !!args->prompt;
    HN_REQUIRE(given == 1, HN_ERR_ARGUMENT,
               "expected one of --tokens, --tokens-file and --prompt, found %d", given);
    if (args->tokens)
        HN_TRY(parse_list(heap, args->tokens, out));
    else if (args->tokens_file)
        HN_TRY(read_array(heap, args->tokens_file, out));
    else
        HN_TRY(tokenize(heap, model, args->prompt, out));
    HN_REQUIRE(out->n > 0, HN_ERR_ARGUMENT, "the sequence is empty");
    return HN_OK;
}

static hn_status write_logits(const hn_forward *forward, hn_sink to)
{
    hn_tensor t;
    HN_TRY(hn_forward_logits(forward, &t));
    const hn_npy array = { .dtype = HN_F32, .rank = 2, .dim = { t.type.dim[0], t.type.dim[1] },
                           .data = t.data, .bytes = hn_type_bytes(&t.type) };
    return hn_npy_write(to, &array);
}

static hn_status run_model(const logits_args *args, hn_heap *heap, const hn_model *model,
                           const sequence *s)
{
    hn_machine machine;
    hn_forward *forward = NULL;
    hn_adapters adapters = { 0 };
    hn_forward_options o = { .max_tokens = (int64_t)s->n, .plan = args->plan,
                             .adapters = &adapters };
    HN_TRY(hn_session_cache_parse(args->cache, &o.cache));
    HN_REQUIRE(!hn_model_arch(model)->embeds_only, HN_ERR_UNSUPPORTED,
               "%s only embeds texts: it has no logits; see hone embed",
               hn_model_arch(model)->name);
    HN_TRY(hn_machine_open(&machine, heap, &args->machine));
    const hn_adapter_use use = { .model = model, .run = machine.run };
    hn_status status = hn_lora_open(&args->lora, heap, &use, &adapters);
    if (status == HN_OK)
        status = hn_forward_new(&forward, heap, model, machine.run, &o);
    if (status == HN_OK)
        status = hn_forward_run(forward, s->ids, (int64_t)s->n, NULL);
    if (status == HN_OK)
        status = write_logits(forward, args->out);
    if (status == HN_OK)
        fprintf(stderr, "%zu tokens in %s to %s\n", s->n, hn_numerics_name(machine.run.numerics), args->out.path);
    hn_forward_free(forward);
    hn_adapters_close(&adapters);
    hn_machine_close(&machine);
    return status;
}

static hn_status run(const void *parsed, int n_operands, char **operands, FILE *out)
{
    (void)n_operands, (void)out;
    const logits_args *args = parsed;
    hn_heap heap;
    hn_model *model = NULL;
    sequence s = { 0 };
    HN_REQUIRE(args->out.path, HN_ERR_ARGUMENT, "expected --out L.npy");
    hn_heap_init(&heap, NULL);
    hn_status status = read_sequence(args, &heap, operands[0], &s);
    const hn_ignored ignored = hn_ignored_of(&args->ignore);
    if (status == HN_OK)
        status = hn_model_open(&heap, operands[0], &ignored, &model);
    if (status == HN_OK)
        status = run_model(args, &heap, model, &s);
    hn_model_close(model);
    hn_free(&heap, s.ids);
    return status;
}

const hn_command hn_cmd_logits = {
    .name = "logits",
    .operands = "MODEL",
    .summary = "a model's logits for every token of a sequence, as a numpy file",
    .example = "logits m.gguf --prompt \"Once upon a time\"",
    .options = options,
    .letters = "p:prompt",
    .args_size = sizeof(logits_args),
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};
