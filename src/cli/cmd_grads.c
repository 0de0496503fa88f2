/* hone grads: the loss of one batch and the gradient of every trainable tensor, for whoever wants
 * to compare them with another engine's. */
#include "cli/train_options.h"
#include "infer/adapter.h"
#include "io/weights_writer.h"
#include "kernels/gemm/rows.h"
#include "models/identity.h"

#include "base/sha256.h"

#include <string.h>

typedef struct grads_args {
    hn_train_config config;
    hn_data_args data;
    hn_machine_args machine;
    hn_list files;
    const char *from;
    hn_sink out;
    int64_t examples;
} grads_args;

static const hn_option options[] = {
    HN_LIST(grads_args, files, "data", "FILE[:WEIGHT]", "examples; may be given again"),
    HN_OUT(grads_args, out, "out", "FILE", "where the gradients go, as safetensors"),
    HN_INT(grads_args, examples, "examples", "N", 0, INT32_MAX,
           "the first N examples are the batch (0: all)"),
    HN_TEXT(grads_args, from, "from", "ADAPTER",
            "trained tensors and their values are this adapter's, not --targets' first values"),
    HN_TEXT(grads_args, config.targets, "targets", "LIST", "what is trained, as hone train has it"),
    HN_INT(grads_args, config.rank, "rank", "R", 1, 65536, "of low-rank changes"),
    HN_REAL(grads_args, config.alpha, "alpha", "A", "over the rank (0: twice the rank)"),
    HN_FLAG(grads_args, config.rooted, "rslora", "scale by alpha over the root of the rank"),
    HN_TEXT(grads_args, config.goal, "goal", "NAME", hn_goals_help + 2),
    HN_REAL(grads_args, config.beta, "beta", "B", "how much a preference counts"),
    HN_REAL(grads_args, config.desirable, "desirable-weight", "X", "what an answer labelled true counts"),
    HN_REAL(grads_args, config.undesirable, "undesirable-weight", "X", "what an answer labelled false counts"),
    HN_REAL(grads_args, config.kl_weight, "kl-weight", "X", "of the divergence from the base"),
    HN_REAL(grads_args, config.balance, "balance-weight", "X", "of the routers' balance loss"),
    HN_TEXT(grads_args, config.balance_over, "balance", "WHAT", "over each sequence, or batch"),
    HN_REAL(grads_args, config.z, "z-weight", "X", "of the routers' z loss"),
    HN_INT(grads_args, config.seed, "seed", "N", 0, INT32_MAX, "of first values"),
    HN_INT(grads_args, config.micro_tokens, "micro-tokens", "N", 0, INT32_MAX,
           "tokens of a micro-batch (0: up to 2048, or the longest example)"),
    HN_INT(grads_args, config.recompute, "recompute", "N", 0, 10000,
           "keep every n-th layer's input and compute the rest again (0: keep all)"),
    HN_DEVICE_OPTIONS(grads_args),
    HN_TEXT(grads_args, config.plan, "plan", "MODE", "inplace, reuse, separate or poison"),
    HN_GROUP("how examples become tokens"),
#define HN_DATA(kind, field, option, value, low, high, help)                                    \
    HN_DATA_OPTION_##kind(grads_args, data, field, option, value, low, high, help)
#include "train/data_choice.def"
    HN_OPTION_END,
};

static const grads_args defaults = { .config = {
#define HN_TRAIN(kind, field, option, value, otherwise, low, high, counts, help) .field = otherwise,
#include "train/config.def"
#undef HN_TRAIN
} };

/* A batch, what it is differentiated by, and what does it. */
typedef struct grads {
    const grads_args *args;
    hn_train_input *in;
    hn_adapter *from; /* or NULL */
    hn_tuning *tuning;
    hn_learner *learner;
    hn_batch batch;
    hn_learned learned;
} grads;

/* ---- what is trained ---- */

static hn_status targets_of(const hn_adapter *a, hn_str *out)
{
    const hn_adapter_pair *p;
    const nn_weight *w;
    for (int i = 0; (p = hn_adapter_pair_at(a, i)) != NULL; i++) {
        const int64_t rank = hn_last_dim(&p->lora.b->type);
        hn_str_print(out, "%s%s:%s:r=%lld:alpha=%.17g", out->length ? "," : "", p->base->name,
                     p->lora.magnitude ? "dora" : "lora", (long long)rank,
                     (double)p->lora.scale * (double)rank);
    }
    for (int i = 0; (w = hn_adapter_whole_at(a, i)) != NULL; i++)
        hn_str_print(out, "%s%s:full", out->length ? "," : "", w->name);
    return hn_str_status(out);
}

/* Rows [n, k] of a matrix in order, to or from memory where they lie by head in pairs. */
static void copy_rows(float *to, const float *from, const hn_type *type, int64_t to_pairs,
                      int64_t from_pairs)
{
    const int64_t k = type->rank > 1 ? hn_last_dim(type) : 1;
    for (int64_t row = 0; row < hn_count(type) / k; row++)
        memcpy(to + hn_gemm_row(to_pairs, row) * k, from + hn_gemm_row(from_pairs, row) * k,
               (size_t)k * sizeof *to);
}

/* The head size of a trained copy whose rows lie as its file has them; 0: in order. */
static int64_t pairs_of(const grads *g, const hn_tunable *t)
{
    int layer = 0;
    if (!t->weight.is_permuted || sscanf(t->name, "blk.%d.", &layer) != 1)
        return 0;
    return hn_layer_head_dim(hn_model_hparams(g->in->model), layer);
}

static void take_values(grads *g)
{
    const hn_adapter_pair *p;
    const nn_weight *w;
    const hn_tuning *t = g->tuning;
    for (int i = 0; (p = hn_adapter_pair_at(g->from, i)) != NULL; i++) {
        const hn_tuned *tuned = hn_tuning_of(t, p->base->name);
        const nn_weight *parts[] = { p->lora.a, p->lora.b, p->lora.magnitude };
        for (int k = 0; k < tuned->n; k++)
            memcpy(hn_tuning_data(t, tuned->first + k), parts[k]->data,
                   hn_type_bytes(&parts[k]->type));
    }
    for (int i = 0; (w = hn_adapter_whole_at(g->from, i)) != NULL; i++) {
        const int at = hn_tuning_find(t, w->name);
        copy_rows(hn_tuning_data(t, at), w->data, &w->type, pairs_of(g, &t->tensors[at]), 0);
    }
}

static hn_status open_tuning(grads *g)
{
    const hn_train_config *c = &g->args->config;
    const hn_tune_settings otherwise = hn_train_config_tuning(c);
    hn_heap *heap = g->in->heap;
    hn_str text = hn_str_on(heap);
    hn_tune_targets targets;
    hn_status status = HN_OK;
    if (g->args->from) {
        const hn_adapter_use use = { .model = g->in->model, .run = g->in->run,
                                     .as_trained = true, .tokenizer = g->in->tokenizer,
                                     .template = g->in->template,
                                     .renders_nothing = !g->in->template[0] };
        status = hn_adapter_open(&g->from, heap, g->args->from, &use, NULL);
        if (status == HN_OK)
            status = targets_of(g->from, &text);
    } else {
        hn_str_add(&text, c->targets ? c->targets : hn_default_targets(g->in->model));
        status = hn_str_status(&text);
    }
    if (status == HN_OK)
        status = hn_tune_targets_parse(heap, text.text, &otherwise, &targets);
    hn_str_free(&text);
    HN_TRY(status);
    status = hn_tuning_new(heap, g->in->model, &targets, (uint64_t)c->seed, &g->tuning);
    hn_tune_targets_free(heap, &targets);
    if (status == HN_OK && g->from)
        take_values(g);
    return status;
}

/* ---- the batch ---- */

static hn_status read_batch(grads *g, size_t *longest)
{
    const hn_dataset *d = g->in->data.dataset;
    hn_example example = hn_example_on(g->in->heap);
    hn_status status = HN_OK;
    *longest = 1;
    for (uint64_t i = 0; i < d->n && status == HN_OK; i++) {
        if (d->fates[i] != HN_FATE_TRAINED)
            continue;
        if (g->args->examples && (int64_t)g->batch.n_examples >= g->args->examples)
            break;
        status = hn_dataset_read(d, i, &example);
        if (status == HN_OK)
            status = hn_batch_add(&g->batch, &example);
        *longest = d->tokens[i] > *longest ? d->tokens[i] : *longest;
    }
    hn_example_free(&example);
    HN_TRY(status);
    HN_REQUIRE(g->args->examples <= (int64_t)g->batch.n_examples, HN_ERR_ARGUMENT,
               "--examples %lld: there are %zu", (long long)g->args->examples, g->batch.n_examples);
    return HN_OK;
}

static hn_status look(grads *g)
{
    enum { AT_ONCE = 2048 };
    const hn_train_config *c = &g->args->config;
    hn_learner_options o;
    size_t longest;
    HN_TRY(hn_train_config_learner(c, &o));
    HN_TRY(hn_goal_check_data(o.objective.goal, g->in->data.dataset));
    HN_TRY(read_batch(g, &longest));
    const size_t most = g->batch.n_tokens < AT_ONCE ? g->batch.n_tokens : AT_ONCE;
    HN_REQUIRE(!c->micro_tokens || (size_t)c->micro_tokens >= longest, HN_ERR_ARGUMENT,
               "--micro-tokens %lld: the longest example has %zu", (long long)c->micro_tokens,
               longest);
    o.objective.max_tokens = c->micro_tokens ? c->micro_tokens
                                             : (int64_t)(most > longest ? most : longest);
    o.descent.recompute_every = c->recompute > 0 ? (int)c->recompute : 0;
    HN_TRY(hn_learner_new(&g->learner, g->in->heap, g->in->model, g->tuning, g->in->run, &o));
    return hn_learner_look(g->learner, &g->batch, 0, NULL, &g->learned);
}

/* ---- the file ---- */

static hn_status describe(const grads *g, hn_meta *keys)
{
    char text[80];
    static const char *const names[] = { "loss", "grad_norm", "weight" };
    const double numbers[] = { g->learned.loss, g->learned.grad_norm, g->batch.weight };
    for (int i = 0; i < 3; i++) {
        snprintf(text, sizeof text, "%.17g", numbers[i]);
        HN_TRY(hn_meta_set_text(keys, names[i], text));
    }
    snprintf(text, sizeof text, "%zu", g->batch.n_tokens);
    HN_TRY(hn_meta_set_text(keys, "tokens", text));
    snprintf(text, sizeof text, "%zu", g->batch.n_supervised);
    HN_TRY(hn_meta_set_text(keys, "supervised", text));
    snprintf(text, sizeof text, "%zu", g->batch.n_sequences);
    HN_TRY(hn_meta_set_text(keys, "sequences", text));
    HN_TRY(hn_model_identity(g->in->model, text));
    HN_TRY(hn_meta_set_text(keys, "base.sha256", text));
    return hn_meta_set_text(keys, "numerics", g->args->config.numerics);
}

static hn_status put(grads *g, int i, hn_weights_writer *writer)
{
    const hn_tunable *t = &g->tuning->tensors[i];
    hn_tensor gradient;
    HN_TRY(hn_learner_gradient(g->learner, i, &gradient));
    const size_t bytes = hn_type_bytes(&gradient.type);
    float *rows = hn_alloc(g->in->heap, HN_TAG_FILE, bytes);
    if (!rows)
        return HN_ERR_MEMORY;
    copy_rows(rows, gradient.data, &gradient.type, 0, pairs_of(g, t));
    const hn_status status = hn_weights_writer_put(writer, (size_t)i, 0, rows, bytes);
    hn_free(g->in->heap, rows);
    return status;
}

static hn_status write_file(grads *g)
{
    hn_heap *heap = g->in->heap;
    const size_t n = (size_t)g->tuning->n_tensors;
    hn_meta keys = hn_meta_on(heap, g->args->out.path);
    hn_weights_writer *writer = NULL;
    hn_weight_entry *entries = hn_alloc_array(heap, HN_TAG_FILE, n, sizeof *entries);
    hn_status status = entries ? describe(g, &keys) : HN_ERR_MEMORY;
    for (size_t i = 0; i < n && status == HN_OK; i++)
        entries[i] = (hn_weight_entry){ .name = g->tuning->tensors[i].name,
                                        .type = g->tuning->tensors[i].weight.type };
    if (status == HN_OK)
        status = hn_safetensors_create(heap, g->args->out, &keys, entries, n, &writer);
    for (size_t i = 0; i < n && status == HN_OK; i++)
        status = put(g, (int)i, writer);
    if (status == HN_OK)
        status = hn_weights_writer_finish(writer);
    else
        hn_weights_writer_abandon(writer);
    hn_free(heap, entries);
    hn_meta_free(&keys);
    return status;
}

static hn_status run(const void *parsed, int n_operands, char **operands, FILE *out)
{
    (void)n_operands;
    const grads_args *args = parsed;
    hn_heap heap;
    HN_REQUIRE(args->out.path, HN_ERR_ARGUMENT, "expected --out FILE");
    HN_REQUIRE(!args->from || !args->config.targets, HN_ERR_ARGUMENT,
               "--targets beside --from: the adapter says what is trained");
    HN_TRY(hn_train_config_check(&args->config));
    hn_heap_init(&heap, NULL);
    hn_train_input in = { .heap = &heap };
    grads g = { .args = args, .in = &in, .batch = hn_batch_on(&heap) };
    hn_status status = hn_train_args_open(&in, operands[0], &args->data, &args->files,
                                           &args->machine, NULL);
    if (status == HN_OK)
        status = open_tuning(&g);
    if (status == HN_OK)
        status = look(&g);
    if (status == HN_OK)
        status = write_file(&g);
    if (status == HN_OK)
        fprintf(out, "loss %.9g, gradient norm %.9g: %d tensors of %zu sequences, %zu tokens, %zu "
                     "supervised\n", g.learned.loss, g.learned.grad_norm, g.tuning->n_tensors,
                g.batch.n_sequences, g.batch.n_tokens, g.batch.n_supervised);
    hn_learner_free(g.learner);
    hn_tuning_free(g.tuning);
    hn_adapter_close(g.from);
    hn_batch_free(&g.batch);
    hn_train_input_close(&in);
    return status;
}

const hn_command hn_cmd_grads = {
    .name = "grads",
    .operands = "MODEL",
    .summary = "write the loss and every gradient of one batch",
    .details = "Tensors are f32 under GGUF's names, rows in the order of Hugging Face's files. Nothing is\n"
               "clipped or trained. Loss, gradient norm and counts are in __metadata__.\n",
    .example = "grads m.gguf --data d.jsonl --out g.safetensors",
    .options = options,
    .letters = "o:out",
    .defaults = &defaults,
    .args_size = sizeof(grads_args),
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};
