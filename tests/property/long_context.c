/* Position 100,000: the logits of a 2-layer gemma4 (a window, then a full layer) are as near to a
 * double-precision evaluation as those at position 1,000; layers with a window hold no more; and
 * a token costs no more, but for attention over the full layer.
 *
 * The oracle fills the keys of both layers, a batch at a time: a full layer's keys need the window
 * layer alone, so nothing here is quadratic but the engine's own prefill. */
#include "base/os/clock.h"
#include "infer/session.h"
#include "ops/attention_span.h"
#include "prove/oracle.h"
#include "tests/harness/all_devices.h"
#include "tests/harness/check.h"
#include "tests/harness/random_model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAST = 100000, FIRST = 1000, BATCH = 500, N = LAST + BATCH, TIMED = 21 };

static hn_heap heap;
static int32_t tokens[N];

/* A graph over a cache of N rows, evaluated in double. */
typedef struct evaluation {
    hn_graph *g;
    nn_build build;
    hn_oracle *oracle;
    hn_node *wanted[8]; /* the states of the cache, or the logits */
    int n_wanted;
} evaluation;

static void want_states(evaluation *e)
{
    for (int i = 0; i < e->g->n_applies; i++)
        if (e->g->applies[i]->op == &hn_op_set_rows && e->n_wanted < 8)
            e->wanted[e->n_wanted++] = e->g->applies[i]->out[0];
}

static bool evaluation_open(evaluation *e, const hn_model *model, int64_t n_tokens, bool wants_states)
{
    const nn_build_options o = { .max_tokens = n_tokens, .max_rows = 1, .capacity = N };
    *e = (evaluation){ 0 };
    if (!CHECK_OK(hn_graph_new(&e->g, &heap)))
        return false;
    hn_node *logits = hn_model_build(model, &e->build, e->g, &o);
    if (!CHECK_OK(hn_graph_finish(e->g)))
        return false;
    if (wants_states)
        want_states(e);
    else
        e->wanted[e->n_wanted++] = logits;
    if (!CHECK_OK(hn_oracle_new(&e->oracle, e->g, e->n_wanted, e->wanted)))
        return false;
    for (int i = 0; i < e->build.n_bound; i++) {
        const nn_bound *bound = &e->build.bound[i];
        const hn_tensor t = hn_tensor_at(&bound->weight->type, (void *)(uintptr_t)bound->weight->data);
        if (!CHECK_OK(hn_oracle_give(e->oracle, bound->leaf->leaf, &t)))
            return false;
    }
    return true;
}

static void evaluation_close(evaluation *e)
{
    hn_oracle_free(e->oracle);
    hn_graph_free(e->g);
}

static void give(evaluation *e, const hn_node *leaf, int64_t i, int64_t value)
{
    hn_tensor *t = leaf ? hn_oracle_leaf(e->oracle, leaf->leaf) : NULL;
    if (t)
        hn_set_int(t, i, value);
}

/* Tokens [at, at + n) come next. */
static bool evaluate(evaluation *e, int64_t at, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        give(e, e->build.tokens, i, tokens[at + i]);
        give(e, e->build.positions, i, at + i);
        give(e, e->build.slots, i, at + i);
        give(e, e->build.segments, 3 * i, 0);
        give(e, e->build.segments, 3 * i + 1, at + i);
        give(e, e->build.segments, 3 * i + 2, at + i + 1);
    }
    give(e, e->build.rows, 0, n - 1);
    return CHECK_OK(hn_oracle_run(e->oracle, false, NULL));
}

/* What one evaluation made of the cache, another begins with. */
static void hand_over(const evaluation *from, evaluation *to)
{
    for (int i = 0; i < from->g->n_applies; i++) {
        const hn_apply *made = from->g->applies[i];
        const hn_tensor *state = made->op == &hn_op_set_rows
                                     ? hn_oracle_value(from->oracle, made->out[0]) : NULL;
        for (int k = 0; state && k < to->g->n_leaves; k++)
            if (!strcmp(to->g->leaves[k]->name, made->in[0]->leaf->name))
                CHECK_OK(hn_oracle_give(to->oracle, to->g->leaves[k], state));
    }
}

/* |x - double|^2 / |double|^2 of the logits after position `at`, whose keys `cache` holds. */
static double error_at(const hn_model *model, const evaluation *cache, int64_t at, const float *x)
{
    evaluation e;
    double off = 0, all = 0;
    if (!evaluation_open(&e, model, 1, false))
        return INFINITY;
    hand_over(cache, &e);
    if (evaluate(&e, at, 1)) {
        const hn_tensor *want = hn_oracle_value(e.oracle, e.wanted[0]);
        for (int64_t i = 0; i < hn_count(&want->type); i++) {
            const double y = hn_get(want, i);
            off += ((double)x[i] - y) * ((double)x[i] - y);
            all += y * y;
        }
    }
    evaluation_close(&e);
    return all > 0 ? off / all : (double)INFINITY;
}

static void check_errors(const hn_model *model, hn_session *s)
{
    evaluation cache;
    double error[2] = { INFINITY, INFINITY };
    const int64_t vocab = hn_model_hparams(model)->n_vocab;
    float *logits = hn_alloc_array(&heap, HN_TAG_STATE, 2 * (size_t)vocab, sizeof *logits);
    check_group("errors");
    if (CHECK_OK(hn_session_sync(s, tokens, FIRST + 1, NULL)))
        memcpy(logits, hn_session_logits(s), (size_t)vocab * sizeof *logits);
    const int64_t since = hn_clock_ns();
    if (CHECK_OK(hn_session_sync(s, tokens, LAST + 1, NULL)))
        memcpy(logits + vocab, hn_session_logits(s), (size_t)vocab * sizeof *logits);
    printf("prefill of %d tokens: %.1f s\n", LAST - FIRST, (double)(hn_clock_ns() - since) * 1e-9);
    bool fine = evaluation_open(&cache, model, BATCH, true);
    for (int64_t at = 0; at < N && fine; at += BATCH) {
        if (at == FIRST)
            error[0] = error_at(model, &cache, FIRST, logits);
        if (at == LAST)
            error[1] = error_at(model, &cache, LAST, logits + vocab);
        fine = at < LAST ? evaluate(&cache, at, BATCH) : true;
        hand_over(&cache, &cache);
    }
    printf("NMSE from double precision: %.3g at position %d, %.3g at position %d\n", error[0], FIRST,
           error[1], LAST);
    CHECK_THAT(error[0] > 0 && error[0] < 1e-11, "position %d: NMSE %.3g", FIRST, error[0]);
    CHECK_THAT(error[1] < 1e-11 && error[1] < 4 * error[0], "position %d: NMSE %.3g, %.3g at %d",
               LAST, error[1], error[0], FIRST);
    evaluation_close(&cache);
    hn_free(&heap, logits);
}

static int by_size(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static bool sees_everything(const hn_step *step)
{
    return step->op == &hn_op_attention_blocks && !((const hn_attention_attrs *)step->attrs)->window;
}

/* Medians of one more token's time after `at`: of all, and of the steps over the full layer's cache. */
static void time_token(hn_session *s, int64_t at, int64_t *rest, int64_t *full)
{
    enum { MOST_STEPS = 1024 };
    int64_t all[TIMED], attention[TIMED], step_ns[MOST_STEPS];
    const hn_plan *plan = hn_session_look(s);
    const hn_run_options run = { .step_ns = step_ns };
    if (!CHECK(plan->n_steps <= MOST_STEPS))
        return;
    for (int i = 0; i < TIMED; i++) {
        memset(step_ns, 0, sizeof step_ns);
        CHECK_OK(hn_session_sync(s, tokens, at + i, &run));
        all[i] = attention[i] = 0;
        for (int k = 0; k < plan->n_steps; k++)
            *(sees_everything(&plan->steps[k]) ? &attention[i] : &all[i]) += step_ns[k];
    }
    qsort(all + 1, TIMED - 1, sizeof *all, by_size); /* the first may run more than one token */
    qsort(attention + 1, TIMED - 1, sizeof *attention, by_size);
    *rest = all[TIMED / 2];
    *full = attention[TIMED / 2];
}

static void check_time(hn_session *s)
{
    int64_t rest[2] = { 1, 1 }, full[2] = { 1, 1 };
    check_group("time");
    time_token(s, LAST + 2, &rest[1], &full[1]);
    time_token(s, FIRST, &rest[0], &full[0]);
    printf("a token after %d: %lld ns, and %lld ns of attention in the full layer\n"
           "a token after %d: %lld ns, and %lld ns of attention in the full layer\n",
           FIRST, (long long)rest[0], (long long)full[0], LAST, (long long)rest[1],
           (long long)full[1]);
    /* A shared machine: a hundred times the context, and less than five times the time. */
    CHECK_THAT(rest[1] < 5 * rest[0], "%lld ns beside the full layer, %lld before", (long long)rest[1],
               (long long)rest[0]);
}

static void check_sizes(const hn_model *model, hn_run_spec run)
{
    hn_session_sizes sizes[2];
    check_group("memory");
    for (int i = 0; i < 2; i++)
        CHECK_OK(hn_session_measure(&heap, model, run,
                                    &(hn_session_options){ .n_ctx = i ? N : 2 * FIRST }, &sizes[i]));
    /* One key head of 16, keys and values in f32, in the full layer alone, in blocks of 64. */
    const int64_t a_token = 2 * 16 * 4;
    const int64_t blocks = (N + 63) / 64 - (2 * FIRST + 63) / 64;
    CHECK_INT((int64_t)sizes[0].cache + 64 * blocks * a_token, (int64_t)sizes[1].cache);
    printf("cache: %zu bytes for %d tokens, %zu for %d\n", sizes[0].cache, 2 * FIRST, sizes[1].cache,
           N);
}

int main(int argc, char **argv)
{
    hn_model *model;
    hn_session *session;
    hn_device *devices[HN_MAX_DEVICES];
    int n;
    check_open(argc, argv);
    hn_heap_init(&heap, NULL);
    for (int64_t i = 0; i < N; i++)
        tokens[i] = (int32_t)((i * i * 31 + i * 17 + i / 97) % 320);
    if (CHECK_OK(hn_devices_open(&heap, "cpu", &(hn_device_options){ 0 }, &n, devices))) {
        if (CHECK_OK(random_model_open(&heap, "gemma4",
                                       "context_length=131072 embedding_length=32 "
                                       "feed_forward_length=48 attention.head_count=2 "
                                       "attention.head_count_kv=1 attention.key_length=16 "
                                       "attention.value_length=16 attention.key_length_swa=16 "
                                       "attention.sliding_window=24", 3, &model))) {
            check_sizes(model, on_all_devices(n, devices));
            const hn_session_options o = { .n_ctx = N };
            if (CHECK_OK(hn_session_new(&session, &heap, model, on_all_devices(n, devices), &o))) {
                check_errors(model, session);
                if (n == 1) /* of several devices each waits for the others */
                    check_time(session);
                hn_session_free(session);
            }
            hn_model_close(model);
        }
        hn_devices_close(n, devices);
    }
    CHECK_INT(0, heap.live_blocks);
    return check_close();
}
