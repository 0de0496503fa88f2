/* The texts of a file of examples, for hosts. */
#include "data/record.h"
#include "data/source.h"
#include "engine/engine.h"
#include "hone/files.h"

typedef struct reader {
    const char *path;
    hn_data_source source;
    hn_record record;
    hn_status (*call)(void *context, size_t number, const char *text, size_t bytes);
    void *context;
} reader;

static hn_status tell(const reader *r, size_t i, const void *text, size_t bytes)
{
    HN_CALL_HOST();
    return r->call(r->context, i, text, bytes);
}

static hn_status tell_record(reader *r, size_t i)
{
    const hn_record_options plain = { .plain = true };
    hn_json_text *json;
    HN_TRY(hn_data_source_read(&r->source, i, &json));
    hn_status status = hn_record_read(&r->record, hn_json_root(json), r->source.format, &plain);
    if (status == HN_OK && (r->record.n_parts != 1 || r->record.part[0].messages))
        status = hn_fail(HN_ERR_UNSUPPORTED, "%s: expected texts", r->path);
    if (status == HN_OK)
        status = tell(r, i, r->record.part[0].completion.data, r->record.part[0].completion.bytes);
    hn_json_free(json);
    return status;
}

static hn_status tell_all(reader *r)
{
    for (size_t i = 0; i < r->source.n; i++) {
        HN_TRY(hn_work_tell(i, r->source.n, r->path));
        const bool is_bare = r->source.layout == HN_LAYOUT_PARAGRAPHS;
        const hn_span text = is_bare ? hn_data_source_bytes(&r->source, i) : (hn_span){ NULL, 0 };
        HN_TRY(is_bare ? tell(r, i, text.data, text.bytes) : tell_record(r, i));
    }
    return HN_OK;
}

hn_status hn_texts_each(hn_engine *engine, const char *path,
                        hn_status (*call)(void *context, size_t number, const char *text, size_t bytes), void *context)
{
    HN_ENTER();
    const hn_data_source_options o = { 0 };
    HN_REQUIRE(engine && path && call, HN_ERR_ARGUMENT, "hn_texts_each: expected engine, path and call, found NULL");
    HN_TRY(hn_engine_check(engine));
    reader r = { .path = path, .record = hn_record_on(&engine->heap), .call = call, .context = context };
    HN_TELLS(engine);
    const hn_work_part first = hn_work_part_begin(0, 0.2);
    HN_TRY(hn_work_part_end(&first, hn_data_source_open(&r.source, &engine->heap, path, &o)));
    const hn_work_part second = hn_work_part_begin(0.2, 1);
    const hn_status status = hn_work_part_end(&second, tell_all(&r));
    hn_record_free(&r.record);
    hn_data_source_close(&r.source);
    return hn_work_done(status, path);
}
