/* hone perplexity: how well a model foretells a text, and how far it is from another run. */
#include "base/json.h"
#include "base/mathfn.h"
#include "cli/command.h"
#include "cli/ignore_option.h"
#include "cli/lora_options.h"
#include "cli/open_model.h"
#include "cli/progress.h"
#include "cli/session_options.h"
#include "hone/eval.h"

typedef struct perplexity_args {
    const char *against, *cache;
    int64_t chunk, chunks;
    hn_machine_args machine;
    bool json;
    hn_lora_args lora;
    hn_sink save;
    hn_list ignore;
} perplexity_args;

static const hn_option options[] = {
    HN_INT(perplexity_args, chunk, "chunk", "N", 4, 1048576, "tokens run together; default 512, or the model's context where that is less"),
    HN_INT(perplexity_args, chunks, "chunks", "N", 1, INT32_MAX, "at most so many; default: all"),
    HN_OUT(perplexity_args, save, "save", "FILE", "write the logits there (safetensors)"),
    HN_TEXT(perplexity_args, against, "against", "FILE", "compare with logits so saved"),
    HN_MACHINE_OPTIONS(perplexity_args, HN_NUMERICS_OF_RUNS),
    HN_CACHE_OPTION(perplexity_args, cache),
    HN_LORA_OPTIONS(perplexity_args),
    HN_FLAG(perplexity_args, json, "json", "for programs"),
    HN_IGNORE_OPTION(perplexity_args),
    HN_OPTION_END,
};

static const hn_option_rule rules[] = {
    HN_LORA_RULES,
    { NULL, 0, NULL, NULL },
};

static hn_status print_json(const hn_lm_perplexity *p, hn_lm_numerics numerics, hn_heap *heap,
                            FILE *out)
{
    hn_str text = hn_str_on(heap);
    hn_json_writer json = hn_json_write_to(&text);
    hn_json_begin_object(&json);
    hn_json_key(&json, "numerics");
    hn_json_add_string(&json, hn_lm_numerics_name(numerics));
    hn_json_key(&json, "tokens");
    hn_json_add_int(&json, p->loss.n);
    hn_json_put_double(&json, "loss", p->loss.mean);
    hn_json_put_double(&json, "loss_error", p->loss.error);
    hn_json_put_double(&json, "perplexity", hn_math_exp(p->loss.mean));
    if (p->divergence.n) {
        hn_json_put_double(&json, "kl", p->divergence.mean);
        hn_json_put_double(&json, "kl_error", p->divergence.error);
        hn_json_put_double(&json, "agreement", p->agreement.mean);
        hn_json_put_double(&json, "agreement_error", p->agreement.error);
    }
    hn_json_end_object(&json);
    const hn_status status = hn_str_status(&text);
    if (status == HN_OK)
        fprintf(out, "%s\n", text.text);
    hn_str_free(&text);
    return status;
}

static void print_text(const hn_lm_perplexity *p, hn_lm_numerics numerics, FILE *out)
{
    const double value = hn_math_exp(p->loss.mean);
    fprintf(out, "perplexity %.6g +- %.2g (loss %.6f +- %.6f nats, %lld tokens in %s)\n", value,
            value * p->loss.error, p->loss.mean, p->loss.error, (long long)p->loss.n,
            hn_lm_numerics_name(numerics));
    if (p->divergence.n)
        fprintf(out, "KL %.4g +- %.2g nats, the likeliest agrees in %.3f +- %.3f %%\n",
                p->divergence.mean, p->divergence.error, 100 * p->agreement.mean,
                100 * p->agreement.error);
}

static hn_status run_model(const perplexity_args *args, hn_heap *heap, const hn_opened *opened, const char *file,
                           FILE *out)
{
    hn_ids ids = { 0 };
    hn_lm_numerics numerics;
    hn_lm_perplexity result;
    const hn_lm_perplexity_options o = { .size = sizeof o, .chunk = args->chunk, .max_chunks = args->chunks,
                                         .cache = args->cache, .save = args->save.path, .against = args->against,
                                         .overwrite = args->save.over == HN_OVER_OLD };
    HN_TRY(hn_machine_numerics(&args->machine, &numerics));
    hn_status status = hn_ids_of_file(opened->lm, heap, file, &ids);
    if (status == HN_OK)
        status = hn_lora_apply(&args->lora, opened->lm, numerics);
    hn_progress_of(opened->engine);
    if (status == HN_OK)
        status = hn_lm_perplexity_of(opened->lm, ids.at, ids.n, &o, &result, sizeof result);
    hn_progress_end();
    hn_free(heap, ids.at);
    if (status == HN_OK && args->json)
        status = print_json(&result, numerics, heap, out);
    else if (status == HN_OK)
        print_text(&result, numerics, out);
    return status;
}

static hn_status run(const void *parsed, int n_operands, char **operands, FILE *out)
{
    (void)n_operands;
    const perplexity_args *args = parsed;
    hn_heap heap;
    hn_opened opened;
    hn_heap_init(&heap, NULL);
    HN_TRY(hn_opened_open(&opened, HN_OPEN_ALL, operands[0], &args->machine, &args->ignore, NULL));
    const hn_status status = run_model(args, &heap, &opened, operands[1], out);
    hn_opened_close(&opened);
    return status;
}

const hn_command hn_cmd_perplexity = {
    .name = "perplexity",
    .operands = "MODEL TEXT_FILE",
    .summary = "how well a model foretells a text",
    .details = "Each chunk is run apart; its second half is judged.\n",
    .example = "perplexity m.gguf text.txt",
    .options = options,
    .rules = rules,
    .args_size = sizeof(perplexity_args),
    .min_operands = 2,
    .max_operands = 2,
    .run = run,
};
