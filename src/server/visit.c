/* Requests about files and jobs, on the office. */
#include "server/jobs_state.h"
#include "server/openai.h"

#include <stdio.h>
#include <string.h>

static void run(hn_task *task)
{
    hn_visit *v = (hn_visit *)(void *)task;
    v->run(v);
}

void hn_visit_begin(hn_server *s, hn_http_call *call, void (*run_it)(hn_visit *))
{
    hn_failure why;
    hn_jobs *jobs = s->o.jobs;
    if (!jobs) {
        hn_refuse_as(&why, HN_REFUSED_UNSUPPORTED, NULL, "files and jobs are kept where the server was told a folder: --jobs");
        hn_api_refuse(s, call, &why);
        return;
    }
    hn_visit *v = hn_alloc(s->heap, HN_TAG_STATE, sizeof *v);
    if (!v) {
        hn_refuse_by(&why, HN_ERR_MEMORY, NULL);
        hn_api_refuse(s, call, &why);
        return;
    }
    const hn_key *key = s->o.keys ? hn_keys_of(s->o.keys, hn_http_request_of(call)) : NULL;
    v->task.run = run;
    v->said = hn_str_on(s->heap);
    v->server = s;
    v->jobs = jobs;
    v->call = call;
    v->owner = key ? key->name : "";
    v->run = run_it;
    hn_worker_give(&jobs->office, &v->task);
}

bool hn_visit_to_reader(hn_visit *v, void (*run_it)(hn_task *))
{
    if (v->jobs->ends)
        return hn_refuse_as(&v->why, HN_REFUSED_ENDING, NULL, "the server is ending");
    v->task.run = run_it;
    hn_worker_give(&v->jobs->reader, &v->task);
    return true;
}

void hn_visit_to_office(hn_visit *v, void (*run_it)(hn_task *))
{
    v->task.run = run_it;
    hn_worker_give(&v->jobs->office, &v->task);
}

static void end(hn_visit *v)
{
    hn_json_free(v->text);
    hn_str_free(&v->said);
    hn_pairs_free(&v->pairs);
    hn_free(v->jobs->heap, v);
}

void hn_visit_refuse(hn_visit *v)
{
    if (v->call) /* none: it was replied to */
        hn_api_refuse(v->server, v->call, &v->why);
    end(v);
}

void hn_visit_tell_deleted(hn_json_writer *w, const char *id, const char *object)
{
    hn_json_begin_object(w);
    hn_json_key(w, "id");
    hn_json_add_string(w, id);
    hn_json_key(w, "object");
    hn_json_add_string(w, object);
    hn_json_key(w, "deleted");
    hn_json_add_bool(w, true);
    hn_json_end_object(w);
}

bool hn_visit_has_said(hn_visit *v)
{
    hn_str_add_char(&v->said, '\n');
    if (hn_str_status(&v->said) == HN_OK && hn_http_reserve(v->call, v->said.length))
        return true;
    return hn_refuse_as(&v->why, HN_REFUSED_NO_ROOM, NULL, "there is no memory for the reply");
}

void hn_visit_reply(hn_visit *v, int status, hn_str *json)
{
    if (json != &v->said)
        hn_str_add_char(json, '\n');
    if (hn_str_status(json) == HN_OK)
        hn_http_reply(v->call, status, "application/json", json->text, json->length);
    else {
        hn_refuse_by(&v->why, HN_ERR_MEMORY, NULL);
        hn_api_refuse(v->server, v->call, &v->why);
    }
    hn_str_free(json);
    end(v);
}

bool hn_visit_query(hn_visit *v)
{
    if (!hn_server_query(v->server, v->call, &v->text, &v->why))
        return false;
    v->body = hn_json_root(v->text);
    return true;
}

bool hn_visit_body(hn_visit *v, const hn_fields *fields)
{
    const hn_http_request *r = hn_http_request_of(v->call);
    const hn_status status = hn_json_read(v->jobs->heap, "the body", r->body, r->body_bytes, &v->text);
    if (status != HN_OK)
        return hn_refuse_by(&v->why, status, NULL);
    v->body = hn_json_root(v->text);
    return hn_fields_check(fields, v->body, &v->why);
}

bool hn_visit_words(hn_visit *v, const char *prefix, char id[HN_ITEM_ID], char rest[32])
{
    const char *words = hn_http_request_of(v->call)->path + strlen(prefix);
    const size_t n = strcspn(words, "/");
    const char *more = words[n] ? words + n + 1 : "";
    if (n >= HN_ITEM_ID || strlen(more) >= 32 || strchr(more, '/'))
        return hn_refuse_as(&v->why, HN_REFUSED_NO_PATH, NULL, "%.100s: there is no such path", hn_http_request_of(v->call)->path);
    snprintf(id, HN_ITEM_ID, "%.*s", (int)n, words);
    snprintf(rest, 32, "%s", more);
    return true;
}

/* The shelf's models are the same from the beginning to the end; an alias is its model. */
const hn_served *hn_jobs_model(const hn_jobs *jobs, const char *name, hn_failure *why)
{
    const hn_shelf *shelf = jobs->shelf;
    const hn_served *found = name ? hn_shelf_model(shelf, name, strlen(name)) : shelf->n ? shelf->models[0] : NULL;
    if (name && !*name)
        hn_refuse_as(why, HN_REFUSED_INVALID, "model", "model: expected a name, found none");
    else if (!found)
        hn_refuse_as(why, HN_REFUSED_NO_MODEL, "model", "%.100s: there is no such model to train; /v1/models lists them", name ? name : "");
    return found;
}
