/* What was written is read back as a stranger's file and compared, with texts in which tokenizers differ. First
 * what hone has keys of its own for is added where it is missing, then what is still another is refused. */
#include "text/tokenizer/same.h"

#include <string.h>

static const char ends_key[] = "hone.tokenizer.ends", added_key[] = "hone.tokenizer.added",
                  prefix_key[] = "hone.tokenizer.prefix", suffix_key[] = "hone.tokenizer.suffix",
                  decode_key[] = "hone.tokenizer.decode";

/* Of hone.tokenizer.added: pairs of an id and these. */
enum { STRIPS_LEFT = 1, STRIPS_RIGHT = 2, SINGLE_WORD = 4, NORMALIZED = 8 };
/* Of hone.tokenizer.decode. */
enum { MARKS_SPACES = 1, DROPS_SPACE = 2, DROPS_MARKS = 4, JOINS_WORDS = 8, CLEANS_UP = 16 };

static int64_t flags_of(const hn_tokenizer *tok, const hn_added *a)
{
    const bool is_normalized = a->is_normalized && tok->normalizer.n; /* else it is as it stands */
    return (a->strips_left ? STRIPS_LEFT : 0) | (a->strips_right ? STRIPS_RIGHT : 0) |
           (a->single_word ? SINGLE_WORD : 0) | (is_normalized ? NORMALIZED : 0);
}

static const hn_added *added_of(const hn_tokenizer *tok, int32_t id)
{
    return id < tok->vocab.n && tok->added_of[id] ? &tok->added[tok->added_of[id] - 1] : NULL;
}

/* *out is NULL if the key is missing. */
static hn_status list_ids(const hn_tokenizer *tok, const hn_meta *meta, const char *key,
                          const hn_meta_value **out)
{
    HN_TRY(hn_meta_array(meta, key, HN_META_I32, out));
    for (uint64_t i = 0; *out && i < (*out)->n; i++) {
        const int64_t id = hn_meta_item_int(*out, i);
        HN_REQUIRE(id >= 0 && id < tok->vocab.n, HN_ERR_FORMAT,
                   "%s: %s: item %llu is %lld: expected less than %d tokens", meta->name, key,
                   (unsigned long long)i, (long long)id, (int)tok->vocab.n);
    }
    return HN_OK;
}

hn_status hn_tokenizer_read_ends(hn_tokenizer *tok, const hn_meta *meta)
{
    const hn_meta_value *list;
    HN_TRY(list_ids(tok, meta, ends_key, &list));
    if (list)
        memset(tok->ends, 0, (size_t)tok->vocab.n * sizeof *tok->ends);
    for (uint64_t i = 0; list && i < list->n; i++)
        tok->ends[hn_meta_item_int(list, i)] = true;
    return HN_OK;
}

static hn_status read_side(const hn_tokenizer *tok, const hn_meta *meta, const char *key, int32_t **ids,
                           size_t *n, bool *adds)
{
    const hn_meta_value *list;
    HN_TRY(list_ids(tok, meta, key, &list));
    if (!list)
        return HN_OK;
    hn_free(tok->heap, *ids);
    *n = list->n;
    *ids = hn_alloc_array(tok->heap, HN_TAG_TEXT, list->n + 1, sizeof **ids);
    if (!*ids)
        return HN_ERR_MEMORY;
    for (uint64_t i = 0; i < list->n; i++)
        (*ids)[i] = (int32_t)hn_meta_item_int(list, i);
    const bool is_first = key == prefix_key;
    HN_TRY(hn_meta_bool(meta, is_first ? "tokenizer.ggml.add_bos_token" : "tokenizer.ggml.add_eos_token",
                        *adds, adds));
    *adds = *adds && *n;
    return HN_OK;
}

hn_status hn_tokenizer_read_around(hn_tokenizer *tok, const hn_meta *meta)
{
    int64_t rules;
    HN_TRY(read_side(tok, meta, prefix_key, &tok->prefix, &tok->n_prefix, &tok->adds_prefix));
    HN_TRY(read_side(tok, meta, suffix_key, &tok->suffix, &tok->n_suffix, &tok->adds_suffix));
    HN_TRY(hn_meta_int(meta, decode_key, 0, &rules));
    if (!hn_meta_find(meta, decode_key))
        return HN_OK;
    HN_REQUIRE(rules >= 0 && rules < 32, HN_ERR_FORMAT, "%s: %s is %lld", meta->name, decode_key,
               (long long)rules);
    tok->decode = (hn_decode_rules){ .marks_spaces = rules & MARKS_SPACES,
                                     .drops_first_space = rules & DROPS_SPACE,
                                     .drops_first_marks = rules & DROPS_MARKS,
                                     .joins_words = rules & JOINS_WORDS,
                                     .cleans_up = rules & CLEANS_UP };
    return HN_OK;
}

hn_status hn_tokenizer_read_flags(const hn_tokenizer *tok, const hn_meta *meta, hn_added *added)
{
    const hn_meta_value *list;
    HN_TRY(hn_meta_array(meta, added_key, HN_META_I32, &list));
    if (!list)
        return HN_OK;
    HN_REQUIRE(list->n % 2 == 0, HN_ERR_FORMAT, "%s: %s: expected pairs", meta->name, added_key);
    for (uint64_t i = 0; i < list->n; i += 2) {
        const int64_t id = hn_meta_item_int(list, i), flags = hn_meta_item_int(list, i + 1);
        HN_REQUIRE(id >= 0 && id < tok->vocab.n && flags >= 0 && flags < 16, HN_ERR_FORMAT,
                   "%s: %s: item %llu is %lld, %lld", meta->name, added_key, (unsigned long long)i,
                   (long long)id, (long long)flags);
        if (id != added->id)
            continue;
        added->strips_left = flags & STRIPS_LEFT;
        added->strips_right = flags & STRIPS_RIGHT;
        added->single_word = flags & SINGLE_WORD;
        added->is_normalized = flags & NORMALIZED;
    }
    return HN_OK;
}

static hn_status write_ends(const hn_tokenizer *tok, hn_meta *meta)
{
    int64_t *ids = hn_alloc_array(tok->heap, HN_TAG_TEXT, (size_t)tok->vocab.n + 1, sizeof *ids);
    size_t n = 0;
    for (int32_t id = 0; ids && id < tok->vocab.n; id++)
        if (tok->ends[id])
            ids[n++] = id;
    const hn_status status = ids ? hn_meta_set_ints(meta, ends_key, HN_META_I32, ids, n) : HN_ERR_MEMORY;
    hn_free(tok->heap, ids);
    return status;
}

static hn_status write_flags(const hn_tokenizer *tok, hn_meta *meta)
{
    int64_t *pairs = hn_alloc_array(tok->heap, HN_TAG_TEXT, 2 * tok->n_added + 1, sizeof *pairs);
    for (size_t i = 0; pairs && i < tok->n_added; i++) {
        pairs[2 * i] = tok->added[i].id;
        pairs[2 * i + 1] = flags_of(tok, &tok->added[i]);
    }
    const hn_status status =
        pairs ? hn_meta_set_ints(meta, added_key, HN_META_I32, pairs, 2 * tok->n_added) : HN_ERR_MEMORY;
    hn_free(tok->heap, pairs);
    return status;
}

static int64_t rules_of(const hn_decode_rules *r)
{
    return (r->marks_spaces ? MARKS_SPACES : 0) | (r->drops_first_space ? DROPS_SPACE : 0) |
           (r->drops_first_marks ? DROPS_MARKS : 0) | (r->joins_words ? JOINS_WORDS : 0) |
           (r->cleans_up ? CLEANS_UP : 0);
}

static hn_status write_side(hn_meta *meta, const char *key, const int32_t *ids, size_t n)
{
    int64_t wide[8];
    HN_REQUIRE(n <= HN_COUNT(wide), HN_ERR_UNSUPPORTED, "post_processor: %zu tokens beside a text", n);
    for (size_t i = 0; i < n; i++)
        wide[i] = ids[i];
    return hn_meta_set_ints(meta, key, HN_META_I32, wide, n);
}

static bool are_same(const int32_t *a, size_t n, const int32_t *b, size_t other_n)
{
    return n == other_n && (!n || !memcmp(a, b, n * sizeof *a));
}

static bool have_same_prefix(const hn_tokenizer *a, const hn_tokenizer *b)
{
    return a->adds_prefix == b->adds_prefix && are_same(a->prefix, a->n_prefix, b->prefix, b->n_prefix);
}

static bool have_same_suffix(const hn_tokenizer *a, const hn_tokenizer *b)
{
    return a->adds_suffix == b->adds_suffix && are_same(a->suffix, a->n_suffix, b->suffix, b->n_suffix);
}

static bool have_same_ends(const hn_tokenizer *a, const hn_tokenizer *b)
{
    for (int32_t id = 0; id < a->vocab.n; id++)
        if (a->ends[id] != b->ends[id])
            return false;
    return true;
}

static bool have_same_flags(const hn_tokenizer *a, const hn_tokenizer *b)
{
    for (size_t i = 0; i < a->n_added; i++) {
        const hn_added *other = added_of(b, a->added[i].id);
        if (other && flags_of(a, &a->added[i]) != flags_of(b, other))
            return false;
    }
    return true;
}

static hn_status lost(const char *what)
{
    return hn_fail(HN_ERR_UNSUPPORTED, "GGUF would have another tokenizer than the directory: %s", what);
}

/* Blanks, digits, contractions, scripts, emoji, half-written marks, control characters. */
static const char *const probes[] = {
    "Hello, world!  It's 2026-01-01; don't   we'll THEY'RE 1234567 3.14 x=y+z;\n\n\tfoo_bar(42) ",
    ("caf\xc3\xa9 na\xc3\xafve \xe4\xbd\xa0\xe5\xa5\xbd \xe3\x81\x93\xe3\x82\x93 \xd0\x9f\xd1\x80\xd0\xb8 "
    "\xd7\xa9\xd7\x9c \xe0\xa4\xa8 \xf0\x9f\x98\x80\xf0\x9f\x91\x8d\xf0\x9f\x8f\xbd e\xcc\x81"),
    " ... --- <|end|> <s> </s> [INST] [MASK] \xe2\x96\x81 \xc2\xa0 \r\n end ",
    "",
    "\n\n \n",
};

static bool is_plain(const hn_tokenizer *tok, int32_t id)
{
    return tok->vocab.kind[id] != HN_TOKEN_CONTROL && tok->vocab.kind[id] != HN_TOKEN_UNKNOWN;
}

/* Tokens that are no text are left out: GGUF marks the unknown one, and shows it otherwise. */
static hn_status same_text(const hn_tokenizer *a, const hn_tokenizer *b, hn_encoding *ids)
{
    size_t n = 0;
    for (size_t i = 0; i < ids->n; i++)
        if (is_plain(a, ids->ids[i]) && is_plain(b, ids->ids[i]))
            ids->ids[n++] = ids->ids[i];
    ids->n = n;
    hn_str left = hn_str_on(a->heap), right = hn_str_on(a->heap);
    hn_status status = HN_OK;
    for (int skips = 0; skips < 2 && status == HN_OK; skips++) {
        hn_str_clear(&left);
        hn_str_clear(&right);
        status = hn_tokenizer_decode(a, ids->ids, ids->n, skips, &left);
        if (status == HN_OK)
            status = hn_tokenizer_decode(b, ids->ids, ids->n, skips, &right);
        if (status == HN_OK && (left.length != right.length ||
                                (left.length && memcmp(left.text, right.text, left.length) != 0)))
            status = hn_fail(HN_ERR_UNSUPPORTED,
                             "GGUF would have another tokenizer than the directory: the ids of \"%.60s\" become \"%.60s\"",
                             left.text ? left.text : "", right.text ? right.text : "");
    }
    hn_str_free(&left);
    hn_str_free(&right);
    return status;
}

static hn_status expect_same(const hn_encoding *a, const hn_encoding *b, const char *text, size_t bytes)
{
    size_t i = 0;
    while (i < a->n && i < b->n && a->ids[i] == b->ids[i])
        i++;
    HN_REQUIRE(i == a->n && i == b->n, HN_ERR_UNSUPPORTED,
               "GGUF would have another tokenizer than the directory: id %zu of \"%.*s\" is %d, and %d (-1: none)",
               i, bytes < 60 ? (int)bytes : 60, text, i < a->n ? (int)a->ids[i] : -1,
               i < b->n ? (int)b->ids[i] : -1);
    return HN_OK;
}

static hn_status same_ids(const hn_tokenizer *a, const hn_tokenizer *b, const char *text, size_t bytes)
{
    hn_encoding left = { 0 }, right = { 0 };
    hn_status status = HN_OK;
    for (int special = 0; special < 2 && status == HN_OK; special++) {
        const hn_encode_options o = { .parse_special = special };
        status = hn_tokenizer_encode(a, text, bytes, &o, &left);
        if (status == HN_OK)
            status = hn_tokenizer_encode(b, text, bytes, &o, &right);
        if (status == HN_OK)
            status = expect_same(&left, &right, text, bytes);
    }
    if (status == HN_OK)
        status = same_text(a, b, &left);
    hn_encoding_free(&left);
    hn_encoding_free(&right);
    return status;
}

/* Tokens that stand in a text, between blanks and beside letters. */
static hn_status same_added(const hn_tokenizer *a, const hn_tokenizer *b)
{
    hn_str text = hn_str_on(a->heap);
    for (size_t i = 0; i < a->n_added && i < 256; i++) {
        const hn_span piece = hn_tokenizer_piece(a, a->added[i].id);
        hn_str_add(&text, "x ");
        hn_str_add_bytes(&text, piece.data, piece.bytes);
        hn_str_add(&text, " y");
        hn_str_add_bytes(&text, piece.data, piece.bytes);
    }
    hn_status status = hn_str_status(&text);
    if (status == HN_OK && text.length)
        status = same_ids(a, b, text.text, text.length);
    hn_str_free(&text);
    return status;
}

static hn_status compare(const hn_tokenizer *a, const hn_tokenizer *b)
{
    HN_REQUIRE(a->vocab.n == b->vocab.n, HN_ERR_UNSUPPORTED,
               "GGUF would have another tokenizer than the directory: %d tokens, and %d",
               (int)a->vocab.n, (int)b->vocab.n);
    if (!have_same_ends(a, b))
        return lost("other tokens end a generation");
    if (!have_same_flags(a, b))
        return lost("tokens in a text are found otherwise");
    for (size_t i = 0; i < HN_COUNT(probes); i++)
        HN_TRY(same_ids(a, b, probes[i], strlen(probes[i])));
    return same_added(a, b);
}

static hn_status read_back(const hn_tokenizer *tok, const hn_meta *meta, hn_tokenizer **out)
{
    const hn_status status = hn_tokenizer_from_meta(tok->heap, meta, out);
    return status == HN_OK ? HN_OK : hn_fail_within(status, "the tokenizer as GGUF would have it: ");
}

/* Under hone's own keys what the others do not say. */
static hn_status complete(const hn_tokenizer *tok, const hn_tokenizer *written, hn_meta *meta)
{
    if (!have_same_ends(tok, written))
        HN_TRY(write_ends(tok, meta));
    if (!have_same_flags(tok, written))
        HN_TRY(write_flags(tok, meta));
    if (!have_same_prefix(tok, written))
        HN_TRY(write_side(meta, prefix_key, tok->prefix, tok->n_prefix));
    if (!have_same_suffix(tok, written))
        HN_TRY(write_side(meta, suffix_key, tok->suffix, tok->n_suffix));
    return rules_of(&tok->decode) == rules_of(&written->decode)
               ? HN_OK
               : hn_meta_set_int(meta, decode_key, HN_META_U32, rules_of(&tok->decode));
}

hn_status hn_tokenizer_check_written(const hn_tokenizer *tok, hn_meta *meta)
{
    hn_tokenizer *written;
    const size_t n = meta->n;
    HN_TRY(read_back(tok, meta, &written));
    hn_status status = written->vocab.n == tok->vocab.n ? complete(tok, written, meta) : HN_OK;
    if (status == HN_OK && meta->n > n) {
        hn_tokenizer_free(written);
        HN_TRY(read_back(tok, meta, &written));
    }
    if (status == HN_OK)
        status = compare(tok, written);
    hn_tokenizer_free(written);
    return status;
}
