/* Questions are asked through the chat that `hone chat` has, the likeliest token each time: so what is counted is
 * what a user would see. */
#include "cli/answers.h"

#include "base/file.h"
#include "base/json.h"
#include "cli/open_model.h"
#include "hone/adapter.h"
#include "hone/chat.h"

#include <string.h>

enum { MOST_BYTES = 1 << 24 };

typedef struct asker {
    hn_heap *heap;
    hn_opened opened;
    hn_lm_chat *chat;
    hn_str heard;
} asker;

static void hear(void *context, const char *text, size_t bytes)
{
    hn_str_add_bytes(context, text, bytes);
}

static hn_status open_asker(asker *a, const char *model, const char *adapter)
{
    const hn_lm_sampling likeliest = { .size = sizeof likeliest };
    const hn_lm_chat_options short_ones = { .size = sizeof short_ones, .max_answer = 24, .sampling = &likeliest,
                                            .on_text = hear, .context = &a->heard };
    HN_TRY(hn_opened_open(&a->opened, HN_OPEN_ALL, model, &(hn_machine_args){ 0 }, NULL, NULL));
    if (adapter)
        HN_TRY(hn_lm_add_adapter(a->opened.lm, adapter, NULL));
    return hn_lm_chat_new(&a->chat, a->opened.lm, &short_ones);
}

static void close_asker(asker *a)
{
    hn_lm_chat_free(a->chat);
    hn_opened_close(&a->opened);
    hn_str_free(&a->heard);
}

/* A chat without its last message, whose text is the answer. */
typedef struct question {
    hn_str messages; /* as JSON */
    const char *text, *answer;
} question;

static hn_status split(const hn_json *example, question *q)
{
    const hn_json *messages = hn_json_get(example, "messages");
    HN_REQUIRE(messages && messages->kind == HN_JSON_ARRAY && hn_json_count(messages) > 1, HN_ERR_FORMAT,
               "a chat of fewer than two messages");
    hn_json_writer w = hn_json_write_to(&q->messages);
    const hn_json *m = hn_json_first(messages);
    hn_json_begin_array(&w);
    for (; m->next; m = m->next) {
        const char *role;
        HN_TRY(hn_json_want_string(hn_json_get(m, "role"), "role", &role));
        HN_TRY(hn_json_want_string(hn_json_get(m, "content"), "content", &q->text));
        hn_json_begin_object(&w);
        hn_json_key(&w, "role");
        hn_json_add_string(&w, role);
        hn_json_key(&w, "content");
        hn_json_add_string(&w, q->text);
        hn_json_end_object(&w);
    }
    hn_json_end_array(&w);
    HN_TRY(hn_str_status(&q->messages));
    return hn_json_want_string(hn_json_get(m, "content"), "content", &q->answer);
}

static hn_status ask(asker *a, const hn_json *example, bool is_shown, FILE *out, hn_answers *answers)
{
    question q = { .messages = hn_str_on(a->heap) };
    hn_str_clear(&a->heard);
    hn_status status = split(example, &q);
    if (status == HN_OK)
        status = hn_lm_chat_answer(a->chat, q.messages.text, NULL, 0);
    if (status == HN_OK)
        status = hn_str_status(&a->heard);
    if (status == HN_OK) {
        const char *heard = a->heard.length ? a->heard.text : "";
        const bool is_right = !strcmp(heard, q.answer);
        answers->n++;
        answers->n_right += is_right;
        if (is_shown)
            fprintf(out, "  %s\n    %s %s%s%s%s\n", q.text, is_right ? "right:" : "wrong:",
                    *heard ? heard : "(nothing)", is_right ? "" : " (it is: ",
                    is_right ? "" : q.answer, is_right ? "" : ")");
    }
    hn_str_free(&q.messages);
    return status;
}

/* A line of a file of JSON lines. */
static hn_status ask_line(asker *a, const char *line, size_t bytes, bool is_shown, FILE *out, hn_answers *answers)
{
    hn_json_text *json;
    HN_TRY(hn_json_read(a->heap, "a question", line, bytes, &json));
    const hn_status status = ask(a, hn_json_root(json), is_shown, out, answers);
    hn_json_free(json);
    return status;
}

static hn_status ask_all(asker *a, const char *text, size_t bytes, int n_shown, FILE *out, hn_answers *answers)
{
    for (const char *at = text, *end = text + bytes; at < end;) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        const size_t n = (size_t)((line_end ? line_end : end) - at);
        if (n)
            HN_TRY(ask_line(a, at, n, answers->n < n_shown, out, answers));
        at += n + 1;
    }
    return HN_OK;
}

hn_status hn_answers_count(hn_heap *heap, const char *model, const char *adapter, const char *chats,
                           int n_shown, FILE *out, hn_answers *answers)
{
    asker a = { .heap = heap, .heard = hn_str_on(heap) };
    void *text = NULL;
    size_t bytes = 0;
    *answers = (hn_answers){ 0 };
    hn_status status = hn_file_read(heap, chats, MOST_BYTES, &text, &bytes);
    if (status == HN_OK)
        status = open_asker(&a, model, adapter);
    if (status == HN_OK)
        status = ask_all(&a, text, bytes, n_shown, out, answers);
    close_asker(&a);
    hn_free(heap, text);
    if (status == HN_OK)
        fprintf(out, "  %d of %d exactly right\n", answers->n_right, answers->n);
    return status;
}
