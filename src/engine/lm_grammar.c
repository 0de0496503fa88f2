/* Public grammars, and what a model has of each: its vocabulary as a tree, made once, and masks by grammar. */
#include "engine/lm_grammar.h"

enum { MOST_IDLE = 8 };

static int64_t or_default(int64_t given, int64_t value) { return given ? given : value; }

static hn_status take_options(const hn_lm_grammar_options *options, hn_grammar_limits *l, hn_lm_grammar_options *o)
{
    *l = (hn_grammar_limits)HN_GRAMMAR_DEFAULTS;
    HN_TRY(hn_take_struct("hn_lm_grammar_options", options, sizeof *o, o));
    const int64_t given[] = { o->bytes, o->depth, o->references, o->repetition, o->states, o->steps, o->nesting, o->ways };
    for (size_t i = 0; i < sizeof given / sizeof *given; i++)
        HN_REQUIRE(given[i] >= 0 && given[i] <= INT32_MAX, HN_ERR_ARGUMENT, "hn_lm_grammar_options: expected limits of 0 to %d, found %lld",
                   INT32_MAX, (long long)given[i]);
    *l = (hn_grammar_limits){ or_default(o->bytes, l->bytes), or_default(o->depth, l->depth), or_default(o->references, l->references),
                              or_default(o->repetition, l->repetition), or_default(o->states, l->states),
                              or_default(o->steps, l->steps), or_default(o->nesting, l->nesting), or_default(o->ways, l->ways) };
    const int32_t n[] = { o->n_triggers, o->n_trigger_tokens };
    const char *const *lists[] = { o->triggers, o->trigger_tokens };
    for (int k = 0; k < 2; k++) {
        HN_REQUIRE(n[k] >= 0 && n[k] <= HN_MOST_TRIGGERS && (lists[k] || !n[k]), HN_ERR_ARGUMENT,
                   "hn_lm_grammar_options: expected a list of at most %d triggers, found %d%s", HN_MOST_TRIGGERS, n[k],
                   lists[k] ? "" : " at NULL");
        for (int32_t i = 0; i < n[k]; i++)
            HN_REQUIRE(lists[k][i] && lists[k][i][0], HN_ERR_ARGUMENT, "hn_lm_grammar_options: trigger %d is empty", i);
    }
    l->triggers = (hn_grammar_triggers){ o->triggers, o->trigger_tokens, o->n_triggers, o->n_trigger_tokens };
    return HN_OK;
}

static hn_status make(hn_lm_grammar *g, hn_lm_grammar_kind kind, const char *text, size_t bytes, const hn_grammar_limits *limits)
{
    hn_heap *heap = &g->engine->heap;
    if (kind == HN_LM_JSON_SCHEMA)
        return hn_grammar_from_schema(heap, text, bytes, limits, &g->inner);
    if (kind == HN_LM_REGEX)
        return hn_grammar_from_regex(heap, text, bytes, limits, &g->inner);
    return hn_grammar_from_gbnf(heap, text, bytes, limits, &g->inner);
}

hn_status hn_lm_grammar_new(hn_lm_grammar **out, hn_engine *engine, hn_lm_grammar_kind kind, const char *text, size_t bytes,
                            const hn_lm_grammar_options *options)
{
    HN_ENTER();
    hn_lm_grammar_options o;
    hn_grammar_limits limits;
    HN_REQUIRE(out && engine && (text || !bytes), HN_ERR_ARGUMENT, "hn_lm_grammar_new: expected out, an engine and a text, found NULL");
    *out = NULL;
    HN_TRY(hn_engine_check(engine));
    HN_REQUIRE((unsigned)kind <= HN_LM_GBNF, HN_ERR_ARGUMENT, "hn_lm_grammar_new: kind %d: expected an hn_lm_grammar_kind", (int)kind);
    HN_TRY(take_options(options, &limits, &o));
    hn_lm_grammar *g = hn_alloc(&engine->heap, HN_TAG_TEXT, sizeof *g);
    if (!g)
        return HN_ERR_MEMORY;
    g->engine = engine;
    atomic_init(&g->n_holders, 1);
    const hn_status status = make(g, kind, text ? text : "", bytes, &limits);
    if (status != HN_OK) {
        hn_lm_grammar_free(g);
        return status;
    }
    *out = g;
    return HN_OK;
}

void hn_lm_grammar_hold(hn_lm_grammar *g) { atomic_fetch_add(&g->n_holders, 1); }

void hn_lm_grammar_free(hn_lm_grammar *g)
{
    HN_ENTER();
    if (!g || atomic_fetch_sub(&g->n_holders, 1) > 1)
        return;
    hn_heap *heap = &g->engine->heap;
    hn_grammar_free(g->inner);
    hn_free(heap, g);
}

/* ---- on a model ---- */

static hn_status token_text(const void *context, int32_t id, hn_str *to, hn_token_class *out)
{
    const hn_lm *lm = context;
    *out = HN_TOKEN_IS_NOTHING;
    if (id >= hn_tokenizer_size(lm->tok))
        return HN_OK;
    const hn_token_kind kind = hn_tokenizer_token_kind(lm->tok, id);
    const bool is_control = kind == HN_TOKEN_CONTROL || kind == HN_TOKEN_UNKNOWN;
    if (hn_tokenizer_ends(lm->tok, id))
        *out = HN_TOKEN_IS_END;
    else if (kind != HN_TOKEN_UNUSED)
        *out = is_control ? HN_TOKEN_IS_CONTROL : HN_TOKEN_IS_TEXT;
    if (*out == HN_TOKEN_IS_NOTHING)
        return HN_OK;
    return hn_tokenizer_inner_text(lm->tok, id, to);
}

static hn_status make_tokens(hn_lm *lm)
{
    const int64_t n = lm->model ? hn_model_hparams(lm->model)->n_vocab : hn_tokenizer_size(lm->tok);
    const hn_token_source source = { lm, (int32_t)n, token_text };
    int32_t ends = 0;
    if (lm->tokens)
        return HN_OK;
    for (int32_t i = 0; i < hn_tokenizer_size(lm->tok) && i < n; i++)
        ends += hn_tokenizer_ends(lm->tok, i);
    HN_REQUIRE(ends, HN_ERR_UNSUPPORTED, "%s has no token by which it says that it is done: a grammar's text could not end", lm->path);
    return hn_tokens_new(&lm->tokens, &lm->engine->heap, &source);
}

static void free_bound(hn_lm *lm, hn_lm_bound *b)
{
    hn_masks_free(b->masks);
    hn_lm_grammar_free(b->grammar);
    hn_os_mutex_close(&b->lock);
    hn_free(&lm->engine->heap, b);
}

/* Of those that nobody uses the oldest goes, where they are too many. */
static void drop_idle(hn_lm *lm)
{
    int n_idle = 0;
    hn_lm_bound **oldest = NULL;
    for (hn_lm_bound **at = &lm->bounds; *at; at = &(*at)->next)
        if (!(*at)->n_users) {
            n_idle++;
            if (!oldest || (*at)->used < (*oldest)->used)
                oldest = at;
        }
    if (n_idle <= MOST_IDLE)
        return;
    hn_lm_bound *b = *oldest;
    *oldest = b->next;
    free_bound(lm, b);
}

static hn_status bind(hn_lm *lm, hn_lm_grammar *g, hn_lm_bound **out)
{
    hn_lm_bound *b = lm->bounds;
    while (b && b->grammar != g)
        b = b->next;
    if (!b) {
        HN_TRY(make_tokens(lm));
        b = hn_alloc(&lm->engine->heap, HN_TAG_TEXT, sizeof *b);
        if (!b)
            return HN_ERR_MEMORY;
        const hn_status status = hn_masks_new(&b->masks, &lm->engine->heap, g->inner, lm->tokens);
        if (status != HN_OK) {
            hn_free(&lm->engine->heap, b);
            return status;
        }
        hn_os_mutex_open(&b->lock);
        hn_lm_grammar_hold(g);
        b->grammar = g;
        b->next = lm->bounds;
        lm->bounds = b;
    }
    b->n_users++;
    b->used = ++lm->n_bindings;
    *out = b;
    return HN_OK;
}

void hn_lm_bounds_free(hn_lm *lm)
{
    while (lm->bounds) {
        hn_lm_bound *b = lm->bounds;
        lm->bounds = b->next;
        free_bound(lm, b);
    }
    hn_tokens_free(lm->tokens);
}

hn_status hn_lm_bind(hn_lm *lm, hn_lm_grammar *g, hn_lm_bound **out)
{
    HN_REQUIRE(g->engine == lm->engine, HN_ERR_ARGUMENT, "the grammar is of another engine than the model");
    hn_os_mutex_lock(&lm->bounds_lock);
    const hn_status status = bind(lm, g, out);
    hn_os_mutex_unlock(&lm->bounds_lock);
    return status;
}

void hn_lm_unbind(hn_lm *lm, hn_lm_bound *b)
{
    hn_os_mutex_lock(&lm->bounds_lock);
    b->n_users--;
    drop_idle(lm);
    hn_os_mutex_unlock(&lm->bounds_lock);
}
