/* Files made of files: converted, quantised. */
#include "engine/files.h"
#include "convert/convert.h"
#include "convert/quantize.h"

#include <string.h>

/* ---- converting ---- */

hn_status hn_lm_convert(hn_engine *engine, const char *dir, const char *out, const hn_lm_convert_options *options)
{
    HN_ENTER();
    hn_lm_convert_options o;
    hn_ignored ignored;
    hn_pool *pool;
    hn_sink to;
    HN_REQUIRE(engine && dir && out, HN_ERR_ARGUMENT, "hn_lm_convert: expected engine, dir and out, found NULL");
    HN_TRY(hn_take_struct("hn_lm_convert_options", options, sizeof o, &o));
    HN_TRY(hn_take_ignored("hn_lm_convert_options", o.ignored_keys, o.n_ignored_keys, &ignored));
    hn_convert_options inner = { .name = o.name, .ignored = &ignored };
    if (o.type)
        HN_TRY(hn_recipe_named(o.type, &inner.recipe));
    HN_TRY(hn_engine_check(engine));
    HN_TRY(hn_take_sink(out, o.overwrite, &to));
    HN_TRY(hn_engine_pool(engine, &pool));
    hn_watch watch = hn_engine_watch(engine);
    const hn_status status = hn_convert(&engine->heap, pool, dir, to, &inner, &watch);
    hn_pool_free(pool);
    return status;
}

/* ---- quantising ---- */

hn_status hn_take_keep(hn_heap *heap, const char *name, const char *const *keep, int32_t n, hn_keep **out)
{
    *out = NULL;
    HN_REQUIRE(n >= 0 && (keep || !n), HN_ERR_ARGUMENT, "%s.keep: expected a list, found %d%s", name, n,
               keep ? "" : " at NULL");
    hn_keep *list = hn_alloc_array(heap, HN_TAG_FILE, (size_t)n + 1, sizeof *list);
    if (!list)
        return HN_ERR_MEMORY;
    hn_status status = HN_OK;
    for (int32_t i = 0; i < n && status == HN_OK; i++)
        status = keep[i] ? hn_keep_parse(keep[i], &list[i])
                         : hn_fail(HN_ERR_ARGUMENT, "%s.keep[%d] is NULL", name, i);
    if (status != HN_OK)
        hn_free(heap, list);
    else
        *out = list;
    return status;
}

const char *hn_lm_recipe(int32_t i)
{
    HN_ENTER();
    return hn_recipe_at(i);
}

hn_status hn_lm_recipe_type(const char *recipe, const char **type)
{
    HN_ENTER();
    const hn_recipe *found;
    HN_REQUIRE(recipe && type, HN_ERR_ARGUMENT, "hn_lm_recipe_type: expected recipe and type, found NULL");
    HN_TRY(hn_recipe_named(recipe, &found));
    *type = hn_dtype_name(hn_recipe_dtype(found));
    return HN_OK;
}

static void tell(void *context, const hn_quantized *t)
{
    static const hn_lm_use uses[] = {
        [HN_KIND_EMBEDDING] = HN_LM_USE_EMBEDDING, [HN_KIND_ATTENTION] = HN_LM_USE_ATTENTION,
        [HN_KIND_FFN] = HN_LM_USE_FEED_FORWARD,    [HN_KIND_EXPERTS] = HN_LM_USE_EXPERTS,
        [HN_KIND_HEAD] = HN_LM_USE_HEAD,           [HN_KIND_NORMS] = HN_LM_USE_NORMS,
        [HN_KIND_OTHER] = HN_LM_USE_OTHER,
    };
    const hn_lm_quantize_options *o = context;
    const hn_lm_quantized told = {
        .name = t->name, .was = hn_dtype_name(t->was->dtype), .is = hn_dtype_name(t->is->dtype),
        .meant = hn_dtype_name(t->meant), .use = uses[hn_tensor_kind_of(t->name, t->was)],
        .numbers = (int64_t)hn_count(t->is), .row = hn_last_dim(t->is), .block = hn_dtype_block(t->meant),
        .was_bytes = hn_type_bytes(t->was), .is_bytes = hn_type_bytes(t->is), .is_kept = t->is_kept,
    };
    HN_CALL_HOST();
    o->on_tensor(o->context, &told);
}

typedef struct quantizing {
    hn_engine *engine;
    const char *in, *out;
    hn_lm_quantize_options o;
    hn_quantize_options inner;
    hn_importance *importance;
    hn_keep *keep;
} quantizing;

static hn_status quantize(quantizing *q, const char *recipe)
{
    hn_heap *heap = &q->engine->heap;
    hn_pool *pool;
    hn_sink to;
    HN_TRY(hn_take_sink(q->out, q->o.overwrite, &to));
    if (q->o.imatrix)
        HN_TRY(hn_importance_open(heap, q->o.imatrix, &q->importance));
    HN_TRY(hn_recipe_named(recipe, &q->inner.recipe));
    HN_TRY(hn_take_keep(heap, "hn_lm_quantize_options", q->o.keep, q->o.n_keep, &q->keep));
    q->inner.importance = q->importance;
    q->inner.keep = q->keep;
    q->inner.n_keep = q->o.n_keep;
    HN_TRY(hn_engine_pool(q->engine, &pool));
    hn_watch watch = hn_engine_watch(q->engine);
    const hn_status status =
        hn_quantize(heap, pool, q->in, to, &q->inner, &watch);
    hn_pool_free(pool);
    return status;
}

hn_status hn_lm_quantize(hn_engine *engine, const char *in, const char *out, const char *recipe,
                         const hn_lm_quantize_options *options)
{
    HN_ENTER();
    hn_ignored ignored;
    quantizing q = { .engine = engine, .in = in, .out = out };
    HN_REQUIRE(engine && in && out && recipe, HN_ERR_ARGUMENT,
               "hn_lm_quantize: expected engine, in, out and recipe, found NULL");
    HN_TRY(hn_take_struct("hn_lm_quantize_options", options, sizeof q.o, &q.o));
    HN_TRY(hn_take_ignored("hn_lm_quantize_options", q.o.ignored_keys, q.o.n_ignored_keys, &ignored));
    HN_TRY(hn_engine_check(engine));
    q.inner = (hn_quantize_options){ .ignored = &ignored, .told = q.o.on_tensor ? tell : NULL, .context = &q.o,
                                     .may_requantize = q.o.requantize != 0 };
    const hn_status status = quantize(&q, recipe);
    hn_importance_close(q.importance);
    hn_free(&engine->heap, q.keep);
    return status;
}
