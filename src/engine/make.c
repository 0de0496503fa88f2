/* Models that are made up. */
#include "convert/random_model.h"
#include "convert/random_numbers.h"
#include "engine/files.h"
#include "models/format.h"
#include "models/models.h"

#include <string.h>

/* The vocabulary is the tokenizer's unless it was set. */
static hn_status take_tokenizer(hn_hparams *hp, const hn_meta *meta)
{
    const hn_meta_value *tokens;
    HN_TRY(hn_meta_array(meta, "tokenizer.ggml.tokens", HN_META_STRING, &tokens));
    if (tokens)
        hp->n_vocab = (int64_t)tokens->n;
    return HN_OK;
}

typedef struct making {
    hn_engine *engine;
    hn_lm_make_options o;
    hn_random_options inner;
    hn_hparams *hp;
    hn_meta tokenizer;
    hn_keep *keep;
} making;

static hn_status take_options(making *m, const char *architecture, const hn_lm_make_options *options)
{
    hn_lm_make_options *o = &m->o;
    HN_TRY(hn_take_struct("hn_lm_make_options", options, sizeof *o, o));
    HN_REQUIRE((unsigned)o->first <= HN_LM_FIRST_SPREAD, HN_ERR_ARGUMENT,
               "hn_lm_make_options.first is %d: expected HN_LM_FIRST_CLASS or HN_LM_FIRST_SPREAD", (int)o->first);
    HN_REQUIRE(o->n_settings >= 0 && (o->settings || !o->n_settings), HN_ERR_ARGUMENT,
               "hn_lm_make_options.settings: expected a list, found %d%s", o->n_settings, o->settings ? "" : " at NULL");
    for (int32_t i = 0; i < o->n_settings; i++)
        HN_REQUIRE(o->settings[i], HN_ERR_ARGUMENT, "hn_lm_make_options.settings[%d] is NULL", i);
    m->inner = (hn_random_options){ .first = o->first == HN_LM_FIRST_SPREAD ? HN_FIRST_SPREAD : HN_FIRST_CLASS,
                                    .seed = o->seed, .name = o->name ? o->name : "random",
                                    .copies = o->copies != 0 };
    HN_TRY(hn_arch_named(architecture, &m->inner.arch));
    return hn_recipe_named(o->type ? o->type : "f32", &m->inner.recipe);
}

static hn_status choose_numbers(making *m)
{
    hn_heap *heap = &m->engine->heap;
    m->hp = hn_alloc(heap, HN_TAG_FILE, sizeof *m->hp);
    if (!m->hp)
        return HN_ERR_MEMORY;
    hn_random_begin(m->hp);
    if (m->o.tokenizer) {
        m->inner.tokenizer = &m->tokenizer;
        HN_TRY(hn_model_format_of(m->o.tokenizer)->read_tokenizer_keys(heap, m->o.tokenizer, &m->tokenizer));
        HN_TRY(take_tokenizer(m->hp, &m->tokenizer));
    }
    for (int32_t i = 0; i < m->o.n_settings; i++)
        HN_TRY(hn_random_set(m->hp, m->o.settings[i]));
    HN_TRY(hn_random_complete(m->inner.arch, m->hp));
    m->inner.hp = m->hp;
    return hn_random_check(m->inner.arch, m->hp, m->o.n_settings, m->o.settings);
}

static hn_status make(making *m, const char *out)
{
    hn_heap *heap = &m->engine->heap;
    hn_pool *pool;
    hn_sink to;
    HN_TRY(hn_take_sink(out, m->o.overwrite, &to));
    HN_TRY(choose_numbers(m));
    HN_TRY(hn_take_keep(heap, "hn_lm_make_options", m->o.keep, m->o.n_keep, &m->keep));
    m->inner.keep = m->keep;
    m->inner.n_keep = m->o.n_keep;
    HN_TRY(hn_engine_pool(m->engine, &pool));
    hn_watch watch = hn_engine_watch(m->engine);
    const hn_status status = hn_random_model(heap, pool, to, &m->inner, &watch);
    hn_pool_free(pool);
    return status;
}

hn_status hn_lm_make(hn_engine *engine, const char *architecture, const char *out, const hn_lm_make_options *options)
{
    HN_ENTER();
    making m = { .engine = engine };
    HN_REQUIRE(engine && architecture && out, HN_ERR_ARGUMENT,
               "hn_lm_make: expected engine, architecture and out, found NULL");
    HN_TRY(hn_engine_check(engine));
    HN_TRY(take_options(&m, architecture, options));
    m.tokenizer = hn_meta_on(&engine->heap, m.o.tokenizer);
    const hn_status status = make(&m, out);
    hn_meta_free(&m.tokenizer);
    hn_free(&engine->heap, m.keep);
    hn_free(&engine->heap, m.hp);
    return status;
}
