/* What is written is what is read, key by key: nothing but what older answers lack may be missing, and nothing stand beside it that is not
 * known, for it might be a number that the answer hangs on. */
#include "server/recipe.h"

#include <math.h>
#include <string.h>

/* ---- writing ---- */

static void add_prompts(hn_json_writer *w, const hn_answer *a)
{
    hn_json_key(w, "prompts");
    hn_json_begin_array(w);
    for (int32_t i = 0; i < a->n_prompts; i++) {
        hn_json_begin_array(w);
        for (size_t k = 0; k < a->prompts[i].n; k++)
            hn_json_add_int(w, a->prompts[i].ids[k]);
        hn_json_end_array(w);
    }
    hn_json_end_array(w);
}

/* What each prompt says again before its answers, with U+FFFD where that is no text. */
static void add_echo(hn_json_writer *w, const hn_answer *a)
{
    hn_json_key(w, "echo");
    if (!a->echoes) {
        hn_json_add_null(w);
        return;
    }
    hn_json_begin_array(w);
    for (int32_t i = 0; i < a->n_prompts; i++) {
        const hn_json text = hn_json_of_string(a->prompts[i].text.text, a->prompts[i].text.length);
        hn_json_add_scalar(w, &text);
    }
    hn_json_end_array(w);
}

/* By which the prompt was written, and when that was. */
static void add_template(hn_json_writer *w, const hn_answer *a)
{
    char digest[65];
    const bool has_one = a->clock && hn_lm_chat_template(a->model->lm, a->tools.length ? "with tools digest" : "digest", digest, sizeof digest, NULL) == HN_OK;
    hn_json_put_text(w, "template", has_one ? digest : NULL);
    hn_json_key(w, "clock");
    has_one ? hn_json_add_int(w, a->clock) : hn_json_add_null(w);
}

/* "-inf" is no number of JSON: null stands for it. */
static void add_bias(hn_json_writer *w, const hn_answer *a)
{
    hn_json_key(w, "bias");
    hn_json_begin_array(w);
    for (int32_t i = 0; i < a->sampling.n_bias; i++) {
        hn_json_begin_array(w);
        hn_json_add_int(w, a->bias[i].id);
        hn_json_add_double(w, (double)a->bias[i].bias);
        hn_json_end_array(w);
    }
    hn_json_end_array(w);
}

static void add_sampling(hn_json_writer *w, const hn_answer *a)
{
    const hn_lm_sampling *s = &a->sampling;
    hn_json_put_text(w, "draws", hn_lm_sampling_definition(s));
    hn_json_put_int(w, "seed", (int64_t)s->seed);
    hn_json_put_double(w, "temperature", (double)s->temperature);
    hn_json_put_int(w, "top_k", s->top_k);
    hn_json_put_double(w, "top_p", (double)s->top_p);
    hn_json_put_double(w, "min_p", (double)s->min_p);
    hn_json_put_double(w, "repetition", (double)s->repetition);
    hn_json_put_double(w, "frequency", (double)s->frequency);
    hn_json_put_double(w, "presence", (double)s->presence);
    hn_json_put_int(w, "last", s->last);
    add_bias(w, a);
}

static const char *const grammar_words[] = { [HN_LM_JSON_SCHEMA] = "json_schema", [HN_LM_REGEX] = "regex", [HN_LM_GBNF] = "gbnf" };

void hn_recipe_add(hn_json_writer *w, const hn_answer *a)
{
    const hn_served *m = a->model;
    const hn_served_adapter *adapter = a->adapter;
    hn_json_key(w, "recipe");
    hn_json_begin_object(w);
    hn_json_put_text(w, "hone", hn_version());
    hn_json_put_text(w, "weights", m->weights);
    hn_json_put_text(w, "adapter", adapter ? adapter->digest : NULL);
    hn_json_put_double(w, "adapter_scale", adapter ? adapter->scale : 1);
    hn_json_put_text(w, "numerics", hn_lm_numerics_definition(m->lm));
    hn_json_put_text(w, "cache", m->o.batch.cache ? m->o.batch.cache : "f32");
    hn_json_put_int(w, "context", hn_lm_batch_context(m->batch));
    add_template(w, a);
    add_prompts(w, a);
    add_echo(w, a);
    hn_json_put_int(w, "n", a->n_best ? a->n_best : a->n_each);
    hn_json_put_int(w, "best_of", a->n_each);
    hn_json_put_bool(w, "scores", a->scores);
    hn_json_put_bool(w, "scores_drawn", a->scores_drawn);
    hn_json_put_bool(w, "draws_none", a->draws_none);
    hn_json_put_int(w, "max_tokens", a->most);
    hn_json_put_int(w, "likeliest", a->likeliest);
    hn_json_key(w, "ignore_eos");
    hn_json_add_bool(w, a->goes_on);
    hn_json_key(w, "stop");
    hn_json_begin_array(w);
    for (int i = 0; i < a->stops.n; i++)
        hn_json_add_string(w, a->stops.at[i]);
    hn_json_end_array(w);
    hn_json_key(w, "is_chat");
    hn_json_add_bool(w, a->is_chat);
    hn_json_put_text(w, "tools", a->tools.length ? a->tools.text : NULL);
    hn_json_put_text(w, "calls", a->tools.length ? m->o.calls : NULL);
    hn_json_put_text(w, "grammar_kind", a->grammar ? grammar_words[a->grammar_kind] : NULL);
    hn_json_put_text(w, "grammar", a->grammar ? a->grammar_text.text : NULL);
    add_sampling(w, a);
    hn_json_end_object(w);
}

/* ---- reading ---- */

static const char *const known[] = { "hone",  "weights", "adapter", "adapter_scale", "numerics", "cache",     "context",
                                     "prompts", "n",     "max_tokens", "likeliest",  "ignore_eos", "stop",   "seed",
                                     "temperature", "top_k", "top_p",  "min_p",     "repetition", "frequency", "presence",
                                     "last",  "bias", "grammar_kind", "grammar", "is_chat", "tools", "calls",
                                     "template", "clock", "echo",      "best_of",    "scores",   "draws_none",
                                     "scores_drawn", "draws" };
enum { N_KNOWN = sizeof known / sizeof *known };

static hn_status check_known(const hn_json *r)
{
    for (int i = 0; i < N_KNOWN; i++)
        HN_REQUIRE(hn_json_get(r, known[i]) || !strcmp(known[i], "draws"), HN_ERR_FORMAT, "recipe: has no \"%s\"", known[i]);
    for (const hn_json *v = hn_json_first(r); v; v = v->next) {
        int i = 0;
        while (i < N_KNOWN && strcmp(known[i], v->key) != 0)
            i++;
        HN_REQUIRE(i < N_KNOWN, HN_ERR_FORMAT, "recipe: \"%.40s\" is not known", v->key);
    }
    return HN_OK;
}

static hn_status read_int(const hn_json *r, const char *key, int64_t low, int64_t high, int64_t *out)
{
    HN_TRY(hn_json_want_int(hn_json_get(r, key), key, out));
    HN_REQUIRE(*out >= low && *out <= high, HN_ERR_FORMAT, "recipe: %s is %lld: expected %lld to %lld", key, (long long)*out,
               (long long)low, (long long)high);
    return HN_OK;
}

static hn_status read_float(const hn_json *r, const char *key, float *out)
{
    double value;
    HN_TRY(hn_json_want_double(hn_json_get(r, key), key, &value));
    *out = (float)value;
    HN_REQUIRE((double)*out == value, HN_ERR_FORMAT, "recipe: %s is no number of 32 bits", key);
    return HN_OK;
}

static hn_status read_bias(hn_recipe *out, hn_heap *heap, const hn_json *list)
{
    HN_REQUIRE(list->kind == HN_JSON_ARRAY, HN_ERR_FORMAT, "recipe: bias: expected an array");
    out->bias = hn_alloc_array(heap, HN_TAG_TEXT, hn_json_count(list) + 1, sizeof *out->bias);
    if (!out->bias)
        return HN_ERR_MEMORY;
    for (const hn_json *pair = hn_json_first(list); pair; pair = pair->next) {
        const hn_json *id = hn_json_at(pair, 0), *value = hn_json_at(pair, 1);
        double bias = -(double)INFINITY;
        HN_REQUIRE(id && value && id->kind == HN_JSON_INT && hn_json_int(id) >= 0 && hn_json_int(id) <= INT32_MAX, HN_ERR_FORMAT,
                   "recipe: bias: expected pairs of a token's id and a number or null");
        if (value->kind != HN_JSON_NULL)
            HN_TRY(hn_json_want_double(value, "bias", &bias));
        out->bias[out->sampling.n_bias++] = (hn_lm_bias){ sizeof *out->bias, (int32_t)hn_json_int(id), (float)bias };
    }
    out->sampling.bias = out->bias;
    return HN_OK;
}

static hn_status read_stops(hn_stops *out, const hn_json *list)
{
    HN_REQUIRE(list->kind == HN_JSON_ARRAY && hn_json_count(list) <= HN_MOST_STOPS, HN_ERR_FORMAT,
               "recipe: stop: expected an array of at most %d", HN_MOST_STOPS);
    for (const hn_json *v = hn_json_first(list); v; v = v->next) {
        HN_TRY(hn_json_want_string(v, "stop", &out->at[out->n++]));
        HN_REQUIRE(hn_json_bytes(v), HN_ERR_FORMAT, "recipe: stop: one is empty");
    }
    return HN_OK;
}

static hn_status read_grammar(hn_recipe *out, const hn_json *r)
{
    const char *word;
    const hn_json *kind = hn_json_get(r, "grammar_kind");
    if (kind->kind == HN_JSON_NULL)
        return HN_OK;
    HN_TRY(hn_json_want_string(kind, "grammar_kind", &word));
    HN_TRY(hn_json_want_string(hn_json_get(r, "grammar"), "grammar", &out->grammar));
    for (int i = 0; i < (int)(sizeof grammar_words / sizeof *grammar_words); i++)
        if (!strcmp(word, grammar_words[i])) {
            out->grammar_kind = (hn_lm_grammar_kind)i;
            return HN_OK;
        }
    return hn_fail(HN_ERR_FORMAT, "recipe: grammar_kind %.40s: not known", word);
}

/* A recipe of before there was more than one says none: it is of the first. */
static hn_status check_draws(const hn_json *r, const hn_lm_sampling *s)
{
    const char *told = "draw.1", *is = hn_lm_sampling_definition(s);
    if (hn_json_get(r, "draws"))
        HN_TRY(hn_json_want_string(hn_json_get(r, "draws"), "draws", &told));
    HN_REQUIRE(!strcmp(told, is), HN_ERR_FORMAT, "the answer was drawn by %.40s: here such a draw is %s", told, is);
    return HN_OK;
}

static hn_status read_sampling(hn_recipe *out, hn_heap *heap, const hn_json *r)
{
    int64_t seed, top_k, last;
    hn_lm_sampling *s = &out->sampling;
    s->size = sizeof *s;
    HN_TRY(read_int(r, "seed", 0, INT64_MAX, &seed));
    HN_TRY(read_int(r, "top_k", 0, INT32_MAX, &top_k));
    HN_TRY(read_int(r, "last", 0, INT32_MAX, &last));
    s->seed = (uint64_t)seed;
    s->top_k = (int32_t)top_k;
    s->last = (int32_t)last;
    HN_TRY(read_float(r, "temperature", &s->temperature));
    HN_TRY(read_float(r, "top_p", &s->top_p));
    HN_TRY(read_float(r, "min_p", &s->min_p));
    HN_TRY(read_float(r, "repetition", &s->repetition));
    HN_TRY(read_float(r, "frequency", &s->frequency));
    HN_TRY(read_float(r, "presence", &s->presence));
    HN_TRY(read_bias(out, heap, hn_json_get(r, "bias")));
    return check_draws(r, s);
}

static hn_status read_text_or_null(const hn_json *r, const char *key, const char **out)
{
    const hn_json *v = hn_json_get(r, key);
    return v->kind == HN_JSON_NULL ? HN_OK : hn_json_want_string(v, key, out);
}

/* One text a prompt, or none. */
static hn_status read_echo(hn_recipe *out, const hn_json *echo)
{
    if (echo->kind == HN_JSON_NULL)
        return HN_OK;
    HN_REQUIRE(echo->kind == HN_JSON_ARRAY && hn_json_count(echo) == hn_json_count(out->prompts), HN_ERR_FORMAT,
               "recipe: echo: expected null or the text of each prompt");
    out->echo = echo;
    return HN_OK;
}

/* What was asked, and how much of it is told. */
static hn_status read_asked(hn_recipe *out, const hn_json *r)
{
    int64_t n, best_of, likeliest;
    HN_TRY(read_int(r, "context", 1, INT32_MAX, &out->context));
    HN_TRY(read_int(r, "max_tokens", 0, INT32_MAX, &out->most));
    HN_TRY(read_int(r, "best_of", 1, HN_MOST_CHOICES, &best_of));
    HN_TRY(read_int(r, "n", 1, best_of, &n));
    HN_TRY(read_int(r, "likeliest", 0, HN_MOST_LIKELIEST, &likeliest));
    HN_TRY(hn_json_want_bool(hn_json_get(r, "ignore_eos"), "ignore_eos", &out->goes_on));
    HN_TRY(hn_json_want_bool(hn_json_get(r, "scores"), "scores", &out->scores));
    HN_TRY(hn_json_want_bool(hn_json_get(r, "scores_drawn"), "scores_drawn", &out->scores_drawn));
    HN_TRY(hn_json_want_bool(hn_json_get(r, "draws_none"), "draws_none", &out->draws_none));
    HN_TRY(hn_json_want_bool(hn_json_get(r, "is_chat"), "is_chat", &out->is_chat));
    out->n_each = (int32_t)best_of;
    out->n_told = (int32_t)n;
    out->likeliest = (int32_t)likeliest;
    out->prompts = hn_json_get(r, "prompts");
    HN_REQUIRE(out->prompts->kind == HN_JSON_ARRAY && hn_json_count(out->prompts), HN_ERR_FORMAT, "recipe: prompts: expected arrays of ids");
    return read_echo(out, hn_json_get(r, "echo"));
}

/* A prompt is kept as its ids, so nothing is written anew: the clock tells a reader when it was. */
static hn_status read_template(hn_recipe *out, const hn_json *r)
{
    int64_t clock;
    HN_TRY(read_text_or_null(r, "template", &out->template));
    return out->template ? read_int(r, "clock", 1, INT64_MAX, &clock) : HN_OK;
}

hn_status hn_recipe_read(hn_recipe *out, hn_heap *heap, const hn_json *answer)
{
    const hn_json *r = hn_json_get(answer, "recipe");
    *out = (hn_recipe){ .adapter = NULL };
    HN_REQUIRE(r && r->kind == HN_JSON_OBJECT, HN_ERR_FORMAT, "the answer has no recipe: ask with \"recipe\": true");
    HN_TRY(check_known(r));
    HN_TRY(hn_json_want_string(hn_json_get(r, "weights"), "weights", &out->weights));
    HN_TRY(hn_json_want_string(hn_json_get(r, "numerics"), "numerics", &out->numerics));
    HN_TRY(hn_json_want_string(hn_json_get(r, "cache"), "cache", &out->cache));
    HN_TRY(read_text_or_null(r, "adapter", &out->adapter));
    HN_TRY(hn_json_want_double(hn_json_get(r, "adapter_scale"), "adapter_scale", &out->adapter_scale));
    HN_TRY(read_template(out, r));
    HN_TRY(read_asked(out, r));
    HN_TRY(read_grammar(out, r));
    HN_TRY(read_text_or_null(r, "tools", &out->tools));
    HN_TRY(read_text_or_null(r, "calls", &out->calls));
    HN_TRY(read_stops(&out->stops, hn_json_get(r, "stop")));
    return read_sampling(out, heap, r);
}
