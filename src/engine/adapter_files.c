/* Adapters to and from other programs' files, on an engine. */
#include "convert/adapter_export.h"
#include "convert/adapter_import.h"
#include "engine/files.h"

#include <string.h>

static hn_status read_type(const char *word, hn_dtype *out)
{
    *out = HN_F32;
    if (word)
        HN_TRY(hn_dtype_parse(word, strlen(word), out));
    HN_REQUIRE(*out == HN_F32 || *out == HN_F16 || *out == HN_BF16, HN_ERR_ARGUMENT,
               "--type %s: expected f32, f16 or bf16", word);
    return HN_OK;
}

hn_status hn_lm_import_adapter(hn_engine *engine, const char *peft, const char *base, const char *out,
                               const hn_lm_import_options *options)
{
    HN_ENTER();
    hn_lm_import_options o;
    hn_ignored ignored;
    hn_pool *pool;
    hn_sink to;
    HN_REQUIRE(engine && peft && base && out, HN_ERR_ARGUMENT,
               "hn_lm_import_adapter: expected engine, peft, base and out, found NULL");
    HN_TRY(hn_take_struct("hn_lm_import_options", options, sizeof o, &o));
    HN_TRY(hn_take_ignored("hn_lm_import_options", o.ignored_keys, o.n_ignored_keys, &ignored));
    hn_adapter_import_options inner = { .ignored = &ignored, .base = base, .name = o.name };
    HN_TRY(read_type(o.type, &inner.dtype));
    HN_TRY(hn_engine_check(engine));
    HN_TRY(hn_take_sink(out, o.overwrite, &to));
    HN_TRY(hn_engine_pool(engine, &pool));
    hn_watch watch = hn_engine_watch(engine);
    const hn_status status = hn_adapter_import(&engine->heap, pool, peft, to, &inner, &watch);
    hn_pool_free(pool);
    return status;
}

/* What both exports take. */
typedef struct exporting {
    hn_lm_export_options o;
    hn_ignored ignored;
    hn_template_choice template;
    hn_sink to;
    hn_pool *pool;
} exporting;

static hn_status begin(exporting *e, hn_engine *engine, const char *to, bool is_folder, const hn_lm_export_options *options)
{
    HN_TRY(hn_take_struct("hn_lm_export_options", options, sizeof e->o, &e->o));
    HN_TRY(hn_take_ignored("hn_lm_export_options", e->o.ignored_keys, e->o.n_ignored_keys, &e->ignored));
    e->template = (hn_template_choice){ e->o.template_file, e->o.template_name };
    HN_REQUIRE(e->o.base || (!e->ignored.n && !e->template.file && !e->template.name), HN_ERR_ARGUMENT,
               "hn_lm_export_options: keys to pass over and a template are of the base, and there is none");
    HN_TRY(hn_engine_check(engine));
    e->to = hn_sink_over(to, e->o.overwrite);
    HN_TRY(is_folder ? hn_sink_try_folder(to) : hn_sink_try(e->to));
    return hn_engine_pool(engine, &e->pool);
}

hn_status hn_lm_export_peft(hn_engine *engine, const char *adapter, const char *folder,
                            const hn_lm_export_options *options)
{
    HN_ENTER();
    exporting e;
    HN_REQUIRE(engine && adapter && folder && options, HN_ERR_ARGUMENT,
               "hn_lm_export_peft: expected engine, adapter, folder and options, found NULL");
    HN_TRY(begin(&e, engine, folder, true, options));
    hn_watch watch = hn_engine_watch(engine);
    const hn_status status =
        !e.o.base ? hn_fail(HN_ERR_ARGUMENT, "expected --base MODEL: what the adapter is for")
                  : hn_adapter_export(&engine->heap, e.pool, adapter, &e.ignored, e.o.base, &e.template,
                                      e.to, e.o.is_apart != 0, &watch);
    hn_pool_free(e.pool);
    return status;
}

hn_status hn_lm_export_gguf(hn_engine *engine, const char *adapter, const char *out,
                            const hn_lm_export_options *options)
{
    HN_ENTER();
    exporting e;
    HN_REQUIRE(engine && adapter && out, HN_ERR_ARGUMENT,
               "hn_lm_export_gguf: expected engine, adapter and out, found NULL");
    HN_TRY(begin(&e, engine, out, false, options));
    HN_TELLS(engine);
    const hn_status status =
        e.o.is_apart ? hn_fail(HN_ERR_ARGUMENT, "--apart is for --peft")
                     : hn_adapter_export_gguf(&engine->heap, e.pool, adapter, &e.ignored, e.o.base, &e.template,
                                              e.to);
    hn_pool_free(e.pool);
    return hn_work_done(status, out);
}
