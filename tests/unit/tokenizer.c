/* Hostile and odd vocabularies: each is refused by the name of its key, or means what it says;
 * the way to GGUF keys and back; long runs; ties. */
#include "text/tokenizer/tokenizer.h"
#include "tests/harness/check.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static hn_heap heap;

static hn_status from_json(const char *json, hn_tokenizer **out)
{
    hn_json_text *text = NULL;
    *out = NULL;
    HN_TRY(hn_json_read(&heap, "t", json, strlen(json), &text));
    const hn_status status =
        hn_tokenizer_from_json(&heap, "t", hn_json_root(text), NULL, NULL, out);
    hn_json_free(text);
    return status;
}

#define BYTE_LEVEL                                                                             \
    "\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false},\"decoder\":{"      \
    "\"type\":\"ByteLevel\"}"
#define BPE(vocab, merges)                                                                     \
    "\"model\":{\"type\":\"BPE\",\"vocab\":{" vocab "},\"merges\":[" merges "]}"

static void refuses_json(void)
{
    static const struct {
        const char *json, *words;
    } cases[] = {
        { "[]", "expected an object" },
        { "{}", "model.type" },
        { "{\"model\":{\"type\":\"Odd\"}}", "model.type: 'Odd'" },
        { "{\"model\":{\"type\":\"WordLevel\"}}", "model.vocab is missing or empty" },
        { "{\"model\":{\"type\":\"BPE\",\"vocab\":{},\"merges\":[]}}",
          "model.vocab is missing or empty" },
        { "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0}}}", "model.merges is missing" },
        { "{" BPE("\"a\":0,\"b\":0", "") "}", "model.vocab: 'a' and 'b' have one id" },
        { "{" BPE("\"a\":-1", "") "}", "'a' has id -1" },
        { "{" BPE("\"a\":99999999", "") "}", "beyond all others" },
        { "{" BPE("\"a\":\"x\"", "") "}", "'a' has no id" },
        { "{" BPE("\"a\":0,\"b\":1", "\"a b\"") "}",
          "model.merges: item 0: 'ab' makes no token" },
        { "{" BPE("\"a\":0,\"ab\":1", "\"a b\"") "}", "joins what is no token" },
        { "{" BPE("\"a\":0", "\"a\"") "}", "model.merges: item 0: expected two pieces" },
        { "{" BPE("\"a\":0", "7") "}", "model.merges: item 0" },
        { "{\"normalizer\":{\"type\":\"Rot13\"}," BPE("\"a\":0", "") "}",
          "normalizer: 'Rot13'" },
        { "{\"pre_tokenizer\":{\"type\":\"UnicodeScripts\"}," BPE("\"a\":0", "") "}",
          "'UnicodeScripts'" },
        { "{\"decoder\":{\"type\":\"CTC\"}," BPE("\"a\":0", "") "}", "decoder: 'CTC'" },
        { "{\"post_processor\":{\"type\":\"X\"}," BYTE_LEVEL "," BPE("\"a\":0", "") "}",
          "post_processor: 'X'" },
        { "{\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"a(?<n>b)\"}}," BPE(
              "\"a\":0", "") "}",
          "a group of this kind" },
        { "{\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"\\\\p{Klingon}\"}}"
          "," BPE("\"a\":0", "") "}",
          "\\p{Klingon}" },
        { "{\"added_tokens\":[{\"id\":0,\"content\":\"x\"}]," BPE("\"a\":0", "") "}",
          "'x' has the id of 'a'" },
        { "{\"model\":{\"type\":\"BPE\",\"dropout\":0.1,\"vocab\":{\"a\":0},\"merges\":[]}}",
          "model.dropout" },
        { "{\"model\":{\"type\":\"BPE\",\"unk_token\":\"u\",\"vocab\":{\"a\":0},\"merges\":[]}"
          "}",
          "model.unk_token: 'u'" },
        { "{\"model\":{\"type\":\"BPE\",\"end_of_word_suffix\":\"</"
          "w>\",\"vocab\":{\"a\":0},\"merges\":[]}}",
          "end_of_word" },
        { "{\"model\":{\"type\":\"Unigram\",\"unk_id\":5,\"vocab\":[[\"a\",0]]}}",
          "model.unk_id is 5" },
        { "{\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\"]]}}", "score" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hn_tokenizer *tok;
        const hn_status status = from_json(cases[i].json, &tok);
        CHECK_THAT(status != HN_OK && !tok && strstr(hn_error_message(), cases[i].words),
                   "%s: expected '%s', found %d '%s'", cases[i].json, cases[i].words,
                   (int)status, hn_error_message());
        hn_tokenizer_free(tok);
    }
}

static void set_strings(hn_meta *meta, const char *key, const char *const *items, size_t n)
{
    hn_span spans[16];
    for (size_t i = 0; i < n; i++)
        spans[i] = (hn_span){ items[i], strlen(items[i]) };
    CHECK_OK(hn_meta_set_strings(meta, key, spans, n));
}

static void fill_meta(hn_meta *meta)
{
    static const char *const pieces[] = { "a", "b", "ab", "<s>" }, *const merges[] = { "a b" };
    static const int64_t kinds[] = { 1, 1, 1, 3 };
    CHECK_OK(hn_meta_set_text(meta, "tokenizer.ggml.model", "gpt2"));
    CHECK_OK(hn_meta_set_text(meta, "tokenizer.ggml.pre", "gpt-2"));
    set_strings(meta, "tokenizer.ggml.tokens", pieces, 4);
    set_strings(meta, "tokenizer.ggml.merges", merges, 1);
    CHECK_OK(hn_meta_set_ints(meta, "tokenizer.ggml.token_type", HN_META_I32, kinds, 4));
    CHECK_OK(hn_meta_set_int(meta, "tokenizer.ggml.bos_token_id", HN_META_U32, 3));
}

static void refuse_meta(hn_meta *meta, hn_status code, const char *words)
{
    hn_tokenizer *tok;
    CHECK_FAILS(hn_tokenizer_from_meta(&heap, meta, &tok), code, words);
    CHECK(tok == NULL);
    hn_meta_free(meta);
    *meta = hn_meta_on(&heap, "m");
    fill_meta(meta);
}

static void refuses_meta(void)
{
    static const char *const twice[] = { "a", "b", "a", "<s>" }, *const bad[] = { "a c" },
                             *const one[] = { "ab" };
    static const int64_t three[] = { 1, 1, 1 }, kinds[] = { 1, 1, 9, 3 };
    hn_meta meta = hn_meta_on(&heap, "m");
    hn_tokenizer *tok;
    refuse_meta(&meta, HN_ERR_FORMAT, "tokenizer.ggml.model");
    CHECK_OK(hn_tokenizer_from_meta(&heap, &meta, &tok));
    hn_tokenizer_free(tok);
    CHECK_OK(hn_meta_set_text(&meta, "tokenizer.ggml.model", "rwkv"));
    refuse_meta(&meta, HN_ERR_UNSUPPORTED, "'rwkv'");
    CHECK_OK(hn_meta_set_text(&meta, "tokenizer.ggml.pre", "gpt-9"));
    refuse_meta(&meta, HN_ERR_UNSUPPORTED, "tokenizer.ggml.pre: 'gpt-9'");
    set_strings(&meta, "tokenizer.ggml.tokens", twice, 4);
    refuse_meta(&meta, HN_ERR_FORMAT, "tokenizer.ggml.tokens: item 2 equals item 0");
    set_strings(&meta, "tokenizer.ggml.merges", bad, 1);
    refuse_meta(&meta, HN_ERR_FORMAT,
                "tokenizer.ggml.merges: item 0: 'a c' joins what is no token");
    set_strings(&meta, "tokenizer.ggml.merges", one, 1);
    refuse_meta(&meta, HN_ERR_FORMAT, "tokenizer.ggml.merges: item 0");
    CHECK_OK(hn_meta_set_ints(&meta, "tokenizer.ggml.token_type", HN_META_I32, three, 3));
    refuse_meta(&meta, HN_ERR_FORMAT, "tokenizer.ggml.token_type: 3 items: expected 4");
    CHECK_OK(hn_meta_set_ints(&meta, "tokenizer.ggml.token_type", HN_META_I32, kinds, 4));
    refuse_meta(&meta, HN_ERR_FORMAT, "tokenizer.ggml.token_type: item 2 is 9");
    CHECK_OK(hn_meta_set_int(&meta, "tokenizer.ggml.bos_token_id", HN_META_U32, 4));
    refuse_meta(&meta, HN_ERR_FORMAT, "tokenizer.ggml.bos_token_id is 4");
    hn_meta_remove(&meta, "tokenizer.ggml.merges");
    refuse_meta(&meta, HN_ERR_FORMAT, "tokenizer.ggml.merges is missing");
    hn_meta_remove(&meta, "tokenizer.ggml.tokens");
    refuse_meta(&meta, HN_ERR_FORMAT, "tokenizer.ggml.tokens is missing");
    CHECK_OK(hn_meta_set_text(&meta, "tokenizer.ggml.model", "llama"));
    refuse_meta(&meta, HN_ERR_FORMAT, "tokenizer.ggml.scores is missing");
    hn_meta_free(&meta);
}

/* The steps of a unigram, which come as JSON within a GGUF file. */
static void refuses_steps(void)
{
    static const struct {
        const char *steps, *words;
        hn_status code;
    } cases[] = {
        { "", "expected a value", HN_ERR_FORMAT },
        { "[]", "hone.tokenizer.steps: expected an object", HN_ERR_FORMAT },
        { "{}", "scored", HN_ERR_FORMAT },
        { "{\"scored\":5}", "scored: 5 of 4 tokens", HN_ERR_FORMAT },
        { "{\"scored\":-1}", "scored: -1 of 4 tokens", HN_ERR_FORMAT },
        { "{\"scored\":4}", "decoder is missing", HN_ERR_UNSUPPORTED },
        { "{\"scored\":4,\"normalizer\":{\"type\":\"Rot13\"}}", "normalizer: 'Rot13'",
          HN_ERR_UNSUPPORTED },
        { "{\"scored\":4,\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":"
          "null}}",
          "precompiled_charsmap is missing", HN_ERR_FORMAT },
        { "{\"scored\":4,\"pre_tokenizer\":{\"type\":\"UnicodeScripts\"}}", "'UnicodeScripts'",
          HN_ERR_UNSUPPORTED },
    };
    static const double scores[] = { -1, -2, -3, 0 };
    hn_meta meta = hn_meta_on(&heap, "m");
    fill_meta(&meta);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK_OK(hn_meta_set_text(&meta, "tokenizer.ggml.model", "t5"));
        CHECK_OK(hn_meta_set_doubles(&meta, "tokenizer.ggml.scores", HN_META_F32, scores, 4));
        CHECK_OK(hn_meta_set_text(&meta, "hone.tokenizer.steps", cases[i].steps));
        refuse_meta(&meta, cases[i].code, cases[i].words);
    }
    hn_meta_free(&meta);
}

static void expect(const hn_tokenizer *tok, const char *text, const hn_encode_options *o,
                   const char *ids)
{
    hn_encoding e = { 0 };
    hn_str found = hn_str_on(&heap);
    CHECK_OK(hn_tokenizer_encode(tok, text, strlen(text), o, &e));
    for (size_t i = 0; i < e.n; i++)
        hn_str_print(&found, i ? " %d" : "%d", (int)e.ids[i]);
    CHECK_TEXT(ids, found.text);
    hn_str_free(&found);
    hn_encoding_free(&e);
}

static const char spans_json[] =
    "{\"added_tokens\":[{\"id\":6,\"content\":\"<e>\",\"special\":true,\"normalized\":false}]"
    "," BYTE_LEVEL
    ",\"post_processor\":{\"type\":\"BertProcessing\",\"cls\":[\"<e>\",6],\"sep\":[\"a\",0]}"
    "," BPE("\"a\":0,\"b\":1,\"aa\":2,\"ab\":3,\"\xc3\x83\":4,\"\xc2\xa9\":5",
            "\"a a\",\"a b\"") "}";

/* Of equal pairs the left one merges: aaa is aa a. */
static void merges_left(void)
{
    hn_tokenizer *tok;
    if (!CHECK_OK(from_json(spans_json, &tok)))
        return;
    const hn_encode_options bare = { .add_bos = HN_NO, .add_eos = HN_NO },
                            special = { .parse_special = true };
    expect(tok, "aaa", &bare, "2 0");
    expect(tok, "aaaab", &bare, "2 2 1");
    expect(tok, "aab", &bare, "2 1");
    expect(tok, "ab", &bare, "3");
    expect(tok, "a<e>", &special, "6 0 6 0");
    expect(tok, "", NULL, "6 0");
    CHECK_INT(7, hn_tokenizer_size(tok));
    CHECK_INT(3, hn_tokenizer_find(tok, "ab", 2));
    CHECK_INT(-1, hn_tokenizer_find(tok, "x", 1));
    CHECK_INT(HN_TOKEN_CONTROL, hn_tokenizer_token_kind(tok, 6));
    CHECK(hn_tokenizer_piece(tok, 7).data == NULL);
    hn_encoding e = { 0 };
    const hn_encode_options offsets = { .add_bos = HN_NO,
                                        .add_eos = HN_NO,
                                        .wants_offsets = true };
    CHECK_OK(hn_tokenizer_encode(tok, "aab\xc3\xa9", 5, &offsets, &e));
    CHECK_INT(4, (int64_t)e.n);
    CHECK(e.n == 4 && e.begin[1] == 2 && e.end[1] == 3 && e.begin[2] == 3 && e.end[2] == 4 &&
          e.end[3] == 5);
    hn_str out = hn_str_on(&heap);
    CHECK_FAILS(hn_tokenizer_decode(tok, &(int32_t){ 7 }, 1, false, &out), HN_ERR_ARGUMENT,
                "token 7: expected 0 to 6");
    hn_str_free(&out);
    hn_encoding_free(&e);
    hn_tokenizer_free(tok);
}

/* A megabyte of one thing takes seconds at most; the square of it would take days. */
static void runs_are_linear(void)
{
    hn_tokenizer *tok;
    static const char *const units[] = { "a", " ", "\xc3\xa9", "ab", "1" };
    const size_t bytes = 1 << 20;
    char *text = malloc(bytes);
    if (!text || !CHECK_OK(from_json(spans_json, &tok)))
        return;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        const size_t n = strlen(units[i]);
        for (size_t at = 0; at + n <= bytes; at += n)
            memcpy(text + at, units[i], n);
        hn_encoding e = { 0 };
        const clock_t start = clock(); /* of this process's work, whatever else the machine does */
        CHECK_OK(hn_tokenizer_encode(tok, text, bytes / n * n, NULL, &e));
        CHECK_THAT(clock() - start < 20 * CLOCKS_PER_SEC, "'%s': over 20 s", units[i]);
        hn_encoding_free(&e);
    }
    free(text);
    hn_tokenizer_free(tok);
}

/* What goes out as GGUF keys comes back as the same tokenizer. */
static void exports(void)
{
    hn_tokenizer *tok, *again = NULL;
    hn_meta meta = hn_meta_on(&heap, "m");
    if (!CHECK_OK(from_json(spans_json, &tok)))
        return;
    CHECK_TEXT("gpt-2", hn_tokenizer_pre(tok));
    CHECK_OK(hn_tokenizer_to_meta(tok, &meta));
    CHECK_OK(hn_tokenizer_from_meta(&heap, &meta, &again));
    const hn_encode_options bare = { .add_bos = HN_NO, .add_eos = HN_NO };
    expect(again, "aaaab ab\xc3\xa9", &bare, "2 2 1 3 4 5");
    hn_tokenizer_free(again);
    hn_tokenizer_free(tok);
    hn_meta_free(&meta);
    CHECK_OK(from_json("{\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":true},"
                       "\"decoder\":{\"type\":\"ByteLevel\"}," BPE("\"a\":0", "") "}",
                       &tok));
    meta = hn_meta_on(&heap, "m");
    CHECK_FAILS(hn_tokenizer_to_meta(tok, &meta), HN_ERR_UNSUPPORTED, "pre_tokenizer");
    hn_meta_free(&meta);
    hn_tokenizer_free(tok);
}

/* Absent, lowercase is true and accents go where it is; said, they are what is said. */
static void word_flags(void)
{
    static const char *const pieces[] = { "[UNK]", ("\xe2\x96\x81" "a"), ("\xe2\x96\x81" "A"),
                                          "\xe2\x96\x81\xc3\xa4", "\xe2\x96\x81\xc3\x84" };
    static const struct {
        int lowers, strips; /* -1: absent */
        const char *ids;    /* of a, A, a with two dots, A with two dots */
    } cases[] = {
        { -1, -1, "1 1 1 1" }, { 1, -1, "1 1 1 1" }, { 0, -1, "1 2 3 4" }, { 1, 0, "1 1 3 3" },
        { 0, 1, "1 2 1 2" },   { -1, 0, "1 1 3 3" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hn_meta meta = hn_meta_on(&heap, "m");
        hn_tokenizer *tok;
        CHECK_OK(hn_meta_set_text(&meta, "tokenizer.ggml.model", "bert"));
        CHECK_OK(hn_meta_set_text(&meta, "tokenizer.ggml.pre", "jina-v2-en"));
        set_strings(&meta, "tokenizer.ggml.tokens", pieces, 5);
        CHECK_OK(hn_meta_set_int(&meta, "tokenizer.ggml.unknown_token_id", HN_META_U32, 0));
        if (cases[i].lowers >= 0)
            CHECK_OK(hn_meta_set_bool(&meta, "tokenizer.ggml.normalizer.lowercase", cases[i].lowers));
        if (cases[i].strips >= 0)
            CHECK_OK(hn_meta_set_bool(&meta, "tokenizer.ggml.normalizer.strip_accents", cases[i].strips));
        if (CHECK_OK(hn_tokenizer_from_meta(&heap, &meta, &tok))) {
            const hn_encode_options bare = { .add_bos = HN_NO, .add_eos = HN_NO };
            expect(tok, "a A \xc3\xa4 \xc3\x84", &bare, cases[i].ids);
            hn_tokenizer_free(tok);
        }
        hn_meta_free(&meta);
    }
}

/* WordLevel: whole words or what stands for the unknown; text by blanks; no way into GGUF. */
static void whole_words(void)
{
#define LEVEL(unknown) \
    "{\"pre_tokenizer\":{\"type\":\"WhitespaceSplit\"},\"model\":{\"type\":\"WordLevel\"," unknown \
    "\"vocab\":{\"[UNK]\":0,\"a\":1,\"##b\":2,\"hello\":3}}}"
    hn_tokenizer *tok;
    hn_str text = hn_str_on(&heap);
    hn_meta meta = hn_meta_on(&heap, "m");
    hn_encoding e = { 0 };
    if (CHECK_OK(from_json(LEVEL("\"unk_token\":\"[UNK]\","), &tok))) {
        expect(tok, "hello a ##b zz a", NULL, "3 1 2 0 1");
        const int32_t ids[] = { 3, 1, 2, 0, 1 };
        CHECK_OK(hn_tokenizer_decode(tok, ids, 5, true, &text));
        CHECK_TEXT("hello a ##b [UNK] a", text.text);
        CHECK_TEXT("level", hn_tokenizer_kind(tok));
        CHECK_FAILS(hn_tokenizer_to_meta(tok, &meta), HN_ERR_UNSUPPORTED, "GGUF has no kind for whole words");
        hn_tokenizer_free(tok);
    }
    if (CHECK_OK(from_json(LEVEL(""), &tok))) {
        expect(tok, "hello a", NULL, "3 1");
        CHECK_FAILS(hn_tokenizer_encode(tok, "a zz", 4, NULL, &e), HN_ERR_FORMAT, "'zz' is no token");
        CHECK_INT(0, (int)e.n);
        hn_tokenizer_free(tok);
    }
    hn_encoding_free(&e);
    hn_meta_free(&meta);
    hn_str_free(&text);
}

/* Every allocation fails once: nothing leaks, nothing crashes. */
static void memory_fails(void)
{
    const int64_t before = atomic_load(&heap.live_blocks);
    for (int64_t n = 1; n < 2000; n++) {
        hn_tokenizer *tok = NULL;
        hn_encoding e = { 0 };
        heap.fail_at = atomic_load(&heap.n_calls) + n;
        hn_status status = from_json(spans_json, &tok);
        if (status == HN_OK)
            status = hn_tokenizer_encode(tok, "aab <e> b", 9, NULL, &e);
        heap.fail_at = 0;
        hn_encoding_free(&e);
        hn_tokenizer_free(tok);
        CHECK_INT(before, atomic_load(&heap.live_blocks));
        if (status == HN_OK)
            return;
        CHECK_INT(HN_ERR_MEMORY, status);
    }
    CHECK_THAT(false, "over 2000 allocations");
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    hn_heap_init(&heap, NULL);
    refuses_json();
    refuses_meta();
    refuses_steps();
    merges_left();
    runs_are_linear();
    exports();
    word_flags();
    whole_words();
    memory_fails();
    CHECK_INT(0, atomic_load(&heap.live_blocks));
    return check_close();
}
