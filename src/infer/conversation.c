/* Messages are the truth, and the prompt is rendered anew from all of them for each answer; the session finds out
 * by itself how much of it is there already. A question without an answer leaves again, so messages always end as
 * they began: asked and answered.
 *
 * Draws are numbered over the whole conversation, so a second answer draws other numbers than the first. */
#include "infer/conversation.h"

#include "base/os/clock.h"

#include <string.h>

typedef struct message {
    const char *role;         /* a literal */
    char *content, *thinking; /* thinking: NULL if there was none */
} message;

struct hn_conversation {
    hn_heap *heap;
    hn_conversation_parts parts;
    hn_conversation_options options;
    char *system;
    message *messages;
    size_t n_messages, room;
    hn_encoding encoding;
    hn_template_origins origins; /* of the last prompt */
    int32_t *tokens; /* of the context: what the session was given last */
    int64_t n, n_ctx;
    uint64_t n_drawn; /* of its answers: the next one's draws go on from there */
};

hn_status hn_prompt_encode(const hn_tokenizer *tok, const char *text, size_t bytes, const hn_text_origins *origins,
                           hn_encoding *e)
{
    const int32_t bos = hn_tokenizer_special(tok, HN_SPECIAL_BOS);
    hn_encode_options o = { .add_bos = HN_NO, .add_eos = HN_NO, .parse_special = true, .origins = origins };
    HN_TRY(hn_tokenizer_encode(tok, text, bytes, &o, e));
    const bool has_bos = bos >= 0 && e->n && e->ids[0] == bos;
    HN_REQUIRE(!has_bos || e->n < 2 || e->ids[1] != bos, HN_ERR_ARGUMENT,
               "the prompt begins with two BOS tokens (%d): expected the template to write one",
               bos);
    if (!has_bos && hn_tokenizer_adds_bos(tok)) {
        o.add_bos = HN_BY_MODEL;
        HN_TRY(hn_tokenizer_encode(tok, text, bytes, &o, e));
    }
    HN_REQUIRE(e->n, HN_ERR_ARGUMENT, "the chat template writes nothing");
    return HN_OK;
}

hn_status hn_conversation_carried(hn_chat_format *chat, const hn_adapters *adapters, const char **which)
{
    static const char carried[] = "the adapter's";
    hn_span text = { 0 };
    *which = NULL;
    HN_TRY(hn_adapters_template(adapters, &text));
    if (!text.data)
        return HN_OK;
    *which = carried;
    return hn_chat_format_add(chat, carried, text.data, text.bytes);
}

hn_status hn_conversation_settle(const hn_conversation_style *s, const char **which)
{
    hn_chat_format *chat = s->input->chat;
    *which = s->which;
    if (!*which && s->adapters)
        HN_TRY(hn_conversation_carried(chat, s->adapters, which));
    for (int i = 0; i < s->input->n_vars; i++)
        HN_REQUIRE(hn_chat_format_mentions(chat, *which, s->input->vars[i].name), HN_ERR_ARGUMENT,
                   "--set %s: expected a variable that the chat template reads, found that it reads none "
                   "of this name", s->set[i]);
    HN_REQUIRE(!s->tools_or_null || hn_chat_format_mentions(chat, *which, "tools"), HN_ERR_ARGUMENT,
               "--tools %s: expected a chat template that writes tools, found that it reads none",
               s->tools_or_null);
    HN_REQUIRE(!s->documents_or_null || hn_chat_format_mentions(chat, *which, "documents"), HN_ERR_ARGUMENT,
               "--documents %s: expected a chat template that writes documents, found that it reads none", s->documents_or_null);
    HN_REQUIRE(hn_chat_format_has(chat, *which ? *which : "default") ||
                   hn_chat_format_has(chat, "tool_use"),
               HN_ERR_FORMAT, "%s has no chat template: --template FILE gives it one", s->model);
    return HN_OK;
}

hn_status hn_conversation_new(hn_conversation **out, hn_heap *heap,
                              const hn_conversation_parts *parts,
                              const hn_conversation_options *options)
{
    *out = NULL;
    hn_conversation *c = hn_alloc(heap, HN_TAG_TEXT, sizeof *c);
    if (!c)
        return HN_ERR_MEMORY;
    c->heap = heap;
    c->parts = *parts;
    c->options = *options;
    c->n_ctx = hn_session_context(parts->session);
    c->tokens = hn_alloc_array(heap, HN_TAG_TEXT, (size_t)c->n_ctx, sizeof *c->tokens);
    if (!c->tokens) {
        hn_conversation_free(c);
        return HN_ERR_MEMORY;
    }
    *out = c;
    return HN_OK;
}

static void drop_last(hn_conversation *c)
{
    message *m = &c->messages[--c->n_messages];
    hn_free(c->heap, m->content);
    hn_free(c->heap, m->thinking);
}

void hn_conversation_reset(hn_conversation *c)
{
    while (c->n_messages)
        drop_last(c);
    c->n_drawn = 0;
}

void hn_conversation_free(hn_conversation *c)
{
    if (!c)
        return;
    hn_conversation_reset(c);
    hn_encoding_free(&c->encoding);
    hn_template_origins_free(&c->origins);
    hn_free(c->heap, c->messages);
    hn_free(c->heap, c->system);
    hn_free(c->heap, c->tokens);
    hn_free(c->heap, c);
}

hn_status hn_conversation_set_system(hn_conversation *c, const char *text_or_null)
{
    char *copy = text_or_null ? hn_strdup(c->heap, HN_TAG_TEXT, text_or_null) : NULL;
    if (text_or_null && !copy)
        return HN_ERR_MEMORY;
    hn_free(c->heap, c->system);
    c->system = copy;
    return HN_OK;
}

static hn_status add_message(hn_conversation *c, const char *role, const char *content,
                             const char *thinking_or_null)
{
    if (c->n_messages == c->room) {
        const size_t room = c->room ? 2 * c->room : 16;
        message *more = hn_realloc_array(c->heap, HN_TAG_TEXT, c->messages, room, sizeof *more);
        if (!more)
            return HN_ERR_MEMORY;
        c->messages = more;
        c->room = room;
    }
    message *m = &c->messages[c->n_messages++];
    *m = (message){ .role = role, .content = hn_strdup(c->heap, HN_TAG_TEXT, content) };
    if (thinking_or_null)
        m->thinking = hn_strdup(c->heap, HN_TAG_TEXT, thinking_or_null);
    if (m->content && (m->thinking || !thinking_or_null))
        return HN_OK;
    drop_last(c);
    return HN_ERR_MEMORY;
}

static void write_message(hn_json_writer *json, const message *m)
{
    hn_json_begin_object(json);
    hn_json_key(json, "role");
    hn_json_add_string(json, m->role);
    if (m->thinking) {
        hn_json_key(json, "reasoning_content");
        hn_json_add_string(json, m->thinking);
    }
    hn_json_key(json, "content");
    hn_json_add_string(json, m->content);
    hn_json_end_object(json);
}

hn_status hn_conversation_write(const hn_conversation *c, hn_str *out)
{
    hn_json_writer json = hn_json_write_to(out);
    hn_json_begin_array(&json);
    if (c->system)
        write_message(&json, &(message){ .role = "system", .content = c->system });
    for (size_t i = 0; i < c->n_messages; i++)
        write_message(&json, &c->messages[i]);
    hn_json_end_array(&json);
    return hn_str_status(out);
}

const int32_t *hn_conversation_tokens(const hn_conversation *c, int64_t *n)
{
    *n = c->n;
    return c->tokens;
}

static hn_status render(hn_conversation *c, const hn_json *messages, hn_str *out)
{
    const hn_chat_request request = { .messages = messages,
                                      .tools = c->options.tools,
                                      .template_name = c->options.template_name,
                                      .vars = c->options.vars,
                                      .n_vars = c->options.n_vars };
    return hn_chat_render(c->parts.chat, &request, out, NULL, &c->origins);
}

/* The prompt's ids to c->tokens, and what of them the session has. */
static hn_status prepare(hn_conversation *c, const hn_str *prompt, hn_turn *turn)
{
    const hn_text_origins origins = hn_template_origins_view(&c->origins);
    HN_TRY(hn_prompt_encode(c->parts.tok, prompt->text, prompt->length, &origins, &c->encoding));
    const int64_t n = (int64_t)c->encoding.n;
    turn->n_prompt = n;
    turn->does_not_fit = n >= c->n_ctx;
    HN_REQUIRE(!turn->does_not_fit, HN_ERR_ARGUMENT,
               "the conversation takes %lld tokens: the context is full at %lld", (long long)n,
               (long long)c->n_ctx);
    memcpy(c->tokens, c->encoding.ids, (size_t)n * sizeof *c->tokens);
    c->n = n;
    turn->n_reused = hn_session_known(c->parts.session, c->tokens, n);
    return HN_OK;
}

/* An answer in the making. */
typedef struct answer {
    hn_conversation *c;
    const hn_ear *ear;
    uint64_t n_drawn; /* in the conversation, with this answer's */
    hn_thought thought;
    hn_decoder decoder;
    hn_str piece, said[2]; /* by voice */
} answer;

static void hear(void *context, hn_voice voice, const char *text, size_t bytes)
{
    answer *a = context;
    for (size_t i = 0; i < bytes;) { /* messages are C strings */
        const char *nul = memchr(text + i, 0, bytes - i);
        const size_t n = nul ? (size_t)(nul - text) - i : bytes - i;
        hn_str_add_bytes(&a->said[voice], text + i, n);
        if (nul)
            hn_str_add(&a->said[voice], "\xef\xbf\xbd");
        i += n + (nul ? 1 : 0);
    }
    if (a->ear)
        a->ear->hear(a->ear->context, voice, text, bytes);
}

static hn_status say_token(answer *a, int32_t id)
{
    const hn_ear ear = { hear, a };
    const hn_tokenizer *tok = a->c->parts.tok;
    if (id >= hn_tokenizer_size(tok)) /* vocabularies are padded: it has no text */
        return HN_OK;
    const hn_token_kind kind = hn_tokenizer_token_kind(tok, id);
    const hn_span piece = hn_tokenizer_piece(tok, id);
    if ((kind == HN_TOKEN_CONTROL || kind == HN_TOKEN_USER_DEFINED) &&
        hn_thought_mark(&a->thought, piece.data, piece.bytes, &ear))
        return HN_OK;
    hn_str_clear(&a->piece);
    HN_TRY(hn_decoder_add(&a->decoder, id, &a->piece));
    hn_thought_add(&a->thought, a->piece.text, a->piece.length, &ear);
    return HN_OK;
}

static hn_status next(answer *a, const hn_run_options *run, hn_turn *turn, bool *goes_on)
{
    hn_conversation *c = a->c;
    const uint64_t *allowed = NULL;
    int32_t token;
    HN_TRY(hn_drafter_sync(c->parts.drafter, c->parts.session, c->tokens, c->n, a->n_drawn, run));
    if (c->parts.allowed)
        HN_TRY(c->parts.allowed(c->parts.allowed_context, c->tokens + (c->n - turn->n_answer), turn->n_answer, &allowed));
    HN_TRY(hn_sampler_next_of(c->parts.sampler, a->n_drawn, hn_session_logits(c->parts.session), allowed, c->tokens, c->n,
                              &token));
    a->n_drawn++;
    *goes_on = false;
    turn->end = HN_TURN_DONE;
    if (hn_tokenizer_ends(c->parts.tok, token))
        return HN_OK;
    turn->n_answer++;
    HN_TRY(say_token(a, token));
    turn->end = HN_TURN_FULL;
    if (c->n == c->n_ctx)
        return HN_OK;
    c->tokens[c->n++] = token;
    turn->end = HN_TURN_COUNTED;
    *goes_on = !c->options.max_answer || turn->n_answer < c->options.max_answer;
    return HN_OK;
}

static hn_status generate(answer *a, const hn_run_options *run, hn_turn *turn)
{
    const hn_ear ear = { hear, a };
    hn_status status = HN_OK;
    int64_t since = hn_clock_ns();
    for (bool goes_on = true; goes_on && status == HN_OK;) {
        if (run && hn_is_cancelled(run->cancel)) {
            status = HN_ERR_CANCELLED;
            break;
        }
        status = next(a, run, turn, &goes_on);
        if (!turn->prompt_ns) {
            turn->prompt_ns = hn_clock_ns() - since;
            since += turn->prompt_ns;
        }
    }
    turn->answer_ns = hn_clock_ns() - since;
    if (status == HN_ERR_CANCELLED) {
        turn->end = HN_TURN_CANCELLED;
        status = HN_OK;
    }
    hn_str_clear(&a->piece);
    if (status == HN_OK)
        status = hn_decoder_finish(&a->decoder, &a->piece);
    hn_thought_add(&a->thought, a->piece.text, a->piece.length, &ear);
    hn_thought_finish(&a->thought, &ear);
    return status;
}

static hn_status keep(answer *a)
{
    hn_str *thinking = &a->said[HN_VOICE_THOUGHT], *content = &a->said[HN_VOICE_ANSWER];
    HN_TRY(hn_str_status(thinking));
    HN_TRY(hn_str_status(content));
    while (thinking->length && thinking->text[thinking->length - 1] == '\n')
        thinking->text[--thinking->length] = 0;
    HN_TRY(add_message(a->c, "assistant", content->text,
                       thinking->length ? thinking->text : NULL));
    a->c->n_drawn = a->n_drawn;
    return HN_OK;
}

/* Where the prompt ends, the answer begins: in a thought or not. */
static hn_status begin_answer(hn_conversation *c, const hn_json *messages, answer *a,
                              hn_turn *turn)
{
    hn_str prompt = hn_str_on(c->heap);
    hn_status status = render(c, messages, &prompt);
    if (status == HN_OK)
        status = prepare(c, &prompt, turn);
    if (status == HN_OK) {
        const hn_span own = hn_template_last_words(&c->origins, &prompt);
        a->thought = hn_thought_after(own.data, own.bytes);
    }
    hn_str_free(&prompt);
    return status;
}

static answer answer_of(hn_conversation *c, const hn_ear *ear)
{
    answer a = { .c = c, .ear = ear, .decoder = hn_decoder_on(c->parts.tok, true) };
    a.piece = a.said[0] = a.said[1] = hn_str_on(c->heap);
    a.decoder.has_begun = true; /* the prompt came before */
    return a;
}

static void free_answer(answer *a)
{
    hn_str_free(&a->piece);
    hn_str_free(&a->said[0]);
    hn_str_free(&a->said[1]);
}

hn_status hn_conversation_answer(hn_conversation *c, const hn_json *messages,
                                 const hn_run_options *run, const hn_ear *ear, hn_turn *turn)
{
    answer a = answer_of(c, ear);
    *turn = (hn_turn){ 0 };
    hn_status status = begin_answer(c, messages, &a, turn);
    if (status == HN_OK)
        status = generate(&a, run, turn);
    free_answer(&a);
    return status;
}

static hn_status answer_own(hn_conversation *c, const hn_run_options *run, const hn_ear *ear,
                            hn_turn *turn)
{
    hn_str text = hn_str_on(c->heap);
    hn_json_text *json = NULL;
    answer a = answer_of(c, ear);
    a.n_drawn = c->n_drawn;
    hn_status status = hn_conversation_write(c, &text);
    if (status == HN_OK)
        status = hn_json_read(c->heap, "the conversation", text.text, text.length, &json);
    hn_str_free(&text);
    if (status == HN_OK)
        status = begin_answer(c, hn_json_root(json), &a, turn);
    hn_json_free(json);
    if (status == HN_OK)
        status = generate(&a, run, turn);
    if (status == HN_OK && (turn->n_answer || turn->end != HN_TURN_CANCELLED))
        status = keep(&a);
    free_answer(&a);
    return status;
}

hn_status hn_conversation_ask(hn_conversation *c, const char *text, const hn_run_options *run,
                              const hn_ear *ear, hn_turn *turn)
{
    *turn = (hn_turn){ 0 };
    HN_TRY(add_message(c, "user", text, NULL));
    const size_t asked = c->n_messages;
    const hn_status status = answer_own(c, run, ear, turn);
    if (c->n_messages == asked) /* no answer */
        drop_last(c);
    return status;
}
