/* report.h: what was checked, how badly it missed, and where. Rows are (subject, kind). */
#ifndef HN_PROVE_REPORT_H
#define HN_PROVE_REPORT_H

#include "base/heap.h"
#include "base/str.h"

typedef enum hn_check_kind {
#define HN_CHECK_KIND(NAME, word) HN_CHECK_##NAME,
#include "prove/check_kinds.def"
#undef HN_CHECK_KIND
    HN_N_CHECK_KINDS
} hn_check_kind;

const char *hn_check_kind_name(hn_check_kind kind); /* "gradient" */
/* HN_ERR_ARGUMENT lists them. */
hn_status hn_check_kind_parse(const char *word, hn_check_kind *out);

typedef struct hn_row {
    char subject[64]; /* "rms_norm", "moe 8 layers", "rms_norm on far" */
    hn_check_kind kind;
    int64_t n, n_failed;
    double worst, bound;
    char where[200]; /* of the worst, or of the first failure */
} hn_row;

/* One check, as it is noted. */
typedef struct hn_noted {
    const char *subject;
    hn_check_kind kind;
    double error, bound;
    bool failed;
    const char *where;
} hn_noted;

typedef struct hn_report {
    hn_heap *heap;
    void (*told)(void *context, const hn_noted *noted); /* of every check, until it returns; or NULL */
    void *told_context;
    const char *on; /* the device that subjects are proved on, in their names; NULL: the processor */
    hn_row *rows;
    int n, room;
    int64_t n_skipped; /* checks that were due and could not be made: must be 0 */
    char skipped[200]; /* the first of them */
    hn_status status;  /* memory */
} hn_report;

void hn_report_init(hn_report *report, hn_heap *heap);
void hn_report_free(hn_report *report);

/* Notes one check: it fails when `error` is above `bound` or is not a number. */
void hn_report_note(hn_report *report, const char *subject, hn_check_kind kind, double error,
                    double bound, const char *format, ...) __attribute__((format(printf, 6, 7)));

/* Counts a check that was due and could not be made, and why. */
void hn_report_skip(hn_report *report, const char *subject, const char *why);

int64_t hn_report_checks(const hn_report *report);
int64_t hn_report_failures(const hn_report *report);

/* One line a kind, over all subjects; then one line a failed row. */
void hn_report_table(const hn_report *report, hn_str *out);
/* A JSON string. */
void hn_report_text(const char *text, hn_str *out);
/* Every row, as JSON objects inside an array. */
void hn_report_json(const hn_report *report, hn_str *out);

#endif
