/* hone plan: what running and training a model would compute and take, before any of it is asked for. */
#include "base/file.h"
#include "cli/command.h"
#include "cli/ignore_option.h"
#include "cli/machine.h"
#include "cli/plan_look.h"
#include "graph/plan_print.h"

#include <string.h>

typedef struct plan_args {
    hn_plan_asks asks;
    hn_machine_args machine;
    const char *of;
    bool steps;
    hn_sink svg;
    hn_list ignore;
} plan_args;

static const hn_option options[] = {
    HN_TEXT(plan_args, of, "of", "WHAT", "token, prompt, training, or the text of a model that embeds; without it all, side by side"),
    HN_FLAG(plan_args, steps, "steps", "with --of: every step, with types, places and what it takes over"),
    HN_OUT(plan_args, svg, "svg", "FILE", "with --of: draw it, bytes against time, a box a tensor"),
    HN_GROUP("running"),
    HN_INT(plan_args, asks.context, "context", "N", 1, INT32_MAX, "longest sequence; default 4096"),
    HN_INT(plan_args, asks.prompt, "prompt", "N", 1, INT32_MAX, "tokens of a prompt that are computed at a time"),
    HN_TEXT(plan_args, asks.cache, "cache", "TYPE", HN_CACHE_HELP),
    HN_FLAG(plan_args, asks.keeps_all, "keep-all", "keys beyond their windows too"),
    HN_FLAG(plan_args, asks.mapped, "mapped", "weights where the file is mapped, not in panels"),
    HN_GROUP("training"),
    HN_TEXT(plan_args, asks.targets, "targets", "LIST", "as for train; default: attn, mlp and experts, as there are"),
    HN_INT(plan_args, asks.rank, "rank", "R", 1, 65536, "of low-rank changes"),
    HN_TEXT(plan_args, asks.optimizer, "optimizer", "NAME", "as for train"),
    HN_INT(plan_args, asks.micro_tokens, "micro-tokens", "N", 1, INT32_MAX, "tokens of a micro-batch"),
    HN_INT(plan_args, asks.recompute, "recompute", "N", 0, 10000,
           "keep every n-th layer's input and compute the rest again (0: keep all)"),
    HN_GROUP("both"),
    HN_TEXT(plan_args, asks.mode, "plan", "MODE", "of training: separate, reuse, inplace (the default) or poison"),
    HN_MACHINE_OPTIONS(plan_args, HN_NUMERICS_OF_RUNS),
    HN_IGNORE_OPTION(plan_args),
    HN_OPTION_END,
};

/* ---- the table ---- */

enum { WIDTH = 16, LABEL = 26, MOST_OPS = 14 };

static void print_bytes_in(FILE *out, int width, double bytes)
{
    static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
    char text[32];
    int unit = 0;
    for (; bytes >= 1024 && unit < 4; unit++)
        bytes /= 1024;
    snprintf(text, sizeof text, unit ? "%.2f %s" : "%.0f %s", bytes, units[unit]);
    fprintf(out, "%*s", width, text);
}

static void print_bytes_cell(FILE *out, double bytes)
{
    print_bytes_in(out, WIDTH, bytes);
}

static void print_flops_cell(FILE *out, double flops)
{
    static const char *const units[] = { "FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP" };
    char text[32];
    int unit = 0;
    for (; flops >= 1000 && unit < 5; unit++)
        flops /= 1000;
    snprintf(text, sizeof text, "%.3g %s", flops, units[unit]);
    fprintf(out, "%*s", WIDTH, text);
}

static void print_memory(FILE *out, const hn_plan_looks *looks)
{
    for (int m = 0; m < HN_N_PLAN_MEMORY; m++) {
        bool is_any = false;
        for (int i = 0; i < looks->n; i++)
            is_any = is_any || looks->at[i].memory[m];
        if (!is_any)
            continue;
        fprintf(out, "  %-*s", LABEL - 2, hn_plan_memory_name((hn_plan_memory)m));
        for (int i = 0; i < looks->n; i++)
            if (looks->at[i].memory[m])
                print_bytes_cell(out, (double)looks->at[i].memory[m]);
            else
                fprintf(out, "%*s", WIDTH, "-");
        fputc('\n', out);
    }
    fprintf(out, "  %-*s", LABEL - 2, "altogether");
    for (int i = 0; i < looks->n; i++)
        print_bytes_cell(out, (double)hn_plan_look_bytes(&looks->at[i]));
    fputc('\n', out);
}

static const hn_op_work *find_op(const hn_plan_work *work, const hn_op *op)
{
    for (int i = 0; i < work->n_ops; i++)
        if (work->ops[i].op == op)
            return &work->ops[i];
    return NULL;
}

static void print_op(FILE *out, const hn_plan_looks *looks, const hn_op *op)
{
    fprintf(out, "  %-*s", LABEL - 2, op->name);
    for (int i = 0; i < looks->n; i++) {
        const hn_plan_work *work = &looks->at[i].work;
        const hn_op_work *w = find_op(work, op);
        char text[32] = "-";
        if (w)
            snprintf(text, sizeof text, "%d x %5.1f %%", w->n,
                     work->all.flops > 0 ? 100 * w->flops / work->all.flops : 0);
        fprintf(out, "%*s", WIDTH, text);
    }
    fputc('\n', out);
}

/* Of the last one, which does most; what the others have besides comes after. */
static void print_ops(FILE *out, const hn_plan_looks *looks)
{
    fprintf(out, "by op: how often, and of the operations\n");
    const hn_plan_work *most = &looks->at[looks->n - 1].work;
    int n = 0;
    for (; n < most->n_ops && n < MOST_OPS; n++)
        print_op(out, looks, most->ops[n].op);
    for (int i = 0; i < looks->n - 1; i++)
        for (int k = 0; k < looks->at[i].work.n_ops; k++) {
            const hn_op *op = looks->at[i].work.ops[k].op;
            bool is_told = find_op(most, op) != NULL;
            for (int j = 0; j < i; j++)
                is_told = is_told || find_op(&looks->at[j].work, op);
            if (!is_told)
                print_op(out, looks, op);
        }
    if (n < most->n_ops)
        fprintf(out, "  and %d ops more in %s\n", most->n_ops - n, looks->at[looks->n - 1].name);
}

static void print_row(FILE *out, const hn_plan_looks *looks, const char *label,
                      int64_t (*value)(const hn_plan_look *))
{
    fprintf(out, "%-*s", LABEL, label);
    for (int i = 0; i < looks->n; i++)
        fprintf(out, "%*lld", WIDTH, (long long)value(&looks->at[i]));
    fputc('\n', out);
}

static int64_t tokens_of(const hn_plan_look *l)
{
    return l->tokens;
}

static int64_t steps_of(const hn_plan_look *l)
{
    return l->work.all.n;
}

static int64_t slow_of(const hn_plan_look *l)
{
    return l->work.n_without_kernel;
}

static int64_t copies_of(const hn_plan_look *l)
{
    return l->work.n_copies;
}

static bool has_any(const hn_plan_looks *looks, int64_t (*value)(const hn_plan_look *))
{
    for (int i = 0; i < looks->n; i++)
        if (value(&looks->at[i]))
            return true;
    return false;
}

enum { NAME = 10, SHARE = 13 };

static void print_share(FILE *out, double bytes)
{
    if (bytes > 0)
        print_bytes_in(out, SHARE, bytes);
    else
        fprintf(out, "%*s", SHARE, "-");
}

/* What each device has of it: the layers, memory, and what copies bring there in a step. */
static void print_devices(FILE *out, const hn_plan_look *look, int64_t n_layer)
{
    if (look->plan->n_devices < 2)
        return;
    bool any_streams = false;
    for (int d = 0; d < look->plan->n_devices; d++)
        any_streams = any_streams || look->run.split.streamed[d];
    fprintf(out, "%s, by device\n  %-*s%8s", look->name, NAME, "", "layers");
    if (any_streams)
        fprintf(out, "%10s", "streamed");
    for (int i = 0; i < 5; i++)
        fprintf(out, "%*s", SHARE, (const char *const[]){ "weights", "states", "sums", "workspace", "arrives" }[i]);
    fputc('\n', out);
    for (int d = 0; d < look->plan->n_devices; d++) {
        const hn_device *device = look->plan->targets[d].device;
        const hn_device_bytes *b = &look->on[d];
        char layers[48] = "-";
        int64_t from, end;
        nn_split_layers(&look->run.split, n_layer, d, &from, &end);
        if (from + 1 == end)
            snprintf(layers, sizeof layers, "%lld", (long long)from);
        else if (from < end)
            snprintf(layers, sizeof layers, "%lld-%lld", (long long)from, (long long)end - 1);
        fprintf(out, "  %-*s%8s", NAME, device->name, layers);
        if (any_streams)
            fprintf(out, "%10lld", (long long)(look->run.split.streamed[d] < end - from ? look->run.split.streamed[d] : end - from));
        print_share(out, (double)b->weights);
        print_share(out, (double)b->states);
        print_share(out, (double)b->sums);
        print_share(out, (double)b->workspace);
        print_share(out, look->work.arrives[d]);
        fputc('\n', out);
    }
}

static void print_table(FILE *out, const hn_plan_looks *looks, int64_t n_layer)
{
    fprintf(out, "%-*s", LABEL, "");
    for (int i = 0; i < looks->n; i++)
        fprintf(out, "%*s", WIDTH, looks->at[i].name);
    fputc('\n', out);
    print_row(out, looks, "tokens at a time", tokens_of);
    print_row(out, looks, "steps", steps_of);
    if (has_any(looks, slow_of))
        print_row(out, looks, "  without a kernel", slow_of);
    if (has_any(looks, copies_of))
        print_row(out, looks, "  copies between devices", copies_of);
    fprintf(out, "%-*s", LABEL, "operations");
    for (int i = 0; i < looks->n; i++)
        print_flops_cell(out, looks->at[i].work.all.flops);
    fputs("\nmemory\n", out);
    print_memory(out, looks);
    for (int i = 0; i < looks->n; i++)
        print_devices(out, &looks->at[i], n_layer);
    print_ops(out, looks);
    if (looks->refused[0])
        fprintf(out, "%s\n", looks->refused);
}

static hn_status print_steps(const plan_args *args, const hn_plan *plan, hn_heap *heap, FILE *out)
{
    hn_str text = hn_str_on(heap);
    hn_status status = HN_OK;
    if (args->steps) {
        hn_plan_text(plan, &text);
        status = hn_str_status(&text);
        if (status == HN_OK)
            fprintf(out, "\n%s", text.text);
        hn_str_clear(&text);
    }
    if (args->svg.path && status == HN_OK) {
        hn_plan_svg(plan, &text);
        status = hn_str_status(&text);
        const hn_span span = { text.text, text.length };
        if (status == HN_OK)
            status = hn_file_write(args->svg, &span, 1);
    }
    hn_str_free(&text);
    return status;
}

static hn_status look(const plan_args *args, hn_heap *heap, const hn_model *model, FILE *out)
{
    hn_machine machine;
    HN_TRY(hn_machine_open(&machine, heap, &args->machine));
    hn_plan_looks looks;
    hn_status status = hn_plan_looks_new(&looks, heap, model, &machine, args->of, &args->asks);
    if (status == HN_OK) {
        hn_plan_describe(model, out);
        print_table(out, &looks, hn_model_hparams(model)->n_layer);
        if (args->of)
            status = print_steps(args, looks.at[0].plan, heap, out);
    }
    hn_plan_looks_free(&looks);
    hn_machine_close(&machine);
    return status;
}

static hn_status run(const void *parsed, int n_operands, char **operands, FILE *out)
{
    (void)n_operands;
    const plan_args *args = parsed;
    const hn_ignored ignored = hn_ignored_of(&args->ignore);
    hn_heap heap;
    hn_model *model;
    hn_heap_init(&heap, NULL);
    HN_REQUIRE(args->of || (!args->steps && !args->svg.path), HN_ERR_ARGUMENT,
               "--%s is of one plan: say which with --of token, prompt or training",
               args->steps ? "steps" : "svg");
    HN_TRY(hn_model_open(&heap, operands[0], &ignored, &model));
    const hn_status status = look(args, &heap, model, out);
    hn_model_close(model);
    return status;
}

static const plan_args defaults = { .asks = { .prompt = 512, .rank = 16, .micro_tokens = 512 } };

const hn_command hn_cmd_plan = {
    .name = "plan",
    .operands = "MODEL",
    .summary = "show what running and training a model would compute and take",
    .details = "A token, a prompt and a training step side by side: operations, memory by what it is for, and\n"
               "which ops they are made of. Everything is planned as `hone run` and `hone train` plan it, and\n"
               "nothing is allocated: the model may be larger than memory. Of several devices each shows its layers, what\n"
               "it has of the memory, and what copies bring to it in a step.\n",
    .example = "plan m.gguf --context 8192 --cache q8_0",
    .options = options,
    .defaults = &defaults,
    .args_size = sizeof(plan_args),
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};
