/* /v1/files: what clients leave, as OpenAI's do. */
#include "base/ascii.h"
#include "base/file.h"
#include "base/os/files.h"
#include "server/apis.h"
#include "server/job_methods.h"
#include "server/jobs_state.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void tell(const hn_upload *u, hn_json_writer *w)
{
    hn_json_begin_object(w);
    hn_json_key(w, "id");
    hn_json_add_string(w, u->id);
    hn_json_key(w, "object");
    hn_json_add_string(w, "file");
    hn_json_key(w, "bytes");
    hn_json_add_int(w, u->bytes);
    hn_json_key(w, "created_at");
    hn_json_add_int(w, u->created);
    if (u->expires) {
        hn_json_key(w, "expires_at");
        hn_json_add_int(w, u->expires);
    }
    hn_json_key(w, "filename");
    hn_json_add_string(w, u->name);
    hn_json_key(w, "purpose");
    hn_json_add_string(w, u->purpose);
    hn_json_key(w, "status");
    hn_json_add_string(w, "processed");
    if (u->examples) {
        hn_json_key(w, "examples");
        hn_json_add_int(w, u->examples);
        hn_json_key(w, "kind");
        hn_json_add_string(w, u->kind);
        hn_json_key(w, "methods");
        hn_job_methods_write(u->kind, w);
        hn_json_key(w, "format");
        hn_json_add_string(w, u->format);
    }
    hn_json_end_object(w);
}

static void reply_with(hn_visit *v, const hn_upload *u)
{
    hn_str out = hn_str_on(v->jobs->heap);
    hn_json_writer w = hn_json_write_to(&out);
    tell(u, &w);
    hn_visit_reply(v, 200, &out);
}

/* ---- one that comes ---- */

/* The last part of its name decides what it is, and only its reader knows which endings say something: so each is kept that a name can
 * have here, but .json, which is a record's. */
static void set_names(hn_upload *u, const hn_part *part)
{
    const char *name = part->file;
    for (const char *c = part->file; *c; c++)
        if (*c == '/' || *c == '\\')
            name = c + 1;
    snprintf(u->name, sizeof u->name, "%s", *name ? name : "file");
    const char *dot = strrchr(u->name, '.');
    const size_t n = dot ? strspn(dot + 1, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") : 0;
    const bool is_word = n && !dot[1 + n] && n + 1 < sizeof u->ending;
    const char *ending = !is_word ? ".data" : hn_ascii_same(dot, ".json") ? ".array.json" : dot;
    snprintf(u->ending, sizeof u->ending, "%s", ending);
}

static bool take_expiry(hn_upload *u, const hn_json *body, hn_failure *why)
{
    const hn_json *expiry = hn_field_of(body, "expires_after");
    if (!expiry)
        return true;
    if (!hn_fields_check_within(&hn_fields_expires_after, "expires_after.", expiry, why))
        return false;
    if (!hn_field_of(expiry, "anchor") || !hn_field_of(expiry, "seconds"))
        return hn_refuse_as(why, HN_REFUSED_MISSING_FIELD, "expires_after", "expires_after: expected anchor and seconds");
    u->expires = u->created + hn_field_int(expiry, "seconds", 0);
    return true;
}

static bool read_form(hn_visit *v)
{
    const hn_http_request *r = hn_http_request_of(v->call);
    bool is_there;
    v->pairs = (hn_pairs){ .heap = v->jobs->heap };
    hn_status status = hn_multipart_begin(&v->form, hn_http_field_of(v->call, "content-type"), r->body, r->body_bytes);
    while (status == HN_OK) {
        hn_part part;
        status = hn_multipart_next(&v->form, &part, &is_there);
        if (status != HN_OK || !is_there)
            break;
        const bool is_file = !strcmp(part.name, "file");
        if (is_file)
            v->file = part;
        if (!hn_pairs_add(&v->pairs, part.name, is_file ? part.file : part.bytes, is_file ? strlen(part.file) : part.n, &v->why))
            return false;
    }
    if (status != HN_OK)
        return hn_refuse_by(&v->why, status, NULL);
    if (!hn_pairs_read(&v->pairs, &hn_fields_files, &hn_fields_expires_after, &v->text, &v->why))
        return false;
    v->body = hn_json_root(v->text);
    return true;
}

static bool prepare(hn_visit *v)
{
    if (!read_form(v))
        return false;
    if (!v->file.is_file || !hn_field_of(v->body, "purpose"))
        return hn_refuse_as(&v->why, HN_REFUSED_MISSING_FIELD, v->file.is_file ? "purpose" : "file", "%s: expected %s",
                            v->file.is_file ? "purpose" : "file", v->file.is_file ? "\"fine-tune\"" : "a part with a file's name");
    if ((int64_t)v->file.n > v->jobs->o.file_bytes)
        return hn_refuse_as(&v->why, HN_REFUSED_TOO_LARGE, "file", "expected a file of at most %lld bytes (--file-bytes), found %zu",
                            (long long)v->jobs->o.file_bytes, v->file.n);
    v->model = hn_jobs_model(v->jobs, hn_field_text(v->body, "model", NULL), &v->why);
    v->upload = v->model ? hn_upload_new(v->jobs, v->owner, &v->why) : NULL;
    if (!v->upload)
        return false;
    set_names(v->upload, &v->file);
    snprintf(v->upload->purpose, sizeof v->upload->purpose, "%s", hn_field_text(v->body, "purpose", ""));
    v->upload->bytes = (int64_t)v->file.n;
    return take_expiry(v->upload, v->body, &v->why);
}

/* Back on the office. What will be said is there before the record is: who is told of a failure has left no file. */
static void end_create(hn_task *task)
{
    hn_visit *v = (hn_visit *)(void *)task;
    hn_json_writer w = hn_json_write_to(&v->said);
    if (v->is_well)
        tell(v->upload, &w);
    if (v->is_well && hn_visit_has_said(v) && hn_upload_record(v->jobs, v->upload, &v->why)) {
        hn_visit_reply(v, 200, &v->said);
        return;
    }
    hn_upload_drop(v->jobs, v->upload);
    hn_visit_refuse(v);
}

static hn_status store(hn_visit *v)
{
    char path[HN_KEPT_PATH];
    const hn_span span = { v->file.bytes, v->file.n };
    hn_upload_path(v->jobs, v->upload, path);
    HN_TRY(hn_file_write(hn_sink_new(path), &span, 1));
    HN_REQUIRE(hn_os_guard(path), HN_ERR_IO, "%s: %s", v->upload->id, strerror(errno));
    return HN_OK;
}

static void check(hn_task *task)
{
    hn_visit *v = (hn_visit *)(void *)task;
    const hn_status status = store(v);
    v->is_well = status == HN_OK ? hn_upload_check(v->jobs, v->model, v->upload, &v->why) : hn_refuse_by(&v->why, status, "file");
    hn_jobs_clean(v->jobs, v->why.message, sizeof v->why.message);
    hn_visit_to_office(v, end_create);
}

static void create(hn_visit *v)
{
    const bool is_well = prepare(v);
    if (is_well && hn_visit_to_reader(v, check))
        return;
    if (v->upload)
        hn_upload_drop(v->jobs, v->upload);
    hn_visit_refuse(v);
}

/* ---- all of them ---- */

static bool is_asked(const hn_upload *u, const char *owner, const char *purpose)
{
    return u->is_listed && !strcmp(u->owner, owner) && (!purpose || !strcmp(u->purpose, purpose));
}

static void list(hn_visit *v)
{
    hn_jobs *jobs = v->jobs;
    if (!hn_visit_query(v)) {
        hn_visit_refuse(v);
        return;
    }
    const char *after = hn_field_text(v->body, "after", NULL), *purpose = hn_field_text(v->body, "purpose", NULL);
    const bool rises = !strcmp(hn_field_text(v->body, "order", "desc"), "asc");
    int64_t left = hn_field_int(v->body, "limit", 10000);
    bool is_after = !after, has_more = false;
    const hn_upload *first = NULL, *last = NULL;
    hn_str out = hn_str_on(jobs->heap);
    hn_json_writer w = hn_json_write_to(&out);
    hn_json_begin_object(&w);
    hn_json_key(&w, "object");
    hn_json_add_string(&w, "list");
    hn_json_key(&w, "data");
    hn_json_begin_array(&w);
    for (size_t i = 0; i < jobs->n_uploads; i++) {
        const hn_upload *u = jobs->uploads[rises ? i : jobs->n_uploads - 1 - i];
        if (is_after && is_asked(u, v->owner, purpose)) {
            has_more = !left;
            if (!left--)
                break;
            first = first ? first : u;
            last = u;
            tell(u, &w);
        }
        is_after = is_after || (!strcmp(u->id, after) && !strcmp(u->owner, v->owner));
    }
    hn_json_end_array(&w);
    hn_json_key(&w, "first_id");
    first ? hn_json_add_string(&w, first->id) : hn_json_add_null(&w);
    hn_json_key(&w, "last_id");
    last ? hn_json_add_string(&w, last->id) : hn_json_add_null(&w);
    hn_json_key(&w, "has_more");
    hn_json_add_bool(&w, has_more);
    hn_json_end_object(&w);
    if (is_after) {
        hn_visit_reply(v, 200, &out);
        return;
    }
    hn_str_free(&out);
    hn_refuse_as(&v->why, HN_REFUSED_INVALID, "after", "after: there is no file %.60s", after);
    hn_visit_refuse(v);
}

/* ---- one of them ---- */

static bool find(hn_visit *v, char rest[32])
{
    char id[HN_ITEM_ID];
    if (!hn_visit_words(v, "/v1/files/", id, rest))
        return false;
    v->upload = hn_upload_find(v->jobs, id, v->owner);
    return v->upload || hn_refuse_as(&v->why, HN_REFUSED_NO_OBJECT, "file_id", "%s: there is no such file", id);
}

static void reply_with_content(hn_visit *v)
{
    char path[HN_KEPT_PATH];
    void *content;
    size_t bytes;
    hn_upload_path(v->jobs, v->upload, path);
    const hn_status status = hn_file_read(v->jobs->heap, path, SIZE_MAX / 2, &content, &bytes);
    if (status != HN_OK) {
        hn_refuse_by(&v->why, status, "file_id");
        hn_jobs_clean(v->jobs, v->why.message, sizeof v->why.message);
        hn_visit_refuse(v);
        return;
    }
    /* Whatever it is, a browser is not to make a page of it. */
    hn_http_add_field(v->call, "X-Content-Type-Options", "nosniff");
    hn_http_add_field(v->call, "Content-Disposition", "attachment");
    hn_http_reply(v->call, 200, "application/octet-stream", content, bytes);
    hn_free(v->jobs->heap, content);
    v->call = NULL;
    hn_visit_refuse(v);
}

static void end_tokens(hn_task *task)
{
    hn_visit *v = (hn_visit *)(void *)task;
    v->upload->uses--;
    if (v->is_well && hn_visit_has_said(v))
        hn_visit_reply(v, 200, &v->said);
    else
        hn_visit_refuse(v);
}

static void read_tokens(hn_task *task)
{
    hn_visit *v = (hn_visit *)(void *)task;
    v->is_well = hn_upload_tokens(v->jobs, v->model, v->upload, hn_field_int(v->body, "first", 0), hn_field_int(v->body, "limit", 3), &v->said,
                                  &v->why);
    hn_jobs_clean(v->jobs, v->why.message, sizeof v->why.message);
    hn_visit_to_office(v, end_tokens);
}

static void begin_tokens(hn_visit *v)
{
    const bool is_well = hn_visit_query(v) &&
                         (v->model = hn_jobs_model(v->jobs, hn_field_text(v->body, "model", NULL), &v->why)) != NULL;
    if (is_well && !v->upload->examples)
        hn_refuse_as(&v->why, HN_REFUSED_INVALID, "file_id", "%s: has no examples", v->upload->id);
    else if (is_well) {
        v->upload->uses++;
        if (hn_visit_to_reader(v, read_tokens))
            return;
        v->upload->uses--;
    }
    hn_visit_refuse(v);
}

static void get(hn_visit *v)
{
    char rest[32];
    if (!find(v, rest))
        hn_visit_refuse(v);
    else if (!*rest)
        reply_with(v, v->upload);
    else if (!strcmp(rest, "content"))
        reply_with_content(v);
    else if (!strcmp(rest, "tokens"))
        begin_tokens(v);
    else {
        hn_refuse_as(&v->why, HN_REFUSED_NO_PATH, NULL, "%s: expected nothing, content or tokens after a file's id", rest);
        hn_visit_refuse(v);
    }
}

static void remove_one(hn_visit *v)
{
    char rest[32];
    hn_json_writer w = hn_json_write_to(&v->said);
    const bool is_there = find(v, rest);
    if (is_there && *rest)
        hn_refuse_as(&v->why, HN_REFUSED_NO_PATH, NULL, "expected nothing after a file's id");
    if (!is_there || *rest) {
        hn_visit_refuse(v);
        return;
    }
    hn_visit_tell_deleted(&w, v->upload->id, "file");
    if (hn_visit_has_said(v) && hn_upload_remove(v->jobs, v->upload, &v->why))
        hn_visit_reply(v, 200, &v->said);
    else
        hn_visit_refuse(v);
}

void hn_api_file_create(hn_server *s, hn_http_call *call) { hn_visit_begin(s, call, create); }

void hn_api_file_list(hn_server *s, hn_http_call *call) { hn_visit_begin(s, call, list); }

void hn_api_file(hn_server *s, hn_http_call *call) { hn_visit_begin(s, call, get); }

void hn_api_file_delete(hn_server *s, hn_http_call *call) { hn_visit_begin(s, call, remove_one); }
