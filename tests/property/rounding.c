/* Gradients pass through the roundings of bf16 mode: for every model that has it, the gradient of
 * a function of each layer's output, by the layer's input, is that of f32 but for what roundings
 * of the activations themselves change; and it is no step function's, which would be zero. */
#include "diff/diff.h"
#include "infer/compiled.h"
#include "infer/reference.h"
#include "tests/harness/all_devices.h"
#include "tests/harness/check.h"

#include <math.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static hn_heap heap;
static hn_device *devices[HN_MAX_DEVICES];
static int n_devices;

enum { MOST_LAYERS = 8 };

typedef struct run {
    hn_compiled c;
    hn_node *wanted[MOST_LAYERS];
    float *factors;
    int32_t *positions, *segments;
} run;

/* The sum over layers of <factors, what leaves the layer>. */
static hn_status differentiate(run *r, const hn_reference *ref)
{
    hn_graph *g = r->c.g;
    const nn_build *b = &r->c.build;
    const hn_type *like = &b->layers[0].out->type; /* [T, C], or of streams [T, A, C] */
    hn_node *factors = hn_graph_leaf(g, HN_LEAF_INPUT, "factors", HN_F32, like->rank, like->dim), *loss = NULL;
    hn_node *inputs[MOST_LAYERS];
    for (int64_t i = 0; i < ref->n_layer; i++) {
        hn_node *part = hn_sum_to(g, hn_mul(g, factors, b->layers[i].out), hn_graph_scalar(g, 0),
                                  NULL);
        loss = loss ? hn_add(g, loss, part) : part;
        inputs[i] = b->layers[i].given;
    }
    HN_TRY(hn_graph_finish(g));
    HN_TRY(hn_diff(g, loss, (int)ref->n_layer, inputs, NULL, r->wanted));
    HN_TRY(hn_compiled_plan(&r->c, (int)ref->n_layer, r->wanted, NULL));
    return hn_storage_bind(r->c.storage, factors->leaf, r->factors, hn_type_bytes(&factors->leaf->type));
}

static hn_status bind(run *r, const hn_reference *ref)
{
    const nn_build *b = &r->c.build;
    hn_storage *storage = r->c.storage;
    HN_TRY(hn_storage_bind(storage, b->tokens->leaf, ref->tokens, hn_type_bytes(&b->tokens->leaf->type)));
    HN_TRY(hn_storage_bind(storage, b->positions->leaf, r->positions, hn_type_bytes(&b->positions->leaf->type)));
    HN_TRY(hn_storage_bind(storage, b->segments->leaf, r->segments, hn_type_bytes(&b->segments->leaf->type)));
    for (int64_t i = 0; i <= ref->n_layer; i++) {
        HN_TRY(hn_storage_bind(storage, b->layers[i].given->leaf, ref->hidden[i], hn_type_bytes(&b->layers[i].given->leaf->type)));
        if (b->layers[i].own_given)
            HN_TRY(hn_storage_bind(storage, b->layers[i].own_given->leaf, ref->own[i], hn_type_bytes(&b->layers[i].own_given->leaf->type)));
    }
    HN_TRY(hn_compiled_finish(&r->c));
    HN_TRY(hn_program_set_extent(r->c.program, b->tokens_extent, ref->n_tokens));
    return hn_program_run(r->c.program, NULL);
}

static hn_status gradients(run *r, const hn_model *model, const hn_reference *ref,
                           hn_numerics numerics)
{
    const nn_build_options o = { .max_tokens = ref->n_tokens, .numerics = numerics,
                                 .feeds_layers = true };
    HN_TRY(hn_compiled_build(&r->c, &heap, model, on_all_devices(n_devices, devices), &o));
    HN_TRY(differentiate(r, ref));
    return bind(r, ref);
}

static void make_inputs(run *r, const hn_reference *ref)
{
    const size_t n = (size_t)ref->n_tokens;
    *r = (run){ 0 };
    r->factors = hn_alloc_array(&heap, HN_TAG_STATE, n * (size_t)ref->width, sizeof(float));
    r->positions = hn_alloc_array(&heap, HN_TAG_STATE, n, sizeof(int32_t));
    r->segments = hn_alloc_array(&heap, HN_TAG_STATE, n, sizeof(int32_t));
    for (int64_t i = 0; i < ref->n_tokens * ref->width; i++)
        r->factors[i] = (float)(i * 29 % 17 - 8) / 8;
    for (int64_t i = 0; i < ref->n_tokens; i++)
        r->positions[i] = (int32_t)(ref->position + i);
}

static void free_run(run *r)
{
    hn_compiled_free(&r->c);
    hn_free(&heap, r->factors);
    hn_free(&heap, r->positions);
    hn_free(&heap, r->segments);
}

/* Where gates beyond a bound are cut off, the rounding of one of them turns a whole gradient: such layers are left to
 * `hone prove`, which takes both sides of a kink in f32. */
static bool is_cut(const hn_hparams *hp, int64_t layer)
{
    return layer < hp->n_sparsity && hp->sparsity[layer] > -HUGE_VAL;
}

static void compare(const run *plain, const run *rounded, const hn_hparams *hp)
{
    for (int64_t i = 0; i < hp->n_layer; i++) {
        if (is_cut(hp, i))
            continue;
        hn_tensor a, b;
        double error = 0, size = 0;
        if (!CHECK_OK(hn_program_result(plain->c.program, (int)i, &a)) ||
            !CHECK_OK(hn_program_result(rounded->c.program, (int)i, &b)))
            return;
        for (int64_t k = 0; k < hn_count(&a.type); k++) {
            const double d = hn_get(&b, k) - hn_get(&a, k);
            error += d * d;
            size += hn_get(&a, k) * hn_get(&a, k);
        }
        CHECK_THAT(error <= 5e-3 * size && error > 0,
                   "layer %lld: NMSE of the gradient %.3g: expected more than 0, at most 5e-3",
                   (long long)i, error / size);
    }
}

static void check_model(const char *name)
{
    char dir[512], dump[512];
    hn_model *model;
    hn_reference ref;
    check_group(name);
    snprintf(dir, sizeof dir, "%s/tests/differential/models/%s", HN_SOURCE_DIR, name);
    snprintf(dump, sizeof dump, "%s/tests/differential/parity/%s-bf16.safetensors", HN_SOURCE_DIR,
             name);
    if (!CHECK_OK(hn_model_open(&heap, dir, NULL, &model)))
        return;
    if (CHECK_OK(hn_reference_read(&ref, &heap, dump, hn_model_hparams(model)))) {
        run plain, rounded;
        make_inputs(&plain, &ref);
        make_inputs(&rounded, &ref);
        if (CHECK_OK(gradients(&plain, model, &ref, HN_NUMERICS_F32)) &&
            CHECK_OK(gradients(&rounded, model, &ref, HN_NUMERICS_BF16)))
            compare(&plain, &rounded, hn_model_hparams(model));
        free_run(&plain);
        free_run(&rounded);
    }
    hn_reference_free(&ref);
    hn_model_close(model);
}

int main(int argc, char **argv)
{
    static const char *const names[] = { "llama",   "mistral",  "mixtral",    "qwen2",
                                         "qwen3",   "qwen3moe", "gemma2",     "gemma3",
                                         "gemma4-e", "gemma4-moe", "gpt-oss",  "smollm3",
                                         "granite", "gpt2", "gemma3n", "olmoe", "granitemoe-shared", "phi3", "phi4-mini" };
    check_open(argc, argv);
    hn_heap_init(&heap, NULL);
    const hn_device_options open = { .n_threads = 2 };
    if (CHECK_OK(hn_devices_open(&heap, "cpu", &open, &n_devices, devices))) {
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            check_model(names[i]);
        hn_devices_close(n_devices, devices);
    }
    CHECK_INT(0, heap.live_blocks);
    return check_close();
}
