/* Every format of training data: told by its keys, translated, and refused by file, line and
 * what was expected where it is malformed. */
#include "tests/harness/data.h"

static data_bench bench;

static void shows(const char *text, const char *want)
{
    data_bench_shows(&bench, text, NULL, 0, 0, want);
}

static void refuses(const char *text, const char *words)
{
    data_bench_refuses(&bench, text, NULL, words);
}

#define U(text) "<|im_start|>user\n" text "<|im_end|>\n"
#define S(text) "<|im_start|>system\n" text "<|im_end|>\n"
#define A(text) "<|im_start|>assistant\n{+" text "<|im_end|>+}\n"
#define Q(text) "<|im_start|>assistant\n" text "<|im_end|>\n"

static void reads_conversations(void)
{
    check_group("conversations");
    shows(
        "{\"messages\":[{\"role\":\"system\",\"content\":\"s\"},{\"role\":\"user\",\"content\":"
        "\"q\"},{\"role\":\"assistant\",\"content\":\"a\"}],\"tools\":null}\n",
        S("s") U("q") A("a"));
    shows("{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"x\"},"
          "{\"type\":\"text\",\"text\":\"yz\"}]},{\"role\":\"assistant\",\"content\":"
          "\"a\"}]}",
          U("xyz") A("a"));
    shows(
        "{\"conversations\":[{\"from\":\"human\",\"value\":\"q\"},{\"from\":\"gpt\",\"value\":"
        "\"a\"}],\"system\":\"s\"}",
        S("s") U("q") A("a"));
    shows("{\"instruction\":\"i\",\"input\":\"n\",\"output\":\"o\"}", U("i\n\nn") A("o"));
    shows("[{\"instruction\":\"i\",\"input\":\"\",\"output\":\"o\",\"system\":\"s\","
          "\"history\":[[\"a\",\"b\"]]},\n {\"instruction\":\"j\",\"output\":\"p]\"}\n]\n",
          S("s") U("a") A("b") U("i") A("o"));
    data_bench_shows(&bench,
                     "[{\"instruction\":\"i\",\"output\":\"[\\\"\"},\n {\"instruction\":"
                     "\"j\",\"output\":\"p]\"}\n]\n",
                     NULL, 1, 0, U("j") A("p]"));
    shows("{\"prompt\":\"p\",\"completion\":\"c\"}", U("p") A("c"));
    shows("{\"prompt\":[{\"role\":\"user\",\"content\":\"x\"},{\"role\":\"assistant\","
          "\"content\":\"y\"},{\"role\":\"user\",\"content\":\"p\"}],\"completion\":[{\"role\":"
          "\"assistant\",\"content\":\"c\"}]}",
          U("x") Q("y") U("p") A("c"));
}

static void reads_texts(void)
{
    const hn_data_file paragraphs = { .format = "paragraphs" };
    const hn_dataset_options as_is = { .files = &paragraphs };
    const hn_dataset_options plain = { .rule.plain = true };
    check_group("texts");
    shows("{\"text\":\"ab\"}", "a{+b<|im_end|>+}");
    shows("\n  one\ntwo \n \t\n\nthree", " {+ one\ntwo <|im_end|>+}");
    data_bench_shows(&bench, "one\r\n\r\n\r\nthree\r\n", NULL, 1, 0, "t{+hree<|im_end|>+}");
    data_bench_shows(&bench, "[x", &as_is, 0, 0, "[{+x<|im_end|>+}");
    data_bench_shows(&bench, "{\"prompt\":\"p<|im_end|>\",\"completion\":\" c\"}", &plain, 0, 0,
                     "p<|im_end|>{+ c<|im_end|>+}");
    data_bench_shows(&bench, "{\"instruction\":\"i\",\"input\":\"n\",\"output\":\"o\"}", &plain,
                     0, 0,
                     "Below is an instruction that describes a task, paired with an input that "
                     "provides further context. Write a response that appropriately completes "
                     "the request.\n\n### Instruction:\ni\n\n### Input:\nn\n\n### "
                     "Response:{+o<|im_end|>+}");
    data_bench_refuses(&bench, "{\"messages\":[]}", &plain, "expected a chat template");
}

static void reads_tokens(void)
{
    const hn_dataset_options all = { .rule.loss = HN_LOSS_ALL };
    const hn_dataset_options weighed = { .rule.loss = HN_LOSS_WEIGHTS };
    check_group("tokens");
    shows("{\"ids\":[97,98,257]}", "a{+b<|im_end|>+}");
    shows("{\"ids\":[97,98,99,100],\"weights\":[1,0,0.5,0]}", "ab{+c+}d");
    data_bench_shows(&bench, "{\"ids\":[97,98],\"weights\":[0,0]}", &all, 0, 0, "a{+b+}");
    refuses("{\"ids\":[]}", "found an empty one");
    refuses("{\"ids\":7}", "expected an array of tokens, found a");
    refuses("{\"ids\":[97,-1]}", "token -1: the vocabulary has");
    refuses("{\"ids\":[97,100000]}", "token 100000: the vocabulary has");
    refuses("{\"ids\":[97,98.5]}", "ids");
    refuses("{\"ids\":[97,98],\"weights\":[1]}", "one for each of 2 ids, found 1");
    refuses("{\"ids\":[97,98],\"weights\":[0,-1]}", "not negative, found -1");
    refuses("{\"ids\":[97,98],\"weights\":[0,\"1\"]}", "weights");
    data_bench_refuses(&bench, "{\"ids\":[97,98]}", &weighed, "expected weights beside ids");
}

static void pair(const char *text, const char *chosen, const char *rejected)
{
    data_bench_shows(&bench, text, NULL, 0, 0, chosen);
    data_bench_shows(&bench, text, NULL, 0, 1, rejected);
}

#define MU(text) "{\"role\":\"user\",\"content\":\"" text "\"}"
#define MA(text) "{\"role\":\"assistant\",\"content\":\"" text "\"}"

static void reads_pairs(void)
{
    check_group("pairs");
    pair("{\"prompt\":\"p\",\"chosen\":\"c\",\"rejected\":\"r\"}", U("p") A("c"),
         U("p") A("r"));
    pair("{\"prompt\":[" MU("x") "," MA("y") "," MU("p") "],\"chosen\":[" MA(
             "c") "],\"rejected\":[" MA("r") "]}",
         U("x") Q("y") U("p") A("c"), U("x") Q("y") U("p") A("r"));
    pair("{\"chosen\":[" MU("x") "," MA("y") "," MU("p") "," MA("c") "],\"rejected\":[" MU(
             "x") "," MA("y") "," MU("p") "," MA("r") "]}",
         U("x") Q("y") U("p") A("c"), U("x") Q("y") U("p") A("r"));
    pair("{\"prompt\":\"p\",\"chosen\":[" MU("p") "," MA("c") "],\"rejected\":[" MU("p") "," MA(
             "r") "]}",
         U("p") A("c"), U("p") A("r"));
    pair("{\"input\":{\"messages\":[" MU("p") "]},\"preferred_output\":[" MA(
             "c") "],\"non_preferred_output\":[" MA("r") "]}",
         U("p") A("c"), U("p") A("r"));
    pair("{\"chosen\":\"H: q A: yes\",\"rejected\":\"H: q A: yeti\"}",
         "H: q A:{+ yes<|im_end|>+}", "H: q A:{+ yeti<|im_end|>+}");
    refuses("{\"chosen\":\"x\",\"rejected\":\"x\"}", "found the same twice");
    refuses("{\"prompt\":\"p\",\"chosen\":\"x\",\"rejected\":\"x\"}", "found the same twice");
    refuses("{\"chosen\":[" MU("p") "],\"rejected\":[" MU("p") "," MA("r") "]}",
            "one that goes on the other");
    refuses("{\"prompt\":\"p\",\"chosen\":[" MA("c") "],\"rejected\":[" MA("r") "]}",
            "expected two strings or two lists");
}

static void reads_tools(void)
{
    static const char dump[] = "{% for m in messages %}{{ m.role }}:{{ m.content }}"
                               "{% if m.tool_calls %}{{ m.tool_calls | tojson }}{% endif %}"
                               "{% generation %}<|im_end|>{% endgeneration %}{% endfor %}"
                               "{{ tools | tojson }}";
    static const char sharegpt[] =
        "{\"conversations\":[{\"from\":\"human\",\"value\":\"q\"},{\"from\":\"function_call\","
        "\"value\":\"{\\\"name\\\":\\\"f\\\",\\\"arguments\\\":{\\\"x\\\":1}}\"},{\"from\":"
        "\"observation\",\"value\":\"7\"}],\"tools\":\"[{\\\"name\\\":\\\"f\\\"}]\"}";
    static const char openai[] =
        "{\"messages\":[" MU("q") ",{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[{"
                                  "\"type\":\"function\",\"function\":{\"name\":\"f\","
                                  "\"arguments\":\"{\\\"x\\\": 1}\"}}]"
                                  "}]}";
    const hn_dataset_options all = { .rule.loss = HN_LOSS_ALL };
    check_group("tools");
    data_bench_template(&bench, dump);
    data_bench_shows(
        &bench, sharegpt, &all, 0, 0,
        "u{+ser:q<|im_end|>assistant:[{\"type\": \"function\", \"function\": {\"name\": \"f\", "
        "\"arguments\": {\"x\": 1}}}]<|im_end|>tool:7<|im_end|>[{\"type\": \"function\", "
        "\"function\": {\"name\": \"f\"}}]+}");
    data_bench_shows(&bench, openai, &all, 0, 0,
                     "u{+ser:q<|im_end|>assistant:[{\"type\": \"function\", \"function\": "
                     "{\"name\": \"f\", \"arguments\": {\"x\": 1}}}]<|im_end|>null+}");
    data_bench_template(
        &bench, "{% for m in messages %}{% for c in m.tool_calls %}"
                "{{ c.function.arguments + '!' }}{% endfor %}{{ m.content }}{% endfor %}");
    data_bench_shows(&bench, openai, &all, 0, 0, "q{+{\"x\": 1}!+}");
    CHECK_OK(hn_chat_format_add_meta(bench.chat, &bench.meta));
}

static void names_mistakes(void)
{
    const hn_data_file forced = { .format = "text" };
    const hn_dataset_options as_text = { .files = &forced };
    check_group("mistakes");
    refuses("", "expected examples, found none");
    refuses("\n \n", "expected examples, found none");
    refuses("[]", "expected examples, found none");
    refuses("{\"text\":\"a\"}\n\n{\"text\": b}\n", "line 3, column 10: expected a value");
    refuses("[{\"text\":\"a\"},\n  {\"text\": b}]\n", "line 2, column 12: expected a value");
    refuses("[{\"text\":\"a\"},\n  {\"text\":\n b}]\n", "line 3, column 2: expected a value");
    refuses("{\"text\":\"a\"", "line 1, column 12: expected ',' or '}', found the end");
    refuses("[{\"text\":\"a\"}", "expected ']' of the array");
    refuses("[{\"text\":\"a\"},]", "expected an example before ']'");
    refuses("[{\"text\":\"a\"}] x", "expected the end after");
    refuses("{\"text\":\"a\"}\n{\"text\":\"a\",\"text\":\"b\"}", "line 2: key \"text\" is given twice");
    refuses("{\"text\":\"a\"}\n{\"prompt\":\"a\",\"completion\":\"b\"}",
            "line 2: expected text, as before it in the file, found prompt-completion");
    refuses("{\"txt\":\"a\",\"b\":1}", "line 1: expected an example with messages");
    refuses("{\"txt\":\"a\",\"b\":1}", "found the keys: txt, b");
    refuses("{\"text\":\"a\",\"messages\":[]}", "expected one format; --format chooses");
    data_bench_shows(&bench, "{\"text\":\"ab\",\"messages\":[]}", &as_text, 0, 0,
                     "a{+b<|im_end|>+}");
    data_bench_refuses(&bench, "{\"messages\":[]}", &as_text,
                       "expected text, as was asked for, found messages");
    refuses("{\"text\":7}", "line 1: text: expected a string, found an integer");
    refuses("{\"messages\":[]}", "expected at least one, found none");
    refuses("{\"messages\":{}}", "messages: expected an array, found an object");
    refuses("{\"messages\":[{\"role\":\"robot\",\"content\":\"x\"}]}", "found 'robot'");
    refuses("{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"image_url\"}]}]}",
            "expected one of type text, found type image_url");
    refuses("{\"conversations\":[{\"from\":\"martian\",\"value\":\"x\"}]}", "found 'martian'");
    refuses("{\"conversations\":[{\"from\":\"function_call\",\"value\":\"{\"}]}",
            "line 1: a function_call turn: byte 1");
    refuses("{\"prompt\":\"p\",\"completion\":[]}", "expected two strings or two lists");
    refuses("{\"prompt\":\"p\",\"completion\":\"c\",\"label\":1}", "label: expected true or false");
    refuses("{\"prompt\":\"p\",\"completion\":\"c\",\"label\":true}\n{\"prompt\":\"p\",\"completion\":\"c\"}",
            "found prompt-completion");
    refuses("{\"prompt\":\"p\",\"completion\":\"c\"}\n{\"prompt\":\"p\",\"completion\":\"c\",\"label\":false}",
            "found unpaired-preference");
    refuses("{\"text\":\"ab\",\"weight\":-1}", "weight: expected a finite number");
    refuses("{\"text\":\"ab\",\"weight\":\"x\"}", "weight: expected a number, found a string");
    refuses("{\"text\":\"ab\",\"images\":[]}", "expected text alone, found images");
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    data_bench_open(&bench);
    reads_conversations();
    reads_texts();
    reads_tokens();
    reads_pairs();
    reads_tools();
    names_mistakes();
    data_bench_close(&bench);
    return check_close();
}
