/* POST /v1/embeddings. */
#include "server/apis.h"
#include "server/openai.h"

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
    hn_str_free(&bytes);
    hn_str_free(&text);
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

typedef struct embedding {
    const hn_answer *a;
    float *vector;
    int64_t width, n; /* numbers that it has, and that are told */
    int64_t n_tokens, longest;
    bool is_base64;
} embedding;

static bool add_one(embedding *e, hn_json_writer *w, const hn_json *text, int64_t index, hn_failure *why)
{
    int64_t n_tokens = 0;
    if (text->kind != HN_JSON_STRING || !text->as.string.bytes)
        return hn_refuse_as(why, HN_REFUSED_INVALID, "input", "input: expected texts that are not empty");
    const hn_status status =
        hn_lm_embedder_run(e->a->model->embedder, text->as.string.text, text->as.string.bytes, e->vector, &n_tokens);
    if (status != HN_OK)
        return hn_refuse_by(why, status, "input");
    if (n_tokens > e->longest)
        return hn_refuse_as(why, HN_REFUSED_TOO_LONG, "input", "input: text %lld has %lld tokens: %s reads %lld", (long long)index,
                         (long long)n_tokens, e->a->model->name, (long long)e->longest);
    if (e->n < e->width)
        shorten(e->vector, e->n);
    e->n_tokens += n_tokens;
    hn_json_begin_object(w);
    hn_json_key(w, "object");
    hn_json_add_string(w, "embedding");
    hn_json_key(w, "index");
    hn_json_add_int(w, index);
    hn_json_key(w, "embedding");
    if (e->is_base64)
        add_numbers_base64(w, e->a->heap, e->vector, e->n);
    else {
        hn_json_begin_array(w);
        for (int64_t i = 0; i < e->n; i++)
            hn_json_add_double(w, (double)e->vector[i]);
        hn_json_end_array(w);
    }
    hn_json_end_object(w);
    return true;
}

static bool add_all(embedding *e, const hn_json *input, hn_str *out, hn_failure *why)
{
    hn_json_writer w = hn_json_write_to(out);
    int64_t index = 0;
    hn_json_begin_object(&w);
    hn_json_key(&w, "object");
    hn_json_add_string(&w, "list");
    hn_json_key(&w, "data");
    hn_json_begin_array(&w);
    const hn_json *one = input->kind == HN_JSON_STRING ? input : input->as.children.first;
    for (; one; one = input->kind == HN_JSON_STRING ? NULL : one->next)
        if (!add_one(e, &w, one, index++, why))
            return false;
    hn_json_end_array(&w);
    hn_json_key(&w, "model");
    hn_json_add_string(&w, e->a->model->name);
    hn_json_key(&w, "usage");
    hn_json_begin_object(&w);
    hn_json_key(&w, "prompt_tokens");
    hn_json_add_int(&w, e->n_tokens);
    hn_json_key(&w, "total_tokens");
    hn_json_add_int(&w, e->n_tokens);
    hn_json_end_object(&w);
    hn_json_end_object(&w);
    return true;
}

static bool embed(hn_answer *a, hn_str *out, hn_failure *why)
{
    const hn_json *input = hn_field_of(a->body, "input");
    if (!a->model->embedder)
        return hn_refuse_as(why, HN_REFUSED_UNSUPPORTED, "model", "%s generates text: it embeds none", a->model->name);
    if (!input || (input->kind == HN_JSON_ARRAY && !input->as.children.n))
        return hn_refuse_as(why, HN_REFUSED_MISSING_FIELD, "input", "input: expected a text, found none");
    if (input->kind == HN_JSON_ARRAY && input->as.children.n > MOST_TEXTS)
        return hn_refuse_as(why, HN_REFUSED_INVALID, "input", "input: expected at most %d texts, found %zu", MOST_TEXTS,
                         input->as.children.n);
    embedding e = { .a = a, .width = hn_lm_embedder_width(a->model->embedder), .longest = hn_lm_embedder_longest(a->model->embedder) };
    e.n = hn_field_int(a->body, "dimensions", e.width);
    e.is_base64 = !strcmp(hn_field_text(a->body, "encoding_format", "float"), "base64");
    if (e.n > e.width)
        return hn_refuse_as(why, HN_REFUSED_INVALID, "dimensions", "dimensions: %s has %lld, found %lld", a->model->name,
                         (long long)e.width, (long long)e.n);
    e.vector = hn_alloc_array(a->heap, HN_TAG_STATE, (size_t)e.width, sizeof *e.vector);
    const bool is_well = e.vector ? add_all(&e, input, out, why) : hn_refuse_by(why, HN_ERR_MEMORY, NULL);
    hn_free(a->heap, e.vector);
    return is_well;
}

void hn_api_embeddings(hn_server *server, hn_http_call *call) { hn_api_ask(server, call, &hn_fields_embeddings, embed); }
