/* Two graphs of one token: one of the numbers that the directory gave, one of the keys as a reader will find them.
 * No weight is read; only constants, which some graphs look into, are filled. */
#include "convert/same_model.h"

#include "graph/graph_same.h"
#include "models/models.h"
#include "nn/build.h"
#include "nn/rope_constants.h"

#include <string.h>

typedef struct check {
    const hn_same_model *of;
    hn_weights weights; /* what will be written, by name; data of constants alone */
    nn_weight *found;   /* one an entry */
    hn_hparams *written;
    hn_graph *meant, *read;
} check;

static hn_status lost(const char *what)
{
    return hn_fail(HN_ERR_UNSUPPORTED, "GGUF would be another model than the directory: %s", what);
}

static const nn_weight *find(const void *self, const char *name)
{
    const check *c = self;
    const hn_weight_entry *e = hn_weights_find(&c->weights, name);
    return e ? &c->found[e - c->weights.entries] : NULL;
}

/* What the directory's numbers say and no tensor of it: some graphs look into it. */
static hn_status fill_constant(const check *c, nn_weight *w)
{
    const int64_t n = hn_count(&w->type);
    float *data = hn_alloc_array(c->of->heap, HN_TAG_FILE, (size_t)n, sizeof *data);
    double *values = hn_alloc_array(c->of->heap, HN_TAG_FILE, (size_t)n, sizeof *values);
    const hn_status status =
        data && values ? hn_rope_constant(c->of->hp, w->name, n, values) : HN_ERR_MEMORY;
    for (int64_t i = 0; i < n && status == HN_OK; i++)
        data[i] = (float)values[i];
    w->data = data;
    hn_free(c->of->heap, values);
    return status;
}

static hn_status index_weights(check *c)
{
    const hn_same_model *of = c->of;
    c->weights.name = "what is to be written";
    c->weights.entries = hn_alloc_array(of->heap, HN_TAG_FILE, of->n + 1, sizeof *c->weights.entries);
    c->found = hn_alloc_array(of->heap, HN_TAG_FILE, of->n + 1, sizeof *c->found);
    if (!c->weights.entries || !c->found)
        return HN_ERR_MEMORY;
    memcpy(c->weights.entries, of->entries, of->n * sizeof *of->entries);
    c->weights.n = of->n;
    for (size_t i = 0; i < of->n; i++) {
        const hn_arch_tensor *t = of->tensors;
        while (strcmp(t->gguf, of->entries[i].name) != 0)
            t++;
        c->found[i] = (nn_weight){ .name = of->entries[i].name, .type = of->entries[i].type,
                                   .is_shifted = t->spec->how & HN_W_PLUS_ONE,
                                   .is_rounded = !(t->spec->how & HN_W_CONSTANT),
                                   .is_permuted = (t->spec->how & HN_W_PERMUTE) != 0 };
        if (t->spec->how & HN_W_CONSTANT)
            HN_TRY(fill_constant(c, &c->found[i]));
    }
    return hn_weights_index(of->heap, &c->weights);
}

static hn_status build(const check *c, const hn_hparams *hp, hn_graph **out)
{
    const nn_build_options o = { .max_tokens = 1, .gives_states = hp->is_headless };
    nn_build b = { .model = { c, find } };
    HN_TRY(hn_graph_new(out, c->of->heap));
    nn_build_begin(&b, *out, hp, &o);
    hn_node *y = c->of->arch->build(&b);
    HN_TRY(hn_graph_finish(*out));
    return y ? HN_OK : HN_ERR_MEMORY;
}

/* What is asked of a model beside its graph. */
static hn_status check_numbers(const hn_hparams *a, const hn_hparams *b)
{
    const struct {
        const char *name;
        int64_t meant, read;
    } numbers[] = {
        { "block_count", a->n_layer, b->n_layer },
        { "embedding_length", a->width, b->width },
        { "context_length", a->n_ctx, b->n_ctx },
        { "the vocabulary", a->n_vocab, b->n_vocab },
        { "the longest sequence", hn_hparams_longest(a), hn_hparams_longest(b) },
        { "attention.sliding_window", a->has_pattern ? a->window : 0, a->has_pattern ? b->window : 0 },
        { "expert_count", a->n_expert, b->n_expert },
        { "expert_used_count", a->n_used, b->n_used },
        { "attention.shared_kv_layers", a->n_shared_kv, b->n_shared_kv },
        { "hone.headless", a->is_headless, b->is_headless },
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        HN_REQUIRE(numbers[i].meant == numbers[i].read, HN_ERR_UNSUPPORTED,
                   "GGUF would be another model than the directory: %s is %lld, and would be read as %lld",
                   numbers[i].name, (long long)numbers[i].meant, (long long)numbers[i].read);
    for (int64_t i = 0; i < a->n_layer; i++)
        if (a->window && a->is_sliding[i] != b->is_sliding[i])
            return lost("which layers slide");
    return HN_OK;
}

static hn_status read_back(check *c, const hn_meta *meta)
{
    const hn_same_model *of = c->of;
    c->written = hn_alloc(of->heap, HN_TAG_FILE, sizeof *c->written);
    if (!c->written)
        return HN_ERR_MEMORY;
    HN_TRY(index_weights(c));
    return hn_arch_read_meta(of->arch, meta, &c->weights, NULL, c->written);
}

static hn_status compare(check *c, const hn_meta *meta)
{
    const hn_same_model *of = c->of;
    HN_TRY(read_back(c, meta));
    HN_TRY(check_numbers(of->hp, c->written));
    if (!of->arch->build)
        return HN_OK;
    HN_TRY(build(c, of->hp, &c->meant));
    HN_TRY(build(c, c->written, &c->read));
    const hn_status status = hn_graph_same(c->meant, c->read);
    return status == HN_ERR_FORMAT ? lost(hn_error_message()) : status;
}

/* Whether there is a model in it at all. */
static hn_status open_alone(check *c, const hn_meta *meta)
{
    HN_TRY(read_back(c, meta));
    const hn_status status = c->of->arch->build ? build(c, c->written, &c->read) : HN_OK;
    return status == HN_OK ? HN_OK : hn_fail_within(status, "%s: ", meta->name);
}

static hn_status check_by(hn_status (*how)(check *, const hn_meta *), const hn_same_model *m, const hn_meta *meta)
{
    check c = { .of = m };
    const hn_status status = how(&c, meta);
    hn_graph_free(c.meant);
    hn_graph_free(c.read);
    for (size_t i = 0; c.found && i < m->n; i++)
        hn_free(m->heap, (void *)(uintptr_t)c.found[i].data);
    hn_free(m->heap, c.weights.index);
    hn_free(m->heap, c.weights.entries);
    hn_free(m->heap, c.found);
    hn_free(m->heap, c.written);
    return status;
}

hn_status hn_same_model_check(const hn_same_model *m, const hn_meta *meta) { return check_by(compare, m, meta); }

hn_status hn_same_model_opens(const hn_same_model *m, const hn_meta *meta) { return check_by(open_alone, m, meta); }
