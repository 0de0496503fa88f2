/* hone plan: what running and training a model would compute and take, before any of it is asked for. */
#include "base/file.h"
#include "cli/command.h"
#include "cli/ignore_option.h"
#include "cli/open_model.h"
#include "cli/session_options.h"
#include "hone/plan.h"

#include <stddef.h>
#include <string.h>

typedef struct plan_args {
    const char *of, *cache, *targets, *optimizer, *mode;
    int64_t context, prompt, rank, micro_tokens, recompute;
    bool keeps_all, mapped;
    hn_machine_args machine;
    bool steps;
    hn_sink svg;
    hn_list ignore;
} plan_args;

static const hn_option options[] = {
    HN_CHOICE(plan_args, of, "of", "WHAT", hn_planned_word, "{}, the last of a model that embeds; without it all, side by side"),
    HN_FLAG(plan_args, steps, "steps", "with --of: every step, with types, places and what it takes over"),
    HN_OUT(plan_args, svg, "svg", "FILE", "with --of: draw it, bytes against time, a box a tensor"),
    HN_GROUP("running"),
    HN_INT(plan_args, context, "context", "N", 1, INT32_MAX, "longest sequence; default 4096"),
    HN_INT(plan_args, prompt, "prompt", "N", 1, INT32_MAX, "tokens of a prompt that are computed at a time"),
    HN_CACHE_OPTION(plan_args, cache),
    HN_FLAG(plan_args, keeps_all, "keep-all", "keys beyond their windows too"),
    HN_FLAG(plan_args, mapped, "mapped", "weights where the file is mapped, not in panels"),
    HN_GROUP("training"),
    HN_TEXT(plan_args, targets, "targets", "LIST", "as for train; default: attn, mlp and experts, as there are"),
    HN_INT(plan_args, rank, "rank", "R", 1, 65536, "of low-rank changes"),
    HN_TEXT(plan_args, optimizer, "optimizer", "NAME", "as for train"),
    HN_INT(plan_args, micro_tokens, "micro-tokens", "N", 1, INT32_MAX, "tokens of a micro-batch"),
    HN_INT(plan_args, recompute, "recompute", "N", 0, 10000,
           "keep every n-th layer's input and compute the rest again (0: keep all)"),
    HN_GROUP("both"),
    HN_CHOICE(plan_args, mode, "plan", "MODE", hn_plan_word, "of training: {*}"),
    HN_MACHINE_OPTIONS(plan_args, HN_NUMERICS_OF_RUNS),
    HN_IGNORE_OPTION(plan_args),
    HN_OPTION_END,
};

static const hn_option_rule rules[] = {
    { "steps|svg", HN_ONLY_WITH, "of", "it is of one plan" },
    { "targets|rank|optimizer|micro-tokens|recompute|plan", HN_NOT_WITH, "of=token|of=prompt|of=text", "it is of training" },
    { "cache|keep-all|mapped", HN_NOT_WITH, "of=training", "it is of running" },
    { NULL, 0, NULL, NULL },
};

/* ---- the table ---- */

enum { WIDTH = 16, LABEL = 26, MOST_OPS = 14, MOST_PLANS = 8 };

/* What is shown side by side. */
typedef struct table {
    const hn_lm_plan *plan;
    int n;
    hn_lm_planned at[MOST_PLANS];
} table;

static hn_status table_of(const hn_lm_plan *plan, table *out)
{
    *out = (table){ .plan = plan, .n = hn_lm_plan_count(plan) };
    HN_REQUIRE(out->n <= MOST_PLANS, HN_ERR_UNSUPPORTED, "%d plans: expected at most %d", out->n, MOST_PLANS);
    for (int i = 0; i < out->n; i++)
        HN_TRY(hn_lm_plan_at(plan, i, &out->at[i], sizeof out->at[i]));
    return HN_OK;
}

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

/* Bytes, or that there are none. */
static void print_share(FILE *out, int width, double bytes)
{
    if (bytes > 0)
        print_bytes_in(out, width, bytes);
    else
        fprintf(out, "%*s", width, "-");
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

static const struct {
    const char *name;
    size_t at;
} kinds[] = {
    { "weights, as stored", offsetof(hn_lm_planned, weights) },
    { "weights, in panels", offsetof(hn_lm_planned, packed) },
    { "cache", offsetof(hn_lm_planned, cache) },
    { "workspace", offsetof(hn_lm_planned, workspace) },
    { "what is trained", offsetof(hn_lm_planned, parameters) },
    { "the optimiser's states", offsetof(hn_lm_planned, moments) },
    { "gradients and sums", offsetof(hn_lm_planned, sums) },
};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

static double bytes_of(const hn_lm_planned *p, int kind)
{
    uint64_t bytes;
    memcpy(&bytes, (const char *)p + kinds[kind].at, sizeof bytes);
    return (double)bytes;
}

static void print_memory(FILE *out, const table *t)
{
    double all[MOST_PLANS] = { 0 };
    for (int k = 0; k < N_KINDS; k++) {
        bool is_any = false;
        for (int i = 0; i < t->n; i++) {
            is_any = is_any || bytes_of(&t->at[i], k) > 0;
            all[i] += bytes_of(&t->at[i], k);
        }
        if (!is_any)
            continue;
        fprintf(out, "  %-*s", LABEL - 2, kinds[k].name);
        for (int i = 0; i < t->n; i++)
            print_share(out, WIDTH, bytes_of(&t->at[i], k));
        fputc('\n', out);
    }
    fprintf(out, "  %-*s", LABEL - 2, "altogether");
    for (int i = 0; i < t->n; i++)
        print_bytes_in(out, WIDTH, all[i]);
    fputc('\n', out);
}

/* ---- ops ---- */

/* The op of this name in plan `i`, whose `n` is 0 if it has none. */
static hn_lm_planned_op find_op(const table *t, int i, const char *name)
{
    hn_lm_planned_op op;
    for (int k = 0; k < t->at[i].n_ops; k++)
        if (hn_lm_plan_op(t->plan, i, k, &op, sizeof op) == HN_OK && !strcmp(op.name, name))
            return op;
    return (hn_lm_planned_op){ .name = name };
}

static void print_op(FILE *out, const table *t, const char *name)
{
    fprintf(out, "  %-*s", LABEL - 2, name);
    for (int i = 0; i < t->n; i++) {
        const hn_lm_planned_op op = find_op(t, i, name);
        const double all = t->at[i].operations;
        char text[32] = "-";
        if (op.n)
            snprintf(text, sizeof text, "%lld x %5.1f %%", (long long)op.n, all > 0 ? 100 * op.operations / all : 0);
        fprintf(out, "%*s", WIDTH, text);
    }
    fputc('\n', out);
}

/* Of the last one, which does most; what the others have besides comes after. */
static hn_status print_ops(FILE *out, const table *t)
{
    hn_lm_planned_op op;
    const int last = t->n - 1;
    int n = 0;
    fprintf(out, "by op: how often, and of the operations\n");
    for (; n < t->at[last].n_ops && n < MOST_OPS; n++) {
        HN_TRY(hn_lm_plan_op(t->plan, last, n, &op, sizeof op));
        print_op(out, t, op.name);
    }
    for (int i = 0; i < last; i++)
        for (int k = 0; k < t->at[i].n_ops; k++) {
            HN_TRY(hn_lm_plan_op(t->plan, i, k, &op, sizeof op));
            bool is_told = find_op(t, last, op.name).n != 0;
            for (int j = 0; j < i; j++)
                is_told = is_told || find_op(t, j, op.name).n;
            if (!is_told)
                print_op(out, t, op.name);
        }
    if (n < t->at[last].n_ops)
        fprintf(out, "  and %d ops more in %s\n", t->at[last].n_ops - n, t->at[last].name);
    return HN_OK;
}

/* ---- devices ---- */

enum { NAME = 10, SHARE = 13 };

static void print_device(FILE *out, const hn_lm_planned_device *d, bool any_streams)
{
    char layers[48] = "-";
    if (d->first_layer + 1 == d->end_layer)
        snprintf(layers, sizeof layers, "%lld", (long long)d->first_layer);
    else if (d->first_layer < d->end_layer)
        snprintf(layers, sizeof layers, "%lld-%lld", (long long)d->first_layer, (long long)d->end_layer - 1);
    fprintf(out, "  %-*s%8s", NAME, d->name, layers);
    if (any_streams)
        fprintf(out, "%10lld", (long long)d->streamed);
    print_share(out, SHARE, (double)d->weights);
    print_share(out, SHARE, (double)d->states);
    print_share(out, SHARE, (double)d->sums);
    print_share(out, SHARE, (double)d->workspace);
    print_share(out, SHARE, d->arrives);
    fputc('\n', out);
}

/* What each device has of it: the layers, memory, and what copies bring there in a step. */
static hn_status print_devices(FILE *out, const table *t, int i)
{
    enum { MOST_DEVICES = 64 };
    hn_lm_planned_device all[MOST_DEVICES];
    const int n = t->at[i].n_devices;
    bool any_streams = false;
    HN_REQUIRE(n <= MOST_DEVICES, HN_ERR_UNSUPPORTED, "%d devices: expected at most %d", n, MOST_DEVICES);
    for (int d = 0; d < n; d++) {
        HN_TRY(hn_lm_plan_device(t->plan, i, d, &all[d], sizeof all[d]));
        any_streams = any_streams || all[d].streamed;
    }
    if (n < 2)
        return HN_OK;
    fprintf(out, "%s, by device\n  %-*s%8s", t->at[i].name, NAME, "", "layers");
    if (any_streams)
        fprintf(out, "%10s", "streamed");
    for (int k = 0; k < 5; k++)
        fprintf(out, "%*s", SHARE, (const char *const[]){ "weights", "states", "sums", "workspace", "arrives" }[k]);
    fputc('\n', out);
    for (int d = 0; d < n; d++)
        print_device(out, &all[d], any_streams);
    return HN_OK;
}

/* ---- all of it ---- */

static void print_row(FILE *out, const table *t, const char *label, int64_t (*value)(const hn_lm_planned *), bool if_any)
{
    bool is_any = !if_any;
    for (int i = 0; i < t->n; i++)
        is_any = is_any || value(&t->at[i]);
    if (!is_any)
        return;
    fprintf(out, "%-*s", LABEL, label);
    for (int i = 0; i < t->n; i++)
        fprintf(out, "%*lld", WIDTH, (long long)value(&t->at[i]));
    fputc('\n', out);
}

static int64_t tokens_of(const hn_lm_planned *p)
{
    return p->tokens;
}

static int64_t steps_of(const hn_lm_planned *p)
{
    return p->steps;
}

static int64_t slow_of(const hn_lm_planned *p)
{
    return p->slow;
}

static int64_t copies_of(const hn_lm_planned *p)
{
    return p->copies;
}

static hn_status print_model(FILE *out, const hn_lm_plan *plan)
{
    hn_lm_planned_model m;
    HN_TRY(hn_lm_plan_model(plan, &m, sizeof m));
    fprintf(out, "%s: %s, %lld layers of %lld, %.4g M parameters, %.4g MiB of weights\n\n", m.path, m.architecture,
            (long long)m.layers, (long long)m.width, (double)m.parameters / 1e6, (double)m.weights / 1048576);
    return HN_OK;
}

static hn_status print_table(FILE *out, const hn_lm_plan *plan)
{
    table t;
    HN_TRY(table_of(plan, &t));
    HN_TRY(print_model(out, plan));
    fprintf(out, "%-*s", LABEL, "");
    for (int i = 0; i < t.n; i++)
        fprintf(out, "%*s", WIDTH, t.at[i].name);
    fputc('\n', out);
    print_row(out, &t, "tokens at a time", tokens_of, false);
    print_row(out, &t, "steps", steps_of, false);
    print_row(out, &t, "  without a kernel", slow_of, true);
    print_row(out, &t, "  copies between devices", copies_of, true);
    fprintf(out, "%-*s", LABEL, "operations");
    for (int i = 0; i < t.n; i++)
        print_flops_cell(out, t.at[i].operations);
    fputs("\nmemory\n", out);
    print_memory(out, &t);
    for (int i = 0; i < t.n; i++)
        HN_TRY(print_devices(out, &t, i));
    HN_TRY(print_ops(out, &t));
    if (hn_lm_plan_refused(plan)[0])
        fprintf(out, "%s\n", hn_lm_plan_refused(plan));
    return HN_OK;
}

typedef hn_status text_of(const hn_lm_plan *, int32_t, char *, size_t, size_t *);

/* A text of the first plan, on the heap, with its length. */
static hn_status take_text(const hn_lm_plan *plan, text_of *give, hn_heap *heap, char **text, size_t *bytes)
{
    const hn_status status = give(plan, 0, NULL, 0, bytes);
    if (status != HN_OK && status != HN_ERR_ARGUMENT)
        return status;
    *text = hn_alloc(heap, HN_TAG_TEXT, *bytes + 1);
    return *text ? give(plan, 0, *text, *bytes + 1, bytes) : HN_ERR_MEMORY;
}

static hn_status print_steps(const plan_args *args, const hn_lm_plan *plan, hn_heap *heap, FILE *out)
{
    char *steps = NULL, *svg = NULL;
    size_t bytes;
    hn_status status = args->steps ? take_text(plan, hn_lm_plan_steps, heap, &steps, &bytes) : HN_OK;
    if (steps && status == HN_OK)
        fprintf(out, "\n%s", steps);
    if (status == HN_OK && args->svg.path)
        status = take_text(plan, hn_lm_plan_svg, heap, &svg, &bytes);
    if (status == HN_OK && svg)
        status = hn_file_write(args->svg, &(hn_span){ (const uint8_t *)svg, bytes }, 1);
    hn_free(heap, steps);
    hn_free(heap, svg);
    return status;
}

static hn_status run(const void *parsed, int n_operands, char **operands, FILE *out)
{
    (void)n_operands;
    const plan_args *args = parsed;
    hn_heap heap;
    hn_opened opened;
    hn_lm_plan *plan;
    hn_heap_init(&heap, NULL);
    const hn_lm_plan_options o = { .size = sizeof o, .of = args->of, .context = args->context, .prompt = args->prompt,
                                   .cache = args->cache, .targets = args->targets, .optimizer = args->optimizer,
                                   .mode = args->mode, .rank = args->rank, .micro_tokens = args->micro_tokens,
                                   .recompute = args->recompute, .keeps_all = args->keeps_all, .mapped = args->mapped };
    HN_TRY(hn_opened_open(&opened, HN_OPEN_WEIGHTS, operands[0], &args->machine, &args->ignore, NULL));
    hn_status status = hn_lm_plan_new(&plan, opened.lm, &o);
    if (status == HN_OK) {
        status = print_table(out, plan);
        if (status == HN_OK && args->of)
            status = print_steps(args, plan, &heap, out);
        hn_lm_plan_free(plan);
    }
    hn_opened_close(&opened);
    return status;
}

static const plan_args defaults = { .prompt = 512, .rank = 16, .micro_tokens = 512 };

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
    .rules = rules,
    .defaults = &defaults,
    .args_size = sizeof(plan_args),
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};
