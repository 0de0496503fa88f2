/* MASK-DROPPED: an option that has nothing to do with it discards the loss mask. Here the mask
 * is a part of the packed batch: under every option the labels of an example are those of its
 * answers, and what is not supervised has no label at all that could reach a loss. */
#include "data/pack.h"
#include "data/steps.h"
#include "tests/harness/data.h"

static data_bench bench;

enum { N = 12 };

/* Answers are digits and nothing else is, so that a label tells whose it is. */
static void write_chats(hn_str *text, const char *question)
{
    hn_str_clear(text);
    for (int i = 0; i < N; i++)
        hn_str_print(
            text,
            "{\"messages\":[{\"role\":\"system\",\"content\":\"%s\"},{\"role\":\"user\","
            "\"content\":\"%s\"},{\"role\":\"assistant\",\"content\":\"%d\"},{\"role\":"
            "\"user\",\"content\":\"%s\"},{\"role\":\"assistant\",\"content\":\"%d\"}]}\n",
            question, question, 100 + i, question, 2000 + i);
}

/* The labels of all steps, per example in file order: "100<end>2000<end>...". */
static void read_labels(const char *text, const hn_dataset_options *o,
                        const hn_steps_options *steps, size_t limit, hn_str out[N])
{
    hn_dataset *d = NULL;
    hn_preflight r;
    hn_steps s;
    hn_data_step step = { 0 };
    hn_example e = hn_example_on(&bench.heap);
    hn_pack pack = hn_pack_on(&bench.heap);
    if (!CHECK_OK(data_bench_load(&bench, text, o, &d)))
        return;
    CHECK_OK(hn_preflight_run(d, &r, NULL, NULL));
    CHECK_OK(hn_steps_init(&s, &bench.heap, d, steps));
    for (uint64_t k = 0; hn_steps_at(&s, k, &step) == HN_OK && step.n; k++) {
        uint32_t tokens[N];
        for (size_t i = 0; i < step.n; i++)
            tokens[i] = d->tokens[step.examples[i]];
        for (size_t from = 0, end = 0; from < step.n; from = end) {
            if (!CHECK_OK(hn_pack_run(tokens, step.n, from, limit, &end)))
                break;
            hn_pack_clear(&pack);
            for (size_t i = from; i < end; i++) {
                CHECK_OK(hn_dataset_read(d, step.examples[i], &e));
                CHECK_OK(hn_pack_add_example(&pack, &e));
            }
            for (size_t t = 0; t < pack.n; t++) {
                const uint64_t whose = step.examples[from + (size_t)pack.segments[t]];
                CHECK((pack.weights[t] > 0) == (pack.labels[t] != HN_NO_LABEL));
                if (pack.labels[t] != HN_NO_LABEL)
                    CHECK_OK(
                        hn_tokenizer_decode(bench.tok, &pack.labels[t], 1, false, &out[whose]));
            }
        }
    }
    hn_pack_free(&pack);
    hn_example_free(&e);
    hn_data_step_free(&bench.heap, &step);
    hn_dataset_close(d);
}

static void expects(const char *name, const char *question, const hn_dataset_options *o,
                    const hn_steps_options *steps, size_t limit)
{
    hn_str text = hn_str_on(&bench.heap), got[N];
    check_group(name);
    write_chats(&text, question);
    for (int i = 0; i < N; i++)
        got[i] = hn_str_on(&bench.heap);
    read_labels(text.text, o, steps, limit, got);
    for (int i = 0; i < N; i++) {
        char want[64];
        if (o->rule.loss == HN_LOSS_LAST)
            snprintf(want, sizeof want, "%d<|im_end|>", 2000 + i);
        else
            snprintf(want, sizeof want, "%d<|im_end|>%d<|im_end|>", 100 + i, 2000 + i);
        CHECK_TEXT(want, got[i].text);
        hn_str_free(&got[i]);
    }
    hn_str_free(&text);
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    data_bench_open(&bench);
    const hn_dataset_options none = { 0 };
    const hn_steps_options one = { .batch = 1, .epochs = 1, .seed = check_seed() };
    const hn_steps_options five = {
        .batch = 5, .epochs = 1, .seed = check_seed(), .window = 2
    };
    const hn_steps_options tokens = { .step_tokens = 400, .epochs = 1, .in_order = true };
    const hn_data_file messages = { .format = "messages" };
    const hn_dataset_options others[] = {
        { .rule.loss = HN_LOSS_LAST },
        { .rule = { .max_length = 5000, .cut = HN_CUT_KEEP_END } },
        { .rule.wants_roles = true },
        { .files = &messages },
        { .drop_empty = true, .allow_unended = true },
    };
    expects("plain", "question", &none, &one, 1000);
    expects("another question", "something longer, <|im_start|> and all", &none, &one, 1000);
    expects("packed", "question", &none, &five, 300);
    expects("packed by tokens", "q", &none, &tokens, 250);
    for (int i = 0; i < 5; i++) {
        expects("option", "question", &others[i], &one, 1000);
        expects("option, packed", "question", &others[i], &five, 400);
    }
    data_bench_template(&bench,
                        "{% for m in messages %}<|im_start|>{{ m.role }}\n"
                        "{{ m.content }}<|im_end|>\n{% endfor %}"
                        "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}");
    for (int i = 0; i < 5; i++)
        expects("without blocks", "question", &others[i], &five, 400);
    data_bench_close(&bench);
    return check_close();
}
