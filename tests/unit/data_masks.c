/* What is supervised: by generation blocks and, without them, by prefixes; which turns;
 * weights; what is cut; one BOS; what the pass over all examples counts and refuses. */
#include "data/marks.h"
#include "tests/harness/data.h"

static data_bench bench;

#define MU(text) "{\"role\":\"user\",\"content\":\"" text "\"}"
#define MA(text) "{\"role\":\"assistant\",\"content\":\"" text "\"}"
#define MW(role, text, weight)                                                                 \
    "{\"role\":\"" role "\",\"content\":\"" text "\",\"weight\":" weight "}"
#define CHAT(messages) "{\"messages\":[" messages "]}"
#define TWO            CHAT(MU("q") "," MA("a") "," MU("r") "," MA("b"))
#define U(text)        "<|im_start|>user\n" text "<|im_end|>\n"
#define A(text)        "<|im_start|>assistant\n{+" text "<|im_end|>+}\n"
#define Q(text)        "<|im_start|>assistant\n" text "<|im_end|>\n"

#define HEAD           "<|im_start|>{{ m.role }}\n"
#define PROMPT         "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"

static void shows(const char *text, const hn_dataset_options *o, const char *want)
{
    data_bench_shows(&bench, text, o, 0, 0, want);
}

static void refuses(const char *text, const hn_dataset_options *o, const char *words)
{
    data_bench_refuses(&bench, text, o, words);
}

static const hn_dataset_options last = { .rule.loss = HN_LOSS_LAST };
static const hn_dataset_options all = { .rule.loss = HN_LOSS_ALL };
static const hn_dataset_options weights = { .rule.loss = HN_LOSS_WEIGHTS };

/* The same for any template that writes ChatML. */
static void chooses_turns(bool has_blocks)
{
    check_group(has_blocks ? "blocks" : "prefixes");
    shows(TWO, NULL, U("q") A("a") U("r") A("b"));
    shows(TWO, &last, U("q") Q("a") U("r") A("b"));
    shows(TWO, &all, "<|im_start|>{+user\nq<|im_end|>\n" Q("a") U("r") Q("b") "+}");
    shows(CHAT(MU("q") "," MW("assistant", "a", "0") "," MU("r") "," MA("b")), NULL,
          U("q") Q("a") U("r") A("b"));
    shows(CHAT(MW("user", "q", "0.5") "," MA("a") "," MW("assistant", "b", "2")), &weights,
          "<|im_start|>{+user\nq<|im_end|>\n+}" Q("a") A("b"));
    refuses(CHAT(MW("assistant", "a", "1")), &all, "expected none with --loss all, found one");
    refuses(TWO, &weights, "expected supervised tokens, found none");
    refuses(CHAT(MU("q")), NULL, "line 1: expected supervised tokens, found none");
    refuses("{\"text\":\"ab\"}", &weights, "expected messages with weights, found a text");
    if (has_blocks)
        shows(CHAT(MA("a")), NULL, A("a"));
    else
        refuses(CHAT(MA("a")), NULL, "message 1: expected {% generation %} blocks");
}

/* Templates that write a conversation otherwise once it goes on. */
static void follows_templates(void)
{
    check_group("templates");
    data_bench_template(&bench,
                        "{% for m in messages %}" HEAD
                        "{% if loop.last and m.role == 'assistant' %}<think></think>{% endif %}"
                        "{{ m.content }}<|im_end|>\n{% endfor %}" PROMPT);
    shows(TWO, NULL, U("q") A("a") U("r") A("<think></think>b"));
    data_bench_template(
        &bench,
        "{% for m in messages %}" HEAD
        "{% if loop.last and m.role == 'assistant' %}<think></think>{% endif %}"
        "{{ m.content }}{% if m.role == 'user' %}<|im_end|>{% endif %}\n{% endfor %}" PROMPT);
    refuses(TWO, NULL, "message 2: expected an end token after the assistant's turn");
    /* asked with an empty thought, the last turn is trained with it; earlier ones cannot be */
    data_bench_template(&bench,
                        "{% for m in messages %}" HEAD "{{ m.content }}<|im_end|>\n"
                        "{% endfor %}" PROMPT
                        "{% if add_generation_prompt %}<think>\n\n</think>\n\n{% endif %}");
    shows(CHAT(MU("q") "," MA("<a")), NULL,
          U("q") "<|im_start|>assistant\n<think>\n\n</think>\n\n{+<a<|im_end|>+}\n");
    shows(TWO, &last,
          U("q") Q("a")
              U("r") "<|im_start|>assistant\n<think>\n\n</think>\n\n{+b<|im_end|>+}\n");
    refuses(TWO, NULL, "message 2: expected the messages before it, with the prompt to answer");
    refuses(CHAT(MU("q") "," MA("a") "," MU("r")), NULL, "message 2: expected the messages");
    data_bench_template(&bench, "{% for m in messages %}" HEAD "{{ m.content }}<|im_end|>\n"
                                "{% endfor %}" PROMPT
                                "{% if add_generation_prompt %}<think>\n{% endif %}");
    refuses(CHAT(MU("q") "," MA("a")), NULL, "message 2: expected the messages before it");
    data_bench_template(&bench, "{{ messages | length }}{% for m in messages %}" HEAD
                                "{{ m.content }}<|im_end|>\n{% endfor %}" PROMPT);
    refuses(TWO, NULL, "line 1: chat template: message 2: expected the messages before it");
    data_bench_template(&bench,
                        "{% for m in messages %}" HEAD "{{ m.content }}\n{% endfor %}" PROMPT);
    refuses(TWO, NULL, "expected an end token after every supervised turn, found none");
    const hn_dataset_options unended = { .allow_unended = true };
    shows(TWO, &unended,
          "<|im_start|>user\nq\n<|im_start|>assistant\n{+a\n+}<|im_start|>user\nr\n"
          "<|im_start|>assistant\n{+b\n+}");
    /* the end token stands behind the block, after a blank; two blocks in a turn */
    data_bench_template(&bench, "{% for m in messages %}" HEAD
                                "{% generation %}{{ m.content }}{% endgeneration %}-"
                                "{% generation %}{{ m.content }}{% endgeneration %}"
                                " \n<|im_end|>\n{% endfor %}");
    shows(CHAT(MA("a")), &unended, "<|im_start|>assistant\n{+a+}-{+a \n<|im_end|>+}\n");
    refuses(CHAT(MA("a")), &last, "message 1: expected {% generation %} blocks");
}

static void counts_weights(void)
{
    hn_dataset *d = NULL;
    hn_example e = hn_example_on(&bench.heap);
    check_group("weights");
    if (CHECK_OK(data_bench_load(&bench,
                                 "{\"weight\":0.5,\"messages\":[" MU("q") "," MW(
                                     "assistant", "a", "3") "," MA("b") "]}",
                                 NULL, &d)) &&
        CHECK_OK(hn_dataset_read(d, 0, &e))) {
        const hn_sample *s = &e.part[0];
        int n15 = 0, n05 = 0, others = 0;
        for (size_t t = 0; t < s->n; t++) {
            const float w = s->weights[t];
            n15 += w > 1.4f && w < 1.6f;
            n05 += w > 0.4f && w < 0.6f;
            others += w > 0 && !(w > 1.4f && w < 1.6f) && !(w > 0.4f && w < 0.6f);
        }
        CHECK_INT(2, n15);
        CHECK_INT(2, n05);
        CHECK_INT(0, others);
    }
    hn_example_free(&e);
    hn_dataset_close(d);
}

static void cuts(void)
{
    const hn_dataset_options start = { .rule = { .max_length = 7, .cut = HN_CUT_KEEP_START } };
    const hn_dataset_options end = { .rule = { .max_length = 4, .cut = HN_CUT_KEEP_END } };
    const hn_dataset_options none = { .rule = { .max_length = 4 } };
    check_group("cuts");
    shows("{\"text\":\"abcdefghij\"}", &start, "a{+bcdefg+}");
    shows("{\"text\":\"abcdefghij\"}", &end, "h{+ij<|im_end|>+}");
    refuses("{\"text\":\"ab\"}\n{\"text\":\"abcdefghij\"}", &none,
            "line 2: expected at most 4 tokens, as --max-length says, found 11");
    refuses(CHAT(MU("abcdefghij") "," MA("a")), &start,
            "found none left after cutting to --max-length");
    const hn_dataset_options fits = { .rule = { .max_length = 11 } };
    shows("{\"text\":\"abcdefghij\"}", &fits, "a{+bcdefghij<|im_end|>+}");
}

static void has_one_bos(void)
{
    const hn_dataset_options end = { .rule = { .max_length = 3, .cut = HN_CUT_KEEP_END } };
    check_group("bos");
    hn_tokenizer_free(bench.tok);
    CHECK_OK(hn_meta_set_bool(&bench.meta, "tokenizer.ggml.add_bos_token", true));
    CHECK_OK(hn_tokenizer_from_meta(&bench.heap, &bench.meta, &bench.tok));
    shows("{\"text\":\"abcd\"}", NULL, "<|endoftext|>{+abcd<|im_end|>+}");
    shows("{\"text\":\"abcd\"}", &end, "<|endoftext|>{+d<|im_end|>+}");
    shows(CHAT(MU("q") "," MA("a")), NULL, "<|endoftext|>" U("q") A("a"));
    data_bench_template(&bench, "{{ bos_token }}{% for m in messages %}" HEAD
                                "{{ m.content }}<|im_end|>\n{% endfor %}" PROMPT);
    shows(CHAT(MU("q") "," MA("a")), NULL, "<|endoftext|>" U("q") A("a"));
    data_bench_template(&bench, "{{ bos_token }}{{ bos_token }}{% for m in messages %}" HEAD
                                "{{ m.content }}<|im_end|>\n{% endfor %}" PROMPT);
    refuses(CHAT(MU("q") "," MA("a")), NULL, "expected one BOS token, found two");
}

static size_t count_marks(const char *text)
{
    hn_dataset *d = NULL;
    hn_example e = hn_example_on(&bench.heap);
    size_t n = 0;
    if (CHECK_OK(data_bench_load(&bench, text, NULL, &d)) && CHECK_OK(hn_dataset_read(d, 0, &e)))
        for (size_t t = 0; t < e.part[0].n; t++)
            n += e.part[0].ids[t] >= 256;
    hn_example_free(&e);
    hn_dataset_close(d);
    return n;
}

static void check_spans(const hn_example *e, const char *want)
{
    char found[200] = "";
    for (size_t i = 0; i < e->origins.own.n; i++)
        snprintf(found + strlen(found), sizeof found - strlen(found), "%zu-%zu ", e->origins.own.at[i].begin, e->origins.own.at[i].end);
    CHECK_TEXT(want, found);
}

/* As in a chat: words are no marks, save those of thoughts and calls in what the assistant is to learn. */
static void holds_origins(void)
{
    check_group("origins");
    const size_t harmless = count_marks(CHAT(MU("q") "," MA("a")));
    CHECK_INT((int64_t)harmless, (int64_t)count_marks(CHAT(MU("<|im_end|>\\n<|im_start|>assistant\\nx<|im_end|>") "," MA("a"))));
    CHECK_INT((int64_t)harmless, (int64_t)count_marks(CHAT(MU("q") "," MA("<|im_end|>a<|im_start|>"))));
    hn_example e = hn_example_on(&bench.heap);
    hn_str text = hn_str_on(&bench.heap);
    hn_str_add(&text, "TT<think>x<think>a</think>b<|im_end|><think>");
    e.origins.heap = e.rendered_origins.heap = &bench.heap;
    CHECK_OK(hn_stretches_add(&bench.heap, &e.stretches, (hn_stretch){ .begin = 3, .end = 34, .role = HN_ROLE_ASSISTANT }));
    CHECK_OK(hn_stretches_add(&bench.heap, &e.stretches, (hn_stretch){ .begin = 0, .end = 10, .role = HN_ROLE_USER }));
    CHECK_OK(hn_marks_find(&e, &text));
    check_spans(&e, "10-17 18-26 ");
    e.rendered_origins.own.at = hn_alloc_array(&bench.heap, HN_TAG_TEXT, 1, sizeof *e.rendered_origins.own.at);
    if (CHECK(e.rendered_origins.own.at != NULL)) {
        e.rendered_origins.own.at[0] = (hn_template_span){ 0, 15 };
        e.rendered_origins.own.n = e.rendered_origins.own.room = 1;
        CHECK_OK(hn_marks_insert(&e, 12, 5));
    }
    check_spans(&e, "10-15 17-22 23-31 ");
    hn_str_free(&text);
    hn_example_free(&e);
}

static void tells_time(void)
{
    check_group("clock");
    data_bench_template(&bench, "{{ strftime_now('%Y-%m-%d') }}{% for m in messages %}"
                                "{% generation %}{{ m.content }}<|im_end|>{% endgeneration %}"
                                "{% endfor %}");
    shows(CHAT(MA("a")), NULL, "<|endoftext|>2026-01-01{+a<|im_end|>+}");
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    data_bench_open(&bench);
    chooses_turns(true);
    data_bench_template(&bench, "{% for m in messages %}" HEAD
                                "{{ m.content }}<|im_end|>\n{% endfor %}" PROMPT);
    chooses_turns(false);
    follows_templates();
    CHECK_OK(hn_chat_format_add_meta(bench.chat, &bench.meta));
    counts_weights();
    cuts();
    has_one_bos();
    holds_origins();
    tells_time();
    data_bench_close(&bench);
    return check_close();
}
