/* hone eval: loss, perplexity and accuracy of a model, and of it with each of some adapters. */
#include "base/json.h"
#include "base/mathfn.h"
#include "cli/lora_open.h"
#include "cli/progress.h"
#include "cli/train_options.h"

#include <string.h>

typedef struct eval_args {
    hn_data_args data;
    hn_list files;
    hn_train_config config; /* of which these options are the goal's */
    int64_t most;
    hn_machine_args machine;
    const char *goal;
    bool force, json;
} eval_args;

static const hn_option options[] = {
    HN_LIST(eval_args, files, "data", "FILE", "examples; may be given again"),
    HN_INT(eval_args, most, "examples", "N", 0, INT32_MAX, "the first N only (0: all)"),
    HN_TEXT(eval_args, goal, "goal", "NAME", "what hone train minimised; otherwise sft, dpo of pairs, kto of labelled answers"),
    HN_REAL(eval_args, config.beta, "beta", "B", "how much a preference counts"),
    HN_REAL(eval_args, config.desirable, "desirable-weight", "X", "what an answer labelled true counts"),
    HN_REAL(eval_args, config.undesirable, "undesirable-weight", "X", "what an answer labelled false counts"),
    HN_REAL(eval_args, config.kl_weight, "kl-weight", "X", "of the divergence from the base"),
    HN_MACHINE_OPTIONS(eval_args, HN_NUMERICS_OF_LOSSES),
    HN_FLAG(eval_args, force, "force", "take adapters of another base, tokenizer or template"),
    HN_FLAG(eval_args, json, "json", "for programs"),
    HN_GROUP("how examples become tokens"),
#define HN_DATA(kind, field, option, value, low, high, help)                                    \
    HN_DATA_OPTION_##kind(eval_args, data, field, option, value, low, high, help)
#include "train/data_choice.def"
    HN_OPTION_END,
};

static const eval_args defaults = { .config = {
#define HN_TRAIN(kind, field, option, value, otherwise, low, high, counts, help) .field = otherwise,
#include "train/config.def"
#undef HN_TRAIN
} };

typedef struct judged {
    const char *name; /* the adapter's file, or NULL: the base */
    hn_evaluation result;
} judged;

/* ---- adapters ---- */

static hn_status open_adapter(const eval_args *args, const hn_train_input *in, const char *path,
                              hn_run_spec run, hn_adapters *out)
{
    const hn_lora_args one = { .files = { .n = 1, .at = { path } }, .force = args->force };
    const hn_adapter_use use = { .model = in->model, .run = run,
                                 .tokenizer = in->tokenizer, .template = in->template,
                                 .renders_nothing = !in->template[0] };
    return hn_lora_open(&one, in->heap, &use, out);
}

/* ---- judging ---- */

/* What the examples are judged by: the goal that was asked for, or the first that takes them. */
static hn_status settle_goal(eval_args *args, const hn_dataset *dataset)
{
    hn_goal goal = hn_goal_for(dataset);
    if (args->goal)
        HN_TRY(hn_goal_parse(args->goal, &goal));
    HN_TRY(hn_goal_check_data(goal, dataset));
    args->config.goal = hn_goal_spec_of(goal)->name;
    return hn_train_config_check(&args->config);
}

static hn_status judge_examples(const eval_args *args, const hn_train_input *in,
                                hn_evaluator *evaluator, hn_batch *batch, hn_evaluation *out)
{
    const hn_dataset *d = in->data.dataset;
    hn_example example = hn_example_on(in->heap);
    hn_status status = HN_OK;
    const hn_fate wanted = d->n_held ? HN_FATE_HELD : HN_FATE_TRAINED;
    int64_t n = 0;
    for (uint64_t i = 0; i < d->n && status == HN_OK && (!args->most || n < args->most); i++) {
        if (d->fates[i] != wanted)
            continue;
        n++;
        status = hn_dataset_read(d, i, &example);
        if (status == HN_OK)
            status = hn_batch_add(batch, &example);
        if (status == HN_OK && batch->n_examples == hn_evaluator_together(evaluator)) {
            status = hn_evaluator_add(evaluator, batch, NULL, out);
            hn_batch_clear(batch);
        }
        if (status == HN_OK && !hn_progress(NULL, (double)(i + 1) / (double)d->n, "judging"))
            status = hn_fail(HN_ERR_CANCELLED, "interrupted");
    }
    if (status == HN_OK && batch->n_examples)
        status = hn_evaluator_add(evaluator, batch, NULL, out);
    hn_example_free(&example);
    return status;
}

static int64_t longest(const hn_dataset *d)
{
    int64_t most = 1;
    for (uint64_t i = 0; i < d->n; i++)
        most = d->tokens[i] > most ? d->tokens[i] : most;
    return most;
}

static hn_status judge(const eval_args *args, const hn_train_input *in, hn_run_spec run,
                       const char *path, judged *out)
{
    hn_adapters adapters = { 0 };
    hn_evaluator *evaluator = NULL;
    hn_batch batch = hn_batch_on(in->heap);
    hn_learner_options o;
    *out = (judged){ .name = path };
    HN_TRY(hn_train_config_learner(&args->config, &o));
    o.objective.max_tokens = longest(in->data.dataset);
    hn_status status = path ? open_adapter(args, in, path, run, &adapters) : HN_OK;
    if (status == HN_OK)
        status = hn_evaluator_new(&evaluator, in->heap, in->model, NULL, path ? &adapters : NULL,
                                  run, &o.objective);
    hn_progress_begin();
    if (status == HN_OK)
        status = judge_examples(args, in, evaluator, &batch, &out->result);
    hn_progress_end();
    hn_evaluation_finish(&out->result);
    hn_batch_free(&batch);
    hn_evaluator_free(evaluator);
    hn_adapters_close(&adapters);
    return status;
}

/* ---- showing ---- */

/* `of`: what is counted. */
static void print_table(const judged *all, int n, hn_numerics numerics, bool is_pairs, const char *of, FILE *out)
{
    fprintf(out, "%-32s %10s %12s %10s %10s\n", hn_numerics_name(numerics), "loss", is_pairs ? "" : "perplexity",
            is_pairs ? "preferred" : "right", of);
    for (int i = 0; i < n; i++) {
        const hn_evaluation *e = &all[i].result;
        char perplexity[32] = "";
        if (!is_pairs)
            snprintf(perplexity, sizeof perplexity, "%.6g", hn_math_exp(e->loss));
        fprintf(out, "%-32s %10.5f %12s %8.2f %% %10lld\n", all[i].name ? all[i].name : "base",
                e->loss, perplexity, 100 * e->accuracy, (long long)e->n);
    }
}

static hn_status print_json(const judged *all, int n, hn_numerics numerics, bool is_pairs, const char *of, hn_heap *heap,
                            FILE *out)
{
    hn_str text = hn_str_on(heap);
    hn_json_writer json = hn_json_write_to(&text);
    hn_json_begin_array(&json);
    for (int i = 0; i < n; i++) {
        const hn_evaluation *e = &all[i].result;
        hn_json_begin_object(&json);
        hn_json_key(&json, "adapter");
        if (all[i].name)
            hn_json_add_string(&json, all[i].name);
        else
            hn_json_add_null(&json);
        hn_json_key(&json, "numerics");
        hn_json_add_string(&json, hn_numerics_name(numerics));
        hn_json_key(&json, "loss");
        hn_json_add_double(&json, e->loss);
        if (!is_pairs) {
            hn_json_key(&json, "perplexity");
            hn_json_add_double(&json, hn_math_exp(e->loss));
        }
        hn_json_key(&json, is_pairs ? "preferred" : "accuracy");
        hn_json_add_double(&json, e->accuracy);
        hn_json_key(&json, of);
        hn_json_add_int(&json, e->n);
        hn_json_end_object(&json);
    }
    hn_json_end_array(&json);
    const hn_status status = hn_str_status(&text);
    if (status == HN_OK)
        fprintf(out, "%s\n", text.text);
    hn_str_free(&text);
    return status;
}

static hn_status run(const void *parsed, int n_operands, char **operands, FILE *out)
{
    eval_args own = *(const eval_args *)parsed;
    const eval_args *args = &own;
    hn_heap heap;
    judged all[HN_MAX_OPERANDS];
    hn_heap_init(&heap, NULL);
    hn_train_input in = { .heap = &heap };
    hn_numerics numerics;
    hn_status status = hn_numerics_parse(args->machine.numerics, &numerics);
    if (status == HN_OK)
        status = hn_train_args_open(&in, operands[0], &args->data, &args->files, &args->machine, NULL);
    if (status == HN_OK)
        status = settle_goal(&own, in.data.dataset);
    hn_run_spec run = in.run;
    run.numerics = numerics;
    for (int i = 0; i < n_operands && status == HN_OK; i++)
        status = judge(args, &in, run, i ? operands[i] : NULL, &all[i]);
    static const char *const words[] = { [HN_SINGLES] = "tokens", [HN_PAIRS] = "pairs", [HN_LABELLED] = "examples" };
    const hn_goal_examples has = status == HN_OK ? hn_goal_examples_of(in.data.dataset) : HN_SINGLES;
    const char *of = words[has];
    const bool is_pairs = has != HN_SINGLES;
    if (status == HN_OK && args->json)
        status = print_json(all, n_operands, numerics, is_pairs, of, &heap, out);
    else if (status == HN_OK)
        print_table(all, n_operands, numerics, is_pairs, of, out);
    hn_train_input_close(&in);
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
    .defaults = &defaults,
    .args_size = sizeof(eval_args),
    .min_operands = 1,
    .max_operands = HN_MAX_OPERANDS,
    .run = run,
};
