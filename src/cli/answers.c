#include "cli/answers.h"

#include "cli/machine.h"
#include "data/source.h"
#include "infer/conversation.h"
#include "models/open_chat.h"
#include "models/open_tokenizer.h"

#include <string.h>

typedef struct asker {
    hn_heap *heap;
    hn_model *model;
    hn_tokenizer *tok;
    hn_chat_input chat;
    hn_machine machine;
    hn_adapters adapters;
    hn_session *session;
    hn_sampler *sampler;
    hn_conversation *conversation;
    hn_data_source questions;
} asker;

static hn_status open_asker(asker *a, const char *model, const char *adapter, const char *chats)
{
    hn_adapter *one;
    const hn_sampler_options likeliest = { 0 };
    a->chat.heap = a->heap;
    HN_TRY(hn_data_source_open(&a->questions, a->heap, chats, &(hn_data_source_options){ 0 }));
    HN_TRY(hn_model_open(a->heap, model, NULL, &a->model));
    HN_TRY(hn_open_tokenizer(a->heap, model, &a->tok));
    HN_TRY(hn_chat_input_open(&a->chat, model));
    HN_TRY(hn_machine_open(&a->machine, a->heap, &(hn_machine_args){ 0 }));
    if (adapter) {
        const hn_adapter_use use = { .model = a->model, .run = a->machine.run };
        HN_TRY(hn_adapter_open(&one, a->heap, adapter, &use, NULL));
        HN_TRY(hn_adapters_add(&a->adapters, one));
    }
    hn_span template;
    HN_TRY(hn_adapters_template(&a->adapters, &template));
    if (template.data)
        HN_TRY(hn_chat_format_add(a->chat.chat, "default", template.data, template.bytes));
    const hn_session_options session = { .adapters = &a->adapters, .packs = true };
    HN_TRY(hn_session_new(&a->session, a->heap, a->model, a->machine.run, &session));
    HN_TRY(hn_sampler_new(&a->sampler, a->heap, (int32_t)hn_model_hparams(a->model)->n_vocab,
                          &likeliest));
    const hn_conversation_parts parts = { a->tok, a->chat.chat, a->session, a->sampler };
    const hn_conversation_options short_ones = { .max_answer = 24 };
    return hn_conversation_new(&a->conversation, a->heap, &parts, &short_ones);
}

static void close_asker(asker *a)
{
    hn_conversation_free(a->conversation);
    hn_sampler_free(a->sampler);
    hn_session_free(a->session);
    hn_adapters_close(&a->adapters);
    hn_machine_close(&a->machine);
    if (a->chat.heap)
        hn_chat_input_close(&a->chat);
    hn_tokenizer_free(a->tok);
    hn_model_close(a->model);
    hn_data_source_close(&a->questions);
}

static void hear(void *context, hn_voice voice, const char *text, size_t bytes)
{
    if (voice == HN_VOICE_ANSWER)
        hn_str_add_bytes(context, text, bytes);
}

enum { MOST_MESSAGES = 16 };

/* A chat without its last message, whose text is the answer. */
typedef struct question {
    hn_json list, messages[MOST_MESSAGES]; /* copies: they end sooner */
    const char *text, *answer;
} question;

static hn_status split(const hn_json *example, question *q)
{
    const hn_json *messages = hn_json_get(example, "messages");
    HN_REQUIRE(messages && messages->kind == HN_JSON_ARRAY && messages->as.children.n > 1 &&
                   messages->as.children.n <= MOST_MESSAGES,
               HN_ERR_FORMAT, "a chat of fewer than two messages, or more than %d", MOST_MESSAGES);
    const size_t n = messages->as.children.n - 1;
    const hn_json *m = messages->as.children.first;
    for (size_t i = 0; i < n; i++, m = m->next) {
        q->messages[i] = *m;
        q->messages[i].next = i + 1 < n ? &q->messages[i + 1] : NULL;
    }
    q->list = *messages;
    q->list.as.children.first = q->messages;
    q->list.as.children.n = n;
    HN_TRY(hn_json_want_string(hn_json_get(&q->messages[n - 1], "content"), "content", &q->text));
    return hn_json_want_string(hn_json_get(m, "content"), "content", &q->answer);
}

static hn_status ask(asker *a, size_t i, bool is_shown, FILE *out, hn_answers *answers)
{
    hn_json_text *text = NULL;
    question q;
    hn_turn turn;
    hn_str heard = hn_str_on(a->heap);
    const hn_ear ear = { hear, &heard };
    hn_status status = hn_data_source_read(&a->questions, i, &text);
    if (status == HN_OK)
        status = split(hn_json_root(text), &q);
    if (status == HN_OK)
        status = hn_conversation_answer(a->conversation, &q.list, NULL, &ear, &turn);
    if (status == HN_OK)
        status = hn_str_status(&heard);
    if (status == HN_OK) {
        const bool is_right = !strcmp(heard.text, q.answer);
        answers->n++;
        answers->n_right += is_right;
        if (is_shown)
            fprintf(out, "  %s\n    %s %s%s%s%s\n", q.text, is_right ? "right:" : "wrong:",
                    heard.length ? heard.text : "(nothing)", is_right ? "" : " (it is: ",
                    is_right ? "" : q.answer, is_right ? "" : ")");
    }
    hn_str_free(&heard);
    hn_json_free(text);
    return status;
}

hn_status hn_answers_count(hn_heap *heap, const char *model, const char *adapter, const char *chats,
                           int n_shown, FILE *out, hn_answers *answers)
{
    asker a = { .heap = heap };
    *answers = (hn_answers){ 0 };
    hn_status status = open_asker(&a, model, adapter, chats);
    for (size_t i = 0; status == HN_OK && i < a.questions.n; i++)
        status = ask(&a, i, (int)i < n_shown, out, answers);
    close_asker(&a);
    if (status == HN_OK)
        fprintf(out, "  %d of %d exactly right\n", answers->n_right, answers->n);
    return status;
}
