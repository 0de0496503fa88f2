/* hone eval: loss, perplexity and accuracy of a model, and of it with each of some adapters. */
#include "base/json.h"
#include "base/mathfn.h"
#include "cli/cache_folder.h"
#include "cli/data_report.h"
#include "cli/lora_options.h"
#include "cli/machine_options.h"
#include "cli/progress.h"

typedef struct eval_args {
    hn_settings settings;
    hn_list files;
    int64_t most;
    hn_machine_args machine;
    bool force, json;
} eval_args;

static const hn_option options[] = {
    HN_LIST(eval_args, files, "data", "FILE", "examples; may be given again"),
    HN_INT(eval_args, most, "examples", "N", 0, INT32_MAX, "the first N only (0: all)"),
    HN_SETTING_OPEN(eval_args, settings, hn_finetune_setting, "goal",
                    "what hone train minimised; otherwise the first of its goals that takes such examples"),
    HN_SETTINGS(eval_args, settings, hn_finetune_goal_setting),
    HN_MACHINE_OPTIONS(eval_args, HN_NUMERICS_OF_LOSSES),
    HN_FLAG(eval_args, force, "force", "take adapters of another base, tokenizer or template"),
    HN_FLAG(eval_args, json, "json", "for programs"),
    HN_GROUP("how examples become tokens"),
    HN_SETTINGS(eval_args, settings, hn_examples_setting),
    HN_OPTION_END,
};

typedef struct judged {
    const char *name; /* the adapter's file, or NULL: the base */
    hn_examples_judgement result;
} judged;

/* ---- judging ---- */

/* What all are judged by. */
typedef struct judge {
    const eval_args *args;
    hn_engine *engine;
    hn_examples *examples;
    hn_lm_numerics numerics;
    hn_setting_words words;
} judge;

/* `word`: an adapter and its scale, or NULL. */
static hn_status judge_one(const judge *j, const char *word, judged *out)
{
    char path[4096] = "";
    hn_lm_adapter_trial told;
    hn_examples_judge_options o = { .size = sizeof o, .settings = (const char *const *)j->words.at,
                                    .n_settings = j->words.n, .numerics = j->numerics, .most = j->args->most,
                                    .is_forced = j->args->force };
    *out = (judged){ .name = word };
    if (word)
        HN_TRY(hn_lora_split(word, path, sizeof path, &o.scale));
    o.adapter = word ? path : NULL;
    hn_progress_of(j->engine);
    const hn_status status = hn_examples_judge(j->examples, &o, &out->result, sizeof out->result, &told, sizeof told);
    hn_progress_end();
    hn_lora_tell(path, &told, j->numerics);
    return status;
}

/* ---- showing ---- */

static const char *const counted[] = {
    [HN_EXAMPLES_SINGLE] = "tokens", [HN_EXAMPLES_PAIR] = "pairs", [HN_EXAMPLES_LABELLED] = "examples"
};

static void print_table(const judged *all, int n, hn_lm_numerics numerics, FILE *out)
{
    const bool is_pairs = all->result.kind != HN_EXAMPLES_SINGLE;
    fprintf(out, "%-32s %10s %12s %10s %10s\n", hn_lm_numerics_name(numerics), "loss", is_pairs ? "" : "perplexity",
            is_pairs ? "preferred" : "right", counted[all->result.kind]);
    for (int i = 0; i < n; i++) {
        const hn_examples_judgement *e = &all[i].result;
        char perplexity[32] = "";
        if (!is_pairs)
            snprintf(perplexity, sizeof perplexity, "%.6g", hn_math_exp(e->loss));
        fprintf(out, "%-32s %10.5f %12s %8.2f %% %10lld\n", all[i].name ? all[i].name : "base",
                e->loss, perplexity, 100 * e->accuracy, (long long)e->n);
    }
}

static void write_one(const judged *one, hn_lm_numerics numerics, hn_json_writer *json)
{
    const hn_examples_judgement *e = &one->result;
    const bool is_pairs = e->kind != HN_EXAMPLES_SINGLE;
    hn_json_begin_object(json);
    hn_json_key(json, "adapter");
    if (one->name)
        hn_json_add_string(json, one->name);
    else
        hn_json_add_null(json);
    hn_json_key(json, "numerics");
    hn_json_add_string(json, hn_lm_numerics_name(numerics));
    hn_json_key(json, "loss");
    hn_json_add_double(json, e->loss);
    if (!is_pairs) {
        hn_json_key(json, "perplexity");
        hn_json_add_double(json, hn_math_exp(e->loss));
    }
    hn_json_key(json, is_pairs ? "preferred" : "accuracy");
    hn_json_add_double(json, e->accuracy);
    hn_json_key(json, counted[e->kind]);
    hn_json_add_int(json, e->n);
    hn_json_end_object(json);
}

static hn_status print_json(const judged *all, int n, hn_lm_numerics numerics, hn_heap *heap, FILE *out)
{
    hn_str text = hn_str_on(heap);
    hn_json_writer json = hn_json_write_to(&text);
    hn_json_begin_array(&json);
    for (int i = 0; i < n; i++)
        write_one(&all[i], numerics, &json);
    hn_json_end_array(&json);
    const hn_status status = hn_str_status(&text);
    if (status == HN_OK)
        fprintf(out, "%s\n", text.text);
    hn_str_free(&text);
    return status;
}

static hn_status judge_all(judge *j, int n, char **operands, hn_heap *heap, FILE *out)
{
    const eval_args *args = j->args;
    judged all[HN_MAX_OPERANDS];
    HN_REQUIRE(n > 1 || !args->force, HN_ERR_ARGUMENT, "--force: it is for adapters, of which none is given");
    HN_TRY(hn_machine_numerics(&args->machine, &j->numerics));
    HN_TRY(hn_setting_words_of(&j->words, heap, &args->settings, hn_finetune_setting, NULL));
    HN_TRY(hn_machine_engine(&args->machine, &j->engine));
    HN_TRY(hn_examples_told(&j->examples, j->engine, operands[0], &args->files, &args->settings, hn_cache_folder()));
    if (n == 1) /* an adapter is held to the template that it was trained with */
        HN_TRY(hn_examples_want_chats(j->examples, &args->settings));
    for (int i = 0; i < n; i++)
        HN_TRY(judge_one(j, i ? operands[i] : NULL, &all[i]));
    if (args->json)
        return print_json(all, n, j->numerics, heap, out);
    print_table(all, n, j->numerics, out);
    return HN_OK;
}

static hn_status run(const void *parsed, int n_operands, char **operands, FILE *out)
{
    hn_heap heap;
    judge j = { .args = parsed };
    hn_heap_init(&heap, NULL);
    const hn_status status = judge_all(&j, n_operands, operands, &heap, out);
    hn_setting_words_close(&j.words);
    hn_examples_close(j.examples);
    hn_machine_engine_free(j.engine);
    return status;
}

const hn_command hn_cmd_eval = {
    .name = "eval",
    .operands = "MODEL [ADAPTER.gguf ...]",
    .summary = "judge a model, and each of its adapters, on examples",
    .details = "All examples are judged, or only those held out where --held or --held-fraction says so.\n"
               "Numbers are of supervised tokens; of pairs, how often the chosen answer is preferred.\n",
    .example = "eval m.gguf run/adapter.gguf --data held.jsonl",
    .options = options,
    .args_size = sizeof(eval_args),
    .min_operands = 1,
    .max_operands = HN_MAX_OPERANDS,
    .run = run,
};
