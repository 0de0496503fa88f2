/* FIELD-DROPPED: words of an example that nobody reads: a system text beside messages, the prompt
 * of a pair under another name, a context, a turn that was not to be trained, tools and calls and
 * thoughts that the template does not write. Each is read, or refused by name. */
#include "tests/harness/data.h"

static data_bench bench;

static void shows(const char *text, const char *want)
{
    data_bench_shows(&bench, text, NULL, 0, 0, want);
}

static void pair(const char *text, const char *chosen, const char *rejected)
{
    data_bench_shows(&bench, text, NULL, 0, 0, chosen);
    data_bench_shows(&bench, text, NULL, 0, 1, rejected);
}

static void refuses(const char *text, const char *words)
{
    data_bench_refuses(&bench, text, NULL, words);
}

static void takes(const char *text, const hn_dataset_options *o)
{
    hn_dataset *d = NULL;
    hn_preflight report;
    if (CHECK_OK(data_bench_load(&bench, text, o, &d)) &&
        CHECK_OK(hn_preflight_run(d, &report, NULL, NULL)))
        CHECK_OK(hn_preflight_verdict(&report, d));
    hn_dataset_close(d);
}

#define U(text) "<|im_start|>user\n" text "<|im_end|>\n"
#define S(text) "<|im_start|>system\n" text "<|im_end|>\n"
#define A(text) "<|im_start|>assistant\n{+" text "<|im_end|>+}\n"
#define Q(text) "<|im_start|>assistant\n" text "<|im_end|>\n"
#define MU(text) "{\"role\":\"user\",\"content\":\"" text "\"}"
#define MA(text) "{\"role\":\"assistant\",\"content\":\"" text "\"}"
#define MS(text) "{\"role\":\"system\",\"content\":\"" text "\"}"

static void reads_what_stands_beside(void)
{
    const hn_dataset_options plain = { .rule.plain = true };
    check_group("system");
    shows("{\"system\":\"s\",\"messages\":[" MU("q") "," MA("a") "]}", S("s") U("q") A("a"));
    shows("{\"system\":\"s\",\"prompt\":\"p\",\"completion\":\"c\"}", S("s") U("p") A("c"));
    shows("{\"system\":\"s\",\"prompt\":[" MU("p") "],\"completion\":[" MA("c") "]}",
          S("s") U("p") A("c"));
    pair("{\"system\":\"s\",\"prompt\":\"p\",\"chosen\":\"c\",\"rejected\":\"r\"}",
         S("s") U("p") A("c"), S("s") U("p") A("r"));
    pair("{\"system\":\"s\",\"chosen\":[" MU("p") "," MA("c") "],\"rejected\":[" MU("p") "," MA(
             "r") "]}",
         S("s") U("p") A("c"), S("s") U("p") A("r"));
    refuses("{\"system\":\"s\",\"messages\":[" MS("t") "," MU("q") "," MA("a") "]}",
            "line 1: system: expected none beside messages that begin with one");
    refuses("{\"system\":\"s\",\"system_prompt\":\"t\",\"messages\":[" MU("q") "," MA("a") "]}",
            "expected one of them, found both");
    data_bench_refuses(&bench, "{\"system\":\"s\",\"prompt\":\"p\",\"completion\":\"c\"}", &plain,
                       "system: expected a chat template");
    data_bench_refuses(&bench,
                       "{\"tools\":[{\"name\":\"f\"}],\"prompt\":\"p\",\"completion\":\"c\"}",
                       &plain, "tools: expected a chat template");
}

static void reads_prompts_of_other_names(void)
{
    check_group("prompts");
    pair("{\"system\":\"s\",\"question\":\"q\",\"chosen\":\"c\",\"rejected\":\"r\"}",
         S("s") U("q") A("c"), S("s") U("q") A("r"));
    pair("{\"instruction\":\"i\",\"input\":\"n\",\"chosen\":\"c\",\"rejected\":\"r\"}",
         U("i\n\nn") A("c"), U("i\n\nn") A("r"));
    shows("{\"instruction\":\"i\",\"context\":\"n\",\"output\":\"o\"}", U("i\n\nn") A("o"));
    shows("{\"instruction\":\"i\",\"context\":\"n\",\"response\":\"o\",\"category\":\"x\"}",
          U("i\n\nn") A("o"));
    refuses("{\"instruction\":\"i\",\"context\":\"n\",\"input\":\"m\",\"output\":\"o\"}",
            "input and context: expected one of them");
    refuses("{\"prompt\":\"p\",\"question\":\"q\",\"chosen\":\"c\",\"rejected\":\"r\"}",
            "prompt and question: expected one of them");
    refuses("{\"prompt\":\"p\",\"input\":\"n\",\"chosen\":\"c\",\"rejected\":\"r\"}",
            "input: expected an instruction with it, found prompt");
}

static void refuses_two_questions(void)
{
    check_group("pairs");
    refuses("{\"chosen\":[" MU("p") "," MA("c") "],\"rejected\":[" MU("o") "," MA("r") "]}",
            "part at message 1, which is their first");
    refuses("{\"chosen\":[" MU("p") "," MA("x") "," MU("a") "," MA("c") "],\"rejected\":[" MU("p") "," MA(
                "x") "," MU("b") "," MA("r") "]}",
            "part at message 3, which is not the assistant's");
    refuses("{\"chosen\":\"one thing\",\"rejected\":\"another thing\"}", "differ from their first word");
    refuses("{\"chosen\":\"\\n\\nHuman: is it x\\n\\nAssistant: y\",\"rejected\":\"\\n\\nHuman: is it "
            "z\\n\\nAssistant: y\"}",
            "while the human speaks");
    pair("{\"chosen\":\"\\n\\nHuman: q\\n\\nAssistant: x\",\"rejected\":\"\\n\\nHuman: q\\n\\nAssistant: "
         "z\"}",
         "\n\nHuman: q\n\nAssistant:{+ x<|im_end|>+}", "\n\nHuman: q\n\nAssistant:{+ z<|im_end|>+}");
}

static void weighs_turns(void)
{
    const char *const marked[] = { "{\"role\":\"assistant\",\"content\":\"x\",\"train\":false}",
                                   "{\"role\":\"assistant\",\"content\":\"x\",\"training\":false}" };
    char text[512];
    check_group("train");
    for (int i = 0; i < 2; i++) {
        snprintf(text, sizeof text, "{\"messages\":[" MU("q") ",%s," MU("p") "," MA("y") "]}", marked[i]);
        shows(text, U("q") Q("x") U("p") A("y"));
    }
    shows("{\"conversations\":[{\"from\":\"human\",\"value\":\"q\"},{\"from\":\"gpt\",\"value\":\"x\","
          "\"train\":false},{\"from\":\"human\",\"value\":\"p\"},{\"from\":\"gpt\",\"value\":\"y\"}]}",
          U("q") Q("x") U("p") A("y"));
    refuses("{\"messages\":[" MU("q") ",{\"role\":\"assistant\",\"content\":\"x\",\"train\":\"no\"}]}",
            "train: expected true or false");
    refuses("{\"messages\":[" MU("q") ",{\"role\":\"assistant\",\"content\":\"x\",\"train\":false,"
            "\"weight\":1}]}",
            "expected what its weight says");
    refuses("{\"train\":false,\"messages\":[" MU("q") "," MA("x") "]}", "train: expected it in a message");
}

static void names_keys(void)
{
    static const char *const leave[] = { "rationale" };
    const hn_dataset_options ignoring = { .rule = { .ignored = leave, .n_ignored = 1 } };
    check_group("keys");
    refuses("{\"prompt\":\"p\",\"completion\":\"c\",\"rationale\":\"because\"}",
            "line 1: key 'rationale': expected one that prompt-completion has");
    refuses("{\"text\":\"t\"}\n{\"text\":\"t\",\"title\":\"words\"}", "line 2: key 'title'");
    refuses("{\"messages\":[" MU("q") "," MA("a") "],\"documents\":[{\"text\":\"d\"}]}",
            "key 'documents'");
    refuses("{\"conversations\":[{\"from\":\"human\",\"value\":\"q\",\"context\":\"c\"},{\"from\":\"gpt\","
            "\"value\":\"y\"}]}",
            "a turn: key 'context'");
    refuses("{\"input\":{\"messages\":[" MU("p") "],\"documents\":\"d\"},\"preferred_output\":[" MA(
                "c") "],\"non_preferred_output\":[" MA("r") "]}",
            "input: key 'documents'");
    takes("{\"prompt\":\"p\",\"completion\":\"c\",\"rationale\":\"because\"}", &ignoring);
    takes("{\"prompt\":\"p\",\"completion\":\"c\",\"id\":\"x7\",\"source\":\"web\",\"score\":4.5,"
          "\"flags\":[1,true],\"note\":\" \"}",
          NULL);
}

/* What others say in numbers and truth values of which tokens and turns are trained. */
static void names_what_steers(void)
{
    static const char *const leave[] = { "loss", "labels" };
    const hn_dataset_options ignoring = { .rule = { .ignored = leave, .n_ignored = 2 } };
    const hn_data_file forced = { .format = "text" };
    const hn_dataset_options as_text = { .files = &forced };
    check_group("steering");
    refuses("{\"ids\":[5,6,7],\"labels\":[-100,6,7]}", "line 1: key 'labels': it says what is trained");
    refuses("{\"ids\":[5,6,7],\"attention_mask\":[0,1,1]}", "key 'attention_mask'");
    refuses("{\"messages\":[" MU("q") "," MA("a") "],\"weights\":[0,1]}", "key 'weights'");
    refuses("{\"messages\":[" MU("q") "," MA("a") "],\"label\":false}", "key 'label'");
    refuses("{\"prompt\":\"p\",\"chosen\":\"c\",\"rejected\":\"r\",\"label\":true}", "key 'label'");
    refuses("{\"messages\":[" MU("q") ",{\"role\":\"assistant\",\"content\":\"a\",\"loss\":false}]}",
            "a message: key 'loss'");
    refuses("{\"conversations\":[{\"from\":\"human\",\"value\":\"q\"},{\"from\":\"gpt\",\"value\":\"a\",\"loss\":0}]}",
            "key 'loss'");
    refuses("{\"conversations\":[{\"from\":\"human\",\"value\":\"q\"},{\"from\":\"gpt\",\"value\":\"a b\",\"train_detail\":"
            "[{\"begin_offset\":0,\"end_offset\":1,\"train\":false}]}]}", "key 'train_detail'");
    refuses("{\"messages\":[" MU("q") ",{\"role\":\"assistant\",\"content\":\"a\",\"loss_scale\":0.5}]}", "key 'loss_scale'");
    refuses("{\"messages\":[" MU("q") ",{\"role\":\"assistant\",\"content\":\"a\",\"Train\":false}]}", "key 'Train'");
    refuses("{\"prompt\":\"p\",\"completion\":\"c\",\"Weight\":2}", "key 'Weight'");
    refuses("{\"prompt\":\"p\",\"completion\":\"c\",\"Loss-Mask\":[0]}", "key 'Loss-Mask'");
    takes("{\"ids\":[5,6,7],\"labels\":[-100,6,7]}", &ignoring);
    takes("{\"messages\":[" MU("q") ",{\"role\":\"assistant\",\"content\":\"a\",\"loss\":false}]}", &ignoring);
    takes("{\"ids\":[5,6,7],\"labels\":null}", NULL);
    takes("{\"text\":\"t\",\"label\":1}", NULL); /* of a classifier */
    takes("{\"text\":\"t\",\"ids\":[5,6],\"weights\":[0,1]}", &as_text);
}

/* Parts of a message that the template is never shown, or that stand within a call that it writes. */
static void names_what_is_within(void)
{
    static const char *const leave[] = { "cache_control", "output" };
    const hn_dataset_options ignoring = { .rule = { .ignored = leave, .n_ignored = 2 } };
    static const char part[] = "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"q\","
                               "\"cache_control\":{\"type\":\"ephemeral\"}}]}," MA("a") "]}";
#define CALL(more, in) "{\"messages\":[" MU("q") ",{\"role\":\"assistant\",\"content\":\"a\",\"tool_calls\":[{\"id\":\"c1\"," \
                       "\"type\":\"function\"" more ",\"function\":{\"name\":\"f\",\"arguments\":{\"x\":\"y\"}" in "}}]}]}"
    check_group("within");
    refuses(part, "a part of content: key 'cache_control'");
    takes(part, &ignoring);
    data_bench_template(&bench, "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}{% for c in m.tool_calls %}"
                                "{{ c.function.name }} {{ c.function.arguments | tojson }}{% endfor %}<|im_end|>\n{% endfor %}"
                                "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}");
    takes(CALL("", ""), NULL);
    takes(CALL("", ",\"strict\":true"), NULL);
    refuses(CALL("", ",\"output\":\"42\""), "'output' of tool call 1 of message 2");
    refuses(CALL(",\"output\":\"42\"", ""), "'output' of tool call 1 of message 2");
    takes(CALL("", ",\"output\":\"42\""), &ignoring);
    data_bench_template(&bench, "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}{% for c in m.tool_calls %}"
                                "{{ c.function.name }}{% endfor %}<|im_end|>\n{% endfor %}"
                                "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}");
    refuses(CALL("", ""), "'arguments' of tool call 1 of message 2");
    CHECK_OK(hn_chat_format_add_meta(bench.chat, &bench.meta));
#undef CALL
}

/* A template that writes a user's and an assistant's content, and nothing else. */
static const char narrow[] =
    "{% for m in messages %}{% if m.role in ['user', 'assistant'] %}<|im_start|>{{ m.role }}\n"
    "{{ m.content }}<|im_end|>\n{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

static void names_what_is_not_written(void)
{
    static const char tools[] = "{\"messages\":[" MU("q") "," MA("a") "],\"tools\":[{\"name\":\"f\"}]}";
    static const char *const leave[] = { "mood" };
    const hn_dataset_options dropping = { .drop_unread = true };
    const hn_dataset_options ignoring = { .rule = { .ignored = leave, .n_ignored = 1 } };
    check_group("unread");
    data_bench_template(&bench, narrow);
    takes("{\"messages\":[" MU("q") "," MA("a") "]}", NULL);
    takes("{\"messages\":[" MU("q") "," MA("q") "," MU("q") "," MA("q") "]}", NULL);
    refuses(tools, "line 1: expected the chat template to write all of a conversation, found that it "
                   "leaves out the tools; --drop-unread");
    takes(tools, &dropping);
    refuses("{\"messages\":[" MS("be kind") "," MU("q") "," MA("a") "]}", "the content of message 1");
    /* words that stand in the text for another reason */
    refuses("{\"messages\":[" MS("Paris") "," MU("Tell me about Paris.") "," MA("a") "]}",
            "the content of message 1");
    refuses("{\"messages\":[" MS("user") "," MU("q") "," MA("a") "]}", "the content of message 1");
    refuses("{\"messages\":[" MS("Answer in one short sentence, and be kind to them.") "," MU("q") ","
            MA("I was told: Answer in one short sentence, and be kind to them. So be it.") "]}",
            "the content of message 1");
    takes("{\"messages\":[" MU("user") "," MA("user") "," MU("Tell me about Paris.") "," MA("Paris") "]}", NULL);
    refuses("{\"messages\":[" MU("q") ",{\"role\":\"assistant\",\"content\":\"a\",\"tool_calls\":[{"
            "\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":{}}}]}]}",
            "tool call 1 of message 2");
    refuses("{\"messages\":[" MU("q") ",{\"role\":\"assistant\",\"content\":\"a\",\"reasoning_content\":"
            "\"so\"}]}",
            "the reasoning of message 2");
    refuses("{\"messages\":[{\"role\":\"user\",\"content\":\"q\",\"mood\":\"sad\"}," MA("a") "]}",
            "'mood' of message 1");
    takes("{\"messages\":[{\"role\":\"user\",\"content\":\"q\",\"mood\":\"sad\"}," MA("a") "]}", &ignoring);
    takes("{\"messages\":[{\"role\":\"user\",\"content\":\"q\",\"id\":\"x7\"}," MA("a") "]}", NULL);
    data_bench_template(&bench,
                        "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ "
                        "m.content.split('</think>')[-1] }}<|im_end|>\n{% endfor %}"
                        "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}");
    refuses("{\"messages\":[" MU("q") "," MA("<think>long</think>a") "]}", "the thought in message 2");
    CHECK_OK(hn_chat_format_add_meta(bench.chat, &bench.meta));
}

static void refuses_silence(void)
{
    const hn_dataset_options dropping = { .drop_empty = true };
    check_group("hollow");
    refuses("{\"messages\":[" MU("q") "," MA("") "]}", "expected words in what is supervised");
    refuses("{\"messages\":[" MU("q") "," MA(" \\n") "]}", "expected words in what is supervised");
    refuses("{\"messages\":[" MU("q") "," MA("") "," MU("p") "," MA("a") "]}",
            "expected words in what is supervised");
    refuses("{\"prompt\":\"p\",\"completion\":\"\"}", "expected words in what is supervised");
    refuses("{\"text\":\" \"}", "expected words in what is supervised");
    refuses("{\"prompt\":\"p\",\"chosen\":\"c\",\"rejected\":\"\"}", "expected words in what is supervised");
    takes("{\"prompt\":\"p\",\"completion\":\"\"}\n{\"prompt\":\"p\",\"completion\":\"c\"}", &dropping);
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    data_bench_open(&bench);
    reads_what_stands_beside();
    reads_prompts_of_other_names();
    refuses_two_questions();
    weighs_turns();
    names_keys();
    names_what_steers();
    names_what_is_within();
    names_what_is_not_written();
    refuses_silence();
    data_bench_close(&bench);
    return check_close();
}
