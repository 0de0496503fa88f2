/* GET /props: the version, which models are loaded how, and of one of them what llama.cpp's clients look for: its context, slots,
 * template and what sampling is by default. */
#include "server/openai.h"
#include "server/server_state.h"

#include <stdio.h>
#include <string.h>

static void add_model(hn_json_writer *w, hn_served *m, uint64_t asker)
{
    char adapter[HN_ADAPTER_NAME], weights[65];
    static const char *const states[] = { "away", "loading", "ready" };
    hn_json_begin_object(w);
    hn_json_put_text(w, "name", m->name);
    hn_json_put_text(w, "state", states[hn_served_now(m, NULL)]);
    hn_json_put_text(w, "numerics", hn_lm_numerics_name(m->o.model.numerics));
    hn_json_put_text(w, "cache", m->o.batch.cache ? m->o.batch.cache : "f32");
    hn_json_put_int(w, "bytes", hn_served_about(m, weights));
    hn_json_put_text(w, "weights", weights);
    hn_json_key(w, "adapters");
    hn_json_begin_array(w);
    for (int32_t i = 0; hn_served_adapter_name(m, asker, i, adapter); i++)
        hn_json_add_string(w, adapter);
    hn_json_end_array(w);
    hn_json_end_object(w);
}

/* ---- of one model ---- */

/* "" where there is no template; without memory for it the whole reply is none. */
static void add_template(hn_json_writer *w, hn_heap *heap, const hn_lm *lm, const char *key, const char *what)
{
    size_t bytes = 0;
    char *text = NULL;
    if (lm && hn_lm_chat_template(lm, what, NULL, 0, &bytes) == HN_OK) {
        text = hn_alloc(heap, HN_TAG_TEXT, bytes + 1);
        if (!text || hn_lm_chat_template(lm, what, text, bytes + 1, &bytes) != HN_OK)
            w->to->status = HN_ERR_MEMORY;
    }
    hn_json_put_text(w, key, text ? text : "");
    hn_free(heap, text);
}

/* What a request of /v1/chat/completions that says nothing is drawn by. */
static void add_defaults(hn_json_writer *w, const hn_served *m)
{
    const hn_lm_sampling s = hn_openai_sampling(NULL);
    hn_json_key(w, "default_generation_settings");
    hn_json_begin_object(w);
    hn_json_key(w, "n_ctx");
    m->batch ? hn_json_add_int(w, hn_lm_batch_context(m->batch)) : hn_json_add_null(w);
    hn_json_put_bool(w, "speculative", m->o.draft || m->o.scheduler.draft);
    hn_json_key(w, "params");
    hn_json_begin_object(w);
    hn_json_put_int(w, "n_predict", -1); /* to the context's end */
    hn_server_add_sampling(w, &s);
    hn_json_end_object(w);
    hn_json_end_object(w);
}

/* What its library has is read by the lock: nobody puts it away meanwhile. */
static void add_about(hn_json_writer *w, hn_heap *heap, hn_served *m)
{
    const char *name = m->o.path, *slash = strrchr(name, '/');
    hn_os_mutex_lock(&m->shelf->lock);
    const hn_lm *lm = m->state == HN_SERVED_READY ? m->lm : NULL;
    if (lm)
        add_defaults(w, m);
    else
        hn_json_put_text(w, "default_generation_settings", NULL);
    hn_json_put_int(w, "total_slots", m->n_slots);
    hn_json_put_text(w, "model_alias", m->name);
    hn_json_put_text(w, "model_path", slash && slash[1] ? slash + 1 : name);
    hn_json_key(w, "modalities");
    hn_json_begin_object(w);
    hn_json_put_bool(w, "vision", false);
    hn_json_put_bool(w, "audio", false);
    hn_json_end_object(w);
    add_template(w, heap, lm, "chat_template", "text");
    add_template(w, heap, lm, "chat_template_digest", "digest");
    add_template(w, heap, lm, "bos_token", "bos_token");
    add_template(w, heap, lm, "eos_token", "eos_token");
    hn_os_mutex_unlock(&m->shelf->lock);
    hn_json_put_bool(w, "endpoint_slots", true);
    hn_json_put_bool(w, "endpoint_props", false); /* to be written to */
    hn_json_put_bool(w, "endpoint_metrics", true);
    hn_json_put_bool(w, "is_sleeping", !lm);
}

static void add_all(hn_json_writer *w, hn_server *s, hn_served *asked, uint64_t asker)
{
    char build[64];
    snprintf(build, sizeof build, "hone %s", hn_version());
    hn_json_begin_object(w);
    hn_json_put_text(w, "version", hn_version());
    hn_json_key(w, "models");
    hn_json_begin_array(w);
    for (int32_t i = 0; i < s->shelf->n; i++)
        add_model(w, s->shelf->models[i], asker);
    hn_json_end_array(w);
    hn_json_put_text(w, "build_info", build);
    add_about(w, s->heap, asked);
    hn_json_end_object(w);
}

void hn_api_props(hn_server *s, hn_http_call *call)
{
    const uint64_t asker = hn_server_asker(s, call);
    char adapter[HN_ADAPTER_NAME];
    hn_failure why;
    hn_json_text *query;
    hn_served *m;
    const bool is_well = hn_server_query(s, call, &query, &why) &&
                         hn_shelf_look(s->shelf, hn_field_text(hn_json_root(query), "model", NULL), asker, &m, adapter, &why);
    hn_json_free(query);
    if (!is_well) {
        hn_api_refuse(s, call, &why);
        return;
    }
    hn_str out = hn_str_on(s->heap);
    hn_json_writer w = hn_json_write_to(&out);
    add_all(&w, s, m, asker);
    hn_str_add_char(&out, '\n');
    hn_server_reply(call, 200, "application/json", &out);
}
