/* What was made is written as the server writes it, and both are compared as text: numbers are written so that they read back the same. */
#include "cli/told_scores.h"

#include <string.h>

/* A value as it was told, and as it was made. */
typedef struct both {
    hn_str told, made;
    hn_json_writer told_w, made_w;
} both;

static void open_both(both *b, hn_heap *heap)
{
    *b = (both){ .told = hn_str_on(heap), .made = hn_str_on(heap) };
    b->told_w = hn_json_write_to(&b->told);
    b->made_w = hn_json_write_to(&b->made);
}

/* As whoever reads it writes it again: U+FFFD for what is no text, and not its escape. */
static hn_status read_again(hn_str *json)
{
    hn_json_text *read = NULL;
    HN_TRY(hn_str_status(json));
    HN_TRY(hn_json_read(json->heap, "what was made", json->text, json->length, &read));
    hn_str_clear(json);
    hn_json_writer w = hn_json_write_to(json);
    hn_json_add_value(&w, hn_json_root(read));
    hn_json_free(read);
    return hn_str_status(json);
}

static hn_status close_both(both *b, const char *what, size_t i)
{
    hn_status status = hn_str_status(&b->told) == HN_OK ? read_again(&b->made) : HN_ERR_MEMORY;
    if (status == HN_OK && strcmp(b->told.text, b->made.text) != 0)
        status = hn_fail(HN_ERR_PROOF, "%s of token %zu differs: told %.120s, made %.120s", what, i, b->told.text, b->made.text);
    hn_str_free(&b->told);
    hn_str_free(&b->made);
    return status;
}

static hn_status compare_value(size_t i, const hn_json *told, const hn_told_token *made)
{
    double value = 0;
    HN_TRY(hn_json_want_double(told, "logprob", &value));
    HN_REQUIRE(value == made->log_probability, HN_ERR_PROOF, "the log-probability of token %zu differs: told %.17g, made %.17g", i, value,
               made->log_probability);
    return HN_OK;
}

/* {"token", "bytes", "logprob", "top_logprobs"}, in this order. */
static hn_status compare_entry(const hn_made_scores *m, size_t i, const hn_json *told, const hn_told_token *made)
{
    both b;
    HN_TRY(compare_value(i, hn_json_get(told, "logprob"), made));
    open_both(&b, m->heap);
    hn_json_add_value(&b.told_w, told);
    hn_score_add(&b.made_w, m->lm, made);
    return close_both(&b, "what is told", i);
}

static hn_status compare_entries(const hn_made_scores *m, const hn_json *list, bool is_text_alone)
{
    const hn_json *v = hn_json_first(list);
    for (size_t i = 0; i < m->tokens->n; i++) {
        const hn_told_token *t = hn_told_at(m->tokens, i);
        if (is_text_alone && (t->begin >= t->end || t->begin >= m->text))
            continue;
        HN_REQUIRE(v, HN_ERR_PROOF, "%zu tokens were told, more made", hn_json_count(list));
        HN_TRY(compare_entry(m, i, v, t));
        v = v->next;
    }
    HN_REQUIRE(!v, HN_ERR_PROOF, "%zu tokens were told, fewer made", hn_json_count(list));
    return HN_OK;
}

/* ---- the old form ---- */

/* Its arrays, each of as many as there are tokens; of a prompt that is told the first is its first id, of which nothing is foretold. */
typedef struct arrays {
    const hn_json *token, *value, *top, *offset;
} arrays;

static hn_status open_array(const hn_json *told, const char *name, size_t n, const hn_json **out)
{
    const hn_json *list = hn_json_get(told, name);
    HN_REQUIRE(list && list->kind == HN_JSON_ARRAY, HN_ERR_FORMAT, "logprobs: %s: expected an array", name);
    HN_REQUIRE(hn_json_count(list) == n, HN_ERR_PROOF, "logprobs: %s: %zu tokens were told, %zu made", name, hn_json_count(list), n);
    *out = hn_json_first(list);
    return HN_OK;
}

/* NULL: where none were asked for stands null. */
static hn_status open_arrays(const hn_made_scores *m, const hn_json *told, size_t n, arrays *out)
{
    const hn_json *top = hn_json_get(told, "top_logprobs");
    *out = (arrays){ 0 };
    HN_TRY(open_array(told, "tokens", n, &out->token));
    HN_TRY(open_array(told, "token_logprobs", n, &out->value));
    HN_TRY(open_array(told, "text_offset", n, &out->offset));
    if (m->tokens->likeliest)
        return open_array(told, "top_logprobs", n, &out->top);
    HN_REQUIRE(top && top->kind == HN_JSON_NULL, HN_ERR_PROOF, "logprobs: top_logprobs: expected null, for none were asked for");
    return HN_OK;
}

static hn_status compare_piece(const hn_made_scores *m, size_t i, const hn_json *told, int32_t id)
{
    both b;
    open_both(&b, m->heap);
    hn_json_add_value(&b.told_w, told);
    hn_score_add_piece(&b.made_w, m->lm, id);
    return close_both(&b, "the text", i);
}

static hn_status compare_top(const hn_made_scores *m, size_t i, const hn_json *told, const hn_told_token *made)
{
    both b;
    if (!told)
        return HN_OK;
    open_both(&b, m->heap);
    hn_json_add_value(&b.told_w, told);
    hn_score_add_likeliest(&b.made_w, m->lm, made);
    return close_both(&b, "the likeliest", i);
}

static hn_status compare_offset(size_t i, const hn_json *told, size_t made)
{
    int64_t at;
    HN_TRY(hn_json_want_int(told, "text_offset", &at));
    HN_REQUIRE(at == (int64_t)made, HN_ERR_PROOF, "the place of token %zu differs: told %lld, made %zu", i, (long long)at, made);
    return HN_OK;
}

/* Nothing is foretold of the prompt's first. */
static hn_status compare_first(const hn_made_scores *m, const arrays *of)
{
    HN_REQUIRE(of->value->kind == HN_JSON_NULL && (!of->top || of->top->kind == HN_JSON_NULL), HN_ERR_FORMAT,
               "logprobs: expected null for the prompt's first token");
    HN_TRY(compare_piece(m, 0, of->token, m->prompt[0]));
    return compare_offset(0, of->offset, 0);
}

static hn_status compare_token(const hn_made_scores *m, size_t i, const arrays *of, size_t offset)
{
    const hn_told_token *t = hn_told_at(m->tokens, i);
    HN_TRY(compare_value(i, of->value, t));
    HN_TRY(compare_piece(m, i, of->token, t->id));
    HN_TRY(compare_top(m, i, of->top, t));
    return compare_offset(i, of->offset, offset);
}

static void next(arrays *of)
{
    of->token = of->token->next;
    of->value = of->value->next;
    of->offset = of->offset->next;
    of->top = of->top ? of->top->next : NULL;
}

/* Where the text of each of the prompt's ids begins in what is told of it; *length: its bytes, where U+FFFD stands for what is no text. */
static hn_status place_prompt(const hn_made_scores *m, size_t *begins, size_t *length)
{
    both b;
    hn_str said = hn_str_on(m->heap);
    open_both(&b, m->heap);
    hn_status status = hn_score_say(m->lm, m->prompt, m->prompt_ids, &said, begins);
    const hn_json text = hn_json_of_string(said.text, said.length);
    hn_json_add_scalar(&b.told_w, m->echo);
    hn_json_add_scalar(&b.made_w, &text);
    status = status == HN_OK ? read_again(&b.made) : status;
    *length = status == HN_OK && !strcmp(b.told.text, b.made.text) ? said.length : hn_json_bytes(m->echo);
    for (size_t i = 0; i < m->prompt_ids; i++) /* a tokenizer may have changed the text */
        begins[i] = begins[i] < *length ? begins[i] : *length;
    status = status == HN_OK ? hn_str_status(&b.told) : status;
    hn_str_free(&b.told);
    hn_str_free(&b.made);
    hn_str_free(&said);
    return status;
}

static hn_status compare_arrays(const hn_made_scores *m, const hn_json *told, const size_t *begins, size_t before)
{
    arrays of;
    HN_TRY(open_arrays(m, told, m->tokens->n + (m->echo != NULL), &of));
    if (m->echo) {
        HN_TRY(compare_first(m, &of));
        next(&of);
    }
    for (size_t i = 0; i < m->tokens->n; i++) {
        HN_TRY(compare_token(m, i, &of, i < m->n_prompt ? begins[i + 1] : before + hn_told_at(m->tokens, i)->begin));
        next(&of);
    }
    return HN_OK;
}

static hn_status compare_old(const hn_made_scores *m, const hn_json *told)
{
    size_t before = 0;
    if (!m->echo)
        return compare_arrays(m, told, NULL, 0);
    size_t *begins = hn_alloc_array(m->heap, HN_TAG_TEXT, m->prompt_ids + 1, sizeof *begins);
    hn_status status = begins ? place_prompt(m, begins, &before) : HN_ERR_MEMORY;
    if (status == HN_OK)
        status = compare_arrays(m, told, begins, before);
    hn_free(m->heap, begins);
    return status;
}

hn_status hn_compare_scores(const hn_made_scores *m, const hn_json *told)
{
    const hn_json *content = hn_json_get(told, "content"), *output = hn_json_get(told, "output"), *list = content ? content : output;
    if (hn_json_get(told, "token_logprobs"))
        return compare_old(m, told);
    HN_REQUIRE(list && list->kind == HN_JSON_ARRAY, HN_ERR_FORMAT, "logprobs: expected content or token_logprobs");
    return compare_entries(m, list, list == output);
}
