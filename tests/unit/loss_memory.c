/* Cross-entropy over 262,144 words, with its gradient: what is planned stays near what nobody can avoid,
 * the weights, the gradient of the input and one tile of logits. */
#include "backend/program.h"
#include "diff/diff.h"
#include "prove/env.h"
#include "tests/harness/check.h"

#include <string.h>

enum { TOKENS = 1024, WORDS = 262144, TILE = 512 };

static hn_status plan_loss(hn_heap *heap, const hn_target *target, int64_t width, hn_dtype type, size_t *out)
{
    hn_graph *g;
    hn_plan *plan = NULL;
    const int64_t x_dim[] = { TOKENS, width }, w_dim[] = { WORDS, width }, n_labels = TOKENS;
    HN_TRY(hn_graph_new(&g, heap));
    hn_node *x = hn_graph_leaf(g, HN_LEAF_INPUT, "x", HN_F32, 2, x_dim);
    hn_node *w = hn_graph_leaf(g, HN_LEAF_WEIGHT, "w", type, 2, w_dim);
    hn_node *labels = hn_graph_leaf(g, HN_LEAF_INPUT, "labels", HN_I32, 1, &n_labels);
    hn_node *wanted[2] = { hn_cross_entropy(g, x, w, labels, NULL, NULL, NULL, -100, 0, 1), NULL };
    const hn_plan_options options = { .copy = &hn_op_contiguous };
    hn_status status = hn_graph_finish(g);
    if (status == HN_OK)
        status = hn_diff(g, wanted[0], 1, &x, NULL, &wanted[1]);
    if (status == HN_OK)
        status = hn_graph_finish(g);
    if (status == HN_OK)
        status = hn_plan_new(&plan, g, 2, wanted, 1, target, &options);
    *out = status == HN_OK ? plan->workspace[0] : 0;
    hn_plan_free(plan);
    hn_graph_free(g);
    return status;
}

int main(int argc, char **argv)
{
    static const struct {
        int64_t width;
        const char *type;
    } heads[] = { { 64, "f32" },    { 128, "f32" },   { 128, "bf16" }, { 896, "bf16" },
                  { 1024, "f32" }, { 2816, "bf16" }, { 256, "q8_0" }, { 2816, "q4_k" } };
    hn_heap heap;
    hn_device *device[HN_MAX_DEVICES];
    int n;
    check_open(argc, argv);
    hn_heap_init(&heap, NULL);
    const hn_device_options two = { .n_threads = 2 };
    if (!CHECK_OK(hn_devices_open(&heap, "cpu", &two, &n, device)))
        return check_close();
    const hn_target target = hn_device_target(device[0]->host);
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        const int64_t width = heads[i].width, dim[] = { WORDS, width };
        hn_type w;
        hn_dtype type;
        size_t planned = 0;
        if (!CHECK_OK(hn_dtype_parse(heads[i].type, strlen(heads[i].type), &type)) ||
            !CHECK_OK(plan_loss(&heap, &target, width, type, &planned)) ||
            !CHECK_OK(hn_type_make(&w, type, 2, dim)))
            continue;
        const double weights = (double)hn_type_bytes(&w);
        const double least = weights + 4.0 * TOKENS * (double)width + 4.0 * TOKENS * TILE;
        CHECK_THAT(weights + (double)planned <= 1.2 * least, "width %lld in %s: %.2f of the least",
                   (long long)width, heads[i].type, (weights + (double)planned) / least);
    }
    hn_devices_close(n, device);
    return check_close();
}
