/* A text that is too long loses its end and keeps what the tokenizer puts behind it, for a model was trained to
 * find that there. Texts are run as whole sequences: a state has the bits that a session has after the same ids. */
#include "infer/embed.h"

#include <string.h>

struct hn_embedder {
    hn_heap *heap;
    const hn_tokenizer *tok;
    hn_forward *forward;
    hn_sentence sentence;
    int64_t width; /* of a state */
    bool refuses_long;
    hn_encoding encoding;
};

static hn_status settle_pooling(hn_embedder *e, const hn_model *model, const hn_embedder_options *o)
{
    HN_TRY(hn_sentence_of_model(model, &e->sentence));
    if (o->pooling) {
        e->sentence.n = 1;
        HN_TRY(hn_pool_kind_named(o->pooling, &e->sentence.parts[0]));
    }
    hn_word_text all;
    HN_REQUIRE(e->sentence.n, HN_ERR_ARGUMENT, "%s says no pooling: expected one of %s", hn_model_path(model),
               hn_pool_kinds_or(&all));
    e->sentence.normalizes = e->sentence.normalizes || o->normalizes;
    return HN_OK;
}

/* What a text may be is planned for in memory, so a decoder's whole context is taken only where it is asked for. */
static hn_status settle_longest(hn_embedder *e, const hn_model *model, int64_t context)
{
    const hn_hparams *hp = hn_model_hparams(model);
    const int64_t most = hn_hparams_longest(hp), usual = hn_hparams_usual_context(hp);
    int64_t *longest = &e->sentence.longest;
    HN_REQUIRE(context >= 0 && (most <= 0 || context <= most), HN_ERR_ARGUMENT,
               "%s: a context of %lld tokens: the model was made for %lld", hn_model_path(model), (long long)context,
               (long long)most);
    if (context)
        *longest = context;
    else if (!hn_model_arch(model)->embeds_only && (*longest <= 0 || *longest > usual))
        *longest = usual;
    return HN_OK;
}

static hn_status prepare(hn_embedder *e, const hn_model *model, hn_run_spec run, const hn_embedder_options *o)
{
    HN_TRY(settle_pooling(e, model, o));
    HN_TRY(settle_longest(e, model, o->context));
    e->refuses_long = o->refuses_long;
    e->width = hn_model_hparams(model)->width;
    const hn_forward_options forward = { .max_tokens = e->sentence.longest, .gives_states = true, .adapters = o->adapters };
    return hn_forward_new(&e->forward, e->heap, model, run, &forward);
}

hn_status hn_embedder_new(hn_embedder **out, hn_heap *heap, const hn_model *model, const hn_tokenizer *tok,
                          hn_run_spec run, const hn_embedder_options *options)
{
    *out = NULL;
    hn_embedder *e = hn_alloc(heap, HN_TAG_STATE, sizeof *e);
    if (!e)
        return HN_ERR_MEMORY;
    e->heap = heap;
    e->tok = tok;
    const hn_status status = prepare(e, model, run, options);
    if (status != HN_OK) {
        hn_embedder_free(e);
        return status;
    }
    *out = e;
    return HN_OK;
}

void hn_embedder_free(hn_embedder *e)
{
    if (!e)
        return;
    hn_forward_free(e->forward);
    hn_encoding_free(&e->encoding);
    hn_free(e->heap, e);
}

int64_t hn_embedder_width(const hn_embedder *e)
{
    return e->sentence.n * e->width;
}

int64_t hn_embedder_longest(const hn_embedder *e)
{
    return e->sentence.longest;
}

/* What stands after the text stays; the text loses its end. */
static hn_status cut(hn_embedder *e, const char *text, size_t bytes)
{
    const int64_t longest = e->sentence.longest;
    hn_encoding *all = &e->encoding, bare = { 0 };
    if ((int64_t)all->n <= longest)
        return HN_OK;
    HN_REQUIRE(!e->refuses_long, HN_ERR_ARGUMENT, "%zu tokens: expected at most %lld", all->n,
               (long long)longest);
    const hn_encode_options o = { .add_eos = HN_NO, .parse_special = true };
    const hn_status status = hn_tokenizer_encode(e->tok, text, bytes, &o, &bare);
    const size_t after = all->n - bare.n;
    hn_encoding_free(&bare);
    HN_TRY(status);
    HN_REQUIRE((int64_t)after < longest, HN_ERR_ARGUMENT, "%zu tokens after it: expected less than %lld",
               after, (long long)longest);
    memmove(all->ids + (size_t)longest - after, all->ids + all->n - after, after * sizeof *all->ids);
    all->n = (size_t)longest;
    return HN_OK;
}

hn_status hn_embedder_run(hn_embedder *e, const char *text, size_t bytes, const hn_run_options *options,
                          float *vector, int64_t *n_tokens)
{
    hn_encoding *ids = &e->encoding;
    const hn_encode_options o = { .parse_special = true };
    HN_REQUIRE(e->tok, HN_ERR_ARGUMENT, "a text, and no tokenizer");
    HN_TRY(hn_tokenizer_encode(e->tok, text, bytes, &o, ids));
    *n_tokens = (int64_t)ids->n;
    HN_REQUIRE(ids->n > 0, HN_ERR_ARGUMENT, "\"%.*s\" has no tokens", bytes < 60 ? (int)bytes : 60, text);
    HN_TRY(cut(e, text, bytes));
    return hn_embedder_run_ids(e, ids->ids, ids->n, options, vector);
}

hn_status hn_embedder_run_ids(hn_embedder *e, const int32_t *ids, size_t n, const hn_run_options *options, float *vector)
{
    hn_tensor hidden;
    HN_REQUIRE(n > 0, HN_ERR_ARGUMENT, "expected ids of tokens, found none");
    HN_REQUIRE((int64_t)n <= e->sentence.longest, HN_ERR_ARGUMENT, "%zu tokens: expected at most %lld", n,
               (long long)e->sentence.longest);
    HN_TRY(hn_forward_run(e->forward, ids, (int64_t)n, options));
    HN_TRY(hn_forward_logits(e->forward, &hidden));
    hn_sentence_pool(&e->sentence, hidden.data, (int64_t)n, e->width, vector);
    return HN_OK;
}
