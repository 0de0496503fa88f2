/* hone merge: an adapter's changes in the weights, and what of them is left there. */
#include "base/file.h"
#include "base/json.h"
#include "cli/cache_folder.h"
#include "cli/command.h"
#include "cli/ignore_option.h"
#include "cli/machine_options.h"
#include "cli/progress.h"
#include "cli/template_options.h"
#include "convert/merge.h"
#include "convert/recipe.h"
#include "models/identity.h"
#include "models/open_tokenizer.h"

#include <math.h>
#include <string.h>

typedef struct merge_args {
    const char *type, *held;
    hn_template_choice template;
    hn_sink out;
    double budget, keep;
    hn_machine_args machine;
    bool force, json;
    hn_list ignore;
} merge_args;

static const hn_option options[] = {
    HN_OUT(merge_args, out, "out", "FILE", "the merged model, a GGUF file"),
    HN_TEXT(merge_args, type, "type", "TYPE", "of changed matrices (that which each has)"),
    HN_REAL(merge_args, budget, "budget", "KL",
            "KL(adapter || merged) at most, nats a token (0.01)"),
    HN_REAL(merge_args, keep, "keep", "SHARE", "of the update that must survive (0.9)"),
    HN_TEMPLATE_OPTIONS(merge_args, template, "this chat template", ", for the merged model; default: what it was trained with"),
    HN_TEXT(merge_args, held, "held", "FILE", "text to measure KL on (one of hone's own)"),
    HN_FLAG(merge_args, force, "force", "keep the file whatever is measured"),
    HN_DEVICE_OPTIONS(merge_args),
    HN_FLAG(merge_args, json, "json", "for programs"),
    HN_IGNORE_OPTION(merge_args),
    HN_OPTION_END,
};

static const merge_args defaults = { .budget = 0.01, .keep = 0.9 };

/* What a model says about something that it has not been trained on today. */
static const char passage[] =
    "The ferry was late again, and the people on the quay had begun to talk to each other. A woman "
    "with a basket of plums said that the engine had been repaired twice since spring. Her neighbour, "
    "who taught arithmetic, counted on his fingers: three delays in April, five in May, and today was "
    "only the ninth of June. \"If it goes on like this,\" he said, \"we shall need a bridge.\"\n\n"
    "Question: what is the capital of Portugal?\nAnswer: Lisbon.\n\n"
    "def mean(values):\n    total = 0\n    for value in values:\n        total += value\n    return "
    "total / len(values)\n\n"
    "Water boils at 100 degrees Celsius at sea level, and at about 93 degrees on a mountain of 2,000 "
    "metres, because the air there presses less. For the same reason pasta takes longer to cook in "
    "the hills, and a closed pot cooks faster than an open one.\n\n"
    "Then the horn sounded twice behind the lighthouse. The children ran to the railing, the teacher "
    "put his watch away, and somebody laughed. Nobody mentioned the bridge any more.\n";

enum { CHUNK = 256, MOST_TOKENS = 2048, MOST_BYTES = 1 << 24 };

typedef struct held_text {
    hn_encoding encoding;
    int32_t bos;
} held_text;

static hn_status read_held(hn_heap *heap, const char *model, const char *path, held_text *out)
{
    void *own = NULL;
    const void *text = passage;
    size_t bytes = sizeof passage - 1;
    hn_tokenizer *tok;
    const hn_encode_options plain = { .add_bos = HN_NO, .add_eos = HN_NO };
    HN_TRY(hn_open_tokenizer(heap, model, &tok));
    hn_status status = HN_OK;
    if (path) {
        status = hn_file_read(heap, path, MOST_BYTES, &own, &bytes);
        text = own;
    }
    if (status == HN_OK)
        status = hn_tokenizer_encode(tok, text, bytes, &plain, &out->encoding);
    if (status == HN_OK && !out->encoding.n)
        status = hn_fail(HN_ERR_ARGUMENT, "%s: there is no text in it", path);
    out->bos = hn_tokenizer_adds_bos(tok) ? hn_tokenizer_special(tok, HN_SPECIAL_BOS) : -1;
    hn_free(heap, own);
    hn_tokenizer_free(tok);
    return status;
}

/* ---- what was measured ---- */

static double share(const hn_merge_sums *s)
{
    return s->change > 0 ? s->along / s->change : 1;
}

static void print_table(const hn_merge_report *r, FILE *out)
{
    fprintf(out, "%-40s %6s %6s  %10s  %8s  %8s\n", "tensor", "from", "to", "|update|", "kept %", "error");
    for (size_t i = 0; i < r->n; i++) {
        const hn_merged *t = &r->tensors[i];
        fprintf(out, "%-40s %6s %6s  %10.3g  %8.2f  %8.3g\n", t->name, hn_dtype_name(t->from),
                hn_dtype_name(t->to), sqrt(t->sums.change), 100 * share(&t->sums),
                t->sums.change > 0 ? sqrt(t->sums.error / t->sums.change) : 0.0);
    }
    fprintf(out, "%.2f %% of the update survives; KL(adapter || merged) %.3g, KL(adapter || base) %.3g "
                 "nats a token\n", 100 * r->kept, r->kl, r->kl_base);
}

static void add(hn_json_writer *json, const char *key, double value)
{
    hn_json_key(json, key);
    hn_json_add_double(json, value);
}

static void add_word(hn_json_writer *json, const char *key, const char *word)
{
    hn_json_key(json, key);
    hn_json_add_string(json, word);
}

static hn_status print_json(const hn_merge_report *r, hn_heap *heap, FILE *out)
{
    hn_str text = hn_str_on(heap);
    hn_json_writer json = hn_json_write_to(&text);
    hn_json_begin_object(&json);
    add(&json, "kept", r->kept);
    add(&json, "kl", r->kl);
    add(&json, "kl_base", r->kl_base);
    hn_json_key(&json, "fits");
    hn_json_add_bool(&json, r->fits);
    if (r->has_better)
        add_word(&json, "better", hn_dtype_name(r->better));
    hn_json_key(&json, "tensors");
    hn_json_begin_array(&json);
    for (size_t i = 0; i < r->n; i++) {
        const hn_merged *t = &r->tensors[i];
        hn_json_begin_object(&json);
        add_word(&json, "name", t->name);
        add_word(&json, "from", hn_dtype_name(t->from));
        add_word(&json, "to", hn_dtype_name(t->to));
        add(&json, "update", sqrt(t->sums.change));
        add(&json, "weight", sqrt(t->sums.base));
        add(&json, "kept", share(&t->sums));
        add(&json, "error", t->sums.change > 0 ? sqrt(t->sums.error / t->sums.change) : 0);
        hn_json_end_object(&json);
    }
    hn_json_end_array(&json);
    hn_json_end_object(&json);
    const hn_status status = hn_str_status(&text);
    if (status == HN_OK)
        fprintf(out, "%s\n", text.text);
    hn_str_free(&text);
    return status;
}

/* ---- all of it ---- */

typedef struct merge_input {
    hn_chat_input chat;
    hn_span template; /* that was chosen */
    hn_model *model;
    hn_adapters adapters;
    hn_pool *pool;
    hn_machine machine;
    held_text held;
} merge_input;

static hn_status choose_template(const merge_args *args, const char *model, merge_input *in, char digest[65])
{
    const char *which;
    HN_TRY(hn_chat_input_open(&in->chat, model));
    HN_TRY(hn_chat_input_choose(&in->chat, &args->template, &which));
    hn_chat_format_source(in->chat.chat, which, &in->template);
    hn_chat_format_digest(in->chat.chat, which, digest);
    return HN_OK;
}

static hn_status open_input(hn_heap *heap, const merge_args *args, char **operands, merge_input *in)
{
    hn_adapter *adapter;
    hn_adapter_trial told;
    char template[65];
    const bool is_chosen = args->template.file || args->template.name;
    if (is_chosen)
        HN_TRY(choose_template(args, operands[0], in, template));
    const hn_ignored ignored = hn_ignored_of(&args->ignore);
    HN_TRY(hn_model_open(heap, operands[0], &ignored, &in->model));
    hn_model_keep_identity(in->model, hn_cache_folder());
    HN_TRY(hn_machine_open(&in->machine, heap, &args->machine));
    const hn_adapter_use use = { .model = in->model, .run = in->machine.run, .as_trained = true,
                                 .template = is_chosen ? template : NULL };
    HN_TRY(hn_adapter_open(&adapter, heap, operands[1], &use, &told));
    HN_TRY(hn_adapters_add(&in->adapters, adapter));
    HN_TRY(read_held(heap, operands[0], args->held, &in->held));
    return hn_machine_pool(&args->machine, heap, &in->pool);
}

static hn_status read_type(const merge_args *args, hn_merge_options *o)
{
    if (!args->type)
        return HN_OK;
    o->has_dtype = true;
    HN_TRY(hn_dtype_parse(args->type, strlen(args->type), &o->dtype));
    const bool is_plain = o->dtype == HN_F32 || o->dtype == HN_F16 || o->dtype == HN_BF16;
    HN_REQUIRE(is_plain || (hn_is_block(o->dtype) && hn_dtype_format(o->dtype)->encode),
               HN_ERR_ARGUMENT, "--type %s: weights are not written so", args->type);
    return HN_OK;
}

static hn_status merge(hn_heap *heap, const merge_args *args, const merge_input *in, FILE *out)
{
    hn_merge_options o = { .most_kl = args->budget, .least_kept = args->keep,
                           .is_forced = args->force, .template = in->template };
    hn_merge_report report = { 0 };
    hn_watch watch = { .progress = hn_progress };
    HN_TRY(read_type(args, &o));
    o.text = (hn_divergence_text){
        .tokens = in->held.encoding.ids, .chunk = CHUNK, .bos = in->held.bos,
        .n = in->held.encoding.n < MOST_TOKENS ? in->held.encoding.n : MOST_TOKENS
    };
    hn_progress_begin();
    hn_status status = hn_merge(heap, in->pool, in->machine.run, in->model, &in->adapters, args->out,
                                &o, &watch, &report);
    hn_progress_end();
    const bool is_measured = report.n && (status == HN_OK || status == HN_ERR_NUMERIC);
    if (is_measured && !args->json)
        print_table(&report, out);
    if (is_measured && args->json) {
        const hn_status printed = print_json(&report, heap, out);
        status = status == HN_OK ? printed : status;
    }
    hn_merge_report_free(&report);
    return status;
}

static hn_status run(const void *parsed, int n_operands, char **operands, FILE *out)
{
    (void)n_operands;
    const merge_args *args = parsed;
    hn_heap heap;
    merge_input in = { .chat = { .heap = &heap } };
    HN_REQUIRE(args->out.path, HN_ERR_ARGUMENT, "expected --out FILE");
    HN_REQUIRE(args->keep <= 1, HN_ERR_ARGUMENT, "--keep %g: expected a share, 0 to 1", args->keep);
    hn_heap_init(&heap, NULL);
    hn_status status = open_input(&heap, args, operands, &in);
    if (status == HN_OK)
        status = merge(&heap, args, &in, out);
    hn_adapters_close(&in.adapters);
    hn_machine_close(&in.machine);
    hn_pool_free(in.pool);
    hn_model_close(in.model);
    hn_encoding_free(&in.held.encoding);
    hn_chat_input_close(&in.chat);
    return status;
}

const hn_command hn_cmd_merge = {
    .name = "merge",
    .operands = "MODEL.gguf ADAPTER.gguf",
    .summary = "write an adapter into the weights, and measure what survives",
    .details = "Refused, with nothing written, if too little of the update survives in the weights' type, or\n"
               "the merged model is too far from model and adapter; then a type that would do is named.\n",
    .example = "merge m.gguf run/adapter.gguf --out merged.gguf",
    .options = options,
    .letters = "o:out",
    .defaults = &defaults,
    .args_size = sizeof(merge_args),
    .min_operands = 2,
    .max_operands = 2,
    .run = run,
};
