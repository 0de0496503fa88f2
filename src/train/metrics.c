/* A run that goes on keeps the lines of steps up to its checkpoint and cuts off what came after them: those steps
 * are made again. */
#include "train/metrics.h"

#include "base/file.h"
#include "base/os/files.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t hn_resident_bytes(void)
{
    char text[4096];
    hn_file_text("/proc/self/status", text, sizeof text);
    static const char *const parts[] = { "RssAnon:", "RssFile:" };
    size_t kib = 0;
    for (int i = 0; i < 2; i++) {
        const char *at = strstr(text, parts[i]);
        kib += at ? (size_t)strtoull(at + strlen(parts[i]), NULL, 10) : 0;
    }
    return kib * 1024;
}

/* Bytes of the lines that stand: whole ones, of steps up to `step`. What was said of a run that had ended is said anew at
 * its end, so a verdict does not stand. */
static size_t standing(const char *text, size_t bytes, int64_t step, bool *has_samples)
{
    size_t end = 0;
    for (size_t at = 0; at < bytes;) {
        const char *newline = memchr(text + at, '\n', bytes - at);
        const char *key = "{\"step\":";
        if (!newline || strncmp(text + at, key, strlen(key)))
            break;
        char *behind;
        const int64_t of = strtoll(text + at + strlen(key), &behind, 10);
        if (of > step || !strncmp(behind, ",\"verdict\":", 11))
            break;
        *has_samples = of == step && !strncmp(behind, ",\"samples\":", 11);
        end = at = (size_t)(newline - text) + 1;
    }
    return end;
}

hn_status hn_metrics_open(hn_metrics *m, hn_heap *heap, const char *path, int64_t step)
{
    *m = (hn_metrics){ .heap = heap, .file = { .file = -1 }, .line = hn_str_on(heap) };
    void *old = NULL;
    size_t bytes = 0, keep = 0;
    if (step > 0 && hn_os_is_there(path)) {
        HN_TRY(hn_file_read(heap, path, (size_t)1 << 34, &old, &bytes));
        keep = standing(old, bytes, step, &m->has_samples);
        hn_free(heap, old);
    }
    return hn_out_file_append(&m->file, path, keep);
}

void hn_metrics_close(hn_metrics *m)
{
    if (!m->heap)
        return;
    hn_out_file_close(&m->file);
    hn_str_free(&m->line);
    *m = (hn_metrics){ 0 };
}

static hn_json_writer begin(hn_metrics *m, int64_t step)
{
    hn_str_clear(&m->line);
    hn_str_print(&m->line, "{\"step\":%lld", (long long)step);
    return hn_json_write_to(&m->line);
}

/* Numbers that JSON has no word for become null. */
static void add(hn_metrics *m, const char *key, double value)
{
    if (isfinite(value))
        hn_str_print(&m->line, ",\"%s\":%.9g", key, value);
    else
        hn_str_print(&m->line, ",\"%s\":null", key);
}

static hn_status end(hn_metrics *m)
{
    hn_str_add(&m->line, "}\n");
    HN_TRY(hn_str_status(&m->line));
    return hn_out_file_write(&m->file, m->line.text, m->line.length);
}

hn_status hn_metrics_step(hn_metrics *m, const hn_step_report *r)
{
    begin(m, r->step);
    add(m, "loss", r->loss);
    add(m, "grad_norm", r->grad_norm);
    add(m, "rate", r->rate);
    add(m, "epoch", r->epoch);
    add(m, "tokens", (double)r->tokens);
    add(m, "supervised", (double)r->supervised);
    add(m, "micro_batches", r->n_micro);
    add(m, "seconds", r->seconds);
    add(m, "memory", (double)r->resident_bytes);
    return end(m);
}

hn_status hn_metrics_evaluation(hn_metrics *m, int64_t step, const hn_evaluation *e)
{
    begin(m, step);
    add(m, "held_loss", e->loss);
    add(m, "held_accuracy", e->accuracy);
    add(m, "held_tokens", (double)e->n);
    return end(m);
}

hn_status hn_metrics_verdict(hn_metrics *m, int64_t step, const char *verdict)
{
    hn_json_writer json = begin(m, step);
    hn_str_add(&m->line, ",\"verdict\":");
    hn_json_add_string(&json, verdict);
    return end(m);
}

hn_status hn_metrics_samples(hn_metrics *m, int64_t step, const hn_prompts *prompts, const hn_str *answers)
{
    hn_json_writer json = begin(m, step);
    hn_str_add(&m->line, ",\"samples\":");
    hn_json_begin_array(&json);
    for (int i = 0; i < prompts->n; i++) {
        hn_json_begin_object(&json);
        HN_TRY(hn_prompt_tell(prompts, i, &json));
        hn_json_put_text(&json, "answer", answers[i].text);
        hn_json_end_object(&json);
    }
    hn_json_end_array(&json);
    return end(m);
}

/* The norm of what belongs to each expert among the gradients of a layer. */
static hn_status add_norms(hn_learner *l, int layer, double *squares, int64_t n_experts)
{
    const hn_tuning *t = hn_learner_tuning(l);
    char prefix[32];
    snprintf(prefix, sizeof prefix, "blk.%d.", layer);
    for (int i = 0; i < t->n_tensors; i++) {
        const hn_type *type = &t->tensors[i].weight.type;
        hn_tensor g;
        if (strncmp(t->tensors[i].name, prefix, strlen(prefix)) || type->rank != 3 ||
            type->dim[0] != n_experts)
            continue;
        HN_TRY(hn_learner_gradient(l, i, &g));
        const int64_t each = hn_count(type) / n_experts;
        for (int64_t e = 0; e < hn_count(type); e++) {
            const double x = hn_get(&g, e);
            squares[e / each] += x * x;
        }
    }
    return HN_OK;
}

hn_status hn_metrics_experts(hn_metrics *m, int64_t step, hn_learner *l)
{
    int layer;
    int64_t n;
    const float *load;
    HN_TRY(hn_learner_load(l, 0, &layer, &n, &load));
    if (!load)
        return HN_OK;
    begin(m, step);
    hn_str_add(&m->line, ",\"experts\":[");
    for (int i = 0; load; i++) {
        double *squares = hn_alloc_array(m->heap, HN_TAG_TEXT, (size_t)n, sizeof *squares);
        if (!squares)
            return HN_ERR_MEMORY;
        const hn_status status = add_norms(l, layer, squares, n);
        hn_str_print(&m->line, "%s{\"layer\":%d,\"tokens\":[", i ? "," : "", layer);
        for (int64_t e = 0; e < n; e++)
            hn_str_print(&m->line, "%s%.0f", e ? "," : "", (double)load[e]);
        hn_str_add(&m->line, "],\"grad_norms\":[");
        for (int64_t e = 0; e < n; e++)
            hn_str_print(&m->line, "%s%.6g", e ? "," : "", sqrt(squares[e]));
        hn_str_add(&m->line, "]}");
        hn_free(m->heap, squares);
        HN_TRY(status);
        HN_TRY(hn_learner_load(l, i + 1, &layer, &n, &load));
    }
    hn_str_add(&m->line, "]");
    return end(m);
}
