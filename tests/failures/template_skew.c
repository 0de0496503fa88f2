/* TEMPLATE-SKEW: the model is trained on one text and asked with another. Here, for real
 * templates: the ids that are trained are the ids of the rendered conversation, with one BOS at
 * most; the ids of the prompt that chat would give begin them; what follows is supervised, up
 * to and with the end token. */
#include "base/file.h"
#include "tests/harness/data.h"

static data_bench bench;

static const char chat[] = "{\"messages\":[{\"role\":\"user\",\"content\":\"What is 2+2?\"},"
                           "{\"role\":\"assistant\",\"content\":\"Four, I say.\"}]}";
static const char prompt[] = "[{\"role\":\"user\",\"content\":\"What is 2+2?\"}]";

/* As chat and `hone render | hone tokenize --special` have it. */
static void encode(const char *messages, bool asks, hn_encoding *out, hn_str *text)
{
    hn_json_text *json = NULL;
    CHECK_OK(hn_json_read(&bench.heap, "messages", messages, strlen(messages), &json));
    const hn_chat_request request = { .messages = hn_json_root(json),
                                      .no_generation_prompt = !asks,
                                      .options.clock = &hn_example_clock };
    hn_encode_options o = { .add_bos = HN_NO, .add_eos = HN_NO, .parse_special = true };
    hn_str_clear(text);
    CHECK_OK(hn_chat_render(bench.chat, &request, text, NULL, NULL));
    CHECK_OK(hn_tokenizer_encode(bench.tok, text->text, text->length, &o, out));
    const int32_t bos = hn_tokenizer_special(bench.tok, HN_SPECIAL_BOS);
    if (hn_tokenizer_adds_bos(bench.tok) && !(out->n && out->ids[0] == bos)) {
        o.add_bos = HN_YES;
        CHECK_OK(hn_tokenizer_encode(bench.tok, text->text, text->length, &o, out));
    }
    hn_json_free(json);
}

/* `asks_more`: the prompt ends in an empty thought that the finished turn does not have. */
static void compare(const hn_sample *s, const hn_encoding *whole, const hn_encoding *asked,
                    bool asks_more)
{
    const int32_t bos = hn_tokenizer_special(bench.tok, HN_SPECIAL_BOS);
    int n_bos = 0;
    CHECK((s->n == whole->n && !memcmp(s->ids, whole->ids, s->n * sizeof *s->ids)) !=
          asks_more);
    for (size_t k = 1; asks_more && k < s->n - asked->n; k++) /* what follows is the same */
        CHECK_INT(whole->ids[whole->n - k], s->ids[s->n - k]);
    for (size_t t = 0; t < s->n; t++)
        n_bos += s->ids[t] == bos;
    CHECK(n_bos <= 1 && (!hn_tokenizer_adds_bos(bench.tok) || n_bos == 1));
    CHECK(asked->n < s->n && !memcmp(s->ids, asked->ids, asked->n * sizeof *s->ids));
    for (size_t t = 0; t < asked->n; t++)
        CHECK(s->weights[t] <= 0);
    for (size_t t = asked->n; t < s->n; t++) {
        CHECK(s->weights[t] > 0);
        if (hn_tokenizer_ends(bench.tok, s->ids[t]))
            break;
    }
    CHECK(s->n_unended || s->n_supervised > 12);
}

static void trains_what_it_asks(const char *name, bool asks_more)
{
    char path[256];
    void *source = NULL;
    size_t bytes = 0;
    hn_dataset *d = NULL;
    hn_example e = hn_example_on(&bench.heap);
    hn_encoding whole = { 0 }, asked = { 0 };
    hn_str text = hn_str_on(&bench.heap);
    const hn_dataset_options o = { .allow_unended = true };
    check_group(name);
    snprintf(path, sizeof path, "%s/tests/differential/templates/real/%s.jinja", HN_SOURCE_DIR,
             name);
    if (!CHECK_OK(hn_file_read(&bench.heap, path, 1 << 20, &source, &bytes)))
        return;
    CHECK_OK(hn_chat_format_add(bench.chat, "default", source, bytes));
    encode(chat, false, &whole, &text);
    encode(prompt, true, &asked, &text);
    if (CHECK_OK(data_bench_load(&bench, chat, &o, &d)) && CHECK_OK(hn_dataset_read(d, 0, &e)))
        compare(&e.part[0], &whole, &asked, asks_more);
    hn_dataset_close(d);
    hn_example_free(&e);
    hn_encoding_free(&whole);
    hn_encoding_free(&asked);
    hn_str_free(&text);
    hn_free(&bench.heap, source);
}

/* What these ask with, a finished answer does not have before it: trained, they would be
 * skewed. */
static void refuses_skew(const char *name)
{
    char path[256];
    void *source = NULL;
    size_t bytes = 0;
    check_group(name);
    snprintf(path, sizeof path, "%s/tests/differential/templates/real/%s.jinja", HN_SOURCE_DIR,
             name);
    if (!CHECK_OK(hn_file_read(&bench.heap, path, 1 << 20, &source, &bytes)))
        return;
    CHECK_OK(hn_chat_format_add(bench.chat, "default", source, bytes));
    data_bench_refuses(&bench, chat, NULL, "message 2: expected the messages before it");
    hn_free(&bench.heap, source);
}

int main(int argc, char **argv)
{
    static const char *const names[] = { "apertus",
                                         "apriel_1_5",
                                         "deepseek_v3_1",
                                         "devstral_small",
                                         "glm_4_6",
                                         "gpt_oss",
                                         "granite_3_3",
                                         "granite_4_0",
                                         "ministral_3",
                                         "mistral_nemo",
                                         "mistral_small_3_2",
                                         "phi_3_5",
                                         "qwen2_5",
                                         "qwen3",
                                         "qwen3_coder",
                                         "qwen3_5",
                                         "qwen3_training",
                                         "seed_oss",
                                         "smollm3" };
    static const char *const thoughtful[] = { "deepseek_r1_distill_qwen", "qwq" };
    check_open(argc, argv);
    data_bench_open(&bench);
    for (int adds_bos = 0; adds_bos < 2; adds_bos++) {
        hn_tokenizer_free(bench.tok);
        CHECK_OK(hn_meta_set_bool(&bench.meta, "tokenizer.ggml.add_bos_token", adds_bos));
        CHECK_OK(hn_tokenizer_from_meta(&bench.heap, &bench.meta, &bench.tok));
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            trains_what_it_asks(names[i], false);
        for (size_t i = 0; i < sizeof thoughtful / sizeof *thoughtful; i++)
            trains_what_it_asks(thoughtful[i], true);
        refuses_skew("deepseek_v3_2");
    }
    data_bench_close(&bench);
    return check_close();
}
