/* What is read and counted before anything is kept or trained; on the reader. */
#include "base/file.h"
#include "base/os/memory.h"
#include "server/job_methods.h"
#include "server/jobs_state.h"

#include <stdio.h>
#include <string.h>

/* ---- words without this server's folders ---- */

/* Every `from` of `message` becomes `to`, which is no longer. */
static void replace(char *message, const char *from, const char *to)
{
    const size_t n = strlen(from), m = strlen(to);
    if (!n || m > n)
        return;
    for (char *at = message; (at = strstr(at, from)); at += m) {
        memcpy(at, to, m);
        memmove(at + m, at + n, strlen(at + n) + 1);
    }
}

void hn_jobs_clean(const hn_jobs *jobs, char *message, size_t room)
{
    char path[HN_KEPT_PATH];
    (void)room;
    snprintf(path, sizeof path, "%s/files/", jobs->o.folder);
    replace(message, path, "");
    snprintf(path, sizeof path, "%s/jobs/", jobs->o.folder);
    replace(message, path, "");
    snprintf(path, sizeof path, "%s/", jobs->o.folder);
    replace(message, path, "");
}

/* It never grows. */
hn_status hn_jobs_clean_file(const hn_jobs *jobs, const char *model, const char *path)
{
    void *text;
    size_t bytes;
    const hn_served *m = hn_shelf_model(jobs->shelf, model, strlen(model));
    HN_TRY(hn_file_read(jobs->heap, path, (size_t)1 << 30, &text, &bytes));
    hn_jobs_clean(jobs, text, bytes + 1);
    replace(text, jobs->o.program, "hone");
    if (m)
        replace(text, m->o.path, m->name);
    const hn_span span = { text, strlen(text) };
    const hn_status status = hn_file_write(hn_sink_own(path), &span, 1);
    hn_free(jobs->heap, text);
    return status;
}

/* ---- a file by itself ---- */

static hn_status read_all(hn_examples *examples, hn_upload *u)
{
    hn_examples_place place;
    const hn_examples_file *file = hn_examples_get_file(examples, 0);
    u->examples = (int64_t)hn_examples_count(examples);
    HN_REQUIRE(u->examples, HN_ERR_FORMAT, "%s: has no example", u->name);
    for (int64_t i = 0; i < u->examples; i++)
        HN_TRY(hn_examples_read(examples, (uint64_t)i, &place, sizeof place));
    snprintf(u->kind, sizeof u->kind, "%s", hn_job_kind_word(hn_examples_kind_of(examples)));
    snprintf(u->format, sizeof u->format, "%s", file->format);
    return HN_OK;
}

/* The model is trained as it is served: with the template that it has here. */
static void add_model_words(const hn_served *model, hn_words *words)
{
    const hn_lm_options *o = &model->o.model;
    if (o->template_file)
        hn_words_add(words, "template=%s", o->template_file);
    if (o->template_name)
        hn_words_add(words, "template-name=%s", o->template_name);
    for (int32_t i = 0; i < o->n_ignored_keys; i++)
        hn_words_add(words, "ignore=%s", o->ignored_keys[i]);
}

static hn_status open_examples(hn_jobs *jobs, const hn_served *model, const char *path, const hn_words *words, hn_examples **out)
{
    *out = NULL;
    HN_TRY(words->status);
    const hn_examples_spec spec = { .size = sizeof spec, .model = model->o.path, .data = &path, .n_data = 1,
                                    .settings = (const char *const *)words->at, .n_settings = words->n, .digests = jobs->o.digests };
    return hn_examples_open(out, jobs->engine, &spec);
}

/* What a job may be told otherwise is not judged here: what is supervised, what is too long, and what the template leaves out. */
bool hn_upload_check(hn_jobs *jobs, const hn_served *model, hn_upload *u, hn_failure *why)
{
    static const char *const lenient[] = { "loss=all", "drop-unread", "drop-empty", "allow-unended" };
    char path[HN_KEPT_PATH];
    hn_words words = { .heap = jobs->heap };
    hn_examples *examples;
    hn_upload_path(jobs, u, path);
    for (size_t i = 0; i < sizeof lenient / sizeof *lenient; i++)
        hn_words_add(&words, "%s", lenient[i]);
    add_model_words(model, &words);
    hn_status status = open_examples(jobs, model, path, &words, &examples);
    if (status == HN_OK)
        status = read_all(examples, u);
    hn_examples_close(examples);
    hn_words_free(&words);
    if (status == HN_OK)
        return true;
    hn_refuse_by(why, status, "file");
    if (strlen(u->name) <= strlen(path))
        replace(why->message, path, u->name); /* as its sender calls it */
    return false;
}

static void tell_sequence(const hn_examples *examples, size_t k, hn_json_writer *w)
{
    const hn_examples_sequence *s = hn_examples_get_sequence(examples, k);
    hn_json_begin_array(w);
    for (size_t t = 0; t < s->n; t++) {
        char word[256];
        size_t bytes;
        const char *text = hn_examples_get_token(examples, k, t, &bytes);
        snprintf(word, sizeof word, "%.*s", (int)(bytes < sizeof word ? bytes : sizeof word - 1), text);
        hn_json_begin_object(w);
        hn_json_key(w, "id");
        hn_json_add_int(w, s->ids[t]);
        hn_json_key(w, "text");
        hn_json_add_string(w, word);
        hn_json_key(w, "role");
        hn_json_add_string(w, hn_examples_role_name((hn_examples_role)s->roles[t]));
        hn_json_key(w, "weight");
        hn_json_add_double(w, (double)s->weights[t]);
        hn_json_end_object(w);
    }
    hn_json_end_array(w);
}

static hn_status tell_tokens(hn_examples *examples, int64_t first, int64_t most, hn_str *out)
{
    const int64_t n = (int64_t)hn_examples_count(examples);
    hn_json_writer w = hn_json_write_to(out);
    hn_json_begin_object(&w);
    hn_json_key(&w, "object");
    hn_json_add_string(&w, "list");
    hn_json_key(&w, "data");
    hn_json_begin_array(&w);
    for (int64_t i = first; i < n && i - first < most; i++) {
        hn_examples_place place;
        HN_TRY(hn_examples_read(examples, (uint64_t)i, &place, sizeof place));
        hn_json_begin_object(&w);
        hn_json_key(&w, "line");
        hn_json_add_int(&w, (int64_t)place.line);
        hn_json_key(&w, "sequences");
        hn_json_begin_array(&w);
        for (size_t k = 0; k < place.n_sequences; k++)
            tell_sequence(examples, k, &w);
        hn_json_end_array(&w);
        hn_json_end_object(&w);
    }
    hn_json_end_array(&w);
    hn_json_key(&w, "has_more");
    hn_json_add_bool(&w, n - first > most);
    hn_json_end_object(&w);
    return hn_str_status(out);
}

bool hn_upload_tokens(hn_jobs *jobs, const hn_served *model, const hn_upload *u, int64_t first, int64_t most, hn_str *out, hn_failure *why)
{
    char path[HN_KEPT_PATH];
    hn_words words = { .heap = jobs->heap };
    hn_examples *examples;
    hn_upload_path(jobs, u, path);
    add_model_words(model, &words);
    hn_status status = open_examples(jobs, model, path, &words, &examples);
    if (status == HN_OK)
        status = tell_tokens(examples, first, most, out);
    hn_examples_close(examples);
    hn_words_free(&words);
    if (status == HN_OK)
        return true;
    hn_refuse_by(why, status, "file");
    if (strlen(u->name) <= strlen(path))
        replace(why->message, path, u->name);
    return false;
}

/* ---- a job ---- */

static void pick(const hn_job_plan_of *of, const hn_setting *(*table)(size_t), hn_words *words)
{
    for (const hn_json *v = hn_json_first(of->settings); v; v = v->next)
        if (hn_job_setting(table, hn_json_string(v)) && !hn_job_is_idle(of->settings, hn_json_string(v)))
            hn_words_add(words, "%s", hn_json_string(v));
}

static hn_status plan_run(const hn_jobs *jobs, const hn_job_plan_of *of, const hn_words *words, hn_examples *examples)
{
    hn_finetune_run *run;
    hn_job *job = of->job;
    const hn_finetune_run_options o = { .size = sizeof o, .settings = (const char *const *)words->at, .n_settings = words->n,
                                        .samples = HN_FINETUNE_SAMPLES };
    HN_TRY(words->status);
    HN_TRY(hn_examples_check(examples));
    HN_TRY(hn_finetune_run_new(&run, examples, &o));
    const hn_finetune_layout *l = hn_finetune_run_get_layout(run);
    job->steps = l->estimate->n_steps;
    job->examples = l->estimate->n_examples;
    job->bytes = (int64_t)l->estimate->total_bytes;
    job->seed = l->seed;
    job->work = (hn_job_work){ .operations = l->estimate->step_operations, .threads = jobs->o.threads };
    snprintf(job->work.numerics, sizeof job->work.numerics, "%s", hn_lm_numerics_name(l->numerics));
    const bool is_model = l->is_model != 0;
    hn_finetune_run_free(run);
    HN_REQUIRE(!is_model, HN_ERR_UNSUPPORTED, "settings: whole tensors alone are trained: of that a model comes, and a job makes an adapter");
    return HN_OK;
}

static hn_status plan(hn_jobs *jobs, const hn_job_plan_of *of, hn_words *data, hn_words *run)
{
    char path[HN_KEPT_PATH];
    hn_examples *examples;
    pick(of, hn_examples_setting, data);
    add_model_words(of->model, data);
    if (of->validation) {
        hn_upload_path(jobs, of->validation, path);
        hn_words_add(data, "held=%s", path);
    }
    pick(of, hn_finetune_setting, run);
    hn_words_add(run, "samples-along");
    if (of->most)
        hn_words_add(run, "memory=%zu", of->most);
    else if (jobs->o.memory)
        hn_words_add(run, "memory=%s", jobs->o.memory);
    else
        hn_words_add(run, "memory=%zu", hn_memory_total() / 10 * 9);
    hn_upload_path(jobs, of->training, path);
    HN_TRY(open_examples(jobs, of->model, path, data, &examples));
    const hn_status status = plan_run(jobs, of, run, examples);
    hn_examples_close(examples);
    return status;
}

bool hn_job_plan(hn_jobs *jobs, hn_job_plan_of *of, hn_failure *why)
{
    hn_json_text *settings;
    hn_words data = { .heap = jobs->heap }, run = { .heap = jobs->heap };
    hn_status status = hn_json_read(jobs->heap, "settings", of->job->settings.text, of->job->settings.length, &settings);
    if (status == HN_OK) {
        of->settings = hn_json_root(settings);
        status = plan(jobs, of, &data, &run);
    }
    hn_json_free(settings);
    hn_words_free(&data);
    hn_words_free(&run);
    if (status == HN_OK)
        return true;
    hn_refuse_by(why, status, NULL);
    of->is_too_large = status == HN_ERR_MEMORY && !hn_heap_has_refused(hn_error_message());
    if (of->is_too_large) /* it will not fit tomorrow either, unless it was to take less than it ever may */
        hn_refuse_as(why, HN_REFUSED_INVALID, NULL, "%s", hn_error_message());
    return false;
}
