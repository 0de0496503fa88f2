/* Rows are few (ops times kinds), so they are found by looking. */
#include "prove/report.h"

#include "base/word_list.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const kinds[] = {
#define HN_CHECK_KIND(NAME, word) word,
#include "prove/check_kinds.def"
#undef HN_CHECK_KIND
};

const char *hn_check_kind_name(hn_check_kind kind) { return kinds[kind]; }

hn_status hn_check_kind_parse(const char *word, hn_check_kind *out)
{
    for (int i = 0; i < HN_N_CHECK_KINDS; i++)
        if (!strcmp(word, kinds[i])) {
            *out = (hn_check_kind)i;
            return HN_OK;
        }
    hn_word_text all;
    return hn_fail(HN_ERR_ARGUMENT, "kind of check '%.40s': expected %s", word, hn_words_or(HN_N_CHECK_KINDS, kinds, &all));
}

void hn_report_init(hn_report *report, hn_heap *heap)
{
    *report = (hn_report){ .heap = heap };
}

void hn_report_free(hn_report *report)
{
    hn_free(report->heap, report->rows);
    report->rows = NULL;
}

static hn_row *row_of(hn_report *r, const char *name, hn_check_kind kind)
{
    char subject[sizeof r->rows->subject];
    snprintf(subject, sizeof subject, "%s%s%s", name, r->on ? " on " : "", r->on ? r->on : "");
    for (int i = r->n - 1; i >= 0; i--)
        if (!strcmp(r->rows[i].subject, subject) && r->rows[i].kind == kind)
            return &r->rows[i];
    if (r->n == r->room) {
        const int more = r->room ? r->room * 2 : 128;
        hn_row *rows =
            hn_realloc_array(r->heap, HN_TAG_PROVE, r->rows, (size_t)more, sizeof *rows);
        if (!rows) {
            r->status = HN_ERR_MEMORY;
            return NULL;
        }
        r->rows = rows;
        r->room = more;
    }
    hn_row *row = &r->rows[r->n++];
    *row = (hn_row){ .kind = kind, .worst = -1 };
    snprintf(row->subject, sizeof row->subject, "%s", subject);
    return row;
}

void hn_report_note(hn_report *report, const char *subject, hn_check_kind kind, double error,
                    double bound, const char *format, ...)
{
    hn_row *row = row_of(report, subject, kind);
    if (!row)
        return;
    const bool failed = !(error <= bound);
    row->n++;
    const bool first_failure = failed && row->n_failed == 0;
    row->n_failed += failed;
    if (isnan(error))
        error = INFINITY;
    const bool is_worst = first_failure || (error > row->worst && (failed || row->n_failed == 0));
    if (!is_worst && !report->told)
        return;
    char where[sizeof row->where];
    va_list args;
    va_start(args, format);
    vsnprintf(where, sizeof where, format, args);
    va_end(args);
    if (is_worst) {
        memcpy(row->where, where, sizeof where);
        row->worst = error;
        row->bound = bound;
    }
    if (report->told) {
        const hn_noted noted = { row->subject, row->kind, error, bound, failed, where };
        report->told(report->told_context, &noted);
    }
}

void hn_report_skip(hn_report *report, const char *subject, const char *why)
{
    if (report->n_skipped++ == 0)
        snprintf(report->skipped, sizeof report->skipped, "%s%s%s: %s", subject, report->on ? " on " : "", report->on ? report->on : "", why);
}

int64_t hn_report_checks(const hn_report *report)
{
    int64_t n = 0;
    for (int i = 0; i < report->n; i++)
        n += report->rows[i].n;
    return n;
}

int64_t hn_report_failures(const hn_report *report)
{
    int64_t n = 0;
    for (int i = 0; i < report->n; i++)
        n += report->rows[i].n_failed;
    return n;
}

static bool is_first_of_kind(const hn_report *r, int i)
{
    for (int j = 0; j < i; j++)
        if (r->rows[i].kind == r->rows[j].kind)
            return false;
    return true;
}

void hn_report_table(const hn_report *r, hn_str *out)
{
    hn_str_print(out, "%-14s %9s %7s  %-10s  %s\n", "check", "made", "failed", "worst", "where");
    for (int i = 0; i < r->n; i++) {
        if (!is_first_of_kind(r, i))
            continue;
        int64_t n = 0, failed = 0;
        const hn_row *worst = &r->rows[i];
        for (int j = i; j < r->n; j++) {
            const hn_row *row = &r->rows[j];
            if (row->kind != r->rows[i].kind)
                continue;
            n += row->n;
            failed += row->n_failed;
            if (row->worst / (row->bound > 0 ? row->bound : 1) >
                worst->worst / (worst->bound > 0 ? worst->bound : 1))
                worst = row;
        }
        hn_str_print(out, "%-14s %9lld %7lld  %-10.3g  %s: %s\n", kinds[worst->kind], (long long)n,
                     (long long)failed, worst->worst, worst->subject, worst->where);
    }
    if (r->n_skipped)
        hn_str_print(out, "SKIPPED %lld, first %s\n", (long long)r->n_skipped, r->skipped);
    for (int i = 0; i < r->n; i++)
        if (r->rows[i].n_failed)
            hn_str_print(out, "FAILED %s, %s: %lld of %lld; %.3g where at most %.3g is allowed: %s\n",
                         r->rows[i].subject, kinds[r->rows[i].kind], (long long)r->rows[i].n_failed,
                         (long long)r->rows[i].n, r->rows[i].worst, r->rows[i].bound,
                         r->rows[i].where);
}

void hn_report_text(const char *text, hn_str *out)
{
    hn_str_add_char(out, '"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            hn_str_add_char(out, '\\');
        hn_str_add_char(out, (unsigned char)*text < 32 ? ' ' : *text);
    }
    hn_str_add_char(out, '"');
}

void hn_report_json(const hn_report *r, hn_str *out)
{
    hn_str_add(out, "[");
    for (int i = 0; i < r->n; i++) {
        const hn_row *row = &r->rows[i];
        hn_str_print(out, "%s\n    {\"subject\": ", i ? "," : "");
        hn_report_text(row->subject, out);
        hn_str_add(out, ", \"check\": ");
        hn_report_text(kinds[row->kind], out);
        hn_str_print(out, ", \"made\": %lld, \"failed\": %lld, ", (long long)row->n,
                     (long long)row->n_failed);
        if (isfinite(row->worst))
            hn_str_print(out, "\"worst\": %.9g, \"bound\": %.9g, ", row->worst, row->bound);
        else
            hn_str_print(out, "\"worst\": null, \"bound\": %.9g, ", row->bound);
        hn_str_add(out, "\"where\": ");
        hn_report_text(row->where, out);
        hn_str_add(out, "}");
    }
    hn_str_add(out, "\n  ]");
}
