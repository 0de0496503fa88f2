/* Chat and completions share what they ask for (sampling, stops, biases) and how they say it; other APIs translate
 * themselves into this. */
#include "server/openai.h"

#include "base/os/clock.h"
#include "base/os/process.h"
#include "server/format.h"
#include "server/recipe.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BIASES = 1024 };

/* ---- saying ---- */

void hn_openai_fail(const hn_failure *f, bool in_stream, hn_str *out)
{
    hn_json_writer w = hn_json_write_to(out);
    if (in_stream)
        hn_str_add(out, "data: ");
    hn_json_begin_object(&w);
    hn_json_key(&w, "error");
    hn_json_begin_object(&w);
    hn_json_key(&w, "message");
    hn_json_add_string(&w, f->message);
    hn_json_key(&w, "type");
    hn_json_add_string(&w, hn_failure_type(f));
    hn_json_key(&w, "param");
    f->param[0] ? hn_json_add_string(&w, f->param) : hn_json_add_null(&w);
    hn_json_key(&w, "code");
    hn_json_add_string(&w, hn_failure_code(f));
    hn_json_end_object(&w);
    hn_json_end_object(&w);
    hn_str_add(out, in_stream ? "\n\n" : "\n");
}

const hn_voice hn_openai_voice = { .fail = hn_openai_fail };

hn_json_writer hn_openai_event(hn_str *out)
{
    hn_str_add(out, "data: ");
    return hn_json_write_to(out);
}

void hn_openai_event_end(hn_json_writer *w) { hn_str_add(w->to, "\n\n"); }

void hn_openai_begin(hn_json_writer *w, const hn_answer *a, const char *id_prefix, const char *object)
{
    char id[80];
    snprintf(id, sizeof id, "%s%s", id_prefix, a->id);
    hn_json_begin_object(w);
    hn_json_key(w, "id");
    hn_json_add_string(w, id);
    hn_json_key(w, "object");
    hn_json_add_string(w, object);
    hn_json_key(w, "created");
    hn_json_add_int(w, a->created);
    hn_json_key(w, "model");
    hn_json_add_string(w, hn_field_text(a->body, "model", a->model->name));
    hn_json_key(w, "seed");
    hn_json_add_int(w, (int64_t)a->sampling.seed);
}

void hn_openai_finish(hn_answer *a, const char *id_prefix, const char *object, hn_str *out)
{
    if (a->tells_usage || a->tells_recipe) {
        hn_json_writer w = hn_openai_event(out);
        hn_openai_begin(&w, a, id_prefix, object);
        hn_json_key(&w, "choices");
        hn_json_begin_array(&w);
        hn_json_end_array(&w);
        hn_openai_usage(&w, a);
        hn_json_end_object(&w);
        hn_openai_event_end(&w);
    }
    hn_str_add(out, "data: [DONE]\n\n");
}

void hn_openai_usage(hn_json_writer *w, const hn_answer *a)
{
    const int64_t drawn = hn_answer_drawn(a);
    int64_t prompt = 0, known = 0;
    for (int32_t i = 0; i < a->n_prompts; i++) {
        prompt += (int64_t)a->prompts[i].n;
        known += a->choices[i * a->n_each].n_reused;
    }
    hn_json_key(w, "usage");
    hn_json_begin_object(w);
    hn_json_key(w, "prompt_tokens");
    hn_json_add_int(w, prompt);
    hn_json_key(w, "completion_tokens");
    hn_json_add_int(w, drawn);
    hn_json_key(w, "total_tokens");
    hn_json_add_int(w, prompt + drawn);
    hn_json_key(w, "prompt_tokens_details");
    hn_json_begin_object(w);
    hn_json_key(w, "cached_tokens");
    hn_json_add_int(w, known);
    hn_json_end_object(w);
    if (a->is_chat) {
        hn_json_key(w, "completion_tokens_details");
        hn_json_begin_object(w);
        hn_json_key(w, "reasoning_tokens");
        hn_json_add_int(w, hn_answer_thought(a));
        hn_json_end_object(w);
    }
    hn_json_end_object(w);
    if (a->tells_recipe)
        hn_recipe_add(w, a);
}

/* ---- asking ---- */

static bool take_bias(hn_answer *a, const hn_json *object, hn_failure *why)
{
    const size_t n = hn_json_count(object);
    if (n > MOST_BIASES)
        return hn_refuse_as(why, HN_REFUSED_INVALID, "logit_bias", "logit_bias: expected at most %d, found %zu", MOST_BIASES, n);
    a->bias = hn_alloc_array(a->heap, HN_TAG_TEXT, n ? n : 1, sizeof *a->bias);
    if (!a->bias)
        return hn_refuse_by(why, HN_ERR_MEMORY, "logit_bias");
    for (const hn_json *v = hn_json_first(object); v; v = v->next) {
        char *end;
        const long long id = strtoll(v->key, &end, 10);
        const bool is_id = v->key[0] >= '0' && v->key[0] <= '9' && !*end && id <= INT32_MAX && (v->key[0] != '0' || !v->key[1]); /* one way each */
        const bool is_number = v->kind == HN_JSON_INT || v->kind == HN_JSON_DOUBLE;
        const double bias = v->kind == HN_JSON_INT ? (double)hn_json_int(v) : is_number ? hn_json_number(v) : 0;
        if (!is_id || !is_number || !(fabs(bias) <= 100))
            return hn_refuse_as(why, HN_REFUSED_INVALID, "logit_bias",
                             "logit_bias: expected token ids with numbers of -100 to 100, found %.40s", v->key);
        a->bias[a->sampling.n_bias++] = (hn_lm_bias){ sizeof *a->bias, (int32_t)id,
                                                            bias == -100 ? -INFINITY : (float)bias };
    }
    return true;
}

static bool take_stop(hn_answer *a, const hn_json *v, hn_failure *why)
{
    if (v->kind != HN_JSON_STRING || !hn_json_bytes(v))
        return hn_refuse_as(why, HN_REFUSED_INVALID, "stop", "stop: expected texts that are not empty");
    if (a->stops.n == HN_MOST_STOPS)
        return hn_refuse_as(why, HN_REFUSED_INVALID, "stop", "stop: expected at most %d", HN_MOST_STOPS);
    a->stops.at[a->stops.n++] = hn_json_string(v);
    return true;
}

static bool take_stops(hn_answer *a, const hn_json *stop, hn_failure *why)
{
    if (stop->kind == HN_JSON_STRING)
        return take_stop(a, stop, why);
    for (const hn_json *v = hn_json_first(stop); v; v = v->next)
        if (!take_stop(a, v, why))
            return false;
    return true;
}

static uint64_t drawn_seed(void)
{
    uint64_t seed = 0;
    if (!hn_os_random(&seed))
        seed = (uint64_t)hn_clock_ns();
    return seed >> 11; /* exact in JSON, whoever reads it */
}

/* A share of nothing is the likeliest alone, as a smaller and smaller one comes to it; to the library 0 is none asked for. The least that every
 * machine tells from 0. */
static float share_of(double top_p) { return (float)top_p >= FLT_MIN ? (float)top_p : FLT_MIN; }

hn_lm_sampling hn_openai_sampling(const hn_json *body)
{
    return (hn_lm_sampling){
        .size = sizeof(hn_lm_sampling),
        .temperature = (float)hn_field_number(body, "temperature", 1),
        .top_k = (int32_t)hn_field_int(body, "top_k", 0),
        .top_p = share_of(hn_field_number(body, "top_p", 1)),
        .min_p = (float)hn_field_number(body, "min_p", 0),
        .repetition = (float)hn_field_number(body, "repetition_penalty", 1),
        .frequency = (float)hn_field_number(body, "frequency_penalty", 0),
        .last = (int32_t)hn_field_int(body, "repeat_last_n", 0),
        .presence = (float)hn_field_number(body, "presence_penalty", 0),
    };
}

bool hn_openai_take(hn_answer *a, hn_failure *why)
{
    const hn_json *b = a->body, *bias = hn_field_of(b, "logit_bias"), *stop = hn_field_of(b, "stop"),
                  *options = hn_field_of(b, "stream_options"), *seed = hn_field_of(b, "seed");
    a->sampling = hn_openai_sampling(b);
    a->sampling.seed = seed ? (uint64_t)hn_json_int(seed) : drawn_seed();
    a->goes_on = hn_field_bool(b, "ignore_eos", false);
    a->streams = hn_field_bool(b, "stream", false);
    a->tells_recipe = hn_field_bool(b, "recipe", false);
    a->scores_drawn = hn_field_bool(b, "post_sampling_probs", false);
    if (a->scores_drawn && !a->scores)
        return hn_refuse_as(why, HN_REFUSED_INVALID, "post_sampling_probs", "post_sampling_probs: takes logprobs");
    if (options && !a->streams)
        return hn_refuse_as(why, HN_REFUSED_INVALID, "stream_options", "stream_options: of a stream alone");
    if (options && !hn_fields_check_within(&hn_fields_stream_options, "stream_options.", options, why))
        return false;
    a->tells_usage = options && hn_field_bool(options, "include_usage", false);
    return (!bias || take_bias(a, bias, why)) && (!stop || take_stops(a, stop, why)) && hn_format_take(a, why);
}

/* ---- ids ---- */

bool hn_answer_encode(hn_answer *a, hn_prompt *to, const char *text, size_t bytes, hn_lm_text kind, hn_failure *why)
{
    size_t room = bytes / 2 + 64, n;
    for (;;) {
        int32_t *ids = hn_alloc_array(a->heap, HN_TAG_TEXT, room, sizeof *ids);
        if (!ids)
            return hn_refuse_by(why, HN_ERR_MEMORY, NULL);
        const hn_status status = hn_lm_encode(a->model->lm, text, bytes, kind, ids, room, &n);
        if (status == HN_OK) {
            to->ids = ids;
            to->n = n;
            return true;
        }
        hn_free(a->heap, ids);
        if (status != HN_ERR_ARGUMENT || n <= room)
            return hn_refuse_by(why, status, NULL);
        room = n;
    }
}

bool hn_is_ids(const hn_json *v) { return v->kind == HN_JSON_ARRAY && hn_json_count(v) && hn_json_first(v)->kind == HN_JSON_INT; }

bool hn_answer_take_ids(hn_answer *a, hn_prompt *to, const hn_json *list, const char *param, hn_failure *why)
{
    const int64_t vocabulary = hn_lm_vocabulary(a->model->lm);
    to->ids = hn_alloc_array(a->heap, HN_TAG_TEXT, hn_json_count(list) ? hn_json_count(list) : 1, sizeof *to->ids);
    if (!to->ids)
        return hn_refuse_by(why, HN_ERR_MEMORY, param);
    for (const hn_json *v = hn_json_first(list); v; v = v->next) {
        if (v->kind != HN_JSON_INT || hn_json_int(v) < 0 || hn_json_int(v) >= vocabulary)
            return hn_refuse_as(why, HN_REFUSED_INVALID, param, "%s: expected token ids from 0 to %lld", param,
                             (long long)vocabulary - 1);
        to->ids[to->n++] = (int32_t)hn_json_int(v);
    }
    return true;
}
