/* The order of training: every permutation is one, at any size; an epoch has each example as
 * often as its file's weight says; any step asked for alone is the step of the whole run; a
 * packed step is its sequences, whatever the cut into micro-batches. */
#include "data/pack.h"
#include "data/steps.h"
#include "tests/harness/data.h"

static data_bench bench;

#define COUNT(want, got) CHECK_INT((int64_t)(want), (int64_t)(got))

static void permutes(void)
{
    static uint8_t seen[5000];
    check_group("permutation");
    for (uint64_t n = 1; n < 5000; n += n < 70 ? 1 : 1 + n / 3) {
        const hn_order order = hn_order_of(hn_rng_fold(hn_rng_seed(check_seed()), n), n);
        uint64_t n_fixed = 0, n_bad = 0;
        memset(seen, 0, sizeof seen);
        for (uint64_t i = 0; i < n; i++) {
            const uint64_t at = hn_order_at(&order, i);
            n_bad += at >= n || seen[at]++;
            n_fixed += at == i;
        }
        COUNT(0, n_bad);
        CHECK_THAT(n < 20 || n_fixed < 12, "%d of %d stay", (int)n_fixed, (int)n);
    }
    const hn_order large = hn_order_of(hn_rng_seed(1), UINT64_C(1) << 40);
    CHECK(hn_order_at(&large, 12345) < UINT64_C(1) << 40);
    CHECK(hn_order_at(&large, 12345) != hn_order_at(&large, 12346));
}

/* Every value as often at every place: 6 permutations of 3, over many keys. */
static void is_even(void)
{
    int counts[27] = { 0 };
    check_group("evenness");
    for (uint64_t k = 0; k < 6000; k++) {
        const hn_order o = hn_order_of(hn_rng_fold(hn_rng_seed(check_seed()), k), 3);
        counts[hn_order_at(&o, 0) * 9 + hn_order_at(&o, 1) * 3 + hn_order_at(&o, 2)]++;
    }
    int n_kinds = 0;
    for (int i = 0; i < 27; i++) {
        n_kinds += counts[i] > 0;
        CHECK_THAT(!counts[i] || (counts[i] > 850 && counts[i] < 1150), "%d", counts[i]);
    }
    CHECK_INT(6, n_kinds);
}

enum { N_FIRST = 40, N_SECOND = 13 };

static hn_dataset *open_two(double weight)
{
    char first[128], second[128];
    hn_dataset *d = NULL;
    hn_preflight r;
    hn_str a = hn_str_on(&bench.heap), b = hn_str_on(&bench.heap);
    for (int i = 0; i < N_FIRST; i++)
        hn_str_print(&a, "{\"text\":\"%.*s\"}\n", i * 7 % 23, "abcdefghijklmnopqrstuvwxyz");
    for (int i = 0; i < N_SECOND; i++)
        hn_str_print(&b, "second %d\n\n", i);
    data_bench_write(&bench, "a.jsonl", a.text, first);
    data_bench_write(&bench, "b.txt", b.text, second);
    const hn_data_file files[] = { { .path = first }, { .path = second, .weight = weight } };
    const hn_dataset_options o = { .files = files,
                                   .n_files = 2,
                                   .rule = { .tok = bench.tok, .chat = bench.chat },
                                   .drop_empty = true };
    CHECK_OK(hn_dataset_open(&d, &bench.heap, &o));
    CHECK(d && hn_preflight_run(d, &r, NULL, NULL) == HN_OK);
    COUNT(2, r.n_dropped); /* the two without a letter */
    hn_os_remove(first);
    hn_os_remove(second);
    hn_str_free(&a);
    hn_str_free(&b);
    return d;
}

/* Whole copies of each, and each epoch another choice of the rest. */
static void weighs(void)
{
    static const double weights[] = { 1, 2.5, 0.3, 4 };
    check_group("weights");
    for (int w = 0; w < 4; w++) {
        hn_dataset *d = open_two(weights[w]);
        hn_steps s;
        int seen[2][N_FIRST + N_SECOND] = { { 0 } }, n_differ = 0;
        const int each = (int)weights[w], in_all = (int)(N_SECOND * weights[w] + 0.5);
        CHECK_OK(hn_steps_init(&s, &bench.heap, d,
                               &(hn_steps_options){ .seed = check_seed(), .batch = 4 }));
        COUNT(N_FIRST - 2 + in_all, s.epoch_size);
        for (uint64_t i = 0; i < 2 * s.epoch_size; i++)
            seen[i / s.epoch_size][hn_steps_example(&s, i)]++;
        for (int epoch = 0; epoch < 2; epoch++) {
            int n = 0;
            for (int i = 0; i < N_FIRST; i++)
                CHECK_INT(d->fates[i] == HN_FATE_TRAINED, seen[epoch][i]);
            for (int i = N_FIRST; i < N_FIRST + N_SECOND; i++) {
                CHECK(seen[epoch][i] == each || seen[epoch][i] == each + 1);
                n += seen[epoch][i];
                n_differ += seen[0][i] != seen[1][i];
            }
            CHECK_INT(in_all, n);
        }
        CHECK((n_differ > 0) == (in_all % N_SECOND != 0));
        hn_dataset_close(d);
    }
}

static bool same(const hn_data_step *a, const hn_data_step *b)
{
    return a->n == b->n && a->first == b->first &&
           (!a->n || !memcmp(a->examples, b->examples, a->n * sizeof *a->examples));
}

/* Steps one after the other, and each asked of a fresh object. */
static void resumes(const char *name, const hn_steps_options *options)
{
    hn_dataset *d = open_two(1);
    hn_steps all, fresh;
    hn_data_step step = { 0 }, alone = { 0 };
    uint64_t n_steps = 0, n = 0, most = 0;
    int seen[N_FIRST + N_SECOND] = { 0 };
    check_group(name);
    CHECK_OK(hn_steps_init(&all, &bench.heap, d, options));
    CHECK_OK(hn_steps_count(&all, &n_steps));
    for (uint64_t k = 0; k < n_steps; k++) {
        CHECK_OK(hn_steps_at(&all, k, &step));
        CHECK_OK(hn_steps_init(&fresh, &bench.heap, d, options));
        CHECK_OK(hn_steps_at(&fresh, k, &alone));
        CHECK_THAT(same(&step, &alone), "step %d", (int)k);
        CHECK(step.n > 0);
        uint64_t tokens = 0;
        for (size_t i = 0; i < step.n; i++) {
            seen[step.examples[i]]++;
            tokens += d->tokens[step.examples[i]];
        }
        CHECK(!options->step_tokens || step.n == 1 || tokens <= options->step_tokens);
        n += step.n;
        most = tokens > most ? tokens : most;
    }
    COUNT(all.n_examples, n);
    for (int i = 0; i < N_FIRST + N_SECOND; i++)
        CHECK_INT(d->fates[i] == HN_FATE_TRAINED ? 2 : 0, seen[i]);
    CHECK_OK(hn_steps_at(&all, n_steps, &step));
    COUNT(0, step.n);
    CHECK_OK(hn_steps_at(&all, 1, &step)); /* and back */
    CHECK_OK(hn_steps_init(&fresh, &bench.heap, d, options));
    CHECK_OK(hn_steps_at(&fresh, 1, &alone));
    CHECK(same(&step, &alone));
    hn_data_step_free(&bench.heap, &step);
    hn_data_step_free(&bench.heap, &alone);
    hn_dataset_close(d);
}

/* In a window the steps hold neighbours in length: less is spread within a step. */
static void buckets(void)
{
    hn_dataset *d = open_two(1);
    hn_steps plain, sorted;
    hn_data_step step = { 0 };
    uint64_t spread[2] = { 0 };
    check_group("buckets");
    hn_steps_options o = { .seed = check_seed(), .batch = 5, .epochs = 4 };
    CHECK_OK(hn_steps_init(&plain, &bench.heap, d, &o));
    o.window = 8;
    CHECK_OK(hn_steps_init(&sorted, &bench.heap, d, &o));
    for (uint64_t k = 0; k < 30; k++)
        for (int i = 0; i < 2; i++) {
            CHECK_OK(hn_steps_at(i ? &sorted : &plain, k, &step));
            uint32_t low = UINT32_MAX, high = 0;
            for (size_t j = 0; j < step.n; j++) {
                const uint32_t n = d->tokens[step.examples[j]];
                low = n < low ? n : low;
                high = n > high ? n : high;
            }
            spread[i] += high - low;
        }
    CHECK_THAT(spread[1] * 2 < spread[0], "%d, not less than half of %d", (int)spread[1],
               (int)spread[0]);
    hn_data_step_free(&bench.heap, &step);
    hn_dataset_close(d);
}

/* All cuts of a step, laid end to end, are the step in one piece. */
static void packs(void)
{
    hn_dataset *d = open_two(1);
    hn_example e = hn_example_on(&bench.heap);
    hn_pack whole = hn_pack_on(&bench.heap), part = hn_pack_on(&bench.heap);
    uint32_t tokens[N_FIRST];
    size_t end = 0;
    check_group("packing");
    for (uint64_t i = 0; i < 20; i++) {
        CHECK_OK(hn_dataset_read(d, i + 1, &e));
        tokens[i] = d->tokens[i + 1];
        COUNT(e.part[0].n, tokens[i]);
        CHECK_OK(hn_pack_add_example(&whole, &e));
    }
    COUNT(20, whole.n_segments);
    for (size_t t = 0; t + 1 < whole.n; t++) {
        const bool same_segment = whole.segments[t + 1] == whole.segments[t];
        CHECK_INT(same_segment ? whole.positions[t] + 1 : 0, whole.positions[t + 1]);
        CHECK(same_segment || (whole.labels[t] == HN_NO_LABEL && whole.weights[t] <= 0));
        CHECK(whole.labels[t] == HN_NO_LABEL || whole.labels[t] == whole.ids[t + 1]);
        CHECK((whole.labels[t] == HN_NO_LABEL) == (whole.weights[t] <= 0));
    }
    for (size_t limit = 24; limit < 100; limit += 19) {
        size_t at = 0;
        for (size_t from = 0; from < 20; from = end) {
            if (!CHECK_OK(hn_pack_run(tokens, 20, from, limit, &end)))
                break;
            hn_pack_clear(&part);
            for (size_t i = from; i < end; i++) {
                CHECK_OK(hn_dataset_read(d, i + 1, &e));
                CHECK_OK(hn_pack_add_example(&part, &e));
            }
            CHECK(part.n <= limit && (end == 20 || part.n + tokens[end] > limit));
            CHECK(!memcmp(part.ids, whole.ids + at, part.n * sizeof *part.ids));
            CHECK(!memcmp(part.labels, whole.labels + at, part.n * sizeof *part.labels));
            CHECK(!memcmp(part.weights, whole.weights + at, part.n * sizeof *part.weights));
            CHECK(
                !memcmp(part.positions, whole.positions + at, part.n * sizeof *part.positions));
            at += part.n;
        }
        COUNT(whole.n, at);
    }
    CHECK_FAILS(hn_pack_run(tokens, 20, 0, 1, &end), HN_ERR_ARGUMENT, "of a micro-batch");
    hn_pack_free(&whole);
    hn_pack_free(&part);
    hn_example_free(&e);
    hn_dataset_close(d);
}

static void refuses(void)
{
    hn_dataset *d = open_two(1);
    hn_steps s;
    check_group("refusals");
    CHECK_FAILS(hn_steps_init(&s, &bench.heap, d, &(hn_steps_options){ 0 }), HN_ERR_ARGUMENT,
                "found neither");
    CHECK_FAILS(
        hn_steps_init(&s, &bench.heap, d, &(hn_steps_options){ .batch = 1, .step_tokens = 1 }),
        HN_ERR_ARGUMENT, "found both");
    CHECK_FAILS(
        hn_steps_init(&s, &bench.heap, d, &(hn_steps_options){ .step_tokens = 9, .window = 4 }),
        HN_ERR_ARGUMENT, "a window of 4 steps");
    d->is_scanned = false;
    CHECK_FAILS(hn_steps_init(&s, &bench.heap, d, &(hn_steps_options){ .batch = 1 }),
                HN_ERR_ARGUMENT, "looked through");
    hn_dataset_close(d);
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    data_bench_open(&bench);
    permutes();
    is_even();
    weighs();
    const uint64_t seed = check_seed();
    resumes("examples", &(hn_steps_options){ .seed = seed, .batch = 7, .epochs = 2 });
    resumes("windows",
            &(hn_steps_options){ .seed = seed, .batch = 5, .epochs = 2, .window = 4 });
    resumes("tokens", &(hn_steps_options){ .seed = seed, .step_tokens = 40, .epochs = 2 });
    resumes("in order", &(hn_steps_options){ .batch = 7, .epochs = 2, .in_order = true });
    buckets();
    packs();
    refuses();
    data_bench_close(&bench);
    return check_close();
}
