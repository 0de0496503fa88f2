/* The prompts of a run, and answers to them by whatever session is given: base, result, or what is being trained. */
#include "train/prompts.h"

#include <string.h>

/* The tokens before the first supervised one, if they fit. */
static hn_status take(hn_prompts *s, const hn_sample *sample)
{
    size_t n = 0;
    while (n < sample->n && !(sample->weights[n] > 0))
        n++;
    if (!n || n == sample->n || n > HN_PROMPT_TOKENS || (int64_t)n >= s->context)
        return HN_OK;
    hn_prompt *p = &s->at[s->n];
    p->ids = hn_alloc_array(s->heap, HN_TAG_TEXT, sample->n, sizeof *p->ids);
    if (!p->ids)
        return HN_ERR_MEMORY;
    memcpy(p->ids, sample->ids, sample->n * sizeof *p->ids);
    p->n = (int64_t)n;
    p->n_all = (int64_t)sample->n;
    s->longest = p->n > s->longest ? p->n : s->longest;
    s->n++;
    return HN_OK;
}

hn_status hn_prompts_take(hn_prompts *s, hn_heap *heap, const hn_model *model, const hn_dataset *d, int most)
{
    const int64_t context = hn_hparams_longest(hn_model_hparams(model));
    *s = (hn_prompts){ .heap = heap, .tok = d->rule.tok, .context = context > 0 ? context : INT64_MAX };
    if (most < 1)
        return HN_OK;
    s->at = hn_alloc_array(heap, HN_TAG_TEXT, (size_t)most, sizeof *s->at);
    if (!s->at)
        return HN_ERR_MEMORY;
    hn_example example = hn_example_on(heap);
    hn_status status = HN_OK;
    const hn_fate wanted = d->n_held ? HN_FATE_HELD : HN_FATE_TRAINED;
    for (uint64_t i = 0; i < d->n && s->n < most && status == HN_OK; i++) {
        if (d->fates[i] != wanted)
            continue;
        status = hn_dataset_read(d, i, &example);
        if (status == HN_OK)
            status = take(s, &example.part[0]);
    }
    hn_example_free(&example);
    if (status != HN_OK)
        hn_prompts_free(s);
    return status;
}

void hn_prompts_free(hn_prompts *s)
{
    for (int i = 0; i < s->n; i++)
        hn_free(s->heap, s->at[i].ids);
    if (s->heap)
        hn_free(s->heap, s->at);
    *s = (hn_prompts){ 0 };
}

hn_session_options hn_prompts_session(const hn_prompts *s)
{
    const int64_t wanted = s->longest + HN_ANSWER_TOKENS, n_ctx = wanted < s->context ? wanted : s->context;
    return (hn_session_options){ .n_ctx = n_ctx, .max_batch = n_ctx < HN_PROMPTS_BATCH ? n_ctx : HN_PROMPTS_BATCH };
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

hn_status hn_prompt_answer(const hn_prompts *s, int i, hn_session *session, const hn_run_options *options, hn_str *out)
{
    const hn_prompt *p = &s->at[i];
    const int64_t vocab = hn_model_hparams(hn_session_compiled(session)->model)->n_vocab;
    int32_t *ids = hn_alloc_array(s->heap, HN_TAG_TEXT, (size_t)(p->n + HN_ANSWER_TOKENS), sizeof *ids);
    if (!ids)
        return HN_ERR_MEMORY;
    memcpy(ids, p->ids, (size_t)p->n * sizeof *ids);
    int64_t n = p->n;
    hn_status status = HN_OK;
    for (int k = 0; k < HN_ANSWER_TOKENS && n <= hn_session_context(session) && status == HN_OK; k++) {
        status = hn_session_sync(session, ids, n, options);
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

static hn_status add_ids(const hn_prompts *s, hn_json_writer *json, const char *key, const int32_t *ids, int64_t n)
{
    hn_str text = hn_str_on(s->heap);
    const hn_status status = decode(s->tok, ids, n, &text);
    if (status == HN_OK)
        hn_json_put_text(json, key, text.text);
    hn_str_free(&text);
    return status;
}

hn_status hn_prompt_tell(const hn_prompts *s, int i, hn_json_writer *json)
{
    const hn_prompt *p = &s->at[i];
    HN_TRY(add_ids(s, json, "prompt", p->ids, p->n));
    return add_ids(s, json, "expected", p->ids + p->n, p->n_all - p->n);
}
