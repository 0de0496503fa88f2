/* A question that the model may call a function for, through the installed library:
 *     cc tools.c $(pkg-config --cflags --libs hone) -o tools
 *     ./tools MODEL QUESTION [TEMPLATE]
 * The function adds two numbers. How a call is written is the model's own affair: here as Hermes and Qwen write
 * it, <tool_call>{"name": "add", "arguments": {"a": 2, "b": 3}}</tool_call>. */
#include <hone/hone.h>

#include <stdio.h>
#include <string.h>

static const char tools[] =
    "[{\"type\":\"function\",\"function\":{\"name\":\"add\",\"description\":\"adds two numbers\","
    "\"parameters\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"},\"b\":{\"type\":\"integer\"}},"
    "\"required\":[\"a\",\"b\"]}}}]";

typedef struct answer {
    char text[4096];
    size_t n;
} answer;

static void hear(void *context, const char *text, size_t bytes)
{
    answer *a = context;
    fwrite(text, 1, bytes, stdout);
    fflush(stdout);
    if (a->n + bytes < sizeof a->text) {
        memcpy(a->text + a->n, text, bytes + 1);
        a->n += bytes;
    }
}

/* Whether the answer calls the function; then with what it gives. */
static int is_call(const answer *a, int *sum)
{
    int x, y;
    const char *call = strstr(a->text, "<tool_call>");
    if (!call || sscanf(call, "<tool_call> {\"name\": \"add\", \"arguments\": {\"a\": %d, \"b\": %d}}", &x, &y) != 2)
        return 0;
    *sum = x + y;
    return 1;
}

/* The messages so far, and the function's result as another; the model goes on after it. */
static hn_status tell_result(hn_lm_chat *chat, int sum)
{
    char messages[8192];
    size_t n;
    const hn_status status = hn_lm_chat_messages(chat, messages, sizeof messages - 100, &n);
    if (status != HN_OK)
        return status;
    snprintf(messages + n - 1, sizeof messages - n + 1, ",{\"role\":\"tool\",\"content\":\"%d\"}]", sum);
    return hn_lm_chat_answer(chat, messages, NULL, 0);
}

static hn_status ask(hn_lm_chat *chat, const char *question, answer *a)
{
    int sum;
    hn_status status = hn_lm_chat_ask(chat, question, NULL, 0);
    puts("");
    if (status != HN_OK || !is_call(a, &sum))
        return status;
    status = tell_result(chat, sum);
    puts("");
    return status;
}

int main(int argc, char **argv)
{
    static answer heard;
    hn_engine *engine = NULL;
    hn_lm *lm = NULL;
    hn_lm_chat *chat = NULL;
    hn_lm_sampling sampling;
    if (argc < 3) {
        fprintf(stderr, "usage: tools MODEL QUESTION [TEMPLATE]\n");
        return 2;
    }
    hn_lm_sampling_default(&sampling, sizeof sampling);
    sampling.temperature = 0;
    const hn_lm_options options = { .size = sizeof options, .template_file = argc > 3 ? argv[3] : NULL };
    const hn_lm_chat_options talk = { .size = sizeof talk, .tools = tools, .sampling = &sampling, .max_answer = 200,
                                      .on_text = hear, .context = &heard };
    const int is_done = hn_engine_new(&engine, NULL) == HN_OK && hn_lm_open(&lm, engine, argv[1], &options) == HN_OK &&
                        hn_lm_chat_new(&chat, lm, &talk) == HN_OK && ask(chat, argv[2], &heard) == HN_OK;
    if (!is_done)
        fprintf(stderr, "%s\n", hn_error_message());
    hn_lm_chat_free(chat);
    hn_lm_close(lm);
    hn_engine_free(engine);
    return is_done ? 0 : 1;
}
