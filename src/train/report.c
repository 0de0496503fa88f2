/* The page as a whole. */
#include "train/report_parts.h"

#include "base/file.h"
#include "base/mathfn.h"
#include "base/os/files.h"
#include "base/out_file.h"
#include "base/sha256.h"
#include "io/gguf.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_JSON = 1 << 26 };

static const char style[] =
    "body{font:15px/1.5 system-ui,sans-serif;max-width:62em;margin:2em auto;padding:0 1em;color:#222;"
    "background:#fff}h1{font-size:1.5em}h2{font-size:1.15em;margin-top:2em;border-bottom:1px solid #ddd}"
    "figure{margin:1em 0}figcaption{font-weight:600}svg{width:100%;height:auto}svg text{font-size:11px;"
    "fill:#666}.grid{stroke:#e4e4e4}.bar{width:200px;height:10px}.bar rect{fill:#4078c0}table{border-collapse:"
    "collapse}td,th{padding:.15em .8em .15em 0;text-align:left;vertical-align:top}pre{white-space:pre-wrap;"
    "background:#f6f6f6;padding:.6em;margin:.2em 0;overflow-wrap:anywhere}.dead td{color:#b00020;font-weight:"
    "600}code{overflow-wrap:anywhere}";

static void add(hn_str *page, const char *text)
{
    hn_page_add_text(page, text, strlen(text));
}

static void add_row(hn_str *page, const char *key, const char *format, double value)
{
    char text[64];
    snprintf(text, sizeof text, format, value);
    hn_str_print(page, "<tr><th>%s</th><td>%s</td></tr>\n", key, text);
}

static void add_summary(hn_str *page, const hn_run_report *r)
{
    double seconds = 0, tokens = 0, most = 0;
    for (size_t i = 0; i < r->n; i++) {
        seconds += isfinite(r->steps[HN_REPORT_SECONDS][i]) ? r->steps[HN_REPORT_SECONDS][i] : 0;
        tokens += isfinite(r->steps[HN_REPORT_TOKENS][i]) ? r->steps[HN_REPORT_TOKENS][i] : 0;
        most = r->steps[HN_REPORT_MEMORY][i] > most ? r->steps[HN_REPORT_MEMORY][i] : most;
    }
    hn_str_add(page, "<table>\n");
    add_row(page, "steps", "%.0f", r->steps[HN_REPORT_STEP][r->n - 1]);
    add_row(page, "loss of the first step", "%.5f", r->steps[HN_REPORT_LOSS][0]);
    add_row(page, "loss of the last step", "%.5f", r->steps[HN_REPORT_LOSS][r->n - 1]);
    if (r->n_held > 1)
        add_row(page, "held-out loss before", "%.5f", r->held[HN_HELD_LOSS][0]);
    if (r->n_held)
        add_row(page, "held-out loss at the end", "%.5f", r->held[HN_HELD_LOSS][r->n_held - 1]);
    add_row(page, "tokens", "%.0f", tokens);
    add_row(page, "seconds", "%.1f", seconds);
    add_row(page, "tokens a second", "%.1f", seconds > 0 ? tokens / seconds : 0);
    add_row(page, "memory at most, GiB", "%.3f", most / 0x1p30);
    hn_str_add(page, "</table>\n");
}

static void add_charts(hn_str *page, hn_run_report *r)
{
    const double *x = r->steps[HN_REPORT_STEP];
    const hn_page_series loss[] = {
        { "training", "#4078c0", x, r->steps[HN_REPORT_LOSS], r->n },
        { "held out", "#c05020", r->held[HN_HELD_STEP], r->held[HN_HELD_LOSS], r->n_held },
    };
    const hn_page_series norm = { "", "#4078c0", x, r->steps[HN_REPORT_NORM], r->n };
    const hn_page_series rate = { "", "#4078c0", x, r->steps[HN_REPORT_RATE], r->n };
    for (size_t i = 0; i < r->n; i++)
        r->steps[HN_REPORT_MEMORY][i] /= 0x1p30;
    const hn_page_series memory = { "", "#4078c0", x, r->steps[HN_REPORT_MEMORY], r->n };
    hn_str_add(page, "<h2>Curves</h2>\n");
    hn_page_add_chart(page, "Loss by step", loss, r->n_held ? 2 : 1);
    hn_page_add_chart(page, "Gradient norm by step, before clipping", &norm, 1);
    hn_page_add_chart(page, "Learning rate by step", &rate, 1);
    hn_page_add_chart(page, "Memory by step, GiB", &memory, 1);
}

static void add_held(hn_str *page, const hn_run_report *r)
{
    if (!r->n_held)
        return;
    hn_str_add(page, "<h2>Held-out evaluations</h2>\n<table><tr><th>step</th><th>loss</th><th>perplexity</th>"
                     "<th>right</th></tr>\n");
    for (size_t i = 0; i < r->n_held; i++)
        hn_str_print(page, "<tr><td>%.0f</td><td>%.5f</td><td>%.5g</td><td>%.2f %%</td></tr>\n",
                     r->held[HN_HELD_STEP][i], r->held[HN_HELD_LOSS][i], hn_math_exp(r->held[HN_HELD_LOSS][i]),
                     100 * r->held[HN_HELD_ACCURACY][i]);
    hn_str_add(page, "</table>\n");
}

/* ---- what other files say ---- */

static hn_status read_json(const hn_run_report *r, const char *name, hn_json_text **out, hn_str *raw)
{
    char path[4096];
    void *text;
    size_t bytes;
    *out = NULL;
    snprintf(path, sizeof path, "%s/%s", r->dir, name);
    if (!hn_os_is_there(path))
        return HN_OK;
    HN_TRY(hn_file_read(r->heap, path, MOST_JSON, &text, &bytes));
    const hn_status status = hn_json_read(r->heap, path, text, bytes, out);
    if (raw)
        hn_str_add_bytes(raw, text, bytes);
    hn_free(r->heap, text);
    return status;
}

static void add_said(hn_str *page, const hn_json *sample, const char *key, const char *title)
{
    const hn_json *v = hn_json_get(sample, key);
    hn_str_print(page, "<tr><th>%s</th><td><pre>", title);
    if (v && v->kind == HN_JSON_STRING)
        hn_page_add_text(page, hn_json_string(v), hn_json_bytes(v));
    hn_str_add(page, "</pre></td></tr>\n");
}

static hn_status add_samples(hn_str *page, const hn_run_report *r)
{
    hn_json_text *json;
    HN_TRY(read_json(r, "samples.json", &json, NULL));
    if (!json)
        return HN_OK;
    const hn_json *root = hn_json_root(json), *held = hn_json_get(root, "held");
    const hn_json *all = hn_json_get(root, "samples"), *why = hn_json_get(root, "left_out");
    if (why && why->kind == HN_JSON_STRING) {
        hn_str_add(page, "<h2>Before and after</h2>\n<p id=\"left-out\">Left out: ");
        hn_page_add_text(page, hn_json_string(why), hn_json_bytes(why));
        hn_str_add(page, "</p>\n");
        hn_json_free(json);
        return HN_OK;
    }
    hn_str_print(page, "<h2>Before and after</h2>\n<p>The likeliest continuation of prompts %s.</p>\n",
                 hn_json_is_true(held) ? "held out from training"
                                                                       : "from the training data");
    for (const hn_json *v = hn_json_at(all, 0); v;
         v = v->next) {
        hn_str_add(page, "<table>\n");
        add_said(page, v, "prompt", "prompt");
        add_said(page, v, "expected", "expected");
        add_said(page, v, "before", "before");
        add_said(page, v, "after", "after");
        hn_str_add(page, "</table>\n");
    }
    hn_json_free(json);
    return HN_OK;
}

/* What the run is of, and where and when it was made. */
static hn_status add_origin(hn_str *page, const hn_run_report *r)
{
    static const char *const keys[] = { "model", "data", "command", "version", "machine", "date" };
    hn_json_text *json;
    HN_TRY(read_json(r, "origin.json", &json, NULL));
    if (!json)
        return HN_OK;
    hn_str_add(page, "<h2>Origin</h2>\n<table id=\"origin\">\n");
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const hn_json *v = hn_json_get(hn_json_root(json), keys[i]);
        const bool is_list = v && v->kind == HN_JSON_ARRAY;
        for (const hn_json *item = is_list ? hn_json_first(v) : v; item;
             item = is_list ? item->next : NULL) {
            if (item->kind != HN_JSON_STRING)
                continue;
            hn_str_print(page, "<tr><th>%s</th><td>", keys[i]);
            hn_page_add_text(page, hn_json_string(item), hn_json_bytes(item));
            hn_str_add(page, "</td></tr>\n");
        }
    }
    hn_str_add(page, "</table>\n");
    hn_json_free(json);
    return HN_OK;
}

static hn_status add_certificate(hn_str *page, const hn_run_report *r)
{
    hn_json_text *json;
    hn_str raw = hn_str_on(r->heap);
    hn_status status = read_json(r, "certificate.json", &json, &raw);
    if (status == HN_OK && json) {
        hn_str_add(page, "<h2>Certificate</h2>\n<details><summary>certificate.json</summary><pre>");
        hn_page_add_text(page, raw.text, raw.length);
        hn_str_add(page, "</pre></details>\n");
    }
    hn_json_free(json);
    hn_str_free(&raw);
    return status;
}

static void add_value(hn_str *page, const hn_meta *meta, const hn_meta_value *v)
{
    hn_span text = { NULL, 0 };
    double number = 0;
    hn_str_add(page, "<tr><th>");
    add(page, v->key);
    hn_str_add(page, "</th><td><pre>");
    if (v->type == HN_META_STRING && hn_meta_string(meta, v->key, &text) == HN_OK)
        hn_page_add_text(page, text.data, text.bytes);
    else if (hn_meta_double(meta, v->key, 0, &number) == HN_OK)
        hn_str_print(page, "%.10g", number);
    hn_str_add(page, "</pre></td></tr>\n");
}

/* The adapter or the model: its hash, and what it says of its making. */
static hn_status add_result(hn_str *page, const hn_run_report *r)
{
    static const char *const names[] = { "adapter.gguf", "model.gguf" };
    char path[4096], digest[65];
    hn_gguf *file;
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", r->dir, names[i]);
        if (!hn_os_is_there(path))
            continue;
        HN_TRY(hn_sha256_file(path, digest));
        HN_TRY(hn_gguf_open(r->heap, path, &file));
        const hn_meta *meta = hn_gguf_meta(file);
        hn_str_print(page, "<h2>Result and configuration</h2>\n<p>%s, SHA-256 <code id=\"hash\">%s</code></p>\n"
                           "<table>\n", names[i], digest);
        for (size_t k = 0; k < meta->n; k++)
            if (!strncmp(meta->values[k].key, "hone.", 5) && !meta->values[k].is_array)
                add_value(page, meta, &meta->values[k]);
        hn_str_add(page, "</table>\n");
        hn_gguf_close(file);
        return HN_OK;
    }
    hn_str_add(page, "<h2>Result</h2>\n<p>The run has not ended yet.</p>\n");
    return HN_OK;
}

/* ---- all of it ---- */

static hn_status make_page(hn_str *page, hn_run_report *r)
{
    hn_str_add(page, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
                     "content=\"width=device-width, initial-scale=1\">\n<title>hone: ");
    add(page, r->dir);
    hn_str_print(page, "</title>\n<style>%s</style>\n</head>\n<body>\n<h1>", style);
    add(page, r->dir);
    hn_str_add(page, "</h1>\n");
    if (r->verdict) {
        hn_str_add(page, "<p id=\"verdict\">");
        add(page, r->verdict);
        hn_str_add(page, "</p>\n");
    }
    HN_TRY(add_origin(page, r));
    add_summary(page, r);
    add_charts(page, r);
    add_held(page, r);
    hn_page_add_experts(page, r);
    HN_TRY(add_samples(page, r));
    HN_TRY(add_certificate(page, r));
    HN_TRY(add_result(page, r));
    hn_str_add(page, "</body>\n</html>\n");
    return hn_str_status(page);
}

static hn_status write_page(const hn_str *page, const char *path)
{
    hn_out_file file;
    HN_TRY(hn_out_file_open(&file, hn_sink_own(path)));
    const hn_status status = hn_out_file_write(&file, page->text, page->length);
    if (status == HN_OK)
        return hn_out_file_commit(&file);
    hn_out_file_abandon(&file);
    return status;
}

hn_status hn_run_report_write(hn_heap *heap, const char *dir, char path[4096])
{
    hn_str page = hn_str_on(heap);
    hn_run_report *r = hn_alloc(heap, HN_TAG_TEXT, sizeof *r);
    if (!r)
        return HN_ERR_MEMORY;
    snprintf(path, 4096, "%s/report.html", dir);
    hn_status status = hn_run_report_read(r, heap, dir);
    if (status == HN_OK)
        status = make_page(&page, r);
    if (status == HN_OK)
        status = write_page(&page, path);
    hn_run_report_free(r);
    hn_free(heap, r);
    hn_str_free(&page);
    return status;
}
