/* hone new: a random model of any architecture and size, to try and to test with. */
#include "cli/command.h"
#include "cli/machine_options.h"
#include "cli/made.h"
#include "cli/progress.h"
#include "convert/random_model.h"
#include "convert/random_numbers.h"
#include "convert/tokenizer_keys.h"
#include "io/gguf.h"
#include "models/models.h"

#include <string.h>

typedef struct new_args {
    hn_sink result;
    const char *type, *tokenizer, *name, *first;
    hn_list keep;
    int64_t seed;
    hn_machine_args machine;
    bool copies;
} new_args;

static const hn_option options[] = {
    HN_RESULT(new_args, result, 1),
    HN_TEXT(new_args, type, "type", "TYPE", "of the weights, as for quantize; default f32"),
    HN_LIST(new_args, keep, "keep", "PATTERN=TYPE", "for tensors so named; may be repeated"),
    HN_TEXT(new_args, name, "name", "TEXT", "general.name (random)"),
    HN_TEXT(new_args, tokenizer, "tokenizer", "FILE",
            "take the tokenizer and chat template of this GGUF file or Hugging Face directory"),
    HN_TEXT(new_args, first, "first", "VALUES",
            "class: as Transformers' class begins (the default); spread: gains and biases all different"),
    HN_FLAG(new_args, copies, "copies",
            "begin with attention that copies what it looks at: for training"),
    HN_INT(new_args, seed, "seed", "N", 0, INT64_MAX, "default 0"),
    HN_THREADS_OPTION(new_args),
    HN_OPTION_END,
};

static hn_status make(const new_args *args, hn_random_options *o, hn_heap *heap)
{
    hn_pool *pool;
    hn_keep keep[HN_MAX_LIST];
    for (int i = 0; i < args->keep.n; i++)
        HN_TRY(hn_keep_parse(args->keep.at[i], &keep[i]));
    o->keep = keep;
    o->n_keep = args->keep.n;
    HN_TRY(hn_machine_pool(&args->machine, heap, &pool));
    hn_watch watch = { .progress = hn_progress };
    hn_progress_begin();
    const hn_status status = hn_random_model(heap, pool, args->result, o, &watch);
    hn_progress_end();
    hn_pool_free(pool);
    return status;
}

/* tokenizer.*, of whatever holds them. */
static hn_status read_tokenizer(hn_heap *heap, const char *path, hn_meta *meta)
{
    if (hn_is_dir(path)) {
        hn_hf_dir *dir;
        HN_TRY(hn_hf_dir_open(heap, path, HN_HF_TEXT, &dir));
        const hn_status status = hn_tokenizer_keys(dir, meta);
        hn_hf_dir_close(dir);
        return status;
    }
    hn_gguf *gguf;
    HN_TRY(hn_gguf_open(heap, path, &gguf));
    const hn_meta *all = hn_gguf_meta(gguf);
    hn_status status = HN_OK;
    for (size_t i = 0; i < all->n && status == HN_OK; i++)
        if (!strncmp(all->values[i].key, "tokenizer.", strlen("tokenizer.")))
            status = hn_meta_set_copy(meta, &all->values[i]);
    hn_gguf_close(gguf);
    HN_REQUIRE(status != HN_OK || meta->n, HN_ERR_FORMAT, "%s: it has no keys tokenizer.*", path);
    return status;
}

/* The vocabulary is the tokenizer's unless it was set. */
static hn_status take_tokenizer(hn_hparams *hp, const hn_meta *meta)
{
    const hn_meta_value *tokens;
    HN_TRY(hn_meta_array(meta, "tokenizer.ggml.tokens", HN_META_STRING, &tokens));
    if (tokens)
        hp->n_vocab = (int64_t)tokens->n;
    return HN_OK;
}

static hn_status run(const void *parsed, int n_operands, char **operands, FILE *out)
{
    const new_args *args = parsed;
    hn_heap heap;
    hn_heap_init(&heap, NULL);
    HN_REQUIRE(!args->first || !strcmp(args->first, "class") || !strcmp(args->first, "spread"),
               HN_ERR_ARGUMENT, "--first %s: expected class or spread", args->first);
    hn_random_options o = { .first = args->first && !strcmp(args->first, "spread") ? HN_FIRST_SPREAD
                                                                                   : HN_FIRST_CLASS,
                            .seed = (uint64_t)args->seed, .name = args->name ? args->name : "random",
                            .copies = args->copies };
    HN_TRY(hn_arch_named(operands[0], &o.arch));
    HN_TRY(hn_recipe_named(args->type ? args->type : "f32", &o.recipe));
    hn_hparams *hp = hn_alloc(&heap, HN_TAG_FILE, sizeof *hp);
    if (!hp)
        return HN_ERR_MEMORY;
    hn_random_begin(hp);
    hn_meta tokenizer = hn_meta_on(&heap, args->tokenizer);
    hn_status status = HN_OK;
    if (args->tokenizer) {
        o.tokenizer = &tokenizer;
        status = read_tokenizer(&heap, args->tokenizer, &tokenizer);
        if (status == HN_OK)
            status = take_tokenizer(hp, &tokenizer);
    }
    for (int i = 2; i < n_operands && status == HN_OK; i++)
        status = hn_random_set(hp, operands[i]);
    if (status == HN_OK)
        status = hn_random_complete(o.arch, hp);
    if (status == HN_OK)
        status = hn_random_check(o.arch, hp, n_operands - 2, operands + 2);
    o.hp = hp;
    if (status == HN_OK)
        status = make(args, &o, &heap);
    hn_meta_free(&tokenizer);
    hn_free(&heap, hp);
    return hn_made(status, &heap, args->result.path, out);
}

const hn_command hn_cmd_new = {
    .name = "new",
    .operands = "ARCH OUT.gguf [key=value ...]",
    .summary = "write a random model of any architecture and size",
    .details = "Keys: layers width heads kv_heads head_dim ffn context vocab experts used "
               "expert_ffn window\n  kv_shared ple tied k_eq_v, or a GGUF key without the "
               "architecture's name.\n",
    .example = "new qwen3 m.gguf layers=4 width=256",
    .options = options,
    .args_size = sizeof(new_args),
    .min_operands = 2,
    .max_operands = HN_MAX_OPERANDS,
    .run = run,
};
