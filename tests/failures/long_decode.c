/* One program for every length: 1,000 decode-like steps with a growing cache, then ragged
 * micro-batches. One compile, no allocation while running, the bits of exact-size compiles, flat
 * memory; in poison mode, so that the workspace that was planned is the workspace that is used. */
#include "ops/rope_table.h"
#include "tests/failures/steps.h"

#include <stdio.h>
#include <unistd.h>

enum { CAPACITY = 1000, HEADS = 2, KV_HEADS = 1, DIM = 8, WIDTH = HEADS * DIM };

typedef struct decoder {
    hn_graph *g;
    hn_node *x, *positions, *spans, *rows, *weights[4], *cache[2], *updated[2], *y;
    int extent;
} decoder;

/* One attention block over a cache of `capacity` rows; `max` new tokens at a time. */
static void build(decoder *d, int64_t capacity, int64_t max)
{
    hn_graph *g = d->g;
    d->extent = hn_graph_extent(g, "tokens", max);
    const int64_t t[2] = { hn_extent_dim(d->extent), WIDTH }, three[2] = { t[0], 3 };
    const int64_t square[2] = { WIDTH, WIDTH }, narrow[2] = { KV_HEADS * DIM, WIDTH };
    const int64_t kv[3] = { capacity, KV_HEADS, DIM };
    d->x = hn_graph_leaf(g, HN_LEAF_INPUT, "x", HN_F32, 2, t);
    d->positions = hn_graph_leaf(g, HN_LEAF_INPUT, "positions", HN_I32, 1, t);
    d->rows = hn_graph_leaf(g, HN_LEAF_INPUT, "rows", HN_I32, 1, t);
    d->spans = hn_graph_leaf(g, HN_LEAF_INPUT, "spans", HN_I32, 2, three);
    for (int i = 0; i < 4; i++)
        d->weights[i] = hn_graph_leaf(g, HN_LEAF_WEIGHT, "w", HN_F32, 2, i == 1 || i == 2 ? narrow : square);
    hn_node *q = hn_reshape(g, hn_linear(g, d->x, d->weights[0]), (hn_ints){ 3, { -1, HEADS, DIM } });
    hn_rope_spec spec = { .width = DIM };
    hn_node *angles = hn_rope_angles(g, d->positions, NULL, NULL, &spec);
    q = hn_rope(g, q, angles);
    for (int i = 0; i < 2; i++) {
        d->cache[i] = hn_graph_leaf(g, HN_LEAF_STATE, i ? "v" : "k", HN_F32, 3, kv);
        hn_node *new = hn_linear(g, d->x, d->weights[1 + i]);
        new = hn_reshape(g, new, (hn_ints){ 3, { -1, KV_HEADS, DIM } });
        if (!i)
            new = hn_rope(g, new, angles);
        d->updated[i] =
            hn_apply_named(g, "set_rows", NULL, 3, (hn_node *[]){ d->cache[i], new, d->rows });
    }
    hn_node *o = hn_apply_named(g, "attention", NULL, 5,
                                (hn_node *[]){ q, d->updated[0], d->updated[1], NULL, d->spans });
    d->y = hn_linear(g, hn_reshape(g, o, (hn_ints){ 2, { -1, WIDTH } }), d->weights[3]);
}

typedef struct running {
    decoder d;
    hn_executable *executable;
    hn_storage *storage;
    hn_program *program;
    float x[CAPACITY * WIDTH];
    int32_t positions[CAPACITY], spans[CAPACITY * 3];
} running;

static bool start(bench *b, running *r, int64_t capacity, int64_t max)
{
    if (!CHECK_OK(hn_graph_new(&r->d.g, &b->heap)))
        return false;
    build(&r->d, capacity, max);
    const hn_plan_options options = { .mode = HN_PLAN_POISON };
    bool ok = CHECK_OK(hn_graph_finish(r->d.g)) &&
              CHECK_OK(hn_executable_new(&r->executable, r->d.g, 1, &b->env.one)) &&
              CHECK_OK(hn_executable_plan(r->executable, 1, &r->d.y, &options)) &&
              CHECK_OK(hn_executable_make(r->executable));
    r->storage = ok ? hn_executable_storage(r->executable) : NULL;
    r->program = ok ? hn_executable_program(r->executable, 0) : NULL;
    for (int i = 0; ok && i < 4; i++) {
        const hn_leaf *leaf = r->d.weights[i]->leaf;
        void *data = hn_alloc(&b->heap, HN_TAG_PROVE, hn_type_bytes(&leaf->type));
        const hn_tensor w = hn_tensor_at(&leaf->type, data);
        ok = CHECK(data) && CHECK_OK(hn_random_data(50 + (uint64_t)i, -0.5, 0.5, &b->heap, &w)) &&
             CHECK_OK(hn_storage_write(r->storage, leaf, 0, data, hn_type_bytes(&leaf->type)));
        hn_free(&b->heap, data);
    }
    for (int i = 0; i < CAPACITY; i++) {
        r->positions[i] = i;
        r->spans[3 * i] = 0;
        r->spans[3 * i + 1] = i;
        r->spans[3 * i + 2] = i + 1;
        for (int k = 0; k < WIDTH; k++)
            r->x[i * WIDTH + k] = hn_rng_uniform(hn_rng_seed(9), (uint64_t)(i * WIDTH + k)) - 0.5f;
    }
    return ok;
}

static void stop(running *r)
{
    hn_executable_free(r->executable);
    hn_graph_free(r->d.g);
}

/* Tokens [first, first + n) of the sequence; the results go to `out`. */
static bool feed(running *r, int64_t first, int64_t n, float *out)
{
    hn_tensor y;
    if (hn_storage_bind(r->storage, r->d.x->leaf, r->x + first * WIDTH, 4 * WIDTH * (size_t)n) != HN_OK ||
        hn_storage_bind(r->storage, r->d.positions->leaf, r->positions + first, 4 * (size_t)n) != HN_OK ||
        hn_storage_bind(r->storage, r->d.rows->leaf, r->positions + first, 4 * (size_t)n) != HN_OK ||
        hn_storage_bind(r->storage, r->d.spans->leaf, r->spans + 3 * first, 12 * (size_t)n) != HN_OK ||
        hn_program_set_extent(r->program, r->d.extent, n) != HN_OK ||
        hn_program_run(r->program, NULL) != HN_OK ||
        hn_program_result(r->program, 0, &y) != HN_OK)
        return CHECK_THAT(false, "%s", hn_error_message());
    memcpy(out + first * WIDTH, y.data, (size_t)(n * WIDTH) * sizeof(float));
    return true;
}

static long resident_pages(void)
{
    long size = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file && fscanf(file, "%ld %ld", &size, &resident) != 2)
        resident = 0;
    if (file)
        fclose(file);
    return resident;
}

static void thousand_steps(bench *b)
{
    running *whole = hn_alloc(&b->heap, HN_TAG_PROVE, sizeof *whole);
    running *single = hn_alloc(&b->heap, HN_TAG_PROVE, sizeof *single);
    float *want = hn_alloc_array(&b->heap, HN_TAG_PROVE, CAPACITY * WIDTH, sizeof *want);
    float *got = hn_alloc_array(&b->heap, HN_TAG_PROVE, CAPACITY * WIDTH, sizeof *got);
    check_group("a thousand steps");
    if (start(b, whole, CAPACITY, CAPACITY) && start(b, single, CAPACITY, 7)) {
        CHECK(feed(whole, 0, CAPACITY, want)); /* an exact-size compile of the whole sequence */
        CHECK(feed(single, 0, 1, got));
        const int64_t allocations = atomic_load(&b->heap.n_calls);
        long early = 0;
        for (int64_t at = 1, n; at < CAPACITY; at += n) {
            n = at % 11 == 0 ? 7 : 1; /* mostly one token, sometimes a few */
            n = at + n > CAPACITY ? CAPACITY - at : n;
            if (!feed(single, at, n, got))
                break;
            if (at < 100)
                early = resident_pages();
        }
        CHECK_INT(allocations, atomic_load(&b->heap.n_calls));
        CHECK(memcmp(want, got, CAPACITY * WIDTH * sizeof(float)) == 0);
        CHECK_THAT(resident_pages() - early < 64, "resident memory grew by %ld pages",
                   resident_pages() - early);
    }
    stop(whole);
    stop(single);
    hn_free(&b->heap, whole);
    hn_free(&b->heap, single);
    hn_free(&b->heap, want);
    hn_free(&b->heap, got);
}

/* Ragged micro-batches through one compile against a compile of exactly their size. */
static void ragged_micro_batches(bench *b)
{
    static const int64_t lengths[] = { 5, 26, 1, 17, 26, 9 };
    check_group("ragged micro-batches");
    const hn_descent_options options = { .mode = HN_PLAN_POISON };
    steps one;
    hn_batch cut[6] = { { .heap = NULL } };
    uint64_t digest[6] = { 0 };
    if (steps_open(&one, b, &steps_experts, "qwen3moe", &options)) {
        for (int i = 0; i < 6; i++) {
            const hn_sample sample = { .ids = one.instance.batch.ids, .weights = one.instance.batch.weights,
                                       .n = (size_t)lengths[i] };
            cut[i] = hn_batch_on(&b->heap);
            CHECK_OK(hn_batch_add_sample(&cut[i], &sample));
        }
        CHECK_OK(hn_descent_begin(one.descent));
        CHECK_OK(steps_micro_of(&one, &cut[1], 0, 1, NULL));
        steps_digest(&one); /* a copy of what is looked at is made the first time */
        const int64_t allocations = atomic_load(&b->heap.n_calls);
        for (int i = 0; i < 6; i++) {
            CHECK_OK(hn_descent_begin(one.descent));
            CHECK_OK(steps_micro_of(&one, &cut[i], 0, 1, NULL));
            digest[i] = steps_digest(&one);
        }
        CHECK_INT(allocations, atomic_load(&b->heap.n_calls));
        CHECK(digest[1] == digest[4] && digest[0] != digest[1]);
        for (int i = 0; i < 4; i++) {
            hn_instance_spec exact = steps_experts;
            exact.n_sequences = 1;
            exact.length[0] = lengths[i];
            steps own;
            if (steps_open_for(&own, b, &exact, "qwen3moe", &options, &one.instance.batch)) {
                CHECK_OK(hn_descent_begin(own.descent));
                CHECK_OK(steps_micro_of(&own, &cut[i], 0, 1, NULL));
                CHECK_THAT(steps_digest(&own) == digest[i], "%lld tokens", (long long)lengths[i]);
            }
            steps_close(&own);
        }
    }
    for (int i = 0; i < 6; i++)
        hn_batch_free(&cut[i]);
    steps_close(&one);
}

int main(int argc, char **argv)
{
    bench b;
    check_open(argc, argv);
    if (bench_open(&b)) {
        thousand_steps(&b);
        ragged_micro_batches(&b);
        bench_close(&b);
    }
    return check_close();
}
