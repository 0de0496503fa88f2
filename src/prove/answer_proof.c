/* Every token's logits are laid side by side, once for each way of running, and compared as bytes with one run of
 * whole sequences. Distance to f32 is told of the median token: a token that goes to other experts is far away in
 * any mode. */
#include "prove/answer_proof.h"

#include "base/sha256.h"
#include "infer/forward.h"
#include "infer/sequences.h"
#include "prove/model_slice.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a mode may set the logits of most tokens apart from f32's by: the norm of the difference, over that of the logits about
 * their mean. Of the median, because a token that goes to other experts is far away in any mode, and no fault. */
enum { BF16_PER_CENT = 5, INT8_PER_CENT = 10 };

enum { MOST_TOKENS = 64, LONGEST = 24, MOST_SEQUENCES = 64 };

typedef struct proof {
    const hn_model_proof_options *o;
    const hn_model *model;
    hn_batch batch; /* of at most MOST_TOKENS tokens */
    hn_report *report;
    int64_t vocab, longest;
    size_t n; /* numbers in each of: */
    float *base, *other;
} proof;

bool hn_answers_only(hn_numerics numerics)
{
    return numerics == HN_NUMERICS_BF16 || numerics == HN_NUMERICS_INT8;
}

static hn_run_spec by(hn_device *const *device, hn_numerics numerics)
{
    return (hn_run_spec){ .n_devices = 1, .devices = device, .numerics = numerics };
}

/* ---- whole sequences ---- */

static hn_status take_logits(const proof *p, const hn_forward *f, size_t first, size_t n, float *to)
{
    hn_tensor logits;
    HN_TRY(hn_forward_logits(f, &logits));
    float *at = to + first * (size_t)p->vocab;
    for (size_t i = 0; i < n * (size_t)p->vocab; i++)
        at[i] = (float)hn_get(&logits, (int64_t)i);
    return HN_OK;
}

static hn_status run_whole(const proof *p, hn_run_spec run, const char *plan, float *to)
{
    hn_forward *f;
    const hn_forward_options o = { .max_tokens = p->longest, .plan = plan };
    HN_TRY(hn_forward_new(&f, p->o->heap, p->model, run, &o));
    hn_status status = HN_OK;
    size_t at = 0;
    for (size_t i = 0; i < p->batch.n_sequences && status == HN_OK; i++) {
        const hn_sample s = hn_batch_sequence(&p->batch, i);
        status = hn_forward_run(f, s.ids, (int64_t)s.n, p->o->ends);
        if (status == HN_OK)
            status = take_logits(p, f, at, s.n, to);
        at += s.n;
    }
    hn_forward_free(f);
    return status;
}

/* ---- distance ---- */

static double distance(const float *found, const float *exact, int64_t n)
{
    double mean = 0, apart = 0, norm = 0;
    for (int64_t i = 0; i < n; i++)
        mean += (double)exact[i] / (double)n;
    for (int64_t i = 0; i < n; i++) {
        const double d = (double)found[i] - (double)exact[i], x = (double)exact[i] - mean;
        apart += d * d;
        norm += x * x;
    }
    return sqrt(apart / norm);
}

static int64_t likeliest(const float *x, int64_t n)
{
    int64_t most = 0;
    for (int64_t i = 1; i < n; i++)
        most = x[i] > x[most] ? i : most;
    return most;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void note_distance(const proof *p)
{
    const int64_t n = (int64_t)p->batch.n_tokens;
    double of[MOST_TOKENS];
    int64_t changed = 0;
    for (int64_t row = 0; row < n; row++) {
        const float *found = p->base + row * p->vocab, *exact = p->other + row * p->vocab;
        of[row] = distance(found, exact, p->vocab);
        changed += likeliest(found, p->vocab) != likeliest(exact, p->vocab);
    }
    qsort(of, (size_t)n, sizeof *of, compare);
    const int bound = p->o->run.numerics == HN_NUMERICS_INT8 ? INT8_PER_CENT : BF16_PER_CENT;
    hn_report_note(p->report, "logits", HN_CHECK_DISTANCE, of[n / 2], bound * 1e-2,
                   "of %lld tokens in %s from f32; at worst %.3g; the likeliest is another in %lld", (long long)n,
                   hn_numerics_name(p->o->run.numerics), of[n - 1], (long long)changed);
}

/* ---- bits ---- */

static void note_bits(const proof *p, hn_check_kind kind, const char *what)
{
    size_t i = 0;
    while (i < p->n && !memcmp(&p->base[i], &p->other[i], sizeof(float)))
        i++;
    if (i == p->n)
        hn_report_note(p->report, "logits", kind, 0, 0, "%s", what);
    else
        hn_report_note(p->report, "logits", kind, 1, 0, "%s: token %lld, logit %lld: %.9g where one run gives %.9g", what,
                       (long long)(i / (size_t)p->vocab), (long long)(i % (size_t)p->vocab), (double)p->other[i],
                       (double)p->base[i]);
}

static hn_status check_run(const proof *p, hn_device *const *device, hn_check_kind kind, const char *plan)
{
    char what[96];
    (*device)->backend->describe(*device, what, sizeof what);
    HN_TRY(run_whole(p, by(device, p->o->run.numerics), plan, p->other));
    note_bits(p, kind, plan ? plan : what);
    return HN_OK;
}

/* ---- by sequences ---- */

/* All of them in steps, `apart`: one sequence a step; else a piece of each, of another length every time. */
static hn_status step_all(const proof *p, hn_sequences *all, const int32_t *names, bool apart, float *to)
{
    hn_piece pieces[MOST_SEQUENCES];
    size_t at[MOST_SEQUENCES], of[MOST_SEQUENCES], row = 0, done[MOST_SEQUENCES] = { 0 };
    const size_t n = p->batch.n_sequences;
    for (size_t i = 0; i < n; row += hn_batch_sequence(&p->batch, i++).n)
        at[i] = row;
    for (size_t turn = 0, left = row; left; turn++) {
        int64_t n_pieces = 0, wanted = 0;
        for (size_t i = 0; i < n && !(apart && n_pieces); i++) {
            const hn_sample s = hn_batch_sequence(&p->batch, i);
            const size_t rest = s.n - done[i], want = 1 + (turn * 3 + i) % 7, length = want < rest ? want : rest;
            if (!rest)
                continue;
            of[n_pieces] = i;
            pieces[n_pieces++] = (hn_piece){ names[i], s.ids + done[i], (int64_t)length, (int64_t)length };
        }
        HN_TRY(hn_sequences_step(all, pieces, n_pieces, p->o->ends));
        for (int64_t k = 0; k < n_pieces; k++) {
            const size_t i = of[k];
            for (int64_t r = 0; r < pieces[k].n; r++, wanted++, done[i]++, left--)
                memcpy(to + (at[i] + done[i]) * (size_t)p->vocab, hn_sequences_logits(all, wanted),
                       (size_t)p->vocab * sizeof *to);
        }
    }
    return HN_OK;
}

static hn_status check_sequences(const proof *p, bool packs, bool apart)
{
    const int64_t n = (int64_t)p->batch.n_sequences, tokens = (int64_t)p->batch.n_tokens;
    const hn_sequences_options o = { .n_sequences = n, .n_ctx = p->longest, .max_tokens = tokens, .max_rows = tokens,
                                     .packs = packs };
    int32_t names[MOST_SEQUENCES];
    char what[64];
    hn_sequences *all;
    HN_TRY(hn_sequences_new(&all, p->o->heap, p->model, by(p->o->run.devices, p->o->run.numerics), &o));
    hn_status status = HN_OK;
    for (int64_t i = 0; i < n && status == HN_OK; i++)
        status = hn_sequences_open(all, -1, &names[i]);
    if (status == HN_OK)
        status = step_all(p, all, names, apart, p->other);
    hn_sequences_free(all);
    HN_TRY(status);
    snprintf(what, sizeof what, "%lld sequences, %s", (long long)n, packs ? "weights in panels" : "weights as the file lies");
    note_bits(p, apart ? HN_CHECK_CUTS : HN_CHECK_BATCHES, what);
    return HN_OK;
}

/* ---- all of it ---- */

static void note_digest(const proof *p)
{
    uint8_t digest[32];
    char text[65];
    hn_sha256 sha;
    hn_sha256_begin(&sha);
    hn_sha256_add(&sha, p->base, p->n * sizeof *p->base);
    hn_sha256_end(&sha, digest);
    hn_sha256_text(digest, text);
    hn_report_note(p->report, "logits", HN_CHECK_DIGEST, 0, 0, "%s sha256 %s", hn_numerics_definition(p->o->run.numerics), text);
}

static hn_status check_all(const proof *p)
{
    static const char *const plans[] = { "separate", "reuse", "poison" };
    const hn_run_spec *run = &p->o->run;
    HN_TRY(run_whole(p, by(run->devices, run->numerics), NULL, p->base));
    HN_TRY(run_whole(p, by(run->devices, HN_NUMERICS_F32), NULL, p->other));
    note_distance(p);
    note_digest(p);
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++)
        HN_TRY(check_run(p, run->devices, HN_CHECK_PLANS, plans[i]));
    for (int k = 1; k < run->n_devices; k++)
        HN_TRY(check_run(p, run->devices + k, HN_CHECK_THREADS, NULL));
    for (int k = 0; k < p->o->n_levels; k++)
        HN_TRY(check_run(p, p->o->levels + k, HN_CHECK_LEVELS, NULL));
    for (int k = 0; k < p->o->n_others; k++)
        HN_TRY(check_run(p, p->o->others + k, HN_CHECK_DEVICES, NULL));
    for (int way = 0; way < 4; way++)
        HN_TRY(check_sequences(p, way & 1, way & 2));
    return HN_OK;
}

/* Stretches of the examples, each a sequence of its own: one example makes several. */
static hn_status cut(proof *p, const hn_batch *all)
{
    for (size_t i = 0; i < all->n_sequences; i++) {
        const hn_sample whole = hn_batch_sequence(all, i);
        for (size_t at = 0; at < whole.n && p->batch.n_tokens < MOST_TOKENS; at += LONGEST) {
            const size_t rest = whole.n - at, room = MOST_TOKENS - p->batch.n_tokens;
            hn_sample s = { .ids = whole.ids + at, .weights = whole.weights + at, .n = rest < LONGEST ? rest : LONGEST };
            s.n = s.n < room ? s.n : room;
            p->longest = (int64_t)s.n > p->longest ? (int64_t)s.n : p->longest;
            HN_TRY(hn_batch_add_sample(&p->batch, &s));
        }
    }
    HN_REQUIRE(p->batch.n_sequences > 1, HN_ERR_ARGUMENT, "%zu tokens of examples: expected more than %d, for sequences that run together",
               p->batch.n_tokens, LONGEST);
    return HN_OK;
}

static hn_status prove(proof *p, const hn_batch *all)
{
    HN_TRY(cut(p, all));
    p->vocab = hn_model_hparams(p->model)->n_vocab;
    p->n = p->batch.n_tokens * (size_t)p->vocab;
    p->base = hn_alloc_array(p->o->heap, HN_TAG_PROVE, p->n, sizeof *p->base);
    p->other = hn_alloc_array(p->o->heap, HN_TAG_PROVE, p->n, sizeof *p->other);
    return p->base && p->other ? check_all(p) : HN_ERR_MEMORY;
}

hn_status hn_answer_prove(const hn_model *model, const hn_batch *all, const hn_model_proof_options *options,
                          hn_report *report, hn_str *left_out)
{
    proof p = { .o = options, .batch = hn_batch_on(options->heap), .report = report };
    hn_model *slice;
    HN_REQUIRE(!options->targets, HN_ERR_UNSUPPORTED, "targets: nothing is trained in %s",
               hn_numerics_name(options->run.numerics));
    HN_TRY(hn_slice_take(options->heap, model, options->full, &slice, left_out));
    p.model = slice ? slice : model;
    const hn_status status = prove(&p, all);
    hn_free(options->heap, p.other);
    hn_free(options->heap, p.base);
    hn_batch_free(&p.batch);
    hn_model_close(slice);
    return status;
}
