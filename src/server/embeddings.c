/* POST /v1/embeddings. */
#include "server/embedding.h"

#include "server/apis.h"
#include "server/openai.h"
#include "server/server_state.h"

#include <math.h>
#include <string.h>

enum { MOST_TEXTS = 2048 };

static void add_base64(hn_str *out, const unsigned char *bytes, size_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < n; i += 3) {
        const size_t left = n - i;
        const unsigned word = (unsigned)bytes[i] << 16 | (left > 1 ? (unsigned)bytes[i + 1] << 8 : 0) | (left > 2 ? bytes[i + 2] : 0);
        hn_str_add_char(out, digits[word >> 18]);
        hn_str_add_char(out, digits[word >> 12 & 63]);
        hn_str_add_char(out, left > 1 ? digits[word >> 6 & 63] : '=');
        hn_str_add_char(out, left > 2 ? digits[word & 63] : '=');
    }
}

/* float32, the lowest byte first, whatever the machine's order. */
static void add_numbers_base64(hn_json_writer *w, hn_heap *heap, const float *vector, int64_t n)
{
    hn_str bytes = hn_str_on(heap), text = hn_str_on(heap);
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &vector[i], sizeof bits);
        for (int k = 0; k < 4; k++)
            hn_str_add_char(&bytes, (char)(bits >> 8 * k));
    }
    add_base64(&text, (const unsigned char *)bytes.text, bytes.length);
    hn_json_add_string(w, text.text);
    hn_str_end(&bytes, w->to);
    hn_str_end(&text, w->to);
}

/* The first `n` numbers, of length 1 again. */
static void shorten(float *vector, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (double)vector[i] * (double)vector[i];
    for (int64_t i = 0; i < n && sum > 0; i++)
        vector[i] = (float)((double)vector[i] / sqrt(sum));
}

void hn_embed_as_numbers(hn_json_writer *w, const hn_answer *a, int64_t index, const float *vector, int64_t n)
{
    (void)a;
    (void)index;
    hn_json_begin_array(w);
    for (int64_t i = 0; i < n; i++)
        hn_json_add_double(w, (double)vector[i]);
    hn_json_end_array(w);
}

typedef struct embedding {
    hn_answer *a;
    hn_lm_embedder *embedder;
    hn_embed_say *say;
    bool takes_ids;
    float *vector;
    int64_t width, n, longest; /* numbers that it has, and that are told; tokens that are read */
} embedding;

static bool is_too_long(const embedding *e, int64_t index, int64_t n, hn_failure *why)
{
    return n > e->longest && !hn_refuse_as(why, HN_REFUSED_TOO_LONG, "input", "input: text %lld has %lld tokens: %s reads %lld%s",
                                           (long long)index, (long long)n, e->a->model->name, (long long)e->longest,
                                           e->a->context ? " (options.num_ctx)" : "");
}

/* Of Ollama's form, as of an answer there: no more than the model reads. */
static bool take_context(embedding *e, hn_failure *why)
{
    const int64_t asked = e->a->context;
    if (asked > e->longest)
        return hn_refuse_as(why, HN_REFUSED_INVALID, "options.num_ctx", "options.num_ctx: %s reads %lld tokens, found %lld", e->a->model->name,
                            (long long)e->longest, (long long)asked);
    e->longest = asked ? asked : e->longest;
    return true;
}

static bool embed_text(const embedding *e, const hn_json *text, int64_t index, int64_t *n, hn_failure *why)
{
    const hn_status status = hn_lm_embedder_run(e->embedder, hn_json_string(text), hn_json_bytes(text), e->vector, n);
    return status == HN_OK ? !is_too_long(e, index, *n, why) : hn_refuse_by(why, status, "input");
}

/* As they stand: whoever has ids has put around them what the model was trained to find there. */
static bool embed_ids(const embedding *e, const hn_json *list, int64_t index, int64_t *n, hn_failure *why)
{
    hn_prompt taken = { 0 };
    *n = (int64_t)hn_json_count(list);
    bool is_well = !is_too_long(e, index, *n, why) && hn_answer_take_ids(e->a, &taken, list, "input", why);
    if (is_well) {
        const hn_status status = hn_lm_embedder_run_ids(e->embedder, taken.ids, taken.n, e->vector);
        is_well = status == HN_OK || hn_refuse_by(why, status, "input");
    }
    hn_free(e->a->heap, taken.ids);
    return is_well;
}

static bool embed_one(const embedding *e, hn_json_writer *w, const hn_json *one, int64_t index, int64_t *n_tokens, hn_failure *why)
{
    int64_t n = 0;
    const bool has_ids = e->takes_ids && hn_is_ids(one);
    if (!has_ids && (one->kind != HN_JSON_STRING || !hn_json_bytes(one)))
        return hn_refuse_as(why, HN_REFUSED_INVALID, "input", "input: expected texts%s that are not empty",
                            e->takes_ids ? " or arrays of token ids" : "");
    if (!(has_ids ? embed_ids : embed_text)(e, one, index, &n, why))
        return false;
    if (e->n < e->width)
        shorten(e->vector, e->n);
    *n_tokens += n;
    e->say(w, e->a, index, e->vector, e->n);
    return true;
}

static bool check_input(const hn_answer *a, const hn_json *input, hn_failure *why)
{
    if (a->adapter)
        return hn_refuse_as(why, HN_REFUSED_UNSUPPORTED, "model", "%s:%s: adapters of requests change what is generated, and no embeddings",
                            a->model->name, a->adapter->name);
    if (!input || (input->kind == HN_JSON_ARRAY && !hn_json_count(input)))
        return hn_refuse_as(why, HN_REFUSED_MISSING_FIELD, "input", "input: expected a text, found none");
    return input->kind != HN_JSON_ARRAY || hn_is_ids(input) || hn_json_count(input) <= MOST_TEXTS ||
           hn_refuse_as(why, HN_REFUSED_INVALID, "input", "input: expected at most %d texts, found %zu", MOST_TEXTS,
                        hn_json_count(input));
}

bool hn_embed_input(hn_answer *a, bool takes_ids, hn_embed_say *say, hn_json_writer *w, int64_t *n_tokens, hn_failure *why)
{
    const hn_json *input = hn_field_of(a->body, "input");
    hn_lm_embedder *embedder;
    if (!check_input(a, input, why) || !hn_served_embedder(a->model, &embedder, why))
        return false;
    embedding e = { .a = a, .embedder = embedder, .say = say, .takes_ids = takes_ids, .width = hn_lm_embedder_width(embedder),
                    .longest = hn_lm_embedder_longest(embedder) };
    if (!take_context(&e, why))
        return false;
    e.n = hn_field_int(a->body, "dimensions", e.width);
    if (e.n > e.width)
        return hn_refuse_as(why, HN_REFUSED_INVALID, "dimensions", "dimensions: %s has %lld, found %lld", a->model->name,
                            (long long)e.width, (long long)e.n);
    e.vector = hn_alloc_array(a->heap, HN_TAG_STATE, (size_t)e.width, sizeof *e.vector);
    bool is_well = e.vector || hn_refuse_by(why, HN_ERR_MEMORY, NULL);
    const bool is_one = input->kind == HN_JSON_STRING || (takes_ids && hn_is_ids(input));
    int64_t index = 0;
    for (const hn_json *one = is_one ? input : hn_json_first(input); one && is_well; one = is_one ? NULL : one->next)
        is_well = embed_one(&e, w, one, index++, n_tokens, why);
    hn_free(a->heap, e.vector);
    return is_well;
}

/* ---- OpenAI's form ---- */

static void say(hn_json_writer *w, const hn_answer *a, int64_t index, const float *vector, int64_t n)
{
    hn_json_begin_object(w);
    hn_json_key(w, "object");
    hn_json_add_string(w, "embedding");
    hn_json_key(w, "index");
    hn_json_add_int(w, index);
    hn_json_key(w, "embedding");
    if (!strcmp(hn_field_text(a->body, "encoding_format", "float"), "base64"))
        add_numbers_base64(w, a->heap, vector, n);
    else
        hn_embed_as_numbers(w, a, index, vector, n);
    hn_json_end_object(w);
}

static bool embed(hn_answer *a, hn_str *out, hn_failure *why)
{
    hn_json_writer w = hn_json_write_to(out);
    int64_t n_tokens = 0;
    hn_json_begin_object(&w);
    hn_json_key(&w, "object");
    hn_json_add_string(&w, "list");
    hn_json_key(&w, "data");
    hn_json_begin_array(&w);
    if (!hn_embed_input(a, true, say, &w, &n_tokens, why))
        return false;
    hn_json_end_array(&w);
    hn_json_key(&w, "model");
    hn_json_add_string(&w, a->model->name);
    hn_json_key(&w, "usage");
    hn_json_begin_object(&w);
    hn_json_key(&w, "prompt_tokens");
    hn_json_add_int(&w, n_tokens);
    hn_json_key(&w, "total_tokens");
    hn_json_add_int(&w, n_tokens);
    hn_json_end_object(&w);
    hn_json_end_object(&w);
    hn_str_add(out, "\n");
    return true;
}

void hn_api_embeddings(hn_server *server, hn_http_call *call) { hn_api_ask_long(server, call, &hn_fields_embeddings, &hn_openai_voice, embed); }

/* Ranking takes a head that was trained for it, and models with one are not read; how near two embeddings lie is another measure. */
void hn_api_rerank(hn_server *server, hn_http_call *call)
{
    hn_failure why;
    hn_refuse_as(&why, HN_REFUSED_UNSUPPORTED, "model", "/v1/rerank: no model here has a head that ranks; embeddings are at /v1/embeddings");
    hn_api_refuse(server, call, &why);
}
