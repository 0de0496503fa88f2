/* hone logits: what a model gives for each next token of a sequence. */
#include "cli/command.h"
#include "cli/ignore_option.h"
#include "cli/lora_options.h"
#include "cli/open_model.h"
#include "cli/session_options.h"
#include "hone/array.h"
#include "hone/eval.h"

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
    HN_CHOICE(logits_args, plan, "plan", "MODE", hn_plan_word, "{*}"),
    HN_MACHINE_OPTIONS(logits_args, HN_NUMERICS_OF_RUNS),
    HN_CACHE_OPTION(logits_args, cache),
    HN_LORA_OPTIONS(logits_args),
    HN_IGNORE_OPTION(logits_args),
    HN_OPTION_END,
};

static const hn_option_rule rules[] = {
    HN_LORA_RULES,
    { NULL, 0, NULL, NULL },
};

static hn_status add(hn_heap *heap, hn_ids *s, int64_t id)
{
    HN_REQUIRE(id >= INT32_MIN && id <= INT32_MAX, HN_ERR_ARGUMENT, "token %lld: expected the id of one", (long long)id);
    int32_t *ids = hn_realloc_array(heap, HN_TAG_TEXT, s->at, s->n + 1, sizeof *ids);
    if (!ids)
        return HN_ERR_MEMORY;
    s->at = ids;
    s->at[s->n++] = (int32_t)id;
    return HN_OK;
}

static hn_status parse_list(hn_heap *heap, const char *text, hn_ids *out)
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

static hn_status read_array(hn_heap *heap, hn_engine *engine, const char *path, hn_ids *out)
{
    hn_array *array;
    HN_TRY(hn_array_read(&array, engine, path));
    const hn_shape *shape = hn_array_shape(array);
    const bool is_short = !strcmp(hn_array_type(array), "i32");
    const void *data = hn_array_data(array, NULL);
    hn_status status = HN_OK;
    if (shape->rank != 1 || (!is_short && strcmp(hn_array_type(array), "i64") != 0))
        status = hn_fail(HN_ERR_SHAPE, "%s: expected a vector of i32 or i64", path);
    for (int64_t i = 0; status == HN_OK && i < shape->dim[0]; i++)
        status = add(heap, out, is_short ? ((const int32_t *)data)[i] : ((const int64_t *)data)[i]);
    hn_array_free(array);
    return status;
}

static hn_status read_sequence(const logits_args *args, hn_heap *heap, const hn_opened *opened, hn_ids *out)
{
    if (args->tokens)
        HN_TRY(parse_list(heap, args->tokens, out));
    else if (args->tokens_file)
        HN_TRY(read_array(heap, opened->engine, args->tokens_file, out));
    else
        HN_TRY(hn_ids_of(opened->lm, heap, args->prompt, strlen(args->prompt), NULL, out));
    HN_REQUIRE(out->n > 0, HN_ERR_ARGUMENT, "the sequence is empty");
    return HN_OK;
}

static hn_status write_logits(const logits_args *args, hn_heap *heap, hn_lm *lm, const hn_ids *ids)
{
    const hn_lm_logits_options o = { .size = sizeof o, .cache = args->cache, .plan = args->plan };
    const int64_t dim[] = { (int64_t)ids->n, hn_lm_vocabulary(lm) };
    const size_t n = ids->n * (size_t)dim[1];
    float *logits = hn_alloc_array(heap, HN_TAG_STATE, n, sizeof *logits);
    hn_status status = logits ? HN_OK : HN_ERR_MEMORY;
    if (status == HN_OK)
        status = hn_lm_logits_of(lm, ids->at, ids->n, &o, logits, n);
    if (status == HN_OK)
        status = hn_array_write(args->out.path, args->out.over == HN_OVER_OLD, "f32", 2, dim, logits);
    hn_free(heap, logits);
    return status;
}

static hn_status run_model(const logits_args *args, hn_heap *heap, const hn_opened *opened)
{
    hn_ids ids = { 0 };
    hn_lm_numerics numerics;
    HN_TRY(hn_machine_numerics(&args->machine, &numerics));
    hn_status status = read_sequence(args, heap, opened, &ids);
    if (status == HN_OK)
        status = hn_lora_apply(&args->lora, opened->lm, numerics);
    if (status == HN_OK)
        status = write_logits(args, heap, opened->lm, &ids);
    if (status == HN_OK)
        fprintf(stderr, "%zu tokens in %s to %s\n", ids.n, hn_lm_numerics_name(numerics), args->out.path);
    hn_free(heap, ids.at);
    return status;
}

static hn_status run(const void *parsed, int n_operands, char **operands, FILE *out)
{
    (void)n_operands, (void)out;
    const logits_args *args = parsed;
    const int given = !!args->tokens + !!args->tokens_file + !!args->prompt;
    hn_heap heap;
    hn_opened opened;
    HN_REQUIRE(args->out.path, HN_ERR_ARGUMENT, "expected --out L.npy");
    HN_REQUIRE(given == 1, HN_ERR_ARGUMENT,
               "expected one of --tokens, --tokens-file and --prompt, found %d", given);
    hn_heap_init(&heap, NULL);
    HN_TRY(hn_opened_open(&opened, args->prompt ? HN_OPEN_ALL : HN_OPEN_WEIGHTS, operands[0], &args->machine,
                          &args->ignore, NULL));
    const hn_status status = run_model(args, &heap, &opened);
    hn_opened_close(&opened);
    return status;
}

const hn_command hn_cmd_logits = {
    .name = "logits",
    .operands = "MODEL",
    .summary = "a model's logits for every token of a sequence, as a numpy file",
    .example = "logits m.gguf --prompt \"Once upon a time\" --out l.npy",
    .options = options,
    .rules = rules,
    .letters = "p:prompt",
    .args_size = sizeof(logits_args),
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};
