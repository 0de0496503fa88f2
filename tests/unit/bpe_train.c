/* A vocabulary made from texts: the merges by hand, whatever the order of the texts; and the
 * tokenizer that reads it gives back every text, one token a frequent word. */
#include "text/tokenizer/bpe_train.h"
#include "text/tokenizer/tokenizer.h"

#include "cli/story/teller.h"
#include "tests/harness/check.h"

#include <stdio.h>
#include <string.h>

static hn_heap heap;

static const char *const special[] = { "<|begin|>", "<|end|>" };

/* The vocabulary of texts, as keys. */
static void make(const char *const *texts, int n, uint32_t n_tokens, uint32_t *n_made, hn_meta *meta)
{
    hn_bpe_trainer *t;
    *meta = hn_meta_on(&heap, "made");
    if (!CHECK_OK(hn_bpe_trainer_new(&heap, &t)))
        return;
    for (int i = 0; i < n; i++)
        CHECK_OK(hn_bpe_trainer_add(t, texts[i], strlen(texts[i])));
    CHECK_OK(hn_bpe_trainer_run(t, n_tokens, n_made));
    CHECK_OK(hn_bpe_trainer_write(t, special, 2, meta));
    CHECK_FAILS(hn_bpe_trainer_add(t, "x", 1), HN_ERR_ARGUMENT, "after its run");
    hn_bpe_trainer_free(t);
}

static void check_strings(const hn_meta *meta, const char *key, const char *const *want, uint64_t n,
                          uint64_t skip)
{
    const hn_meta_value *found;
    if (!CHECK_OK(hn_meta_array(meta, key, HN_META_STRING, &found)) || !CHECK(found != NULL))
        return;
    CHECK_INT((int64_t)(n + skip), (int64_t)found->n);
    size_t cursor = 0;
    for (uint64_t i = 0; i < found->n; i++) {
        const hn_span s = hn_meta_next_string(found, &cursor);
        if (i >= skip && i - skip < n)
            CHECK_THAT(s.bytes == strlen(want[i - skip]) && !memcmp(s.data, want[i - skip], s.bytes),
                       "%s %d: expected '%s', found '%.*s'", key, (int)i, want[i - skip],
                       (int)s.bytes, (const char *)s.data);
    }
}

/* The pieces are "abab", " abab" and " ab". "ab" stands in them 5 times; then " ab" stands there
 * twice and "abab" too, and the pair with the lower ids goes first: a space is byte 32. Of
 * " abab" there is one. Written, a space is U+0120. */
static void check_by_hand(void)
{
    static const char *const texts[2][2] = { { "abab abab ab", "xyz" }, { "xyz", "abab abab ab" } };
    static const char *const merges[] = { "a b", "\xc4\xa0 ab" };
    static const char *const tokens[] = { "ab", ("\xc4\xa0" "ab"), "<|begin|>", "<|end|>" };
    for (int order = 0; order < 2; order++) {
        hn_meta meta;
        uint32_t n_made = 0;
        make(texts[order], 2, 1000, &n_made, &meta);
        CHECK_INT(258, n_made);
        check_strings(&meta, "tokenizer.ggml.merges", merges, 2, 0);
        check_strings(&meta, "tokenizer.ggml.tokens", tokens, 4, 256);
        hn_meta_free(&meta);
    }
}

/* Equal counts: the pair with the lower left id, then the lower right one. */
static void check_ties(void)
{
    static const char *const texts[] = { "dc", "dc", "ba", "ba", "bd", "bd" };
    static const char *const want[] = { "b a", "b d" , "d c" };
    hn_meta meta;
    uint32_t n_made = 0;
    make(texts, 6, 1000, &n_made, &meta);
    check_strings(&meta, "tokenizer.ggml.merges", want, 3, 0);
    hn_meta_free(&meta);
    make(texts, 6, 257, &n_made, &meta);
    CHECK_INT(257, n_made);
    check_strings(&meta, "tokenizer.ggml.merges", want, 1, 0);
    hn_meta_free(&meta);
}

static void check_stories(void)
{
    hn_bpe_trainer *t;
    hn_teller *teller;
    hn_tokenizer *tok = NULL;
    hn_meta meta = hn_meta_on(&heap, "stories");
    hn_str text = hn_str_on(&heap);
    hn_encoding e = { 0 };
    uint32_t n_made = 0;
    size_t n_ids = 0, n_words = 0;
    if (!CHECK_OK(hn_bpe_trainer_new(&heap, &t)) ||
        !CHECK_OK(hn_teller_new(&heap, &hn_story_grammar, &teller)))
        return;
    hn_told told;
    for (uint64_t i = 0; i < 2000; i++) {
        CHECK_OK(hn_teller_tell(teller, 7, i, &told));
        CHECK_OK(hn_bpe_trainer_add(t, told.text, told.bytes));
    }
    CHECK_OK(hn_bpe_trainer_run(t, 4000, &n_made));
    CHECK_OK(hn_bpe_trainer_write(t, special, 2, &meta));
    if (CHECK_OK(hn_tokenizer_from_meta(&heap, &meta, &tok))) {
        const hn_encode_options o = { .add_bos = HN_NO, .add_eos = HN_NO };
        for (uint64_t i = 0; i < 200; i++) {
            CHECK_OK(hn_teller_tell(teller, 8, i, &told));
            CHECK_OK(hn_tokenizer_encode(tok, told.text, told.bytes, &o, &e));
            hn_str_clear(&text);
            CHECK_OK(hn_tokenizer_decode(tok, e.ids, e.n, false, &text));
            CHECK_TEXT(told.text, text.text);
            n_ids += e.n;
            for (size_t k = 0; k < told.bytes; k++)
                n_words += strchr(" .,?!\"", told.text[k]) != NULL;
        }
        printf("  %.3f tokens a word or mark\n", (double)n_ids / (double)n_words);
        CHECK(n_ids < n_words * 11 / 10);
        CHECK_OK(hn_tokenizer_encode(tok, "\xff\x00 na\xc3\xafve", 9, &o, &e)); /* any bytes */
        hn_str_clear(&text);
        CHECK_OK(hn_tokenizer_decode(tok, e.ids, e.n, false, &text));
        CHECK(text.length == 9 && !memcmp(text.text, "\xff\x00 na\xc3\xafve", 9));
    }
    hn_tokenizer_free(tok);
    hn_encoding_free(&e);
    hn_str_free(&text);
    hn_meta_free(&meta);
    hn_teller_free(teller);
    hn_bpe_trainer_free(t);
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    hn_heap_init(&heap, NULL);
    check_group("by hand");
    check_by_hand();
    check_group("ties");
    check_ties();
    check_group("stories");
    check_stories();
    CHECK_INT(0, heap.live_blocks);
    return check_close();
}
