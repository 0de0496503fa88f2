/* Which template is taken, what messages look like to it, and where both are found. */
#include "text/template/chat.h"
#include "tests/harness/check.h"

#include <string.h>

static hn_heap heap;

static const hn_json *parse(hn_json_text **text, const char *source)
{
    hn_json_free(*text);
    CHECK_OK(hn_json_read(&heap, "json", source, strlen(source), text));
    return *text ? hn_json_root(*text) : NULL;
}

static void shows(const hn_chat_format *chat, const hn_chat_request *request, const char *want)
{
    hn_str out = hn_str_on(&heap);
    CHECK_OK(hn_chat_render(chat, request, &out, NULL, NULL));
    CHECK_TEXT(want, out.text);
    hn_str_free(&out);
}

static void refuses(const hn_chat_format *chat, const hn_chat_request *request,
                    hn_status status, const char *words)
{
    hn_str out = hn_str_on(&heap);
    CHECK_FAILS(hn_chat_render(chat, request, &out, NULL, NULL), status, words);
    hn_str_free(&out);
}

static void prepares_messages(void)
{
    hn_chat_format *chat = NULL;
    hn_json_text *text = NULL;
    static const char source[] =
        "{{ messages }}{{ tools }}{{ documents }}{{ add_generation_prompt }}{{ extra }}";
    CHECK_OK(hn_chat_format_new(&heap, "model", &chat));
    hn_chat_request r = { .messages = parse(
                              &text, "[{\"role\": \"user\", \"content\": null, \"a\": 1}]") };
    refuses(chat, &r, HN_ERR_FORMAT, "model has no chat template");
    CHECK_OK(hn_chat_format_add(chat, "default", source, sizeof source - 1));
    shows(chat, &r, "[{'role': 'user', 'a': 1}]NoneNoneTrue");
    r.messages = parse(&text, "[{\"role\": \"x\", \"reasoning\": \"r\"}, {\"thinking\": \"t\", "
                              "\"k\": 1}, {\"reasoning_content\": \"c\", \"thinking\": null}]");
    r.no_generation_prompt = true;
    shows(
        chat, &r,
        "[{'thinking': 'r', 'role': 'x', 'reasoning': 'r', 'reasoning_content': 'r'}, "
        "{'thinking': 't', 'k': 1, "
        "'reasoning_content': 't'}, {'thinking': 'c', 'reasoning_content': 'c'}]NoneNoneFalse");
    r.messages =
        parse(&text, "{\"messages\": [{}], \"tools\": [], \"documents\": [{\"d\": 1}]}");
    shows(chat, &r, "[{}][][{'d': 1}]False");
    const hn_template_var extra = { "extra", NULL, "more" }, fixed = { "tools", NULL, "x" };
    r.vars = &extra;
    r.n_vars = 1;
    shows(chat, &r, "[{}][][{'d': 1}]Falsemore");
    r.vars = &fixed;
    refuses(chat, &r, HN_ERR_ARGUMENT, "tools has its own argument");
    r.n_vars = 0;
    r.messages = parse(&text, "[]");
    refuses(chat, &r, HN_ERR_ARGUMENT, "an empty conversation");
    r.messages = parse(&text, "[1]");
    refuses(chat, &r, HN_ERR_ARGUMENT, "expected objects with a role, found an integer");
    r.messages = parse(&text, "{}");
    refuses(chat, &r, HN_ERR_ARGUMENT, "messages: expected an array, found nothing");
    r.messages = parse(&text, "{\"messages\": [{}], \"tools\": [1]}");
    refuses(chat, &r, HN_ERR_ARGUMENT, "tools: expected objects");
    hn_json_free(text);
    hn_chat_format_free(chat);
}

static void chooses(void)
{
    hn_chat_format *chat = NULL;
    hn_json_text *text = NULL, *config = NULL;
    CHECK_OK(hn_chat_format_new(&heap, "m", &chat));
    CHECK_OK(hn_chat_format_add_tokens(
        chat, parse(&config, "{\"bos_token\": {\"content\": \"<b>\"}, \"eos_token\": \"<e>\", "
                             "\"pad_token\": null}")));
    CHECK_OK(hn_chat_format_add(chat, "tool_use", "T{{ bos_token }}", 16));
    CHECK_OK(hn_chat_format_add(chat, "rag", "{% if %}", 8));
    hn_chat_request r = { .messages = parse(&text, "[{}]") };
    refuses(chat, &r, HN_ERR_ARGUMENT, "several chat templates and no default");
    static const char source[] = "D{{ eos_token }}{{ pad_token is defined }}";
    CHECK_OK(hn_chat_format_add(chat, "default", source, sizeof source - 1));
    CHECK_OK(hn_chat_format_add_tokens(chat, parse(&config, "{\"eos_token\": \"other\"}")));
    shows(chat, &r, "D<e>False");
    r.messages = parse(&text, "{\"messages\": [{}], \"tools\": [{}]}");
    shows(chat, &r, "T<b>");
    r.template_name = "default";
    shows(chat, &r, "D<e>False");
    r.template_name = "rag";
    refuses(chat, &r, HN_ERR_FORMAT, "m: chat template rag:1: Expected an expression");
    r.template_name = "none";
    refuses(chat, &r, HN_ERR_ARGUMENT, "no chat template named 'none'");
    CHECK_TEXT("<b>", hn_chat_format_token(chat, "bos_token"));
    CHECK(!hn_chat_format_token(chat, "pad_token") && hn_chat_format_has(chat, "rag"));
    CHECK_OK(hn_chat_format_add_tokens(chat, NULL));
    hn_json_free(text);
    hn_json_free(config);
    hn_chat_format_free(chat);
}

static void reads_meta(void)
{
    hn_meta meta = hn_meta_on(&heap, "file");
    hn_chat_format *chat = NULL;
    hn_json_text *text = NULL;
    const hn_span tokens[] = { { "<s>", 3 }, { "</s>", 4 }, { "x", 1 } };
    CHECK_OK(hn_meta_set_text(&meta, "tokenizer.chat_template",
                              "{{ bos_token }}{{ eos_token }}{{ unk_token is defined }}"));
    CHECK_OK(hn_meta_set_text(&meta, "tokenizer.chat_template.tool_use", "tools"));
    CHECK_OK(hn_meta_set_strings(&meta, "tokenizer.ggml.tokens", tokens, 3));
    CHECK_OK(hn_meta_set_int(&meta, "tokenizer.ggml.bos_token_id", HN_META_U32, 0));
    CHECK_OK(hn_meta_set_int(&meta, "tokenizer.ggml.eos_token_id", HN_META_U32, 1));
    CHECK_OK(hn_meta_set_int(&meta, "tokenizer.ggml.unknown_token_id", HN_META_U32, 9));
    CHECK_OK(hn_chat_format_new(&heap, "file", &chat));
    CHECK_OK(hn_chat_format_add_meta(chat, &meta));
    hn_chat_request r = { .messages = parse(&text, "[{}]") };
    shows(chat, &r, "<s></s>False");
    r.messages = parse(&text, "{\"messages\": [{}], \"tools\": [{}]}");
    shows(chat, &r, "tools");
    hn_chat_format_free(chat);
    /* hone's own keys are all that counts where there are any. */
    CHECK_OK(hn_meta_set_text(&meta, "hone.chat_template", "own"));
    CHECK_OK(hn_chat_format_new(&heap, "file", &chat));
    CHECK_OK(hn_chat_format_add_meta(chat, &meta));
    shows(chat, &r, "own");
    CHECK(!hn_chat_format_has(chat, "tool_use"));
    hn_json_free(text);
    hn_chat_format_free(chat);
    hn_meta_free(&meta);
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    hn_heap_init(&heap, NULL);
    prepares_messages();
    chooses();
    reads_meta();
    hn_chat_format_free(NULL);
    CHECK_INT(0, atomic_load(&heap.live_blocks));
    return check_close();
}
