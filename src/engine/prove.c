/* Certificates, for hosts, and that of the build. */
#include "engine/prove.h"

#include "base/file.h"
#include "base/os/clock.h"
#include "engine/files.h"

#include <math.h>

/* ---- being made ---- */

static void tell(void *context, const hn_noted *noted)
{
    const hn_certificate *c = context;
    const hn_prove_check check = { noted->subject, hn_check_kind_name(noted->kind), noted->error, noted->bound, !noted->failed, noted->where };
    HN_CALL_HOST();
    c->on_check(c->context, &check);
}

/* As the proof opens the processor. */
static bool is_proved_anyway(const hn_device *device)
{
    return device->is_spare || hn_backend_is_cpu(device->backend);
}

void hn_certificate_tell_others(hn_certificate *c)
{
    for (int i = 0; i < c->n_others; i++)
        hn_str_print(&c->subject, "; on %s too, which %s the CPU's bits", c->others[i]->name,
                     c->others[i]->backend->gives_cpu_bits ? "promises" : "does not promise");
}

hn_status hn_certificate_begin(hn_certificate **out, hn_engine *engine, uint64_t seed,
                               void (*on_check)(void *context, const hn_prove_check *check), void *context)
{
    hn_certificate *c = hn_alloc(&engine->heap, HN_TAG_PROVE, sizeof *c);
    *out = c;
    if (!c)
        return HN_ERR_MEMORY;
    *c = (hn_certificate){ .heap = &engine->heap, .subject = hn_str_on(&engine->heap), .seed = seed ? seed : 1, .isa = engine->isa,
                           .begun_ns = hn_clock_ns(), .on_check = on_check, .context = context };
    for (int i = 0; i < engine->n_devices; i++) /* a spare host is the processor's */
        if (!is_proved_anyway(engine->devices[i]))
            c->others[c->n_others++] = engine->devices[i];
    hn_report_init(&c->report, c->heap);
    if (on_check) {
        c->report.told = tell;
        c->report.told_context = c;
    }
    return HN_OK;
}

/* The report moves no more, so its texts are lent as they lie. */
static hn_status sum_up(hn_certificate *c)
{
    const hn_report *r = &c->report;
    HN_TRY(r->status);
    HN_TRY(hn_str_status(&c->subject));
    c->rows = hn_alloc_array(c->heap, HN_TAG_PROVE, (size_t)r->n + 1, sizeof *c->rows);
    if (!c->rows)
        return HN_ERR_MEMORY;
    for (int i = 0; i < r->n; i++) {
        const hn_row *row = &r->rows[i];
        c->rows[i] = (hn_certificate_row){ row->subject, hn_check_kind_name(row->kind), row->n, row->n_failed, row->worst, row->bound, row->where };
    }
    c->sum = (hn_certificate_sum){ .n_checks = hn_report_checks(r), .n_failed = hn_report_failures(r), .n_skipped = r->n_skipped,
                                   .skipped = r->skipped, .subject = c->subject.text, .n_rows = (size_t)r->n,
                                   .seconds = (double)(hn_clock_ns() - c->begun_ns) / 1e9 };
    return HN_OK;
}

hn_status hn_certificate_end(hn_certificate *c, hn_status status, hn_certificate **out)
{
    if (status == HN_OK)
        status = sum_up(c);
    if (status != HN_OK) {
        hn_certificate_free(c);
        return status;
    }
    *out = c;
    HN_REQUIRE(!c->sum.n_skipped, HN_ERR_PROOF, "%lld checks were due and could not be made", (long long)c->sum.n_skipped);
    HN_REQUIRE(!c->sum.n_failed, HN_ERR_PROOF, "%lld of %lld checks failed", (long long)c->sum.n_failed,
               (long long)c->sum.n_checks);
    return HN_OK;
}

void hn_certificate_free(hn_certificate *c)
{
    HN_ENTER();
    if (!c)
        return;
    hn_free(c->heap, c->rows);
    hn_str_free(&c->subject);
    hn_report_free(&c->report);
    hn_free(c->heap, c);
}

/* ---- of the build ---- */

hn_status hn_engine_prove(hn_engine *engine, const hn_engine_prove_options *options, hn_certificate **out)
{
    HN_ENTER();
    hn_engine_prove_options o;
    hn_certificate *c;
    HN_REQUIRE(engine && out, HN_ERR_ARGUMENT, "hn_engine_prove: expected engine and out, found NULL");
    *out = NULL;
    HN_TRY(hn_engine_check(engine));
    HN_TRY(hn_take_struct("hn_engine_prove_options", options, sizeof o, &o));
    HN_REQUIRE(o.n_threads == 0 || (o.n_threads >= 2 && o.n_threads <= 8), HN_ERR_ARGUMENT,
               "hn_engine_prove_options.n_threads is %d: expected 2 to 8, or 0", (int)o.n_threads);
    HN_REQUIRE(isfinite(o.seconds) && o.seconds >= 0, HN_ERR_ARGUMENT,
               "hn_engine_prove_options.seconds is %g: expected at least 0", o.seconds);
    HN_TRY(hn_certificate_begin(&c, engine, o.seed, o.on_check, o.context));
    const hn_prove_options inner = { .ops = o.ops, .seed = c->seed, .time_s = o.seconds, .max_threads = o.n_threads, .isa = engine->isa,
                                     .n_others = c->n_others, .others = c->others,
                                     .progress = hn_engine_tell, .progress_context = engine };
    hn_str_add(&c->subject, "this build");
    hn_certificate_tell_others(c);
    return hn_certificate_end(c, hn_prove(&engine->heap, &inner, &c->report), out);
}

/* ---- what it says ---- */

const hn_certificate_sum *hn_certificate_get_sum(const hn_certificate *c)
{
    HN_ENTER();
    return c ? &c->sum : NULL;
}

const hn_certificate_row *hn_certificate_get_row(const hn_certificate *c, size_t i)
{
    HN_ENTER();
    return c && i < c->sum.n_rows ? &c->rows[i] : NULL;
}

static hn_status say(const hn_certificate *c, hn_str *text)
{
    const hn_prove_options o = { .seed = c->seed, .isa = c->isa, .subject = c->subject.text, .result = c->result };
    return hn_prove_certificate(&c->report, &o, c->sum.seconds, text);
}

hn_status hn_certificate_table(const hn_certificate *c, char *to, size_t room, size_t *bytes)
{
    HN_ENTER();
    HN_REQUIRE(c, HN_ERR_ARGUMENT, "hn_certificate_table: expected a certificate, found NULL");
    hn_str text = hn_str_on(c->heap);
    hn_report_table(&c->report, &text);
    hn_status status = hn_str_status(&text);
    if (status == HN_OK)
        status = hn_give_text(text.text, text.length, to, room, bytes);
    hn_str_free(&text);
    return status;
}

hn_status hn_certificate_json(const hn_certificate *c, char *to, size_t room, size_t *bytes)
{
    HN_ENTER();
    HN_REQUIRE(c, HN_ERR_ARGUMENT, "hn_certificate_json: expected a certificate, found NULL");
    hn_str text = hn_str_on(c->heap);
    hn_status status = say(c, &text);
    if (status == HN_OK)
        status = hn_give_text(text.text, text.length, to, room, bytes);
    hn_str_free(&text);
    return status;
}

hn_status hn_certificate_write(const hn_certificate *c, const char *path, int32_t overwrite)
{
    HN_ENTER();
    HN_REQUIRE(c && path, HN_ERR_ARGUMENT, "hn_certificate_write: expected a certificate and a path, found NULL");
    hn_str text = hn_str_on(c->heap);
    hn_status status = say(c, &text);
    const hn_span span = { text.text, text.length };
    if (status == HN_OK)
        status = hn_file_write(hn_sink_over(path, overwrite), &span, 1);
    hn_str_free(&text);
    return status;
}
