/* metrics.jsonl back into columns: lines are told apart by what they have. A line is whole with its newline: the half
 * of one at the end is what a run that was killed left, which cuts it off when it goes on (metrics.c); half a line
 * anywhere else is an error. */
#include "train/report_parts.h"

#include "base/file.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_BYTES = 1 << 30 };

static double number(const hn_json *line, const char *key)
{
    const hn_json *v = hn_json_get(line, key);
    return !v                            ? (double)NAN
           : v->kind == HN_JSON_INT      ? (double)hn_json_int(v)
           : v->kind == HN_JSON_DOUBLE   ? hn_json_number(v)
                                         : (double)NAN;
}

static hn_status grow(hn_heap *heap, double **columns, int n_columns, size_t n, size_t *room)
{
    if (n < *room)
        return HN_OK;
    const size_t wanted = *room * 2 + 256;
    for (int k = 0; k < n_columns; k++) {
        double *more = hn_realloc_array(heap, HN_TAG_TEXT, columns[k], wanted, sizeof **columns);
        if (!more)
            return HN_ERR_MEMORY;
        columns[k] = more;
    }
    *room = wanted;
    return HN_OK;
}

static hn_run_report_layer *layer_of(hn_run_report *r, int64_t layer, int64_t n)
{
    for (int i = 0; i < r->n_layers; i++)
        if (r->layers[i].layer == layer && r->layers[i].n_experts == n)
            return &r->layers[i];
    if (r->n_layers == HN_REPORT_LAYERS || n < 1 || n > 65536)
        return NULL;
    hn_run_report_layer *l = &r->layers[r->n_layers];
    *l = (hn_run_report_layer){ .layer = layer, .n_experts = n };
    l->tokens = hn_alloc_array(r->heap, HN_TAG_TEXT, (size_t)n, sizeof *l->tokens);
    l->norms = hn_alloc_array(r->heap, HN_TAG_TEXT, (size_t)n, sizeof *l->norms);
    r->n_layers++;
    return l->tokens && l->norms ? l : NULL;
}

static hn_status add_experts(hn_run_report *r, const hn_json *all)
{
    for (const hn_json *v = hn_json_first(all); v; v = v->next) {
        const hn_json *tokens = hn_json_get(v, "tokens"), *norms = hn_json_get(v, "grad_norms");
        HN_REQUIRE(tokens && norms && tokens->kind == HN_JSON_ARRAY && norms->kind == HN_JSON_ARRAY &&
                       hn_json_count(tokens) == hn_json_count(norms),
                   HN_ERR_FORMAT, "experts: expected tokens and grad_norms");
        hn_run_report_layer *l = layer_of(r, (int64_t)number(v, "layer"), (int64_t)hn_json_count(tokens));
        if (!l)
            return HN_ERR_MEMORY;
        l->n_looks++;
        const hn_json *t = hn_json_first(tokens), *g = hn_json_first(norms);
        for (int64_t i = 0; i < l->n_experts; i++, t = t->next, g = g->next) {
            double x = 0;
            HN_TRY(hn_json_want_double(t, "tokens", &x));
            l->tokens[i] += x;
            HN_TRY(hn_json_want_double(g, "grad_norms", &l->norms[i]));
        }
    }
    return HN_OK;
}

static hn_status take_line(hn_run_report *r, const hn_json *line)
{
    static const char *const keys[HN_N_REPORT_COLUMNS] = { "step",   "loss",    "grad_norm", "rate",
                                                           "memory", "seconds", "tokens" };
    static const char *const held_keys[HN_N_HELD_COLUMNS] = { "step", "held_loss", "held_accuracy" };
    const hn_json *experts = hn_json_get(line, "experts");
    const hn_json *verdict = hn_json_get(line, "verdict");
    if (experts && experts->kind == HN_JSON_ARRAY)
        return add_experts(r, experts);
    if (verdict && verdict->kind == HN_JSON_STRING) {
        hn_free(r->heap, r->verdict);
        r->verdict = hn_strdup(r->heap, HN_TAG_TEXT, hn_json_string(verdict));
        return r->verdict ? HN_OK : HN_ERR_MEMORY;
    }
    if (hn_json_get(line, "held_loss")) {
        HN_TRY(grow(r->heap, r->held, HN_N_HELD_COLUMNS, r->n_held, &r->held_room));
        for (int k = 0; k < HN_N_HELD_COLUMNS; k++)
            r->held[k][r->n_held] = number(line, held_keys[k]);
        r->n_held++;
    } else if (hn_json_get(line, "loss")) {
        HN_TRY(grow(r->heap, r->steps, HN_N_REPORT_COLUMNS, r->n, &r->room));
        for (int k = 0; k < HN_N_REPORT_COLUMNS; k++)
            r->steps[k][r->n] = number(line, keys[k]);
        r->n++;
    }
    return HN_OK;
}

hn_status hn_run_report_read(hn_run_report *r, hn_heap *heap, const char *dir)
{
    char path[4096];
    void *text;
    size_t bytes;
    r->heap = heap;
    r->dir = dir;
    snprintf(path, sizeof path, "%s/metrics.jsonl", dir);
    HN_TRY(hn_file_read(heap, path, MOST_BYTES, &text, &bytes));
    hn_status status = HN_OK;
    for (size_t at = 0; at < bytes && status == HN_OK;) {
        const char *line = (const char *)text + at, *end = memchr(line, '\n', bytes - at);
        const size_t n = end ? (size_t)(end - line) : 0;
        hn_json_text *json = NULL;
        if (!end)
            break;
        status = n ? hn_json_read(heap, path, line, n, &json) : HN_OK;
        if (status == HN_OK && json)
            status = take_line(r, hn_json_root(json));
        hn_json_free(json);
        at += n + 1;
    }
    hn_free(heap, text);
    if (status == HN_OK && !r->n)
        status = hn_fail(HN_ERR_FORMAT, "%s: not a single step", path);
    return status;
}

void hn_run_report_free(hn_run_report *r)
{
    for (int k = 0; k < HN_N_REPORT_COLUMNS; k++)
        hn_free(r->heap, r->steps[k]);
    for (int k = 0; k < HN_N_HELD_COLUMNS; k++)
        hn_free(r->heap, r->held[k]);
    for (int i = 0; i < r->n_layers; i++) {
        hn_free(r->heap, r->layers[i].tokens);
        hn_free(r->heap, r->layers[i].norms);
    }
    hn_free(r->heap, r->verdict);
    r->verdict = NULL;
    r->n_layers = 0;
}
