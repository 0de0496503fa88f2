/* Items that came out, and the response's object. */
#include "server/responses_form.h"

#include "server/fields.h"
#include "server/openai.h"
#include "server/recipe.h"

#include <stdio.h>
#include <string.h>

static void add_nothing(hn_json_writer *w, const char *key)
{
    hn_json_key(w, key);
    hn_json_begin_array(w);
    hn_json_end_array(w);
}

/* ---- items ---- */

void hn_responses_item_id(const hn_choice *c, size_t block, char *to, size_t room)
{
    static const char *const prefixes[] = { [HN_TEXT_BLOCK] = "msg", [HN_THOUGHT_BLOCK] = "rs", [HN_CALL_BLOCK] = "fc" };
    snprintf(to, room, "%s_%.40s_%zu", prefixes[c->h.blocks[block].kind], c->answer->id, block);
}

void hn_responses_scores(hn_json_writer *w, const hn_choice *c, const hn_heard_block *b)
{
    hn_json_key(w, "logprobs");
    hn_json_begin_array(w);
    for (size_t i = 0; c->answer->scores && i < c->tokens_told; i++) {
        const hn_told_token *t = hn_choice_token(c, i);
        if (t->end > t->begin && t->begin >= b->begin && t->begin < b->end)
            hn_score_add(w, c->answer->model->lm, t);
    }
    hn_json_end_array(w);
}

static void add_content(hn_json_writer *w, const hn_choice *c, const hn_heard_block *b)
{
    const bool is_text = b->kind == HN_TEXT_BLOCK;
    const char *from = is_text ? c->h.text.text : c->h.thought.text;
    hn_json_key(w, "content");
    hn_json_begin_array(w);
    hn_json_begin_object(w);
    hn_json_put_text(w, "type", is_text ? "output_text" : "reasoning_text");
    hn_json_put_bytes(w, "text", from + b->begin, b->end - b->begin);
    if (is_text) {
        add_nothing(w, "annotations");
        hn_responses_scores(w, c, b);
    }
    hn_json_end_object(w);
    hn_json_end_array(w);
}

/* The last of an answer that was cut off is not completed. */
static const char *item_status(const hn_choice *c, size_t block)
{
    const bool is_cut = c->has_ended && !c->h.stopped_by && c->end != HN_LM_DONE;
    return is_cut && block + 1 == c->h.n_blocks ? "incomplete" : "completed";
}

void hn_responses_item(hn_json_writer *w, const hn_choice *c, size_t block)
{
    static const char *const types[] = { [HN_TEXT_BLOCK] = "message", [HN_THOUGHT_BLOCK] = "reasoning", [HN_CALL_BLOCK] = "function_call" };
    const hn_heard_block *b = &c->h.blocks[block];
    char id[200];
    hn_responses_item_id(c, block, id, sizeof id);
    hn_json_begin_object(w);
    hn_json_put_text(w, "id", id);
    hn_json_put_text(w, "type", types[b->kind]);
    hn_json_put_text(w, "status", item_status(c, block));
    if (b->kind == HN_CALL_BLOCK) {
        const hn_heard_call *call = &c->h.calls[b->call];
        hn_choice_call_id(c, b->call, call->id.text, id, sizeof id);
        hn_json_put_text(w, "call_id", id);
        hn_json_put_text(w, "name", call->name.text);
        hn_json_put_bytes(w, "arguments", call->arguments.text, call->arguments.length);
    } else
        add_content(w, c, b);
    if (b->kind == HN_TEXT_BLOCK)
        hn_json_put_text(w, "role", "assistant");
    if (b->kind == HN_THOUGHT_BLOCK)
        add_nothing(w, "summary");
    hn_json_end_object(w);
}

/* ---- the response ---- */

static void add_usage(hn_json_writer *w, const hn_answer *a)
{
    const hn_choice *c = &a->choices[0];
    const int64_t in = (int64_t)a->prompts[0].n;
    const struct {
        const char *key, *details, *detail;
        int64_t n, n_detail;
    } counts[] = { { "input_tokens", "input_tokens_details", "cached_tokens", in, c->n_reused },
                   { "output_tokens", "output_tokens_details", "reasoning_tokens", c->n_drawn, c->h.n_thought } };
    hn_json_key(w, "usage");
    hn_json_begin_object(w);
    for (int i = 0; i < 2; i++) {
        hn_json_key(w, counts[i].key);
        hn_json_add_int(w, counts[i].n);
        hn_json_key(w, counts[i].details);
        hn_json_begin_object(w);
        hn_json_key(w, counts[i].detail);
        hn_json_add_int(w, counts[i].n_detail);
        hn_json_end_object(w);
    }
    hn_json_key(w, "total_tokens");
    hn_json_add_int(w, in + c->n_drawn);
    hn_json_end_object(w);
}

/* Fields of the request that stand in the response as they were asked, or else as `otherwise`, JSON. */
static void add_asked(hn_json_writer *w, const hn_answer *a)
{
    static const char *const asked[][2] = {
        { "instructions", "null" },        { "max_output_tokens", "null" },  { "metadata", "{}" },      { "parallel_tool_calls", "true" },
        { "previous_response_id", "null" }, { "reasoning", "{\"effort\":null,\"summary\":null}" },      { "temperature", "1.0" },
        { "text", "{\"format\":{\"type\":\"text\"}}" }, { "tool_choice", "\"auto\"" }, { "tools", "[]" }, { "top_p", "1.0" },
        { "top_logprobs", "0" },           { "truncation", "\"disabled\"" }, { "user", "null" },         { "prompt_cache_key", "null" },
        { "safety_identifier", "null" } };
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        const hn_json *v = hn_field_of(a->asked, asked[i][0]);
        hn_json_key(w, asked[i][0]);
        if (v)
            hn_json_add_value(w, v);
        else
            hn_json_add_json(w, asked[i][1], strlen(asked[i][1]));
    }
}

static void add_ending(hn_json_writer *w, const hn_answer *a, const char *status)
{
    const bool is_cut = !strcmp(status, "incomplete"), has_failed = !strcmp(status, "failed");
    hn_json_key(w, "error");
    if (has_failed) {
        hn_json_begin_object(w);
        hn_json_put_text(w, "code", "server_error");
        hn_json_put_text(w, "message", a->failure.message);
        hn_json_end_object(w);
    } else
        hn_json_add_null(w);
    hn_json_key(w, "incomplete_details");
    if (is_cut) {
        hn_json_begin_object(w);
        hn_json_put_text(w, "reason", "max_output_tokens");
        hn_json_end_object(w);
    } else
        hn_json_add_null(w);
}

void hn_responses_object(hn_json_writer *w, const hn_answer *a, const char *status, bool is_kept)
{
    const hn_choice *c = &a->choices[0];
    const bool is_over = !strcmp(status, "completed") || !strcmp(status, "incomplete");
    char id[80];
    snprintf(id, sizeof id, "resp_%s", a->id);
    hn_json_begin_object(w);
    hn_json_put_text(w, "id", id);
    hn_json_put_text(w, "object", "response");
    hn_json_key(w, "created_at");
    hn_json_add_int(w, a->created);
    hn_json_put_text(w, "status", status);
    hn_json_key(w, "background");
    hn_json_add_bool(w, false);
    add_ending(w, a, status);
    hn_json_put_text(w, "model", hn_field_text(a->body, "model", a->model->name));
    hn_json_key(w, "output");
    hn_json_begin_array(w);
    for (size_t i = 0; is_over && i < c->h.n_blocks; i++)
        hn_responses_item(w, c, i);
    hn_json_end_array(w);
    add_asked(w, a);
    hn_json_key(w, "max_tool_calls");
    hn_json_add_null(w);
    hn_json_put_text(w, "service_tier", "default");
    hn_json_key(w, "store");
    hn_json_add_bool(w, is_kept);
    hn_json_key(w, "seed");
    hn_json_add_int(w, (int64_t)a->sampling.seed);
    if (is_over)
        add_usage(w, a);
    else {
        hn_json_key(w, "usage");
        hn_json_add_null(w);
    }
    if (is_over && a->tells_recipe)
        hn_recipe_add(w, a);
    hn_json_end_object(w);
}
