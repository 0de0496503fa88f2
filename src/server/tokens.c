/* POST /tokenize, /detokenize and /apply-template: what a model makes of texts, without running it. */
#include "server/apis.h"
#include "server/openai.h"

static bool tokenize(hn_answer *a, hn_str *out, hn_failure *why)
{
    const hn_json *text = hn_field_of(a->body, "content");
    const bool is_special = hn_field_bool(a->body, "parse_special", false), has_own = hn_field_bool(a->body, "add_special", false);
    const hn_lm_encode_options o = { .size = sizeof o, .no_bos = !has_own, .no_eos = !has_own, .special = is_special };
    if (!text)
        return hn_refuse_as(why, HN_REFUSED_MISSING_FIELD, "content", "content: expected a text, found none");
    size_t n = 0;
    hn_status status = hn_lm_encode_by(a->model->lm, hn_json_string(text), hn_json_bytes(text), &o, NULL, 0, &n);
    int32_t *ids = hn_alloc_array(a->heap, HN_TAG_TEXT, n + 1, sizeof *ids);
    if (status == HN_OK)
        status = ids ? hn_lm_encode_by(a->model->lm, hn_json_string(text), hn_json_bytes(text), &o, ids, n + 1, &n) : HN_ERR_MEMORY;
    hn_json_writer w = hn_json_write_to(out);
    hn_json_begin_object(&w);
    hn_json_key(&w, "tokens");
    hn_json_begin_array(&w);
    for (size_t i = 0; i < n && status == HN_OK; i++)
        if (hn_field_bool(a->body, "with_pieces", false)) {
            hn_json_begin_object(&w);
            hn_json_key(&w, "id");
            hn_json_add_int(&w, ids[i]);
            hn_score_add_token(&w, a->model->lm, ids[i]);
            hn_json_end_object(&w);
        } else
            hn_json_add_int(&w, ids[i]);
    hn_json_end_array(&w);
    hn_json_end_object(&w);
    hn_free(a->heap, ids);
    return status == HN_OK || hn_refuse_by(why, status, "content");
}

static bool detokenize(hn_answer *a, hn_str *out, hn_failure *why)
{
    const hn_json *list = hn_field_of(a->body, "tokens");
    hn_prompt ids = { NULL, 0 };
    size_t bytes = 0;
    if (!list)
        return hn_refuse_as(why, HN_REFUSED_MISSING_FIELD, "tokens", "tokens: expected an array, found none");
    bool is_well = hn_answer_take_ids(a, &ids, list, "tokens", why);
    hn_status status = is_well ? hn_lm_decode(a->model->lm, ids.ids, ids.n, 1, NULL, 0, &bytes) : HN_OK;
    char *text = hn_alloc(a->heap, HN_TAG_TEXT, bytes + 1);
    if (status == HN_OK && is_well)
        status = text ? hn_lm_decode(a->model->lm, ids.ids, ids.n, 1, text, bytes + 1, &bytes) : HN_ERR_MEMORY;
    if (is_well && status == HN_OK) {
        const hn_json said = hn_json_of_string(text, bytes);
        hn_json_writer w = hn_json_write_to(out);
        hn_json_begin_object(&w);
        hn_json_key(&w, "content");
        hn_json_add_scalar(&w, &said);
        hn_json_end_object(&w);
    }
    hn_free(a->heap, text);
    hn_free(a->heap, ids.ids);
    return is_well && (status == HN_OK || hn_refuse_by(why, status, "tokens"));
}

static bool apply_template(hn_answer *a, hn_str *out, hn_failure *why)
{
    hn_str text = hn_str_on(a->heap);
    if (!hn_field_of(a->body, "messages"))
        return hn_refuse_as(why, HN_REFUSED_MISSING_FIELD, "messages", "messages: expected an array, found none");
    const bool is_well = hn_render_messages(a, &text, why);
    if (is_well) {
        const hn_json said = hn_json_of_string(text.text, text.length);
        hn_json_writer w = hn_json_write_to(out);
        hn_json_begin_object(&w);
        hn_json_key(&w, "prompt");
        hn_json_add_scalar(&w, &said);
        hn_json_end_object(&w);
    }
    hn_str_end(&text, out);
    return is_well;
}

void hn_api_tokenize(hn_server *server, hn_http_call *call) { hn_api_ask(server, call, &hn_fields_tokenize, &hn_openai_voice, tokenize); }

void hn_api_detokenize(hn_server *server, hn_http_call *call) { hn_api_ask(server, call, &hn_fields_detokenize, &hn_openai_voice, detokenize); }

void hn_api_apply_template(hn_server *server, hn_http_call *call)
{
    hn_api_ask(server, call, &hn_fields_apply_template, &hn_openai_voice, apply_template);
}
