/* Which function answers a call, and what all of them do first. */
#include "server/anthropic.h"
#include "server/ollama.h"
#include "server/openai.h"
#include "server/pairs.h"
#include "server/server_state.h"

#include <stdio.h>
#include <string.h>

typedef enum right { RIGHT_any, RIGHT_key, RIGHT_admin } right;

typedef struct route {
    const char *method, *path;
    void (*answer)(hn_server *server, hn_http_call *call);
    right right;
    hn_fail_form *fail;
    const hn_fields *query;
} route;

static const hn_fields hn_fields_none = { 0 }, hn_fields_passed = { 0 };

static const route routes[] = {
#define HN_ROUTE(method, path, name, right, form, query) { method, path, hn_api_##name, RIGHT_##right, hn_##form##_fail, &hn_fields_##query },
#include "server/routes.def"
#undef HN_ROUTE
};

enum { N_ROUTES = sizeof routes / sizeof *routes };

static bool is_path(const char *pattern, const char *path)
{
    const char *star = strchr(pattern, '*');
    if (!star)
        return !strcmp(pattern, path);
    const size_t before = (size_t)(star - pattern), after = strlen(star + 1), n = strlen(path);
    return n > before + after && !strncmp(pattern, path, before) && !strcmp(path + n - after, star + 1);
}

/* Who asks an API for a path that there is not here reads its form too. */
static hn_fail_form *form_of_stranger(const char *path)
{
    return !strncmp(path, "/api/", 5) ? hn_ollama_fail : !strncmp(path, "/v1/messages/", 13) ? hn_anthropic_fail : hn_openai_fail;
}

hn_fail_form *hn_api_form(const char *path)
{
    int i = 0;
    while (i < N_ROUTES && !(path && is_path(routes[i].path, path)))
        i++;
    return i < N_ROUTES ? routes[i].fail : path ? form_of_stranger(path) : hn_openai_fail;
}

void hn_api_refuse(hn_server *s, hn_http_call *call, const hn_failure *why)
{
    (void)s;
    hn_call_refuse(call, hn_api_form(hn_http_request_of(call)->path), why);
}

/* 405 names what the path takes. */
static bool refuse_path(hn_http_call *call, const hn_http_request *r, hn_failure *why)
{
    char takes[64] = "";
    for (int i = 0; i < N_ROUTES; i++)
        if (is_path(routes[i].path, r->path) && !strstr(takes, routes[i].method)) {
            strncat(takes, *takes ? ", " : "", sizeof takes - strlen(takes) - 1);
            strncat(takes, strcmp(routes[i].method, "GET") != 0 ? routes[i].method : "GET, HEAD", sizeof takes - strlen(takes) - 1);
        }
    if (!*takes)
        return hn_refuse_as(why, HN_REFUSED_NO_PATH, NULL, "%.200s: there is no such path", r->path);
    hn_http_add_field(call, "Allow", takes);
    return hn_refuse_as(why, HN_REFUSED_NO_METHOD, NULL, "%.200s: expected %s, found %.20s", r->path, takes, r->method);
}

/* HEAD is GET whose body HTTP leaves out. */
static const route *find(const hn_http_request *r)
{
    const char *method = strcmp(r->method, "HEAD") != 0 ? r->method : "GET";
    for (int i = 0; i < N_ROUTES; i++)
        if (!strcmp(routes[i].method, method) && is_path(routes[i].path, r->path))
            return &routes[i];
    return NULL;
}

static bool has_right(const hn_server *s, hn_http_call *call, right wanted, hn_failure *why)
{
    const hn_key *key = s->o.keys ? hn_keys_of(s->o.keys, hn_http_request_of(call)) : NULL;
    if (key)
        hn_http_set_tag(call, key->name);
    if (!s->o.keys || wanted == RIGHT_any)
        return true;
    if (!key)
        return hn_refuse_as(why, HN_REFUSED_NO_KEY, NULL, "expected a key of this server: Authorization: Bearer, or x-api-key");
    return wanted != RIGHT_admin || key->is_admin ||
           hn_refuse_as(why, HN_REFUSED_NO_RIGHT, NULL, "%s: takes a key with the admin right", hn_http_request_of(call)->path);
}

uint64_t hn_server_asker(const hn_server *s, const hn_http_call *call)
{
    const hn_key *key = s->o.keys ? hn_keys_of(s->o.keys, hn_http_request_of(call)) : NULL;
    return key ? key->owner : 0;
}

bool hn_server_admits(hn_server *s, hn_http_call *call, hn_failure *why)
{
    const hn_http_request *r = hn_http_request_of(call);
    const route *found = find(r);
    hn_refusal no;
    if (!has_right(s, call, found ? found->right : RIGHT_key, why)) /* who has no key learns of no path */
        return false;
    if (!found)
        return refuse_path(call, r, why);
    if (hn_guard_admits(&s->o.guard, r, &no))
        return true;
    return hn_refuse_as(why, no.status == 415 ? HN_REFUSED_BAD_TYPE : no.status == 421 ? HN_REFUSED_WRONG_HOST : HN_REFUSED_NO_RIGHT,
                        NULL, "%s", no.message);
}

/* What is got or deleted is said by its path: a body has no field of it, and {} is as none. */
static bool has_no_body(hn_server *s, hn_http_call *call, const route *found, hn_failure *why)
{
    char api[160];
    const hn_http_request *r = hn_http_request_of(call);
    const hn_fields fields = { .api = api };
    hn_json_text *text = NULL;
    if (!r->body_bytes || !strcmp(found->method, "POST"))
        return true;
    snprintf(api, sizeof api, "the body of %s %s", found->method, found->path);
    const hn_status status = hn_json_read(s->heap, "the body", r->body, r->body_bytes, &text);
    const bool is_well = status == HN_OK ? hn_fields_check(&fields, hn_json_root(text), why) : hn_refuse_by(why, status, NULL);
    hn_json_free(text);
    return is_well;
}

/* Query and body are looked at here, whether who answers reads one or not; a body that is posted by who reads it. */
void hn_server_route(hn_server *s, hn_http_call *call)
{
    const route *found = find(hn_http_request_of(call)); /* there is one: it was admitted */
    hn_json_text *query = NULL;
    hn_failure why;
    if (!has_no_body(s, call, found, &why) ||
        (*hn_http_request_of(call)->query && found->query != &hn_fields_passed && !hn_server_query(s, call, &query, &why)))
        hn_api_refuse(s, call, &why);
    else
        found->answer(s, call);
    hn_json_free(query);
}

/* ---- requests to a model ---- */

/* `name` is the old one of `model` where a table has it. */
static bool model_of(const hn_json *body, const char **name, hn_failure *why)
{
    const char *now = hn_field_text(body, "model", NULL), *old = hn_field_text(body, "name", NULL);
    if (now && old && (!*now || !*old)) /* a client that fills both in with the one and nothing */
        now = *now ? now : old, old = NULL;
    *name = now ? now : old;
    return !now || !old || !strcmp(now, old) ||
           hn_refuse_as(why, HN_REFUSED_INVALID, "name", "name: the old name of model, which is %.100s: found %.100s", now, old);
}

static bool read_body(hn_server *s, hn_answer *a, const hn_fields *fields)
{
    const hn_http_request *r = hn_http_request_of(a->call);
    const hn_status status = hn_json_read(a->heap, "the body", r->body, r->body_bytes, &a->text);
    if (status != HN_OK)
        return hn_refuse_by(&a->failure, status, NULL);
    a->server = s;
    a->asker = hn_server_asker(s, a->call);
    a->owner = s->o.shares_beginnings ? 0 : a->asker;
    a->body = hn_json_root(a->text);
    const char *name = NULL;
    return hn_fields_check(fields, a->body, &a->failure) && model_of(a->body, &name, &a->failure) &&
           hn_shelf_find(s->shelf, name, a->asker, &a->model, &a->adapter, &a->failure);
}

static void run_loaded(hn_task *task)
{
    hn_answer *a = (hn_answer *)(void *)task;
    hn_str out = hn_str_on(a->heap);
    if (a->run(a, &out, &a->failure) && (hn_str_status(&out) == HN_OK || hn_refuse_by(&a->failure, HN_ERR_MEMORY, NULL)))
        hn_answer_reply(a, &out);
    else
        hn_answer_fail(a);
    hn_str_free(&out);
}

static void run_ask(hn_task *task)
{
    hn_answer *a = (hn_answer *)(void *)task;
    if (!a->leaves && !hn_served_load(a->model, &a->failure)) {
        hn_answer_fail(a);
    } else if (a->is_long) {
        task->run = run_loaded;
        hn_worker_give(&a->model->smith, task);
    } else {
        run_loaded(task);
    }
}

static void ask_clerk(hn_answer *a)
{
    a->task.run = run_ask;
    hn_worker_give(&a->model->clerk, &a->task);
}

void hn_api_answer(hn_server *s, hn_http_call *call, const hn_voice *voice, const hn_fields *fields,
                   bool (*take)(hn_answer *, hn_failure *))
{
    hn_answer *a = hn_answer_new(s->heap, call, voice);
    if (!a)
        return;
    if (!read_body(s, a, fields) || !take(a, &a->failure))
        hn_answer_fail(a);
    else if (a->run)
        ask_clerk(a);
    else
        hn_answer_begin(a);
}

static void ask(hn_server *s, hn_http_call *call, const hn_fields *fields, const hn_voice *voice,
                bool (*run)(hn_answer *, hn_str *, hn_failure *), bool is_long)
{
    hn_answer *a = hn_answer_new(s->heap, call, voice);
    if (!a)
        return;
    a->run = run;
    a->is_long = is_long;
    if (read_body(s, a, fields))
        ask_clerk(a);
    else
        hn_answer_fail(a);
}

void hn_api_ask(hn_server *s, hn_http_call *call, const hn_fields *fields, const hn_voice *voice,
                bool (*run)(hn_answer *, hn_str *, hn_failure *))
{
    ask(s, call, fields, voice, run, false);
}

void hn_api_ask_long(hn_server *s, hn_http_call *call, const hn_fields *fields, const hn_voice *voice,
                     bool (*run)(hn_answer *, hn_str *, hn_failure *))
{
    ask(s, call, fields, voice, run, true);
}

/* ---- what every path needs ---- */

bool hn_server_query(hn_server *s, hn_http_call *call, hn_json_text **out, hn_failure *why)
{
    char api[160];
    hn_pairs pairs;
    const route *found = find(hn_http_request_of(call));
    hn_fields fields = *found->query;
    if (!fields.api) {
        snprintf(api, sizeof api, "the query of %s %s", found->method, found->path);
        fields.api = api;
    }
    *out = NULL;
    const bool is_read = hn_pairs_of_query(&pairs, s->heap, hn_http_request_of(call)->query, why) &&
                         hn_pairs_read(&pairs, &fields, NULL, out, why);
    hn_pairs_free(&pairs);
    return is_read;
}

void hn_server_reply(hn_http_call *call, int status, const char *type, hn_str *out)
{
    hn_failure why;
    if (hn_str_status(out) == HN_OK)
        hn_http_reply(call, status, type, out->text, out->length);
    else {
        hn_refuse_by(&why, HN_ERR_MEMORY, NULL);
        hn_call_refuse(call, hn_api_form(NULL), &why);
    }
    hn_str_free(out);
}
