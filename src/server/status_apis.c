/* What there is and how it does: /health, /v1/models, /metrics. What runs how is slots.c's. */
#include "server/served_adapters.h"
#include "server/server_state.h"

#include <stdio.h>
#include <string.h>

/* ---- /health ---- */

void hn_api_health(hn_server *s, hn_http_call *call)
{
    static const char well[] = "{\"status\":\"ok\"}\n", loading[] = "{\"status\":\"loading\"}\n";
    if (s->n_loading)
        hn_http_reply(call, 503, "application/json", loading, sizeof loading - 1);
    else
        hn_http_reply(call, 200, "application/json", well, sizeof well - 1);
}

/* ---- /v1/models ---- */

/* By the name that it is asked by; `root` of another's name. The caller ends it. */
static void begin_model(hn_json_writer *w, const hn_served *m, const char *name, const char *adapter)
{
    char id[256];
    snprintf(id, sizeof id, "%s%s%s", name, adapter ? ":" : "", adapter ? adapter : "");
    hn_json_begin_object(w);
    hn_json_key(w, "id");
    hn_json_add_string(w, id);
    hn_json_key(w, "object");
    hn_json_add_string(w, "model");
    hn_json_key(w, "created");
    hn_json_add_int(w, m->created);
    hn_json_key(w, "owned_by");
    hn_json_add_string(w, "hone");
    if (strcmp(name, m->name) != 0) {
        hn_json_key(w, "root");
        hn_json_add_string(w, m->name);
    }
}

static void add_model(hn_json_writer *w, const hn_served *m, const char *name, const char *adapter)
{
    begin_model(w, m, name, adapter);
    hn_json_end_object(w);
}

void hn_api_models(hn_server *s, hn_http_call *call)
{
    const uint64_t asker = hn_server_asker(s, call);
    char adapter[HN_ADAPTER_NAME];
    hn_str out = hn_str_on(s->heap);
    hn_json_writer w = hn_json_write_to(&out);
    hn_json_begin_object(&w);
    hn_json_key(&w, "object");
    hn_json_add_string(&w, "list");
    hn_json_key(&w, "data");
    hn_json_begin_array(&w);
    for (int32_t i = 0; i < s->shelf->n; i++) {
        hn_served *m = s->shelf->models[i];
        add_model(&w, m, m->name, NULL);
        for (int32_t j = 0; hn_served_adapter_name(m, asker, j, adapter); j++)
            add_model(&w, m, m->name, adapter);
    }
    for (int32_t i = 0; i < s->shelf->n_aliases; i++)
        add_model(&w, s->shelf->aliases[i].of, s->shelf->aliases[i].name, NULL);
    hn_json_end_array(&w);
    hn_json_end_object(&w);
    hn_str_add_char(&out, '\n');
    hn_server_reply(call, 200, "application/json", &out);
}

void hn_api_model(hn_server *s, hn_http_call *call)
{
    const char *name = hn_http_request_of(call)->path + strlen("/v1/models/");
    const uint64_t asker = hn_server_asker(s, call);
    hn_failure why;
    hn_served *m;
    char adapter[HN_ADAPTER_NAME];
    if (!hn_shelf_look(s->shelf, name, asker, &m, adapter, &why)) {
        hn_api_refuse(s, call, &why);
        return;
    }
    hn_str out = hn_str_on(s->heap);
    hn_json_writer w = hn_json_write_to(&out);
    const hn_alias *alias = hn_shelf_alias(s->shelf, name);
    begin_model(&w, m, alias ? alias->name : m->name, *adapter ? adapter : NULL);
    if (*adapter)
        hn_served_adapter_tell(m, adapter, asker, &w);
    hn_json_end_object(&w);
    hn_str_add_char(&out, '\n');
    hn_server_reply(call, 200, "application/json", &out);
}

/* ---- /metrics ---- */

static void begin_metric(hn_str *out, const char *name, const char *kind, const char *help)
{
    hn_str_print(out, "# HELP hone_%s %s\n# TYPE hone_%s %s\n", name, help, name, kind);
}

static void add_model_metrics(hn_str *out, hn_shelf *shelf)
{
    hn_lm_scheduler_counts of[HN_MOST_SERVED];
    hn_served_state state[HN_MOST_SERVED];
    for (int32_t i = 0; i < shelf->n; i++)
        state[i] = hn_served_now(shelf->models[i], &of[i]);
#define ADD(metric, kind, help, value)                                                                           \
    begin_metric(out, #metric, #kind, help);                                                                     \
    for (int32_t i = 0; i < shelf->n; i++)                                                                       \
        hn_str_print(out, "hone_" #metric "{model=\"%s\"} %lld\n", shelf->models[i]->name, (long long)(value));
#define HN_METRIC_OF_SHELF(metric, kind, help)        ADD(metric, kind, help, state[i] == HN_SERVED_READY)
#define HN_METRIC_OF_MODEL(metric, kind, field, help) ADD(metric, kind, help, of[i].field)
#include "server/metrics.def"
#undef ADD
}

static void add_disk_metrics(hn_str *out, hn_lm_disk *disk)
{
    hn_lm_disk_counts of = { 0 };
    if (!disk || hn_lm_disk_count(disk, &of, sizeof of) != HN_OK)
        return;
#define HN_METRIC_OF_DISK(metric, kind, field, help) \
    begin_metric(out, #metric, #kind, help);         \
    hn_str_print(out, "hone_" #metric " %lld\n", (long long)of.field);
#include "server/metrics.def"
}

static void add_own_metrics(hn_str *out, const hn_server *s)
{
    int64_t live, peak;
    hn_engine_memory(s->shelf->engine, &live, &peak, NULL);
#define HN_METRIC_OF_CALLS(metric, kind, help)                                                                   \
    begin_metric(out, #metric, #kind, help);                                                                     \
    for (int i = 0; i < HN_N_STATUSES; i++)                                                                      \
        if (s->by_status[i])                                                                                     \
            hn_str_print(out, "hone_" #metric "{status=\"%d\"} %lld\n", i, (long long)s->by_status[i]);
#define HN_METRIC_OF_HEAP(metric, kind, help) \
    begin_metric(out, #metric, #kind, help);  \
    hn_str_print(out, "hone_" #metric " %lld\n", (long long)live);
#include "server/metrics.def"
}

void hn_api_metrics(hn_server *s, hn_http_call *call)
{
    hn_str out = hn_str_on(s->heap);
    add_own_metrics(&out, s);
    add_model_metrics(&out, s->shelf);
    add_disk_metrics(&out, s->o.disk);
    hn_server_reply(call, 200, "text/plain; version=0.0.4; charset=utf-8", &out);
}
