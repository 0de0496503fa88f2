/* Cross-entropy over a large vocabulary as a planned call: its time, and its memory, which must
 * stay near what nobody can avoid: the weights, the gradient of the input and one tile. */
#include "cli/bench.h"

#include "backend/executable.h"
#include "diff/diff.h"

enum { TOKENS = 1024, WORDS = 262144, TILE = 512 };

typedef struct loss {
    hn_graph *g;
    hn_node *x, *w, *labels, *wanted[2];
    hn_executable *program;
    float *weights; /* where no other memory is large enough */
    hn_status status; /* of runs */
} loss;

static void run(hn_bench *b, void *what)
{
    loss *l = what;
    (void)b;
    if (l->status == HN_OK)
        l->status = hn_program_run(hn_executable_program(l->program, 0), NULL);
}

static hn_status build(hn_bench *b, loss *l, int64_t width, hn_device *device)
{
    const int64_t x_dim[] = { TOKENS, width }, w_dim[] = { WORDS, width }, n_labels = TOKENS;
    HN_TRY(hn_graph_new(&l->g, b->heap));
    l->x = hn_graph_leaf(l->g, HN_LEAF_INPUT, "x", HN_F32, 2, x_dim);
    l->w = hn_graph_leaf(l->g, HN_LEAF_WEIGHT, "w", HN_F32, 2, w_dim);
    l->labels = hn_graph_leaf(l->g, HN_LEAF_INPUT, "labels", HN_I32, 1, &n_labels);
    l->wanted[0] = hn_cross_entropy(l->g, l->x, l->w, l->labels, NULL, NULL, NULL, -100, 0, 1);
    HN_TRY(hn_graph_finish(l->g));
    const hn_diff_options diff = { 0 };
    HN_TRY(hn_diff(l->g, l->wanted[0], 1, &l->x, &diff, &l->wanted[1]));
    HN_TRY(hn_graph_finish(l->g));
    const hn_plan_options options = { 0 };
    HN_TRY(hn_executable_new(&l->program, l->g, 1, &device));
    return hn_executable_plan(l->program, 2, l->wanted, &options);
}

static hn_status bind(hn_bench *b, loss *l, int64_t width, int32_t *labels)
{
    float *x = b->from, *w = b->to; /* large enough for a width of 64 */
    const size_t n = (size_t)(WORDS * width);
    float *own = WORDS * width > HN_BENCH_STREAM ? hn_alloc_array(b->heap, HN_TAG_WEIGHT, n, sizeof *own) : NULL;
    if (WORDS * width > HN_BENCH_STREAM && !own)
        return HN_ERR_MEMORY;
    l->weights = own;
    hn_storage *storage = hn_executable_storage(l->program);
    HN_TRY(hn_storage_bind(storage, l->x->leaf, x, hn_type_bytes(&l->x->leaf->type)));
    HN_TRY(hn_storage_bind(storage, l->labels->leaf, labels, TOKENS * sizeof *labels));
    float *weights = own ? own : w;
    for (int64_t i = 0; i < WORDS * width; i++)
        weights[i] = (float)(i * 7919 % 2003) * 0.0005f - 0.5f;
    for (int i = 0; i < TOKENS; i++)
        labels[i] = i * 251 % WORDS;
    HN_TRY(hn_storage_bind(storage, l->w->leaf, weights, n * sizeof *weights));
    return hn_executable_make(l->program);
}

static hn_status race(hn_bench *b, loss *l, int64_t width)
{
    /* forward 2; backward 2 for the scores again and 2 for dx */
    hn_racer racers[] = { hn_bench_fma(b),
                          { .run = run, .what = l, .work = 6.0 * TOKENS * WORDS * (double)width } };
    hn_bench_race(b, 2, racers);
    HN_TRY(l->status);
    const double weights = 4.0 * WORDS * (double)width;
    const double least = weights + 4.0 * TOKENS * (double)width + 4.0 * TOKENS * TILE;
    const double planned = weights + (double)hn_executable_measure(l->program).workspace;
    char what[64];
    snprintf(what, sizeof what, "width %d: %.2f s, %.1f MiB, %.2f of the least", (int)width,
             racers[1].best, planned / 1048576, planned / least);
    hn_bench_line(b, "xent", what, "GFLOP/s", 2, racers);
    HN_REQUIRE(planned <= 1.2 * least, HN_ERR_MEMORY,
               "cross-entropy is planned to take %.1f MiB: expected at most %.1f",
               planned / 1048576, 1.2 * least / 1048576);
    return HN_OK;
}

static hn_status bench_width(hn_bench *b, int64_t width, hn_device *device)
{
    loss l = { .status = HN_OK };
    int32_t *labels = hn_alloc_array(b->heap, HN_TAG_WORKSPACE, TOKENS, sizeof *labels);
    hn_status status = labels ? build(b, &l, width, device) : HN_ERR_MEMORY;
    if (status == HN_OK)
        status = bind(b, &l, width, labels);
    if (status == HN_OK)
        status = race(b, &l, width);
    hn_executable_free(l.program);
    hn_graph_free(l.g);
    hn_free(b->heap, l.weights);
    hn_free(b->heap, labels);
    return status;
}

hn_status hn_bench_loss(hn_bench *b)
{
    hn_device *device[HN_MAX_DEVICES];
    int n;
    hn_isa_text level;
    const hn_device_options open = { .n_threads = b->n_threads,
                                     .isa = hn_isa_name(b->isa, &level) };
    HN_TRY(hn_devices_open(b->heap, "cpu", &open, &n, device));
    const int again = b->again;
    b->again = b->again > 2 ? 2 : b->again; /* seconds each */
    hn_status status = HN_OK;
    for (int64_t width = 64; width <= (b->is_quick ? 64 : 128) && status == HN_OK; width *= 2)
        status = bench_width(b, width, device[0]);
    b->again = again;
    hn_devices_close(n, device);
    return status;
}
