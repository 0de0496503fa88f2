/* What Ollama's clients ask of models: /api/version, /api/tags, /api/ps, /api/show and /api/embed. */
#include "server/embedding.h"
#include "server/ollama.h"
#include "server/server_state.h"

#include <stdio.h>
#include <string.h>

static void reply(hn_http_call *call, hn_str *out)
{
    hn_failure why;
    if (hn_str_status(out) == HN_OK)
        hn_http_reply(call, 200, "application/json", out->text, out->length);
    else {
        hn_refuse_by(&why, HN_ERR_MEMORY, NULL);
        hn_call_refuse(call, hn_ollama_fail, &why);
    }
    hn_str_free(out);
}

void hn_api_ollama_version(hn_server *s, hn_http_call *call)
{
    hn_str out = hn_str_on(s->heap);
    hn_json_writer w = hn_json_write_to(&out);
    hn_json_begin_object(&w);
    hn_json_key(&w, "version");
    hn_json_add_string(&w, hn_version());
    hn_json_end_object(&w);
    hn_str_add(&out, "\n");
    reply(call, &out);
}

/* A model stays as long as there is room: what Ollama's clients show as "forever" is a date that none of them will see. */
#define FOREVER "9999-12-31T23:59:59Z"

static void add_loaded(hn_json_writer *w, const hn_served *m, int64_t bytes)
{
    const char *device = hn_engine_device(m->shelf->engine, 0);
    hn_json_key(w, "expires_at");
    hn_json_add_string(w, FOREVER);
    hn_json_key(w, "size_vram");
    hn_json_add_int(w, strncmp(device, "cpu", 3) != 0 ? bytes : 0);
}

static void add_model(hn_json_writer *w, hn_served *m, const char *by, const char *adapter, bool is_loaded)
{
    char name[256], weights[65];
    const int64_t bytes = hn_served_about(m, weights);
    snprintf(name, sizeof name, "%s%s%s", by, *adapter ? ":" : "", adapter);
    hn_json_begin_object(w);
    hn_json_key(w, "name");
    hn_json_add_string(w, name);
    hn_json_key(w, "model");
    hn_json_add_string(w, name);
    hn_ollama_time(w, "modified_at", m->created * 1000000000);
    hn_json_key(w, "size");
    hn_json_add_int(w, bytes);
    hn_json_key(w, "digest");
    hn_json_add_string(w, weights);
    if (is_loaded)
        add_loaded(w, m, bytes);
    hn_json_key(w, "details");
    hn_json_begin_object(w);
    hn_json_key(w, "parent_model");
    hn_json_add_string(w, *adapter ? m->name : "");
    hn_json_end_object(w);
    hn_json_end_object(w);
}

static void list(hn_server *s, hn_http_call *call, bool all)
{
    char adapter[HN_ADAPTER_NAME];
    hn_str out = hn_str_on(s->heap);
    hn_json_writer w = hn_json_write_to(&out);
    hn_json_begin_object(&w);
    hn_json_key(&w, "models");
    hn_json_begin_array(&w);
    for (int32_t i = 0; i < s->shelf->n; i++) {
        hn_served *m = s->shelf->models[i];
        if (!all && hn_served_now(m, NULL) != HN_SERVED_READY)
            continue;
        add_model(&w, m, m->name, "", !all);
        for (int32_t j = 0; hn_served_adapter_name(m, hn_server_asker(s, call), j, adapter); j++)
            add_model(&w, m, m->name, adapter, !all);
    }
    for (int32_t i = 0; i < s->shelf->n_aliases; i++) {
        const hn_alias *alias = &s->shelf->aliases[i];
        if (all || hn_served_now(alias->of, NULL) == HN_SERVED_READY)
            add_model(&w, alias->of, alias->name, "", !all);
    }
    hn_json_end_array(&w);
    hn_json_end_object(&w);
    hn_str_add(&out, "\n");
    reply(call, &out);
}

void hn_api_ollama_tags(hn_server *s, hn_http_call *call) { list(s, call, true); }

void hn_api_ollama_ps(hn_server *s, hn_http_call *call) { list(s, call, false); }

/* ---- /api/show ---- */

static const hn_voice voice = { .fail = hn_ollama_fail };

/* A text of the library's: a value of the model by its key; "" if it has none. */
static void add_meta(hn_json_writer *w, const hn_answer *a, const char *key, const char *as)
{
    size_t bytes = 0;
    hn_status status = hn_lm_meta(a->model->lm, key, NULL, 0, &bytes);
    char *text = status == HN_OK ? hn_alloc(a->heap, HN_TAG_TEXT, bytes + 1) : NULL;
    if (text)
        status = hn_lm_meta(a->model->lm, key, text, bytes + 1, &bytes);
    else if (status == HN_OK)
        status = HN_ERR_MEMORY;
    if (status == HN_ERR_MEMORY)
        w->to->status = status;
    else if (status == HN_OK) {
        hn_json_key(w, as);
        hn_json_add_string(w, text);
    }
    hn_free(a->heap, text);
}

static bool show(hn_answer *a, hn_str *out, hn_failure *why)
{
    const hn_lm *lm = a->model->lm;
    (void)why;
    hn_json_writer w = hn_json_write_to(out);
    hn_json_begin_object(&w);
    hn_ollama_time(&w, "modified_at", a->model->created * 1000000000);
    add_meta(&w, a, "tokenizer.chat_template", "template");
    hn_json_key(&w, "details");
    hn_json_begin_object(&w);
    hn_json_key(&w, "family");
    hn_json_add_string(&w, hn_lm_architecture(lm));
    hn_json_end_object(&w);
    hn_json_key(&w, "model_info");
    hn_json_begin_object(&w);
    hn_json_key(&w, "general.architecture");
    hn_json_add_string(&w, hn_lm_architecture(lm));
    hn_json_key(&w, "general.name");
    hn_json_add_string(&w, hn_lm_name(lm));
    hn_json_key(&w, "context_length");
    hn_json_add_int(&w, hn_lm_context(lm));
    hn_json_key(&w, "vocabulary");
    hn_json_add_int(&w, hn_lm_vocabulary(lm));
    hn_json_end_object(&w);
    hn_json_key(&w, "capabilities");
    hn_json_begin_array(&w);
    hn_json_add_string(&w, hn_lm_embeds(lm) ? "embedding" : "completion");
    hn_json_end_array(&w);
    hn_json_end_object(&w);
    hn_str_add(out, "\n");
    return true;
}

void hn_api_ollama_show(hn_server *s, hn_http_call *call) { hn_api_ask(s, call, &hn_fields_ollama_show, &voice, show); }

/* ---- /api/embed ---- */

static bool embed(hn_answer *a, hn_str *out, hn_failure *why)
{
    hn_json_writer w = hn_json_write_to(out);
    const hn_json *options = hn_field_of(a->body, "options");
    int64_t n_tokens = 0;
    bool keeps_nothing;
    if (!hn_ollama_take_keep(a->body, &keeps_nothing, why) ||
        (options && !hn_fields_check_within(&hn_fields_ollama_options, "options.", options, why)))
        return false;
    a->context = hn_field_int(options, "num_ctx", 0);
    hn_json_begin_object(&w);
    hn_json_key(&w, "model");
    hn_json_add_string(&w, hn_field_text(a->body, "model", a->model->name));
    hn_json_key(&w, "embeddings");
    hn_json_begin_array(&w);
    if (!hn_embed_input(a, false, hn_embed_as_numbers, &w, &n_tokens, why))
        return false;
    hn_json_end_array(&w);
    hn_json_key(&w, "prompt_eval_count");
    hn_json_add_int(&w, n_tokens);
    hn_json_end_object(&w);
    hn_str_add(out, "\n");
    return true;
}

void hn_api_ollama_embed(hn_server *s, hn_http_call *call) { hn_api_ask_long(s, call, &hn_fields_ollama_embed, &voice, embed); }
