/* What is asked of a job, as `hone train` is told it. */
#include "base/host.h"
#include "base/number.h"
#include "base/os/files.h"
#include "base/word_list.h"
#include "server/apis.h"
#include "server/job_methods.h"
#include "server/jobs_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SUFFIX = 40, MOST_SETTINGS = 64, MOST_TOLD = MOST_SETTINGS + 32 };

typedef struct taking {
    hn_jobs *jobs;
    hn_job *job;
    hn_json_writer w; /* of the settings */
    const char *told[MOST_TOLD]; /* the names of those that are there */
    size_t n_told;
    hn_failure *why;
} taking;

const hn_setting *hn_job_setting(const hn_setting *(*table)(size_t), const char *word)
{
    const size_t n = strcspn(word, "=");
    const hn_setting *s;
    for (size_t i = 0; (s = table(i)); i++)
        if (s->name && strlen(s->name) == n && !strncmp(s->name, word, n))
            return s;
    return NULL;
}

static const hn_setting *setting_of(const char *word)
{
    const hn_setting *s = hn_job_setting(hn_finetune_setting, word);
    return s ? s : hn_job_setting(hn_examples_setting, word);
}

/* ---- settings that are asked for by name ---- */

/* What names files or this machine is this server's to say, and what the request has a field for stands there. */
static const struct {
    const char *name, *why;
} not_told[] = {
    { "threads", "--train-threads of the server says it" }, { "memory", "--train-memory of the server says it" },
    { "ignore", "the server says it" }, { "template-name", "the server says it" },
    { "goal", "method.type says it" }, { "epochs", "hyperparameters.n_epochs says it" },
    { "batch", "hyperparameters.batch_size says it" }, { "seed", "the field seed says it" },
    { "keep-adapters", "every job does" }, { "samples-along", "every job does" },
};

static bool has(const taking *t, const char *name)
{
    for (size_t i = 0; i < t->n_told; i++)
        if (!strcmp(t->told[i], name))
            return true;
    return false;
}

/* Whether it is there already, as of settings or of hyperparameters: the program would take the last, and nobody asked for that. */
static bool is_told(taking *t, const char *name)
{
    if (has(t, name))
        return true;
    if (t->n_told < MOST_TOLD)
        t->told[t->n_told++] = name;
    return false;
}

static bool take_setting(taking *t, const hn_json *v)
{
    if (v->kind != HN_JSON_STRING || hn_json_bytes(v) > 256)
        return hn_refuse_as(t->why, HN_REFUSED_INVALID, "settings", "settings: expected strings of at most 256 bytes");
    const char *word = hn_json_string(v);
    const int n = (int)strcspn(word, "=");
    const hn_setting *s = setting_of(word);
    if (!s)
        return hn_refuse_as(t->why, HN_REFUSED_UNKNOWN_FIELD, "settings", "settings: %.60s: no option of hone train", word);
    for (size_t i = 0; i < sizeof not_told / sizeof *not_told; i++)
        if (!strcmp(s->name, not_told[i].name))
            return hn_refuse_as(t->why, HN_REFUSED_UNSUPPORTED, "settings", "settings: %s: %s", s->name, not_told[i].why);
    if (s->kind == HN_SETTING_PATH || s->kind == HN_SETTING_PATHS)
        return hn_refuse_as(t->why, HN_REFUSED_UNSUPPORTED, "settings", "settings: %s: no request names a file", s->name);
    if ((s->kind == HN_SETTING_FLAG) != !word[n])
        return hn_refuse_as(t->why, HN_REFUSED_INVALID, "settings",
                            s->kind == HN_SETTING_FLAG ? "settings: %s takes no value" : "settings: %s: expected =VALUE", s->name);
    if (!strcmp(s->name, "keep") && strtoll(word + n + 1, NULL, 10) > HN_MOST_CHECKPOINTS)
        return hn_refuse_as(t->why, HN_REFUSED_INVALID, "settings", "settings: keep: expected at most %d checkpoints, since each is served",
                            HN_MOST_CHECKPOINTS);
    if (s->kind != HN_SETTING_TEXTS && is_told(t, s->name))
        return hn_refuse_as(t->why, HN_REFUSED_INVALID, "settings", "settings: %s: found twice", s->name);
    hn_json_add_string(&t->w, word);
    return true;
}

static bool take_settings(taking *t, const hn_json *list)
{
    if (list && hn_json_count(list) > MOST_SETTINGS)
        return hn_refuse_as(t->why, HN_REFUSED_INVALID, "settings", "settings: expected at most %d, found %zu", MOST_SETTINGS, hn_json_count(list));
    for (const hn_json *v = hn_json_first(list); v; v = v->next)
        if (!take_setting(t, v))
            return false;
    return true;
}

/* ---- hyperparameters ---- */

/* 0: "auto", or not there: every row of the table begins above it. */
static bool take_number(taking *t, const char *within, const hn_json *of, const char *name, double *out)
{
    char way[128];
    const hn_json *v = hn_field_of(of, name);
    *out = 0;
    if (!v || !strcmp(hn_json_string(v), "auto"))
        return true;
    snprintf(way, sizeof way, "%.63s%.60s", within, name);
    if (v->kind == HN_JSON_STRING)
        return hn_refuse_as(t->why, HN_REFUSED_INVALID, way, "%s: expected a number or \"auto\", found \"%.40s\"", way, hn_json_string(v));
    *out = hn_field_number(of, name, 0);
    return true;
}

static void add_setting(taking *t, const char *name, double value)
{
    char word[80];
    is_told(t, name);
    hn_text_print(word, sizeof word, "%s=%.9g", name, value);
    hn_json_add_string(&t->w, word);
}

static double default_of(const char *name)
{
    const hn_setting *s = hn_job_setting(hn_finetune_setting, name);
    double value;
    return s && s->otherwise && hn_number_parse(s->otherwise, &value) ? value : 0;
}

/* The loss, and what it reads. */
static bool take_goal(taking *t, const char *within, const hn_json *of)
{
    const hn_finetune_goal *goal = hn_job_method_goal(t->job->method);
    const char *name;
    char word[80];
    if (!hn_job_method_is_plain(goal)) {
        snprintf(word, sizeof word, "goal=%.60s", goal->name);
        hn_json_add_string(&t->w, word);
    }
    for (size_t i = 0; (name = hn_job_method_number(i)); i++) {
        const hn_field_key key = hn_field_key_of(name);
        double value;
        if (!take_number(t, within, of, key.text, &value))
            return false;
        if (hn_field_of(of, key.text) && !hn_word_is_in(goal->settings, name)) {
            char methods[200], way[128];
            hn_job_methods_of_number(name, methods, sizeof methods);
            snprintf(way, sizeof way, "%.63s%.60s", within, key.text);
            return hn_refuse_as(t->why, HN_REFUSED_UNSUPPORTED, way, "%s: of method %s alone", way, methods);
        }
        if (value > 0)
            add_setting(t, name, value);
    }
    return true;
}

static bool take_hyperparameters(taking *t, const char *within, const hn_json *of)
{
    double epochs, batch, rate;
    if (of && !hn_fields_check_within(&hn_fields_job_hyperparameters, within, of, t->why))
        return false;
    if (!take_number(t, within, of, "n_epochs", &epochs) || !take_number(t, within, of, "batch_size", &batch) ||
        !take_number(t, within, of, "learning_rate_multiplier", &rate))
        return false;
    add_setting(t, "epochs", epochs > 0 ? epochs : default_of("epochs"));
    add_setting(t, "batch", batch > 0 ? batch : default_of("batch"));
    if (rate > 0)
        add_setting(t, "rate", rate * default_of("rate"));
    return take_goal(t, within, of);
}

static bool take_method(taking *t, const hn_json *body)
{
    const hn_json *method = hn_field_of(body, "method"), *old = hn_field_of(body, "hyperparameters");
    char within[64];
    if (method && old)
        return hn_refuse_as(t->why, HN_REFUSED_INVALID, "hyperparameters", "hyperparameters: stand in method.supervised where there is a method");
    if (method && !hn_fields_check_within(&hn_fields_job_method, "method.", method, t->why))
        return false;
    if (method && !hn_field_of(method, "type"))
        return hn_refuse_as(t->why, HN_REFUSED_MISSING_FIELD, "method.type", "method.type: expected the name of a method, as \"supervised\"");
    snprintf(t->job->method, sizeof t->job->method, "%s", method ? hn_field_text(method, "type", "") : "supervised");
    const char *other;
    for (size_t i = 0; (other = hn_job_method_name(i)); i++)
        if (strcmp(other, t->job->method) != 0 && hn_field_of(method, other))
            return hn_refuse_as(t->why, HN_REFUSED_INVALID, "method", "method.%s: the type is %s", other, t->job->method);
    const hn_json *part = hn_field_of(method, t->job->method);
    snprintf(within, sizeof within, "method.%s.", t->job->method);
    if (part && !hn_fields_check_within(&hn_fields_job_part, within, part, t->why))
        return false;
    if (part)
        snprintf(within, sizeof within, "method.%s.hyperparameters.", t->job->method);
    else
        snprintf(within, sizeof within, "hyperparameters.");
    return take_hyperparameters(t, within, old ? old : hn_field_of(part, "hyperparameters"));
}

/* ---- the others ---- */

static bool is_suffix(const char *text)
{
    const size_t n = strlen(text);
    return n && n <= MOST_SUFFIX &&
           strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == n;
}

static bool take_names(taking *t, const hn_json *body)
{
    const char *suffix = hn_field_text(body, "suffix", NULL);
    hn_job *job = t->job;
    if (suffix && !is_suffix(suffix))
        return hn_refuse_as(t->why, HN_REFUSED_INVALID, "suffix", "suffix: expected 1 to %d letters, digits, '.', '_' and '-'", MOST_SUFFIX);
    snprintf(job->suffix, sizeof job->suffix, "%s", suffix ? suffix : "");
    snprintf(job->adapter, sizeof job->adapter, "%s-%.8s", suffix ? suffix : "ft", job->id + strlen("ftjob-"));
    return true;
}

/* Told again as they came. */
static void keep(hn_job *job, const hn_json *body)
{
    static const char *const names[] = { "method", "hyperparameters", "metadata" };
    hn_json_writer w = hn_json_write_to(&job->asked);
    hn_json_begin_object(&w);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const hn_json *v = hn_field_of(body, names[i]);
        if (!v)
            continue;
        hn_json_key(&w, names[i]);
        hn_json_add_value(&w, v);
    }
    hn_json_end_object(&w);
}

/* hone train refuses it too, when the request has long been answered. */
static bool check_judged(taking *t, const hn_json *body)
{
    const bool is_judged = hn_field_of(body, "validation_file") || has(t, "held-fraction");
    return !has(t, "eval-every") || is_judged ||
           hn_refuse_as(t->why, HN_REFUSED_INVALID, "settings", "settings: eval-every: expected validation_file or held-fraction with it");
}

bool hn_job_take(hn_jobs *jobs, hn_job *job, const hn_json *body, hn_failure *why)
{
    taking t = { .jobs = jobs, .job = job, .w = hn_json_write_to(&job->settings), .why = why };
    char seed[40];
    job->seed = hn_field_int(body, "seed", (int64_t)default_of("seed"));
    snprintf(seed, sizeof seed, "seed=%lld", (long long)job->seed);
    hn_json_begin_array(&t.w);
    hn_json_add_string(&t.w, seed);
    if (!take_names(&t, body) || !take_method(&t, body) ||
        !take_settings(&t, hn_field_of(body, "settings")) || !check_judged(&t, body))
        return false;
    hn_json_end_array(&t.w);
    keep(job, body);
    return (hn_str_status(&job->settings) == HN_OK && hn_str_status(&job->asked) == HN_OK) || hn_refuse_by(why, HN_ERR_MEMORY, NULL);
}

/* ---- the program's words ---- */

static void add_option(hn_words *words, const char *setting)
{
    const size_t n = strcspn(setting, "=");
    hn_words_add(words, "--%.*s", (int)n, setting);
    if (setting[n])
        hn_words_add(words, "%s", setting + n + 1);
}

static void add_model(const hn_served *model, hn_words *words)
{
    const hn_lm_options *o = &model->o.model;
    hn_words_add(words, "%s", model->o.path);
    if (o->template_file) {
        hn_words_add(words, "--template");
        hn_words_add(words, "%s", o->template_file);
    }
    if (o->template_name) {
        hn_words_add(words, "--template-name");
        hn_words_add(words, "%s", o->template_name);
    }
    for (int32_t i = 0; i < o->n_ignored_keys; i++) {
        hn_words_add(words, "--ignore");
        hn_words_add(words, "%s", o->ignored_keys[i]);
    }
}

static void add_file(hn_jobs *jobs, const hn_job *job, const char *option, const char *id, hn_words *words)
{
    char path[HN_KEPT_PATH];
    const hn_upload *u = hn_upload_find(jobs, id, job->owner);
    if (!u) {
        words->status = hn_fail(HN_ERR_IO, "%s: there is no such file any more", id);
        return;
    }
    hn_upload_path(jobs, u, path);
    hn_words_add(words, "%s", option);
    hn_words_add(words, "%s", path);
}

static bool begins(const char *word, const char *with) { return !strncmp(word, with, strlen(with)); }

bool hn_job_is_idle(const hn_json *settings, const char *word)
{
    const char *instead = begins(word, "epochs=") ? "steps=" : begins(word, "batch=") ? "batch-tokens=" : NULL;
    bool is = false;
    for (const hn_json *v = hn_json_first(settings); instead && v; v = v->next)
        is = is || (begins(hn_json_string(v), instead) && strcmp(hn_json_string(v) + strlen(instead), "0") != 0);
    return is;
}

static void add_settings(hn_jobs *jobs, const hn_job *job, hn_words *words)
{
    hn_json_text *settings;
    const hn_status status = hn_json_read(jobs->heap, "settings", job->settings.text, job->settings.length, &settings);
    if (status != HN_OK) {
        words->status = status;
        return;
    }
    for (const hn_json *v = hn_json_first(hn_json_root(settings)); v; v = v->next)
        if (!hn_job_is_idle(hn_json_root(settings), hn_json_string(v)))
            add_option(words, hn_json_string(v));
    hn_json_free(settings);
}

void hn_job_words(hn_jobs *jobs, const hn_job *job, const hn_served *model, hn_words *words)
{
    char run[HN_KEPT_PATH], told[HN_KEPT_PATH];
    hn_job_path(jobs, job, "run", run);
    hn_job_path(jobs, job, "run/run.toml", told);
    hn_words_add(words, "%s", jobs->o.program);
    hn_words_add(words, "train");
    add_model(model, words);
    add_file(jobs, job, "--data", job->training, words);
    if (*job->validation)
        add_file(jobs, job, "--held", job->validation, words);
    hn_words_add(words, "--out");
    hn_words_add(words, "%s", run);
    add_settings(jobs, job, words);
    hn_words_add(words, "--threads");
    hn_words_add(words, "%lld", (long long)jobs->o.threads);
    if (jobs->o.isa) {
        hn_words_add(words, "--isa");
        hn_words_add(words, "%s", jobs->o.isa);
    }
    if (jobs->o.memory) {
        hn_words_add(words, "--memory");
        hn_words_add(words, "%s", jobs->o.memory);
    }
    hn_words_add(words, "--keep-adapters");
    hn_words_add(words, "--samples-along");
    hn_words_add(words, "--samples");
    hn_words_add(words, "%d", HN_FINETUNE_SAMPLES);
    hn_words_add(words, "--prove");
    hn_words_add(words, "--tied");
    if (hn_os_is_there(told))
        hn_words_add(words, "--resume");
}
