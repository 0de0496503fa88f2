/* Base and result answer the same prompts one after the other, each in a session of its own. */
#include "train/samples.h"

#include "base/json.h"
#include "base/out_file.h"
#include "train/prompts.h"

#include <stdio.h>
#include <string.h>

typedef struct sampling {
    hn_heap *heap;
    const hn_samples_options *o;
    hn_prompts prompts;
    hn_str *answers[2]; /* of the base, of the result; by prompt */
} sampling;

static hn_status answer_all(sampling *s, const hn_model *model, const hn_adapters *adapters, hn_str *out)
{
    hn_session *session;
    hn_session_options o = hn_prompts_session(&s->prompts);
    o.adapters = adapters;
    HN_TRY(hn_session_new(&session, s->heap, model, s->o->run, &o));
    hn_status status = HN_OK;
    for (int i = 0; i < s->prompts.n && status == HN_OK; i++)
        status = hn_prompt_answer(&s->prompts, i, session, NULL, &out[i]);
    hn_session_free(session);
    return status;
}

static hn_status answer_after(sampling *s)
{
    hn_adapters adapters = { 0 };
    hn_adapter *adapter;
    if (s->o->is_model) {
        hn_model *model;
        HN_TRY(hn_model_open(s->heap, s->o->result, NULL, &model));
        const hn_status status = answer_all(s, model, NULL, s->answers[1]);
        hn_model_close(model);
        return status;
    }
    const hn_adapter_use use = { .model = s->o->model, .run = s->o->run, .tokenizer = s->o->tokenizer,
                                 .template = s->o->template,
                                 .renders_nothing = !s->o->template[0] };
    HN_TRY(hn_adapter_open(&adapter, s->heap, s->o->result, &use, NULL));
    hn_status status = hn_adapters_add(&adapters, adapter);
    if (status == HN_OK)
        status = answer_all(s, s->o->model, &adapters, s->answers[1]);
    hn_adapters_close(&adapters);
    return status;
}

static hn_status write_text(const sampling *s, const hn_str *text)
{
    char path[4096];
    hn_out_file file;
    HN_TRY(hn_str_status(text));
    snprintf(path, sizeof path, "%s/samples.json", s->o->dir);
    HN_TRY(hn_out_file_open(&file, hn_sink_own(path)));
    const hn_status status = hn_out_file_write(&file, text->text, text->length);
    if (status == HN_OK)
        return hn_out_file_commit(&file);
    hn_out_file_abandon(&file);
    return status;
}

static hn_status write_file(const sampling *s)
{
    hn_str text = hn_str_on(s->heap);
    hn_json_writer json = hn_json_write_to(&text);
    hn_status status = HN_OK;
    hn_json_begin_object(&json);
    hn_json_key(&json, "held");
    hn_json_add_bool(&json, s->o->dataset->n_held > 0);
    hn_json_key(&json, "samples");
    hn_json_begin_array(&json);
    for (int i = 0; i < s->prompts.n && status == HN_OK; i++) {
        hn_json_begin_object(&json);
        status = hn_prompt_tell(&s->prompts, i, &json);
        hn_json_key(&json, "before");
        hn_json_add_string(&json, s->answers[0][i].text);
        hn_json_key(&json, "after");
        hn_json_add_string(&json, s->answers[1][i].text);
        hn_json_end_object(&json);
    }
    hn_json_end_array(&json);
    hn_json_end_object(&json);
    hn_str_add(&text, "\n");
    if (status == HN_OK)
        status = write_text(s, &text);
    hn_str_free(&text);
    return status;
}

/* In place of the samples, why there are none: the present message. */
static hn_status write_reason(const sampling *s)
{
    hn_str text = hn_str_on(s->heap);
    hn_json_writer json = hn_json_write_to(&text);
    hn_json_begin_object(&json);
    hn_json_key(&json, "left_out");
    hn_json_add_string(&json, hn_error_message());
    hn_json_end_object(&json);
    hn_str_add(&text, "\n");
    const hn_status status = write_text(s, &text);
    hn_str_free(&text);
    return status;
}

static hn_status sample(sampling *s)
{
    for (int k = 0; k < 2; k++) {
        s->answers[k] = hn_alloc_array(s->heap, HN_TAG_TEXT, (size_t)s->o->n, sizeof **s->answers);
        if (!s->answers[k])
            return HN_ERR_MEMORY;
        for (int i = 0; i < s->o->n; i++)
            s->answers[k][i] = hn_str_on(s->heap);
    }
    HN_TRY(hn_prompts_take(&s->prompts, s->heap, s->o->model, s->o->dataset, s->o->n));
    if (!s->prompts.n)
        return HN_OK; /* texts have no prompts */
    HN_TRY(answer_all(s, s->o->model, NULL, s->answers[0]));
    HN_TRY(answer_after(s));
    return write_file(s);
}

static void free_all(sampling *s)
{
    hn_prompts_free(&s->prompts);
    for (int k = 0; k < 2; k++) {
        for (int i = 0; s->answers[k] && i < s->o->n; i++)
            hn_str_free(&s->answers[k][i]);
        hn_free(s->heap, s->answers[k]);
    }
}

hn_status hn_samples_write(hn_heap *heap, const hn_samples_options *options, bool *left_out)
{
    sampling s = { .heap = heap, .o = options };
    *left_out = false;
    if (options->n < 1 || hn_model_embeds_only(options->model))
        return HN_OK;
    const hn_status status = sample(&s);
    free_all(&s);
    *left_out = status == HN_ERR_MEMORY;
    return *left_out ? write_reason(&s) : status;
}
