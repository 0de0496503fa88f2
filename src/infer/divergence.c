/* Both sides run the same chunk one after the other, so memory is one chunk's logits of each. Sums are in double,
 * in the order of the text. */
#include "infer/divergence.h"

#include "base/mathfn.h"
#include "infer/log_sum.h"

#include <math.h>
#include <string.h>

static double divergence_of(const float *p, const float *q, int64_t n)
{
    int64_t best;
    double kl = 0;
    const double p_sum = hn_log_sum(p, n, &best), q_sum = hn_log_sum(q, n, &best);
    for (int64_t i = 0; i < n; i++) {
        const double a = (double)p[i] - p_sum, b = (double)q[i] - q_sum;
        kl += hn_math_exp(a) * (a - b);
    }
    return kl;
}

static hn_status run_chunk(hn_forward *const sides[2], const int32_t *chunk, int64_t n, double *sum)
{
    hn_tensor z[2];
    for (int k = 0; k < 2; k++) {
        HN_TRY(hn_forward_run(sides[k], chunk, n, NULL));
        HN_TRY(hn_forward_logits(sides[k], &z[k]));
    }
    const int64_t vocab = hn_last_dim(&z[0].type);
    for (int64_t t = 0; t < n; t++) {
        const double kl = divergence_of((const float *)z[0].data + t * vocab,
                                        (const float *)z[1].data + t * vocab, vocab);
        HN_REQUIRE(isfinite(kl), HN_ERR_NUMERIC, "the logits of token %lld are not finite",
                   (long long)t);
        *sum += kl;
    }
    return HN_OK;
}

static hn_status run_chunks(hn_forward *const sides[2], const hn_divergence_text *text,
                            int32_t *chunk, double *out)
{
    const size_t begins = text->bos >= 0 ? 1 : 0, most = (size_t)text->chunk - begins;
    double sum = 0;
    size_t counted = 0;
    chunk[0] = text->bos;
    for (size_t at = 0; at < text->n; at += most) {
        const size_t n = text->n - at < most ? text->n - at : most;
        memcpy(chunk + begins, text->tokens + at, n * sizeof *chunk);
        HN_TRY(run_chunk(sides, chunk, (int64_t)(n + begins), &sum));
        counted += n + begins;
    }
    *out = sum / (double)counted;
    return HN_OK;
}

hn_status hn_divergence(hn_heap *heap, hn_run_spec run, const hn_run_side *p,
                        const hn_run_side *q, const hn_divergence_text *text, double *out)
{
    const hn_run_side *both[2] = { p, q };
    hn_forward *sides[2] = { NULL };
    HN_REQUIRE(text->n && text->chunk > 1, HN_ERR_ARGUMENT, "a text without a token");
    HN_REQUIRE(hn_model_hparams(p->model)->n_vocab == hn_model_hparams(q->model)->n_vocab,
               HN_ERR_SHAPE, "models of different vocabularies");
    int32_t *chunk = hn_alloc_array(heap, HN_TAG_TEXT, (size_t)text->chunk, sizeof *chunk);
    hn_status status = chunk ? HN_OK : HN_ERR_MEMORY;
    for (int k = 0; k < 2 && status == HN_OK; k++) {
        const hn_forward_options o = { .max_tokens = text->chunk, .adapters = both[k]->adapters };
        status = hn_forward_new(&sides[k], heap, both[k]->model, run, &o);
    }
    if (status == HN_OK)
        status = run_chunks(sides, text, chunk, out);
    hn_forward_free(sides[0]);
    hn_forward_free(sides[1]);
    hn_free(heap, chunk);
    return status;
}
