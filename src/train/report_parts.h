/* report_parts.h: a report's inside: what was read of a run, and how pieces of the page are made. */
#ifndef HN_TRAIN_REPORT_PARTS_H
#define HN_TRAIN_REPORT_PARTS_H

#include "base/json.h"
#include "train/report.h"

typedef enum hn_run_report_column {
    HN_REPORT_STEP,
    HN_REPORT_LOSS,
    HN_REPORT_NORM,
    HN_REPORT_RATE,
    HN_REPORT_MEMORY,
    HN_REPORT_SECONDS,
    HN_REPORT_TOKENS,
    HN_N_REPORT_COLUMNS
} hn_run_report_column;

typedef enum hn_held_column {
    HN_HELD_STEP,
    HN_HELD_LOSS,
    HN_HELD_ACCURACY,
    HN_N_HELD_COLUMNS
} hn_held_column;

enum { HN_REPORT_LAYERS = 512 };

/* A layer's experts, summed over the steps that were looked at. */
typedef struct hn_run_report_layer {
    int64_t layer, n_experts, n_looks;
    double *tokens, *norms; /* norms: of the last look */
} hn_run_report_layer;

typedef struct hn_run_report {
    hn_heap *heap;
    const char *dir;
    double *steps[HN_N_REPORT_COLUMNS];
    size_t n, room;
    double *held[HN_N_HELD_COLUMNS];
    size_t n_held, held_room;
    hn_run_report_layer layers[HN_REPORT_LAYERS];
    int n_layers;
    char *verdict; /* NULL: the run has not ended */
} hn_run_report;

/* report_read.c: takes metrics.jsonl. */
hn_status hn_run_report_read(hn_run_report *report, hn_heap *heap, const char *dir);
void hn_run_report_free(hn_run_report *report);

/* report_page.c: text with <, >, &, " and ' made harmless. */
void hn_page_add_text(hn_str *page, const char *text, size_t bytes);

typedef struct hn_page_series {
    const char *name, *colour;
    const double *x, *y;
    size_t n;
} hn_page_series;
/* A chart as inline SVG. Points that are no numbers are left out. */
void hn_page_add_chart(hn_str *page, const char *title, const hn_page_series *series, int n);

/* Load and gradient norms of every expert, a table a layer; names those without a token. */
void hn_page_add_experts(hn_str *page, const hn_run_report *report);

#endif
