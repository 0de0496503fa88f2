/* unigram_steps: what tokenizer.json says of a unigram beyond its pieces and scores, as a text
 * for the key hone.tokenizer.steps: GGUF has a map of characters for the normaliser, two truth
 * values for blanks, and no more. The map stays in its own key. */
#include "text/tokenizer/json_parts.h"

#include <string.h>

enum { MOST_LEVELS = 16, MOST_BYTES = 1 << 20 };

static const char map_key[] = "precompiled_charsmap";

/* How many maps there are, each of which becomes null in the copy; also too many if what is
 * copied is too deep. */
static int put_without_maps(hn_json_writer *w, const hn_json *value, int depth)
{
    int n = 0;
    const bool is_object = value->kind == HN_JSON_OBJECT;
    if (!is_object && value->kind != HN_JSON_ARRAY) {
        hn_json_add_scalar(w, value);
        return 0;
    }
    if (depth == MOST_LEVELS) {
        hn_json_add_null(w);
        return 2;
    }
    is_object ? hn_json_begin_object(w) : hn_json_begin_array(w);
    for (const hn_json *v = hn_json_first(value); v; v = v->next) {
        const bool is_map = is_object && !strcmp(v->key, map_key) && v->kind == HN_JSON_STRING;
        if (is_object)
            hn_json_key(w, v->key);
        if (is_map)
            hn_json_add_null(w);
        n += is_map ? 1 : put_without_maps(w, v, depth + 1);
    }
    is_object ? hn_json_end_object(w) : hn_json_end_array(w);
    return n;
}

hn_status hn_unigram_steps_keep(hn_json_loader *l)
{
    static const char *const parts[] = { "normalizer", "pre_tokenizer", "decoder" };
    hn_tokenizer *tok = l->tok;
    hn_str text = hn_str_on(tok->heap);
    hn_json_writer w = hn_json_write_to(&text);
    int n_maps = 0;
    hn_json_begin_object(&w);
    for (size_t i = 0; i < HN_COUNT(parts); i++) {
        const hn_json *part = hn_json_get(l->root, parts[i]);
        if (!part || part->kind == HN_JSON_NULL)
            continue;
        hn_json_key(&w, parts[i]);
        n_maps += put_without_maps(&w, part, 0);
    }
    hn_json_key(&w, "byte_fallback");
    hn_json_add_bool(&w, tok->has_byte_fallback);
    hn_json_key(&w, "scored");
    hn_json_add_int(&w, tok->n_scored);
    hn_json_end_object(&w);
    hn_status status = hn_str_status(&text);
    if (status == HN_OK && n_maps <= 1 && text.length <= MOST_BYTES) {
        tok->steps = hn_strdup(tok->heap, HN_TAG_TEXT, text.text);
        status = tok->steps ? HN_OK : HN_ERR_MEMORY;
    }
    hn_str_free(&text);
    return status;
}

static hn_status read_steps(hn_json_loader *l)
{
    hn_tokenizer *tok = l->tok;
    int64_t scored = 0;
    HN_REQUIRE(l->root->kind == HN_JSON_OBJECT, HN_ERR_FORMAT, "%s: expected an object",
               l->file);
    HN_TRY(hn_json_want_int(hn_json_get(l->root, "scored"), "scored", &scored));
    HN_REQUIRE(scored >= 0 && scored <= tok->vocab.n, HN_ERR_FORMAT,
               "%s: scored: %lld of %d tokens", l->file, (long long)scored, (int)tok->vocab.n);
    tok->from_json = true;
    tok->n_scored = (int32_t)scored;
    tok->has_byte_fallback = hn_json_flag_of(l->root, "byte_fallback", false);
    tok->decode = (hn_decode_rules){ 0 };
    HN_TRY(hn_json_read_normalizer(l, hn_json_get(l->root, "normalizer"), true));
    HN_TRY(hn_json_read_split(l, hn_json_get(l->root, "pre_tokenizer"), true));
    return hn_json_read_decoder(l, hn_json_get(l->root, "decoder"));
}

hn_status hn_unigram_steps_read(hn_tokenizer *tok, hn_span text, hn_span charsmap)
{
    hn_json_text *json = NULL;
    hn_json_loader l = { .tok = tok, .file = "hone.tokenizer.steps", .charsmap = charsmap };
    HN_REQUIRE(text.bytes <= MOST_BYTES, HN_ERR_FORMAT, "%s: over %d bytes", l.file,
               MOST_BYTES);
    HN_TRY(hn_json_read(tok->heap, l.file, text.data, text.bytes, &json));
    l.root = hn_json_root(json);
    hn_status status = read_steps(&l);
    hn_json_free(json);
    if (status == HN_OK) {
        tok->steps = hn_alloc(tok->heap, HN_TAG_TEXT, text.bytes + 1);
        if (tok->steps)
            memcpy(tok->steps, text.data, text.bytes);
        status = tok->steps ? HN_OK : HN_ERR_MEMORY;
    }
    return status;
}
