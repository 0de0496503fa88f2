/* One answer, whoever else is run: sequences that come and go, share their beginnings, are cut back, saved,
 * taken back and cancelled, in steps of ragged pieces over fewer blocks than they would like, have the bits of
 * each one alone, at one thread, in the order of its tokens. What made the difference worth trying is counted,
 * and the test fails where it did not happen. */
#include "base/rng.h"
#include "infer/sequences.h"
#include "infer/session.h"
#include "tests/harness/all_devices.h"
#include "tests/harness/check.h"
#include "tests/harness/random_adapter.h"
#include "tests/harness/random_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N_SEQUENCES = 6, CONTEXT = 200, MOST = 90, ROWS = 12, N_STEPS = 90, N_ADAPTERS = 2 };

static hn_heap heap;
static char file[128];

typedef struct subject {
    hn_model *model;
    hn_device *one[HN_MAX_DEVICES], *three[HN_MAX_DEVICES]; /* by their threads */
    int n_devices;
    int64_t vocab;
    hn_adapters adapters[N_ADAPTERS];   /* one each */
    hn_session *alone[N_ADAPTERS + 1];  /* what everything is compared with: with each adapter, and with none */
    hn_sequences *all;
    hn_rng_key key;
    uint64_t n_drawn;
    int32_t names[N_SEQUENCES]; /* -1: not open */
    int32_t tokens[N_SEQUENCES][CONTEXT];
    int64_t length[N_SEQUENCES];
    int has[N_SEQUENCES];      /* which adapter; N_ADAPTERS: none */
    int32_t slot[N_ADAPTERS];  /* -1: not there */
} subject;

static struct {
    int64_t mixed, adapted, added, forks, shared, trims, lost, closed, saved, cancelled, full, rows, chosen;
} counted;

static int64_t draw(subject *s, int64_t below)
{
    return (int64_t)hn_rng_below(s->key, s->n_drawn++, (uint32_t)below);
}

/* The logits after the first n tokens of sequence i, alone. */
static void check_row(subject *s, int i, int64_t n, const float *got)
{
    hn_session *alone = s->alone[s->has[i]];
    if (!CHECK_OK(hn_session_sync(alone, s->tokens[i], n, NULL)) || !CHECK(got != NULL))
        return;
    counted.rows++;
    CHECK_THAT(!memcmp(hn_session_logits(alone), got, (size_t)s->vocab * sizeof *got),
               "sequence %d after %lld tokens: other bits than alone", i, (long long)n);
}

/* ---- steps ---- */

typedef struct step {
    hn_piece pieces[N_SEQUENCES];
    int at[N_SEQUENCES]; /* whose they are */
    int32_t rows[ROWS];  /* what is wanted of pieces that choose */
    int n;
} step;

/* Half of the pieces that want any choose among all of their tokens, ascending. */
static void choose_rows(subject *s, hn_piece *p, int32_t *rows)
{
    if (!p->n_wanted || draw(s, 2))
        return;
    int64_t left = p->n_wanted;
    for (int64_t j = 0; left; j++)
        if (draw(s, p->n - j) < left)
            rows[p->n_wanted - left--] = (int32_t)j;
    p->wanted = rows;
    counted.chosen += rows[0] != p->n - p->n_wanted;
}

static void add_piece(subject *s, step *t, int i, int64_t *tokens, int64_t *rows)
{
    static const int64_t sizes[] = { 1, 1, 1, 2, 5, 63, 64, 65 };
    int64_t n = sizes[draw(s, 8)];
    n = n < MOST - *tokens ? n : MOST - *tokens;
    n = n < CONTEXT - s->length[i] ? n : CONTEXT - s->length[i];
    if (n < 1)
        return;
    int64_t wanted = draw(s, 4);
    wanted = wanted < n ? wanted : n;
    wanted = wanted < ROWS - *rows ? wanted : ROWS - *rows;
    for (int64_t j = 0; j < n; j++)
        s->tokens[i][s->length[i] + j] = (int32_t)draw(s, s->vocab);
    t->pieces[t->n] = (hn_piece){ s->names[i], s->tokens[i] + s->length[i], n, wanted, NULL };
    choose_rows(s, &t->pieces[t->n], t->rows + *rows);
    t->at[t->n++] = i;
    *tokens += n;
    *rows += wanted;
}

/* In any order, and without some of them. */
static void draw_step(subject *s, step *t)
{
    int64_t tokens = 0, rows = 0;
    const int from = (int)draw(s, N_SEQUENCES);
    *t = (step){ 0 };
    for (int k = 0; k < N_SEQUENCES; k++) {
        const int i = (from + 5 * k) % N_SEQUENCES;
        if (s->names[i] >= 0 && draw(s, 4))
            add_piece(s, t, i, &tokens, &rows);
    }
}

static void close_one(subject *s, int i)
{
    hn_sequences_close(s->all, s->names[i]);
    CHECK_INT(-1, hn_sequences_length(s->all, s->names[i]));
    s->names[i] = -1;
    s->length[i] = 0;
    counted.closed++;
}

static void check_held(subject *s, int i)
{
    CHECK_INT(s->length[i], hn_sequences_length(s->all, s->names[i]));
    CHECK(!memcmp(s->tokens[i], hn_sequences_tokens(s->all, s->names[i]), (size_t)s->length[i] * sizeof(int32_t)));
}

static void run_step(subject *s)
{
    step t;
    draw_step(s, &t);
    if (!t.n)
        return;
    hn_cancel_flag cancel = { .is_set = true };
    const bool cancelled = !draw(s, 8);
    const hn_run_options options = { .cancel = cancelled ? &cancel : NULL };
    const int64_t need = hn_sequences_needs(s->all, t.pieces, t.n), calls = heap.n_calls;
    const bool fits = need <= hn_sequences_free_blocks(s->all, NULL);
    const hn_status status = hn_sequences_step(s->all, t.pieces, t.n, &options);
    CHECK_INT(calls, heap.n_calls);
    if (status != HN_OK) {
        CHECK_THAT(cancelled ? status == HN_ERR_CANCELLED || !fits : !fits && status == HN_ERR_MEMORY, "%s: %s",
                   hn_status_text(status), hn_error_message());
        counted.cancelled += status == HN_ERR_CANCELLED;
        counted.full += status == HN_ERR_MEMORY;
        for (int k = 0; k < t.n; k++)
            check_held(s, t.at[k]);
        if (status == HN_ERR_MEMORY)
            close_one(s, t.at[draw(s, t.n)]);
        return;
    }
    counted.mixed += t.n > 1;
    bool met[N_ADAPTERS + 1] = { false };
    for (int k = 0; k < t.n; k++)
        met[s->has[t.at[k]]] = true;
    counted.adapted += met[0] && met[1] && met[N_ADAPTERS];
    for (int k = 0, row = 0; k < t.n; k++) {
        const int i = t.at[k];
        const hn_piece *p = &t.pieces[k];
        for (int64_t j = 0; j < p->n_wanted; j++)
            check_row(s, i, s->length[i] + (p->wanted ? p->wanted[j] : p->n - p->n_wanted + j) + 1,
                      hn_sequences_logits(s->all, row++));
        s->length[i] += p->n;
    }
}

/* ---- what happens to sequences between steps ---- */

static int a_free_place(const subject *s)
{
    for (int i = 0; i < N_SEQUENCES; i++)
        if (s->names[i] < 0)
            return i;
    return -1;
}

static void fork_one(subject *s, int i)
{
    const int to = a_free_place(s);
    const int64_t length = draw(s, s->length[i] + 1);
    int32_t name = -1;
    if (to < 0) {
        CHECK_FAILS(hn_sequences_fork(s->all, s->names[i], 0, &name), HN_ERR_BUSY, "are open");
        return;
    }
    const int64_t usable = hn_sequences_usable(s->all, s->names[i], length);
    const int64_t before = hn_sequences_free_blocks(s->all, NULL);
    if (usable < length) {
        counted.lost++;
        CHECK_FAILS(hn_sequences_fork(s->all, s->names[i], length, &name), HN_ERR_ARGUMENT, "with a window of");
        return;
    }
    if (!CHECK_OK(hn_sequences_fork(s->all, s->names[i], length, &name)))
        return;
    CHECK_INT(before, hn_sequences_free_blocks(s->all, NULL)); /* nothing is copied */
    memcpy(s->tokens[to], s->tokens[i], (size_t)length * sizeof(int32_t));
    s->names[to] = name;
    s->has[to] = s->has[i];
    s->length[to] = length;
    counted.forks++;
    counted.shared += length % 64 != 0;
    check_held(s, to);
}

static void trim_one(subject *s, int i)
{
    const int64_t length = draw(s, s->length[i] + 1);
    if (hn_sequences_usable(s->all, s->names[i], length) < length) {
        CHECK_FAILS(hn_sequences_trim(s->all, s->names[i], length), HN_ERR_ARGUMENT, "with a window of");
        return;
    }
    if (!CHECK_OK(hn_sequences_trim(s->all, s->names[i], length)))
        return;
    s->length[i] = length;
    counted.trims++;
    check_held(s, i);
}

/* A new one, with or without an adapter. */
static void open_one(subject *s, int i)
{
    const int has = (int)draw(s, N_ADAPTERS + 1);
    const int32_t slot = has < N_ADAPTERS ? s->slot[has] : -1;
    s->has[i] = slot < 0 ? N_ADAPTERS : has;
    CHECK_OK(hn_sequences_open(s->all, slot, &s->names[i]));
}

/* Adapters come and go, into any slot, while sequences are open. */
static void change_adapter(subject *s)
{
    const int which = (int)draw(s, N_ADAPTERS);
    int32_t again;
    if (s->slot[which] < 0) {
        counted.added += CHECK_OK(hn_sequences_add_adapter(s->all, s->adapters[which].at[0], &s->slot[which]));
        return;
    }
    bool is_used = false;
    for (int i = 0; i < N_SEQUENCES; i++)
        is_used = is_used || (s->names[i] >= 0 && s->has[i] == which);
    if (is_used) {
        CHECK_FAILS(hn_sequences_remove_adapter(s->all, s->slot[which]), HN_ERR_BUSY, "has it");
        return;
    }
    CHECK_OK(hn_sequences_remove_adapter(s->all, s->slot[which]));
    CHECK_FAILS(hn_sequences_open(s->all, s->slot[which], &again), HN_ERR_ARGUMENT, "there is none");
    s->slot[which] = -1;
}

/* To a file, and back into another sequence than its own where one is free. */
static void save_one(subject *s, int i)
{
    const int to = a_free_place(s);
    if (!s->length[i] || to < 0 || !CHECK_OK(hn_sequences_save(s->all, s->names[i], file)) ||
        !CHECK_OK(hn_sequences_open(s->all, s->has[i] < N_ADAPTERS ? s->slot[s->has[i]] : -1, &s->names[to])))
        return;
    s->has[to] = s->has[i];
    const hn_status status = hn_sequences_restore(s->all, s->names[to], file);
    s->length[to] = status == HN_OK ? s->length[i] : 0;
    memcpy(s->tokens[to], s->tokens[i], (size_t)s->length[to] * sizeof(int32_t));
    CHECK_THAT(status == HN_OK || status == HN_ERR_MEMORY, "%s", hn_error_message());
    counted.saved += status == HN_OK;
    check_held(s, to);
}

static void disturb(subject *s)
{
    const int i = (int)draw(s, N_SEQUENCES);
    if (s->names[i] < 0) {
        open_one(s, i);
        return;
    }
    switch (draw(s, 8)) {
    case 0: close_one(s, i); break;
    case 1: trim_one(s, i); break;
    case 2:
    case 3: fork_one(s, i); break;
    case 4: save_one(s, i); break;
    case 5: change_adapter(s); break;
    default: break;
    }
}

/* When all are closed, every block is free again. */
static void check_empty(subject *s)
{
    int64_t n;
    for (int i = 0; i < N_SEQUENCES; i++)
        if (s->names[i] >= 0)
            close_one(s, i);
    const int64_t n_free = hn_sequences_free_blocks(s->all, &n);
    CHECK_INT(n, n_free);
}

static void check_refusals(subject *s)
{
    int32_t name, token = 1, beyond = (int32_t)s->vocab;
    if (!CHECK_OK(hn_sequences_open(s->all, -1, &name)))
        return;
    const hn_piece twice[2] = { { name, &token, 1, 1, NULL }, { name, &token, 1, 1, NULL } };
    CHECK_FAILS(hn_sequences_step(s->all, twice, 2, NULL), HN_ERR_ARGUMENT, "both of sequence");
    CHECK_FAILS(hn_sequences_step(s->all, twice, 0, NULL), HN_ERR_ARGUMENT, "0 pieces");
    CHECK_FAILS(hn_sequences_step(s->all, &(hn_piece){ name, &token, 0, 0, NULL }, 1, NULL), HN_ERR_ARGUMENT, "1 or more");
    CHECK_FAILS(hn_sequences_step(s->all, &(hn_piece){ name, &token, 1, 2, NULL }, 1, NULL), HN_ERR_ARGUMENT, "logits of 2");
    static const int32_t two[2] = { 0, 0 }, bad[3][2] = { { -1, 0 }, { 1, 1 }, { 0, 2 } };
    for (int i = 0; i < 3; i++)
        CHECK_FAILS(hn_sequences_step(s->all, &(hn_piece){ name, two, 2, 2, bad[i] }, 1, NULL), HN_ERR_ARGUMENT,
                    "expected them to ascend");
    CHECK_FAILS(hn_sequences_step(s->all, &(hn_piece){ name, &beyond, 1, 1, NULL }, 1, NULL), HN_ERR_ARGUMENT, "token 0 is");
    CHECK_FAILS(hn_sequences_trim(s->all, name, 1), HN_ERR_ARGUMENT, "it has 0");
    hn_sequences_close(s->all, name);
    CHECK_FAILS(hn_sequences_step(s->all, twice, 1, NULL), HN_ERR_ARGUMENT, "is not open");
    CHECK_FAILS(hn_sequences_trim(s->all, name, 0), HN_ERR_ARGUMENT, "is not open");
    int32_t again;
    if (CHECK_OK(hn_sequences_open(s->all, -1, &again))) /* the name of one that was closed is nobody's */
        CHECK(again != name);
    hn_sequences_close(s->all, again);
}

/* Adapters that single sequences cannot have are refused by what stands in the way. */
static void check_adapter_refused(subject *s, int64_t rank, const char *also, const char *why)
{
    hn_adapter *adapter;
    int32_t slot;
    if (!CHECK_OK(random_adapter_open(&heap, s->model, on_all_devices(s->n_devices, s->one), rank, false, also, 9, &adapter)))
        return;
    CHECK_FAILS(hn_sequences_add_adapter(s->all, adapter, &slot), HN_ERR_UNSUPPORTED, why);
    hn_adapter_close(adapter);
}

static void check_adapters_refused(subject *s, bool packs)
{
    int32_t slot;
    check_adapter_refused(s, 9, NULL, "with rank 9: there is room for 8");
    if (hn_model_find(s->model, "output.weight") && !packs)
        check_adapter_refused(s, 4, "output.weight", "output.weight is changed: there is room for matrices of layers");
    for (int i = 0; i < N_ADAPTERS; i++)
        if (s->slot[i] < 0)
            change_adapter(s);
    CHECK_FAILS(hn_sequences_add_adapter(s->all, s->adapters[0].at[0], &slot), HN_ERR_BUSY, "room for 2 adapters");
}

static void check_cache(subject *s, hn_dtype cache, hn_numerics numerics, bool packs)
{
    const hn_sequences_options options = { .n_sequences = N_SEQUENCES, .n_ctx = CONTEXT, .max_tokens = MOST,
                                           .max_rows = ROWS, .n_blocks = 15, .cache = cache, .packs = packs,
                                           .n_adapters = N_ADAPTERS, .max_rank = 8, .adapts_experts = true, .adapts_head = packs };
    hn_session_options alone = { .n_ctx = CONTEXT, .cache = cache, .keeps_all = true };
    s->key = hn_rng_seed(7 + (uint64_t)cache + (uint64_t)packs);
    s->n_drawn = 0;
    for (int i = 0; i < N_SEQUENCES; i++)
        s->names[i] = -1, s->length[i] = 0;
    for (int i = 0; i <= N_ADAPTERS; i++) {
        alone.adapters = i < N_ADAPTERS ? &s->adapters[i] : NULL;
        if (i < N_ADAPTERS)
            s->slot[i] = -1;
        if (!CHECK_OK(hn_session_new(&s->alone[i], &heap, s->model, (hn_run_spec){ s->n_devices, s->one, numerics }, &alone)))
            return;
    }
    if (CHECK_OK(hn_sequences_new(&s->all, &heap, s->model, (hn_run_spec){ s->n_devices, s->three, numerics }, &options))) {
        for (int i = 0; i < 2 * N_ADAPTERS; i++) {
            if (s->slot[i % N_ADAPTERS] < 0)
                change_adapter(s);
        }
        for (int i = 0; i < N_STEPS; i++) {
            disturb(s);
            run_step(s);
        }
        check_empty(s);
        check_refusals(s);
        check_adapters_refused(s, packs);
        hn_sequences_free(s->all);
    }
    for (int i = 0; i <= N_ADAPTERS; i++)
        hn_session_free(s->alone[i]);
}

/* What a session says after some tokens. */
static bool say(subject *s, hn_numerics numerics, const hn_session_options *o, const int32_t *tokens, int64_t n, float *to)
{
    hn_session *session;
    if (!CHECK_OK(hn_session_new(&session, &heap, s->model, (hn_run_spec){ s->n_devices, s->one, numerics }, o)))
        return false;
    const bool fine = CHECK_OK(hn_session_sync(session, tokens, n, NULL));
    if (fine)
        memcpy(to, hn_session_logits(session), (size_t)s->vocab * sizeof *to);
    hn_session_free(session);
    return fine;
}

/* Weights are packed once a model: who comes later reads what the first one packed, also when that one is gone. */
static void check_packed_once(subject *s)
{
    hn_session *first, *second;
    static float want[512], narrow[512], got[512];
    const hn_session_options plain = { .n_ctx = 64 }, packs = { .n_ctx = 64, .packs = true };
    const int64_t none = heap.live_bytes;
    const size_t bytes = (size_t)s->vocab * sizeof *want;
    int32_t tokens[9];
    for (int i = 0; i < 9; i++)
        tokens[i] = (int32_t)(i * 37 % s->vocab);
    if (!CHECK(s->vocab <= 512) || !CHECK_OK(hn_session_new(&first, &heap, s->model, on_all_devices(s->n_devices, s->one), &plain)))
        return;
    const int64_t without = heap.live_bytes - none;
    CHECK_OK(hn_session_sync(first, tokens, 9, NULL));
    memcpy(want, hn_session_logits(first), bytes);
    hn_session_free(first);
    CHECK_INT(none, heap.live_bytes);
    if (!CHECK_OK(hn_session_new(&first, &heap, s->model, on_all_devices(s->n_devices, s->one), &packs)))
        return;
    const int64_t packed = heap.live_bytes - none;
    CHECK(packed - without > 100000 || getenv("HN_TEST_DEVICES")); /* another device's memory is not the heap's */
    if (CHECK_OK(hn_session_new(&second, &heap, s->model, on_all_devices(s->n_devices, s->one), &packs))) {
        const int64_t own = heap.live_bytes - none - packed;
        CHECK_THAT(own < without + (packed - without) / 10,
                   "a second session takes %lld bytes: the first took %lld, and %lld without packing",
                   (long long)own, (long long)packed, (long long)without);
        CHECK_OK(hn_session_sync(first, tokens, 9, NULL));
        CHECK(!memcmp(want, hn_session_logits(first), bytes));
        /* The same rows in another type are other rows. */
        if (say(s, HN_NUMERICS_BF16, &plain, tokens, 9, narrow) && say(s, HN_NUMERICS_BF16, &packs, tokens, 9, got))
            CHECK(!memcmp(narrow, got, bytes));
        hn_session_free(first);
        CHECK(heap.live_bytes - none >= own + (packed - without) * 9 / 10); /* what it packed is still there */
        CHECK_OK(hn_session_sync(second, tokens, 9, NULL));
        CHECK(!memcmp(want, hn_session_logits(second), bytes));
        hn_session_free(second);
    }
    CHECK_INT(none, heap.live_bytes);
}

/* ---- blocks of windows that are lent ---- */

enum { LENT_BLOCKS = 60, PIECE = 64, HELD = 3 };

static bool run_piece(hn_sequences *all, int32_t name, const int32_t *tokens, int64_t n)
{
    const hn_piece piece = { name, tokens, n, 0, NULL };
    return hn_sequences_lacks(all, &piece, 1, true) <= 0 && CHECK_OK(hn_sequences_step(all, &piece, 1, NULL));
}

/* A sequence of three blocks, each of which is lent before its window has passed; false: there was no room for it. */
static bool lend_one(hn_sequences *all, const int32_t *tokens, hn_lent_keys *lent, int *n, bool saves)
{
    int32_t name;
    bool goes_on = CHECK_OK(hn_sequences_open(all, -1, &name));
    for (int i = 0; i < 3 && goes_on; i++) {
        goes_on = run_piece(all, name, tokens + i * PIECE, PIECE);
        if (goes_on) {
            lent[*n] = HN_NO_KEYS;
            hn_sequences_lend(all, name, i, &lent[(*n)++]);
        }
    }
    if (saves)
        CHECK_OK(hn_sequences_save(all, name, file));
    hn_sequences_close(all, name);
    return goes_on;
}

/* What lacks blocks of windows leaves the sequence as it was, whatever it lacks beside. */
static void check_lent_windows(subject *s)
{
    const hn_sequences_options o = { .n_sequences = 2, .n_ctx = CONTEXT, .max_tokens = PIECE, .max_rows = 1, .n_blocks = LENT_BLOCKS };
    hn_sequences *all;
    hn_lent_keys lent[LENT_BLOCKS];
    int32_t tokens[3 * PIECE], name;
    int n = 0;
    for (int i = 0; i < 3 * PIECE; i++)
        tokens[i] = (int32_t)(i * 31 % s->vocab);
    if (!CHECK_OK(hn_sequences_new(&all, &heap, s->model, on_all_devices(s->n_devices, s->one), &o)))
        return;
    if (CHECK_OK(hn_sequences_open(all, -1, &name)) && CHECK(run_piece(all, name, tokens, HELD))) {
        bool goes_on = lend_one(all, tokens, lent, &n, true);
        while (goes_on && n + 3 < LENT_BLOCKS)
            goes_on = lend_one(all, tokens, lent, &n, false);
        CHECK(!goes_on && hn_sequences_free_blocks(all, NULL) > 6); /* of windows alone there are none */
        CHECK_FAILS(hn_sequences_restore(all, name, file), HN_ERR_MEMORY, "are free");
        CHECK_INT(HELD, hn_sequences_length(all, name));
        CHECK(!memcmp(tokens, hn_sequences_tokens(all, name), HELD * sizeof *tokens));
        for (int i = 0; i < n; i++)
            hn_sequences_take_back(all, &lent[i]);
        CHECK_OK(hn_sequences_restore(all, name, file));
        CHECK_INT(3 * PIECE, hn_sequences_length(all, name));
    }
    hn_sequences_free(all);
}

static int open_devices(int n_threads, hn_device *devices[HN_MAX_DEVICES])
{
    int n = 0;
    CHECK_OK(hn_devices_open(&heap, "cpu", &(hn_device_options){ .n_threads = n_threads }, &n, devices));
    return n;
}

/* In block formats it is whole numbers that are asked, too. */
typedef enum stored { PLAIN, PLAIN_SHORT, IN_BLOCKS } stored;

static void check_model(const char *arch, const char *keys, stored weights)
{
    subject s = { 0 };
    check_group(arch);
    if (!CHECK_OK(random_model_open(&heap, arch, keys, 5, &s.model)))
        return;
    s.vocab = hn_model_hparams(s.model)->n_vocab;
    s.n_devices = open_devices(1, s.one);
    const int n_three = open_devices(3, s.three);
    for (int i = 0; i < N_ADAPTERS && s.n_devices; i++) {
        hn_adapter *adapter;
        if (CHECK_OK(random_adapter_open(&heap, s.model, on_all_devices(s.n_devices, s.one), i ? 8 : 3, true, NULL, (uint64_t)i + 3, &adapter)))
            CHECK_OK(hn_adapters_add(&s.adapters[i], adapter));
    }
    if (s.n_devices && n_three == s.n_devices && s.adapters[0].n && s.adapters[1].n) {
        if (weights == IN_BLOCKS) {
            check_cache(&s, HN_F32, HN_NUMERICS_INT8, false);
            check_cache(&s, HN_TYPE_q8_0, HN_NUMERICS_INT8, true);
        } else {
            check_packed_once(&s);
            if (strstr(keys, "sliding_window"))
                check_lent_windows(&s);
            check_cache(&s, HN_F32, HN_NUMERICS_F32, false);
            check_cache(&s, HN_F16, HN_NUMERICS_F32, true);
            check_cache(&s, HN_BF16, HN_NUMERICS_BF16, false);
        }
        if (weights == PLAIN)
            check_cache(&s, HN_TYPE_q8_0, HN_NUMERICS_F32, true);
    }
    for (int i = 0; i < N_ADAPTERS; i++)
        hn_adapters_close(&s.adapters[i]);
    hn_devices_close(s.n_devices, s.one);
    hn_devices_close(n_three, s.three);
    hn_model_close(s.model);
}

int main(int argc, char **argv)
{
    const char *dir = getenv("TMPDIR");
    check_open(argc, argv);
    hn_heap_init(&heap, NULL);
    snprintf(file, sizeof file, "%.80s/hone-sequences-%d.gguf", dir ? dir : "/tmp", (int)getpid());
    check_model("llama", "", PLAIN);
    check_model("gemma3", "attention.sliding_window=20 block_count=6", PLAIN);
    check_model("gemma4", "attention.sliding_window=20 block_count=6 attention.key_length_swa=32 "
                          "attention.key_length=64 attention.value_length=64", PLAIN);
    check_model("gpt-oss", "attention.sliding_window=20 expert_count=4 expert_used_count=2 "
                           "expert_feed_forward_length=64", PLAIN);
    check_model("qwen3moe", "expert_count=4 expert_used_count=2 expert_feed_forward_length=64", PLAIN_SHORT);
    check_model("gpt2", "embedding_length=128", PLAIN_SHORT);
    check_model("gemma3n", "attention.sliding_window=20 block_count=6 embedding_length_per_layer_input=32", PLAIN_SHORT);
    check_model("llama", "weights=q8_0", IN_BLOCKS);
    check_model("gemma3", "attention.sliding_window=20 block_count=6 embedding_length=256 feed_forward_length=256 "
                          "weights=q4_k_m", IN_BLOCKS);
    check_model("gpt-oss", "attention.sliding_window=20 expert_count=4 expert_used_count=2 "
                           "expert_feed_forward_length=64 weights=mxfp4", IN_BLOCKS);
    check_group("what was met");
    CHECK(counted.adapted > 0 && counted.added > 0 && counted.chosen > 0);
    CHECK(counted.mixed > 0 && counted.forks > 0 && counted.shared > 0 && counted.trims > 0 && counted.lost > 0);
    CHECK(counted.closed > 0 && counted.saved > 0 && counted.cancelled > 0 && counted.full > 0);
    printf("%lld rows of logits (%lld times chosen), %lld steps of several sequences, %lld of them with two adapters and none\n",
           (long long)counted.rows, (long long)counted.chosen, (long long)counted.mixed, (long long)counted.adapted);
    printf("%lld forks (%lld in a block), %lld trims, %lld windows gone, %lld closed, %lld adapters added\n",
           (long long)counted.forks, (long long)counted.shared, (long long)counted.trims, (long long)counted.lost,
           (long long)counted.closed, (long long)counted.added);
    printf("%lld saved and taken back, %lld cancelled, %lld without blocks\n", (long long)counted.saved,
           (long long)counted.cancelled, (long long)counted.full);
    remove(file);
    CHECK_INT(0, heap.live_blocks);
    return check_close();
}
