/* Prompts end where supervision begins, and answers are the likeliest tokens: the same before and after, so a
 * difference is the training's. Base and result answer one after the other, each in a session of its own. */
#include "train/samples.h"

#include "base/json.h"
#include "base/out_file.h"
#include "infer/session.h"

#include <stdio.h>
#include <string.h>

/* A prompt, and what should come after it. */
typedef struct prompt {
    int32_t *ids;
    int64_t n, n_all;
} prompt;

typedef struct sampling {
    hn_heap *heap;
    const hn_samples_options *o;
    const hn_tokenizer *tok;
    prompt *prompts;
    int n;
    int64_t longest, context; /* of the prompts; of the model */
    hn_str *answers[2]; /* of the base, of the result; by prompt */
} sampling;

/* The tokens before the first supervised one, if they fit. */
static hn_status take_prompt(sampling *s, const hn_sample *sample)
{
    size_t n = 0;
    while (n < sample->n && !(sample->weights[n] > 0))
        n++;
    if (!n || n == sample->n || n > HN_SAMPLES_PROMPT || (int64_t)n >= s->context)
        return HN_OK;
    prompt *p = &s->prompts[s->n];
    p->ids = hn_alloc_array(s->heap, HN_TAG_TEXT, sample->n + (size_t)s->o->most_tokens, sizeof *p->ids);
    if (!p->ids)
        return HN_ERR_MEMORY;
    memcpy(p->ids, sample->ids, sample->n * sizeof *p->ids);
    p->n = (int64_t)n;
    p->n_all = (int64_t)sample->n;
    s->longest = p->n > s->longest ? p->n : s->longest;
    s->n++;
    return HN_OK;
}

static hn_status take_prompts(sampling *s)
{
    const hn_dataset *d = s->o->dataset;
    hn_example example = hn_example_on(s->heap);
    hn_status status = HN_OK;
    const hn_fate wanted = d->n_held ? HN_FATE_HELD : HN_FATE_TRAINED;
    for (uint64_t i = 0; i < d->n && s->n < s->o->n && status == HN_OK; i++) {
        if (d->fates[i] != wanted)
            continue;
        status = hn_dataset_read(d, i, &example);
        if (status == HN_OK)
            status = take_prompt(s, &example.part[0]);
    }
    hn_example_free(&example);
    return status;
}

static int32_t likeliest(const float *logits, int64_t n)
{
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++)
        if (logits[i] > logits[best])
            best = i;
    return (int32_t)best;
}

/* Models are padded: rows that no token has are shown by number. */
static hn_status decode(const hn_tokenizer *tok, const int32_t *ids, int64_t n, hn_str *out)
{
    for (int64_t i = 0, end; i < n; i = end) {
        for (end = i; end < n && ids[end] < hn_tokenizer_size(tok);)
            end++;
        if (end > i)
            HN_TRY(hn_tokenizer_decode(tok, ids + i, (size_t)(end - i), false, out));
        if (end < n)
            hn_str_print(out, "[%d]", ids[end++]);
    }
    return hn_str_status(out);
}

static hn_status answer(const sampling *s, hn_session *session, int64_t vocab, const prompt *p,
                        hn_str *out)
{
    int32_t *ids = hn_alloc_array(s->heap, HN_TAG_TEXT, (size_t)(p->n + s->o->most_tokens), sizeof *ids);
    if (!ids)
        return HN_ERR_MEMORY;
    memcpy(ids, p->ids, (size_t)p->n * sizeof *ids);
    int64_t n = p->n;
    hn_status status = HN_OK;
    for (int i = 0; i < s->o->most_tokens && n <= hn_session_context(session) && status == HN_OK; i++) {
        status = hn_session_sync(session, ids, n, NULL);
        if (status != HN_OK)
            break;
        const int32_t next = likeliest(hn_session_logits(session), vocab);
        if (hn_tokenizer_ends(s->tok, next))
            break;
        ids[n++] = next;
    }
    if (status == HN_OK)
        status = decode(s->tok, ids + p->n, n - p->n, out);
    hn_free(s->heap, ids);
    return status;
}

static hn_status answer_all(sampling *s, const hn_model *model, const hn_adapters *adapters,
                            hn_str *out)
{
    hn_session *session;
    int64_t n_ctx = s->longest + s->o->most_tokens;
    n_ctx = n_ctx < s->context ? n_ctx : s->context;
    const hn_session_options o = { .n_ctx = n_ctx, .max_batch = n_ctx < HN_SAMPLES_BATCH ? n_ctx : HN_SAMPLES_BATCH,
                                   .adapters = adapters };
    HN_TRY(hn_session_new(&session, s->heap, model, s->o->run, &o));
    hn_status status = HN_OK;
    for (int i = 0; i < s->n && status == HN_OK; i++)
        status = answer(s, session, hn_model_hparams(model)->n_vocab, &s->prompts[i], &out[i]);
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

static hn_status add_ids(const sampling *s, hn_json_writer *json, const char *key,
                         const int32_t *ids, int64_t n)
{
    hn_str text = hn_str_on(s->heap);
    const hn_status status = decode(s->tok, ids, n, &text);
    hn_json_key(json, key);
    hn_json_add_string(json, text.text);
    hn_str_free(&text);
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
    for (int i = 0; i < s->n && status == HN_OK; i++) {
        const prompt *p = &s->prompts[i];
        hn_json_begin_object(&json);
        status = add_ids(s, &json, "prompt", p->ids, p->n);
        if (status == HN_OK)
            status = add_ids(s, &json, "expected", p->ids + p->n, p->n_all - p->n);
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
    s->prompts = hn_alloc_array(s->heap, HN_TAG_TEXT, (size_t)s->o->n, sizeof *s->prompts);
    for (int k = 0; k < 2; k++)
        s->answers[k] = hn_alloc_array(s->heap, HN_TAG_TEXT, (size_t)s->o->n, sizeof **s->answers);
    if (!s->prompts || !s->answers[0] || !s->answers[1])
        return HN_ERR_MEMORY;
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < s->o->n; i++)
            s->answers[k][i] = hn_str_on(s->heap);
    HN_TRY(take_prompts(s));
    if (!s->n)
        return HN_OK; /* texts have no prompts */
    HN_TRY(answer_all(s, s->o->model, NULL, s->answers[0]));
    HN_TRY(answer_after(s));
    return write_file(s);
}

static void free_all(sampling *s)
{
    for (int i = 0; i < s->n; i++)
        hn_free(s->heap, s->prompts[i].ids);
    for (int k = 0; k < 2; k++) {
        for (int i = 0; s->answers[k] && i < s->o->n; i++)
            if (s->answers[k][i].heap)
                hn_str_free(&s->answers[k][i]);
        hn_free(s->heap, s->answers[k]);
    }
    hn_free(s->heap, s->prompts);
}

hn_status hn_samples_write(hn_heap *heap, const hn_samples_options *options, bool *left_out)
{
    const int64_t context = hn_hparams_longest(hn_model_hparams(options->model));
    sampling s = { .heap = heap, .o = options, .tok = options->dataset->rule.tok,
                   .context = context > 0 ? context : INT64_MAX };
    *left_out = false;
    if (options->n < 1 || hn_model_arch(options->model)->embeds_only)
        return HN_OK;
    const hn_status status = sample(&s);
    free_all(&s);
    *left_out = status == HN_ERR_MEMORY;
    return *left_out ? write_reason(&s) : status;
}
