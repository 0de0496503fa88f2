/* hone jobs: training by a server that runs: asked for, looked at, stopped. It speaks to the server and not to its folder, which
 * is the server's alone: so there is one way to change a job, with one set of rights. */
#include "base/file.h"
#include "base/json.h"
#include "base/number.h"
#include "base/os/files.h"
#include "base/os/folders.h"
#include "base/sha256.h"
#include "cli/command.h"
#include "cli/http_ask.h"
#include "cli/terminal.h"

#include <errno.h>
#include <math.h>
#include <string.h>

typedef struct jobs_args {
    const char *server, *key_file, *validation, *suffix, *method;
    hn_list settings;
    int64_t limit;
    bool json;
    hn_sink out;
} jobs_args;

static const hn_option options[] = {
    HN_TEXT(jobs_args, server, "server", "ADDRESS", "where `hone serve --jobs DIR` listens; default 127.0.0.1:8080"),
    HN_TEXT(jobs_args, key_file, "key-file", "FILE", "of one line, the secret of a key of the server's"),
    HN_INT(jobs_args, limit, "limit", "N", 1, 100, "of a list, at most"),
    HN_FLAG(jobs_args, json, "json", "the server's own words"),
    HN_OUT_FOLDER(jobs_args, out, "out", "DIR", "of fetch: where what a job left goes; made if it is not there"),
    HN_GROUP("what is trained, of create"),
    HN_TEXT(jobs_args, validation, "validation", "FILE", "examples to judge by, not to train"),
    HN_TEXT(jobs_args, suffix, "suffix", "NAME", "what the name of what is trained begins with"),
    HN_TEXT(jobs_args, method, "method", "NAME", "supervised (the default), or a --goal of `hone train` by its name"),
    HN_LIST(jobs_args, settings, "setting", "NAME=VALUE", "an option of `hone train`, without its dashes"),
    HN_OPTION_END,
};

static const jobs_args defaults = { .server = "127.0.0.1:8080", .limit = 20 };

typedef struct session {
    const jobs_args *args;
    hn_heap heap;
    hn_asked_server server;
    FILE *out;
} session;

/* ---- asking ---- */

/* The reply, or its sentence as a failure. */
static hn_status ask(session *s, const hn_asking *a, hn_str *reply, hn_json_text **json)
{
    int status;
    *json = NULL;
    HN_TRY(hn_http_ask(&s->server, a, &status, reply));
    HN_TRY(hn_json_read(&s->heap, "the server's reply", reply->text, reply->length, json));
    if (status == 200)
        return HN_OK;
    const char *message = NULL;
    const hn_json *said = hn_json_get(hn_json_get(hn_json_root(*json), "error"), "message");
    const hn_status is_text = hn_json_want_string(said, "error.message", &message);
    const hn_status failed = hn_fail(status < 500 ? HN_ERR_ARGUMENT : HN_ERR_IO, "%d: %.800s", status, is_text == HN_OK ? message : "no word");
    hn_json_free(*json);
    *json = NULL;
    return failed;
}

static const char *text_of(const hn_json *job, const char *key)
{
    const hn_json *v = hn_json_get(job, key);
    return v && v->kind == HN_JSON_STRING ? hn_json_string(v) : "-";
}

static long long int_of(const hn_json *job, const char *key)
{
    return (long long)hn_json_int(hn_json_get(job, key));
}

/* ---- telling ---- */

static void show(FILE *out, const char *text) { hn_terminal_show(out, text, strlen(text)); }

static void tell_line(const hn_json *job, FILE *out)
{
    show(out, text_of(job, "id"));
    fprintf(out, "  %-9s  %lld/%lld  ", text_of(job, "status"), int_of(job, "step"), int_of(job, "steps"));
    show(out, text_of(job, "model"));
    fputs("  ", out);
    show(out, text_of(job, "fine_tuned_model"));
    fputc('\n', out);
}

static double number_of(const hn_json *of, const char *key)
{
    return hn_json_number(hn_json_get(of, key));
}

/* What was judged by, before the first step and after the last. */
static void tell_held(const hn_json *job, const char *key, FILE *out)
{
    const hn_json *held = hn_json_get(job, key);
    if (held && held->kind == HN_JSON_OBJECT)
        fprintf(out, "%s: loss %.4f, accuracy %.1f %%\n", key, number_of(held, "loss"), 100 * number_of(held, "accuracy"));
}

static void tell_whole(const hn_json *job, FILE *out)
{
    static const char *const texts[] = { "fine_tuned_model", "sha256", "verdict", "training_file", "validation_file" };
    tell_line(job, out);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strcmp(text_of(job, texts[i]), "-") != 0) {
            fprintf(out, "%s: ", texts[i]);
            show(out, text_of(job, texts[i]));
            fputc('\n', out);
        }
    tell_held(job, "held_before", out);
    tell_held(job, "held_after", out);
    const hn_json *error = hn_json_get(job, "error"), *settings = hn_json_get(job, "settings");
    if (error && error->kind == HN_JSON_OBJECT) {
        fputs("error: ", out);
        show(out, text_of(error, "message"));
        fputc('\n', out);
    }
    fputs("settings:", out);
    for (const hn_json *v = hn_json_at(settings, 0); v; v = v->next)
        if (v->kind == HN_JSON_STRING) {
            fputc(' ', out);
            show(out, hn_json_string(v));
        }
    fputc('\n', out);
}

static hn_status tell(session *s, const hn_asking *a, void (*one)(const hn_json *, FILE *))
{
    hn_json_text *json;
    hn_str reply = hn_str_on(&s->heap);
    const hn_status status = ask(s, a, &reply, &json);
    const hn_json *root = status == HN_OK ? hn_json_root(json) : NULL, *data = hn_json_get(root, "data");
    if (root && s->args->json)
        fputs(reply.text, s->out);
    else if (data && data->kind == HN_JSON_ARRAY)
        for (const hn_json *v = hn_json_first(data); v; v = v->next)
            one(v, s->out);
    else if (root)
        one(root, s->out);
    hn_json_free(json);
    hn_str_free(&reply);
    return status;
}

static void tell_event(const hn_json *event, FILE *out)
{
    fprintf(out, "%lld  %-5s  ", int_of(event, "created_at"), text_of(event, "level"));
    show(out, text_of(event, "message"));
    fputc('\n', out);
}

/* ---- create ---- */

static void add_part(hn_str *form, const char *mark, const char *name, const char *file, const char *bytes, size_t n)
{
    hn_str_print(form, "--%s\r\nContent-Disposition: form-data; name=\"%s\"", mark, name);
    if (file) {
        hn_str_add(form, "; filename=\"");
        for (const char *c = file; *c; c++) {
            if (*c == '"' || *c == '\\')
                hn_str_add_char(form, '\\');
            hn_str_add_char(form, *c);
        }
        hn_str_add(form, "\"\r\nContent-Type: application/octet-stream");
    }
    hn_str_add(form, "\r\n\r\n");
    hn_str_add_bytes(form, bytes, n);
    hn_str_add(form, "\r\n");
}

/* What stands between parts must not stand in the file: nobody can write its digest into it. */
static void make_mark(const void *bytes, size_t n, char mark[48])
{
    hn_sha256 sha;
    uint8_t digest[32];
    char text[65];
    hn_sha256_begin(&sha);
    hn_sha256_add(&sha, bytes, n);
    hn_sha256_end(&sha, digest);
    hn_sha256_text(digest, text);
    snprintf(mark, 48, "hone-%.40s", text);
}

static hn_status make_form(session *s, const char *model, const char *path, char mark[48], hn_str *form)
{
    void *bytes;
    size_t n;
    HN_TRY(hn_file_read(&s->heap, path, (size_t)1 << 31, &bytes, &n));
    make_mark(bytes, n, mark);
    add_part(form, mark, "purpose", NULL, "fine-tune", 9);
    add_part(form, mark, "model", NULL, model, strlen(model));
    add_part(form, mark, "file", hn_os_last_part(path), bytes, n);
    hn_str_print(form, "--%s--\r\n", mark);
    hn_free(&s->heap, bytes);
    return hn_str_status(form);
}

static hn_status send_file(session *s, const char *model, const char *path, char id[80])
{
    char mark[48], type[96];
    hn_json_text *json = NULL;
    hn_str form = hn_str_on(&s->heap), reply = hn_str_on(&s->heap);
    hn_status status = make_form(s, model, path, mark, &form);
    if (status == HN_OK) {
        snprintf(type, sizeof type, "multipart/form-data; boundary=%s", mark);
        const hn_asking a = { "POST", "/v1/files", type, form.text, form.length };
        status = ask(s, &a, &reply, &json);
    }
    if (status == HN_OK)
        snprintf(id, 80, "%s", text_of(hn_json_root(json), "id"));
    hn_json_free(json);
    hn_str_free(&form);
    hn_str_free(&reply);
    return status;
}

static void add_text(hn_json_writer *w, const char *key, const char *text)
{
    if (!text)
        return;
    hn_json_key(w, key);
    hn_json_add_string(w, text);
}

/* Settings for which a request has fields of its own, where it takes them alone. */
static const struct {
    const char *setting, *field;
    bool is_top; /* not a hyperparameter */
} fields[] = { { "seed", "seed", true }, { "epochs", "n_epochs", false }, { "batch", "batch_size", false } };

enum { N_FIELDS = sizeof fields / sizeof *fields };

/* N_FIELDS: it is told as a setting. */
static size_t field_of(const char *setting)
{
    const size_t n = strcspn(setting, "=");
    size_t i = 0;
    while (i < N_FIELDS && (strlen(fields[i].setting) != n || strncmp(fields[i].setting, setting, n) != 0))
        i++;
    return i;
}

/* What is no number goes as the text that it is: the server says what it expects. One that is given twice is refused there too. */
static void add_fields(const session *s, hn_json_writer *w, bool is_top)
{
    for (int i = 0; i < s->args->settings.n; i++) {
        const char *setting = s->args->settings.at[i];
        const char *value = setting + strcspn(setting, "=");
        const size_t f = field_of(setting);
        double number;
        if (f == N_FIELDS || fields[f].is_top != is_top)
            continue;
        hn_json_key(w, fields[f].field);
        value += *value == '=';
        if (!hn_number_parse(value, &number))
            hn_json_add_string(w, value);
        else if (number == floor(number) && fabs(number) < 1e15)
            hn_json_add_int(w, (int64_t)number);
        else
            hn_json_add_double(w, number);
    }
}

static void add_method(const session *s, hn_json_writer *w)
{
    const char *method = s->args->method;
    if (method) {
        hn_json_key(w, "method");
        hn_json_begin_object(w);
        add_text(w, "type", method);
        hn_json_key(w, method);
        hn_json_begin_object(w);
    }
    hn_json_key(w, "hyperparameters");
    hn_json_begin_object(w);
    add_fields(s, w, false);
    hn_json_end_object(w);
    for (int i = 0; method && i < 2; i++)
        hn_json_end_object(w);
}

static void write_order(const session *s, const char *model, const char *training, const char *validation, hn_str *body)
{
    hn_json_writer w = hn_json_write_to(body);
    hn_json_begin_object(&w);
    add_text(&w, "model", model);
    add_text(&w, "training_file", training);
    add_text(&w, "validation_file", validation);
    add_text(&w, "suffix", s->args->suffix);
    add_method(s, &w);
    add_fields(s, &w, true);
    hn_json_key(&w, "settings");
    hn_json_begin_array(&w);
    for (int i = 0; i < s->args->settings.n; i++)
        if (field_of(s->args->settings.at[i]) == N_FIELDS)
            hn_json_add_string(&w, s->args->settings.at[i]);
    hn_json_end_array(&w);
    hn_json_end_object(&w);
}

static hn_status create(session *s, int n, char **words)
{
    char training[80], validation[80];
    HN_REQUIRE(n == 2, HN_ERR_ARGUMENT, "create: expected MODEL, as the server calls it, and DATA, a file");
    HN_TRY(send_file(s, words[0], words[1], training));
    if (s->args->validation)
        HN_TRY(send_file(s, words[0], s->args->validation, validation));
    hn_str body = hn_str_on(&s->heap);
    write_order(s, words[0], training, s->args->validation ? validation : NULL, &body);
    hn_status status = hn_str_status(&body);
    const hn_asking a = { "POST", "/v1/fine_tuning/jobs", "application/json", body.text, body.length };
    if (status == HN_OK)
        status = tell(s, &a, tell_whole);
    hn_str_free(&body);
    return status;
}

/* ---- the others ---- */

static hn_status path_of_job(const char *word, const char *id, const char *after, char path[200])
{
    HN_REQUIRE(strlen(id) < 80 && strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(id), HN_ERR_ARGUMENT,
               "%s: expected a job's id, found %.80s", word, id);
    snprintf(path, 200, "/v1/fine_tuning/jobs/%s%s", id, after);
    return HN_OK;
}

static hn_status of_job(session *s, const char *word, const char *id, const char *method, const char *after, void (*one)(const hn_json *, FILE *))
{
    char path[200];
    const hn_asking a = { .method = method, .path = path, .type = !strcmp(method, "POST") ? "application/json" : NULL };
    HN_TRY(path_of_job(word, id, after, path));
    return tell(s, &a, one);
}

static hn_status list(session *s)
{
    char path[80];
    const hn_asking a = { .method = "GET", .path = path };
    snprintf(path, sizeof path, "/v1/fine_tuning/jobs?limit=%lld", (long long)s->args->limit);
    return tell(s, &a, tell_line);
}

/* ---- fetch ---- */

static hn_status keep_file(session *s, const char *id)
{
    char path[200], to[4096];
    int status;
    hn_json_text *about = NULL;
    hn_str reply = hn_str_on(&s->heap);
    hn_asking a = { .method = "GET", .path = path };
    snprintf(path, sizeof path, "/v1/files/%.80s", id);
    hn_status is_well = ask(s, &a, &reply, &about);
    const char *name = is_well == HN_OK ? text_of(hn_json_root(about), "filename") : "";
    if (is_well == HN_OK && (!hn_os_is_plain_name(name) || strchr(name, '/') || strlen(name) > 200))
        is_well = hn_fail(HN_ERR_FORMAT, "%s: the server calls it %.200s: that is no file's name", id, name);
    snprintf(to, sizeof to, "%.3800s/%.200s", s->args->out.path, name);
    hn_json_free(about);
    hn_str_clear(&reply);
    snprintf(path, sizeof path, "/v1/files/%.80s/content", id);
    if (is_well == HN_OK)
        is_well = hn_http_ask(&s->server, &a, &status, &reply);
    if (is_well == HN_OK && status != 200)
        is_well = hn_fail(HN_ERR_IO, "%s: %d: %.200s", id, status, reply.text);
    const hn_span span = { reply.text, reply.length };
    if (is_well == HN_OK)
        is_well = hn_file_write((hn_sink){ to, s->args->out.over }, &span, 1);
    if (is_well == HN_OK)
        fprintf(s->out, "%s\n", to);
    hn_str_free(&reply);
    return is_well;
}

/* All that it left, each whole or not there. */
static hn_status fetch(session *s, const char *id)
{
    char path[200];
    hn_json_text *job;
    hn_str reply = hn_str_on(&s->heap);
    const hn_asking a = { .method = "GET", .path = path };
    HN_REQUIRE(s->args->out.path, HN_ERR_ARGUMENT, "fetch: expected --out DIR");
    HN_TRY(path_of_job("fetch", id, "", path));
    hn_status status = ask(s, &a, &reply, &job);
    const hn_json *files = status == HN_OK ? hn_json_get(hn_json_root(job), "result_files") : NULL;
    const bool has_some = files && files->kind == HN_JSON_ARRAY && hn_json_count(files);
    if (status == HN_OK && !has_some)
        status = hn_fail(HN_ERR_ARGUMENT, "%s is %s: it has left nothing", id, text_of(hn_json_root(job), "status"));
    if (status == HN_OK && !hn_os_folder_make(s->args->out.path, false) && errno != EEXIST)
        status = hn_fail(HN_ERR_IO, "%s: %s", s->args->out.path, strerror(errno));
    for (const hn_json *v = has_some ? hn_json_first(files) : NULL; v && status == HN_OK; v = v->next)
        status = keep_file(s, hn_json_string(v));
    hn_json_free(job);
    hn_str_free(&reply);
    return status;
}

static hn_status serve_word(session *s, int n, char **words)
{
    char events[40];
    const struct {
        const char *word, *method, *after;
        void (*one)(const hn_json *, FILE *);
    } of[] = { { "show", "GET", "", tell_whole }, { "cancel", "POST", "/cancel", tell_line }, { "pause", "POST", "/pause", tell_line },
               { "resume", "POST", "/resume", tell_line }, { "events", "GET", events, tell_event } };
    snprintf(events, sizeof events, "/events?limit=%lld", (long long)s->args->limit);
    if (!strcmp(words[0], "create"))
        return create(s, n - 1, words + 1);
    if (!strcmp(words[0], "list") && n == 1)
        return list(s);
    if (!strcmp(words[0], "fetch") && n == 2)
        return fetch(s, words[1]);
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        if (!strcmp(words[0], of[i].word) && n == 2)
            return of_job(s, words[0], words[1], of[i].method, of[i].after, of[i].one);
    return hn_fail(HN_ERR_ARGUMENT, "expected list, create MODEL DATA, or show, events, fetch, pause, resume or cancel and an ID");
}

static hn_status run(const void *parsed, int n_operands, char **operands, FILE *out)
{
    session s = { .args = parsed, .out = out };
    const bool is_create = !strcmp(operands[0], "create");
    const jobs_args *a = s.args;
    hn_heap_init(&s.heap, NULL);
    HN_REQUIRE(is_create || !(a->validation || a->suffix || a->method || a->settings.n), HN_ERR_ARGUMENT,
               "--validation, --suffix, --method and --setting are of create alone");
    HN_REQUIRE(!a->out.path || !strcmp(operands[0], "fetch"), HN_ERR_ARGUMENT, "--out is of fetch alone");
    HN_TRY(hn_asked_server_of(&s.server, &s.heap, a->server, a->key_file));
    return serve_word(&s, n_operands, operands);
}

const hn_command hn_cmd_jobs = {
    .name = "jobs",
    .operands = "list | create MODEL DATA | show ID | events ID | fetch ID | pause ID | resume ID | cancel ID",
    .summary = "training by a server that runs (hone serve --jobs)",
    .details = "  hone jobs create model chats.jsonl --suffix mine --setting rank=8\n"
               "  hone jobs list\n"
               "MODEL is what the server calls it. What is trained, and how, is docs/http.md's to say.\n",
    .example = "jobs list --server 127.0.0.1:8080",
    .options = options,
    .defaults = &defaults,
    .args_size = sizeof(jobs_args),
    .min_operands = 1,
    .max_operands = 3,
    .run = run,
};
