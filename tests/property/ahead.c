/* Memory of keys is touched before a step takes it: steps of sequences that come, grow and go, of as many tokens as a step
 * may have, take no block that was not, if somebody goes ahead of each; what is touched beyond need is two pieces of
 * every leaf at most, and each step touches about as much as was taken. Who goes ahead late, or never, has the same bits. */
#include "base/rng.h"
#include "infer/sequences_state.h"
#include "tests/harness/all_devices.h"
#include "tests/harness/check.h"
#include "tests/harness/random_model.h"

#include <stdlib.h>
#include <string.h>

enum { N_SEQUENCES = 24, CONTEXT = 512, TOKENS = 160, N_STEPS = 90, PIECE = 2 << 20, LATER = 12, NEVER = N_STEPS };

static hn_heap heap;
static int64_t n_enough; /* times that nothing had to be touched, for so much was free again */

typedef struct run {
    hn_sequences *all;
    int32_t names[N_SEQUENCES]; /* -1: not open */
    int64_t most_late;
} run;

typedef struct subject {
    hn_rng_key key;
    uint64_t n_drawn;
    int64_t vocab;
    run runs[3];
    int32_t tokens[N_SEQUENCES][TOKENS];
} subject;

static const int begins[3] = { 0, LATER, NEVER }; /* the step from which on somebody goes ahead */

static int64_t draw(subject *s, int64_t below)
{
    return (int64_t)hn_rng_below(s->key, s->n_drawn++, (uint32_t)below);
}

/* ---- how much was touched ---- */

typedef struct measure {
    int64_t n_leaves, blocks; /* in a piece */
} measure;

static measure measure_of(const hn_sequences *all, int room)
{
    measure m = { 0 };
    size_t most = 0;
    for (int i = 0; i < all->c.g->n_leaves; i++) {
        const hn_leaf *leaf = all->c.g->leaves[i];
        const size_t bytes = hn_type_bytes(&leaf->type);
        if (!hn_sequences_caches(leaf) || hn_sequences_room(all, leaf) != room)
            continue;
        m.n_leaves++;
        most = bytes > most ? bytes : most;
    }
    m.blocks = PIECE / ((int64_t)most / all->rooms[room].blocks.n);
    return m;
}

/* Whether as many free blocks as a step can take, and a piece, were touched before. */
static bool has_enough(const hn_sequences *all, const hn_key_blocks *b, const measure *m)
{
    const int64_t used_before = b->n_free - (b->n - b->n_ever), ready = b->n_ready > b->n_ever ? b->n_ready - b->n_ever : 0;
    return used_before + ready >= hn_blocks_of(TOKENS) + hn_sequences_open_now(all) + m->blocks;
}

/* Ahead of a step that follows one which took `taken` blocks, when `opened` sequences were opened since. */
static void go_ahead(hn_sequences *all, const int64_t *taken, int64_t opened, bool is_first)
{
    int64_t before[HN_KEY_ROOMS];
    bool is_enough[HN_KEY_ROOMS];
    for (int i = 0; i < all->n_rooms; i++) {
        const measure m = measure_of(all, i);
        before[i] = all->rooms[i].n_pieces;
        is_enough[i] = has_enough(all, &all->rooms[i].blocks, &m);
    }
    CHECK_OK(hn_sequences_ahead(all));
    for (int i = 0; i < all->n_rooms; i++) {
        const hn_key_blocks *b = &all->rooms[i].blocks;
        const measure m = measure_of(all, i);
        const int64_t now = all->rooms[i].n_pieces - before[i], needs = hn_blocks_of(TOKENS) + N_SEQUENCES;
        CHECK_THAT(is_first || now <= ((taken[i] > 0 ? taken[i] : 0) + opened) * m.n_leaves / m.blocks + 1, "%lld pieces of %lld leaves by %lld blocks: "
                   "%lld blocks were taken and %lld opened", (long long)now, (long long)m.n_leaves, (long long)m.blocks,
                   (long long)taken[i], (long long)opened);
        CHECK_THAT(!is_enough[i] || !now, "%lld pieces were touched, and enough is free", (long long)now);
        n_enough += is_enough[i];
        CHECK_THAT(b->n_ready < b->n_ever + needs + 2 * m.blocks && b->n_ready <= b->n, "%d blocks are ready, and %d were taken",
                   b->n_ready, b->n_ever);
    }
}

/* ---- steps ---- */

static void close_one(run *r, int i)
{
    hn_sequences_close(r->all, r->names[i]);
    r->names[i] = -1;
}

/* Its tokens in this step, at most `left`; 0: it has none. The same for each run. In the first step all have one: a block each. */
static int64_t length_of(subject *s, int i, int64_t left, int step)
{
    static const int64_t sizes[] = { 1, 1, 1, 63, 64, 65, TOKENS };
    const int64_t rest = CONTEXT - hn_sequences_length(s->runs[0].all, s->runs[0].names[i]);
    int64_t n = step ? sizes[draw(s, 7)] : 1;
    n = n < left ? n : left;
    return n < rest ? n : rest;
}

/* Pieces of those that are open, from a place of its own in each step on. */
static int64_t make_pieces(subject *s, int step, hn_piece *pieces, int *at)
{
    const int from = (int)draw(s, N_SEQUENCES);
    int64_t n = 0, left = TOKENS;
    for (int k = 0; k < N_SEQUENCES && left > 0; k++) {
        const int i = (from + k) % N_SEQUENCES;
        const int64_t more = s->runs[0].names[i] < 0 ? 0 : length_of(s, i, left, step);
        if (more <= 0)
            continue;
        for (int64_t j = 0; j < more; j++)
            s->tokens[i][j] = (int32_t)draw(s, s->vocab);
        pieces[n] = (hn_piece){ .tokens = s->tokens[i], .n = more, .n_wanted = 1 };
        at[n++] = i;
        left -= more;
    }
    return n;
}

/* Some end, some come; how many came. */
static int64_t come_and_go(subject *s, int step)
{
    int64_t n = 0;
    for (int i = 0; i < N_SEQUENCES; i++) {
        const bool ends = draw(s, 12) == 0, comes = !step || draw(s, 3) == 0;
        for (int k = 0; k < 3; k++) {
            run *r = &s->runs[k];
            if (r->names[i] >= 0 && ends)
                close_one(r, i);
            else if (r->names[i] < 0 && comes)
                n += CHECK_OK(hn_sequences_open(r->all, -1, &r->names[i])) && k == 0;
        }
    }
    return n;
}

static void check_step(subject *s, int step, int64_t taken[3][HN_KEY_ROOMS])
{
    hn_piece pieces[N_SEQUENCES];
    int at[N_SEQUENCES];
    const int64_t opened = come_and_go(s, step), n = make_pieces(s, step, pieces, at);
    for (int k = 0; k < 3 && n; k++) {
        run *r = &s->runs[k];
        if (step >= begins[k])
            go_ahead(r->all, taken[k], opened, step <= begins[k] + 1);
        for (int i = 0; i < r->all->n_rooms; i++)
            taken[k][i] = r->all->rooms[i].blocks.n_free;
        for (int64_t i = 0; i < n; i++)
            pieces[i].sequence = r->names[at[i]];
        if (!CHECK_OK(hn_sequences_step(r->all, pieces, n, NULL)))
            return;
        for (int i = 0; i < r->all->n_rooms; i++)
            taken[k][i] -= r->all->rooms[i].blocks.n_free;
        if (step == LATER)
            r->most_late = hn_sequences_late(r->all);
        for (int64_t i = 0; i < n && k; i++)
            CHECK_THAT(!memcmp(hn_sequences_logits(r->all, i), hn_sequences_logits(s->runs[0].all, i), (size_t)s->vocab * sizeof(float)),
                       "step %d, row %lld: other bits where somebody went ahead from step %d on", step, (long long)i, begins[k]);
    }
}

static void check_runs(subject *s)
{
    int64_t taken[3][HN_KEY_ROOMS] = { { 0 } };
    for (int step = 0; step < N_STEPS; step++)
        check_step(s, step, taken);
    for (int k = 0; k < 3; k++) {
        const hn_sequences *all = s->runs[k].all;
        int64_t ever = 0;
        for (int i = 0; i < all->n_rooms; i++)
            ever += all->rooms[i].blocks.n_ever;
        CHECK_INT(begins[k] == 0 ? 0 : begins[k] == NEVER ? ever : s->runs[k].most_late, hn_sequences_late(all));
        CHECK_THAT(ever > 40 && all->rooms[0].blocks.n_ever < all->rooms[0].blocks.n * 3 / 4, "%lld blocks were ever taken", (long long)ever);
        CHECK(begins[k] == 0 || s->runs[k].most_late > 0);
        CHECK(begins[k] == NEVER ? !all->rooms[0].n_pieces : all->rooms[0].blocks.n_ready < all->rooms[0].blocks.n);
    }
}

static void check_model(const char *arch, const char *keys)
{
    const hn_sequences_options o = { .n_sequences = N_SEQUENCES, .n_ctx = CONTEXT, .max_tokens = TOKENS };
    static subject s;
    hn_model *model;
    hn_device *devices[HN_MAX_DEVICES];
    int n = 0, made = 0;
    memset(&s, 0, sizeof s);
    check_group(arch);
    if (!CHECK_OK(random_model_open(&heap, arch, keys, 7, &model)))
        return;
    s.key = hn_rng_seed(check_seed());
    s.vocab = hn_model_hparams(model)->n_vocab;
    CHECK_OK(hn_devices_open(&heap, "cpu", &(hn_device_options){ .n_threads = 2 }, &n, devices));
    while (n && made < 3 && CHECK_OK(hn_sequences_new(&s.runs[made].all, &heap, model, on_all_devices(n, devices), &o))) {
        memset(s.runs[made].names, 0xff, sizeof s.runs[made].names);
        made++;
    }
    if (made == 3)
        check_runs(&s);
    for (int k = 0; k < made; k++)
        hn_sequences_free(s.runs[k].all);
    hn_devices_close(n, devices);
    hn_model_close(model);
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    hn_heap_init(&heap, NULL);
    check_model("llama", "block_count=3 attention.key_length=256 attention.value_length=128");
    check_model("gemma3", "attention.sliding_window=200 block_count=6 attention.key_length=256 attention.value_length=256");
    CHECK(n_enough > 0);
    CHECK_INT(0, heap.live_blocks);
    return check_close();
}
