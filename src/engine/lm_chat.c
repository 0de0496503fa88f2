/* Public conversations: a session, a sampler and the inner conversation, made together. */
#include "base/file.h"
#include "engine/lm_grammar.h"
#include "infer/conversation.h"

#include <string.h>

struct hn_lm_chat {
    hn_lm *lm;
    hn_lm_chat_options o; /* its callbacks */
    hn_session *session;
    hn_sampler *sampler;
    hn_lm_matcher *matcher; /* of an answer; NULL: any */
    hn_logit_bias *bias;
    hn_lm_drafter *drafter; /* NULL: nothing is guessed ahead */
    hn_chat_input input; /* its variables and tools; the templates are the model's */
    hn_json_text *tools;
    hn_conversation *inner;
};

/* JSON, or the name of a file of it. */
static bool is_file(const char *text)
{
    const char first = text[strspn(text, " \t\r\n")];
    return first != '[' && first != '{';
}

/* What messages call it: its file, or where it was given. */
static const char *name_of(const char *text, const char *otherwise)
{
    return !text ? NULL : is_file(text) ? text : otherwise;
}

hn_status hn_take_json(hn_heap *heap, const char *name, const char *text, hn_json_text **out)
{
    enum { MOST_BYTES = 1 << 26 };
    void *file = NULL;
    size_t bytes;
    *out = NULL;
    if (!text)
        return HN_OK;
    if (!is_file(text))
        return hn_json_read(heap, name, text, strlen(text), out);
    HN_TRY(hn_file_read(heap, text, MOST_BYTES, &file, &bytes));
    const hn_status status = hn_json_read(heap, text, file, bytes, out);
    hn_free(heap, file);
    return status;
}

hn_status hn_check_variables(const char *const *list, int32_t n)
{
    HN_REQUIRE(n >= 0 && n <= HN_MAX_CHAT_VARS && (list || !n), HN_ERR_ARGUMENT,
               "variables: expected a list of at most %d, found %d%s", HN_MAX_CHAT_VARS, n, list ? "" : " at NULL");
    for (int32_t i = 0; i < n; i++)
        HN_REQUIRE(list[i], HN_ERR_ARGUMENT, "variables[%d] is NULL", i);
    return HN_OK;
}

hn_status hn_check_messages(const hn_json *messages, const hn_lm_render_options *o)
{
    const bool is_object = messages && messages->kind == HN_JSON_OBJECT;
    for (const hn_json *v = is_object ? hn_json_first(messages) : NULL; v; v = v->next) {
        const bool are_tools = !strcmp(v->key, "tools"), are_documents = !strcmp(v->key, "documents");
        HN_REQUIRE(are_tools || are_documents || !strcmp(v->key, "messages"), HN_ERR_ARGUMENT,
                   "messages: the key %.60s: expected messages, tools or documents", v->key);
        HN_REQUIRE(v->kind == HN_JSON_NULL || !(are_tools ? o->tools : are_documents ? o->documents : NULL), HN_ERR_ARGUMENT,
                   "%s: beside the messages, which hold some: expected them once", v->key);
    }
    return HN_OK;
}

static const hn_json *root_of(const hn_json_text *text)
{
    return text ? hn_json_root(text) : NULL;
}

/* Variables of one's own, over the model's templates: closing them leaves those. */
static void close_variables(hn_chat_input *in)
{
    in->chat = NULL;
    hn_chat_input_close(in);
}

/* Which template it is by: as hn_conversation_settle has it. */
static hn_status settle(const hn_lm *lm, const hn_chat_input *in, const char *const *set, const char *tools, const char *documents,
                        const char **which)
{
    const hn_conversation_style style = { .input = in, .set = set, .model = lm->path,
                                          .which = lm->which ? lm->which : lm->carried,
                                          .tools_or_null = tools, .documents_or_null = documents };
    return hn_conversation_settle(&style, which);
}

/* ---- messages to text ---- */

static void cut_spans(hn_template_spans *spans, size_t end)
{
    while (spans->n && spans->at[spans->n - 1].begin >= end)
        spans->n--;
    if (spans->n && spans->at[spans->n - 1].end > end)
        spans->at[spans->n - 1].end = end;
}

hn_status hn_cut_after_last(const hn_json *messages, hn_str *text, hn_template_spans *generated_or_null, hn_template_origins *origins)
{
    messages = messages->kind == HN_JSON_OBJECT ? hn_json_get(messages, "messages") : messages;
    HN_REQUIRE(messages, HN_ERR_ARGUMENT, "messages: expected an array, found none");
    const hn_json *last = messages->kind == HN_JSON_ARRAY && hn_json_count(messages) ? hn_json_at(messages, hn_json_count(messages) - 1) : NULL;
    const hn_json *content = hn_json_get(last, "content");
    const size_t end = text->length - hn_template_last_words(origins, text).bytes;
    HN_REQUIRE(content && content->kind == HN_JSON_STRING, HN_ERR_ARGUMENT, "messages: expected a text as the content of the last, to go on with");
    size_t n = hn_json_bytes(content);
    while (n && strchr(" \n\r\t", hn_json_string(content)[n - 1]))
        n--;
    size_t is = end;
    while (is && strchr(" \n\r\t", text->text[is - 1]))
        is--;
    HN_REQUIRE(n && is >= n && !memcmp(text->text + is - n, hn_json_string(content), n), HN_ERR_ARGUMENT,
               "messages: the template does not end with the content of the last, to go on with");
    text->text[text->length = end] = '\0';
    cut_spans(&origins->own, end);
    if (generated_or_null)
        cut_spans(generated_or_null, end);
    return HN_OK;
}

static hn_status render(const hn_lm *lm, const char *messages, const hn_lm_render_options *o, hn_str *out,
                        hn_template_origins *origins_or_null)
{
    static const char of[] = "of hn_lm_render_options";
    hn_heap *heap = &lm->engine->heap;
    hn_chat_input in = { .heap = heap, .chat = lm->input.chat };
    hn_json_text *texts[3] = { NULL, NULL, NULL };
    hn_chat_request request = { .no_generation_prompt = o->no_generation_prompt || o->goes_on_last };
    hn_status status = hn_take_json(heap, "messages", messages, &texts[0]);
    if (status == HN_OK)
        status = hn_check_messages(root_of(texts[0]), o);
    if (status == HN_OK)
        status = hn_take_json(heap, "tools", o->tools, &texts[1]);
    if (status == HN_OK)
        status = hn_take_json(heap, "documents", o->documents, &texts[2]);
    if (status == HN_OK)
        status = hn_chat_input_set(&in, o->variables, o->n_variables);
    if (status == HN_OK)
        status = settle(lm, &in, o->variables, name_of(o->tools, of), name_of(o->documents, of), &request.template_name);
    request.messages = root_of(texts[0]);
    request.tools = root_of(texts[1]);
    request.documents = root_of(texts[2]);
    request.vars = in.vars;
    request.options.clock = o->clock ? &o->clock : NULL;
    request.n_vars = (size_t)in.n_vars;
    if (status == HN_OK)
        status = hn_chat_render(lm->input.chat, &request, out, NULL, origins_or_null);
    if (status == HN_OK && o->goes_on_last)
        status = hn_cut_after_last(request.messages, out, NULL, origins_or_null);
    for (int i = 0; i < 3; i++)
        hn_json_free(texts[i]);
    close_variables(&in);
    return status == HN_OK ? hn_str_status(out) : status;
}

hn_status hn_lm_render(const hn_lm *lm, const char *messages, const hn_lm_render_options *options, char *to,
                       size_t room, size_t *bytes)
{
    HN_ENTER();
    hn_lm_render_options o;
    HN_REQUIRE(lm && messages, HN_ERR_ARGUMENT, "hn_lm_render: expected a model and messages, found NULL");
    HN_TRY(hn_take_struct("hn_lm_render_options", options, sizeof o, &o));
    HN_TRY(hn_check_variables(o.variables, o.n_variables));
    HN_TRY(hn_lm_want_words(lm));
    hn_str text = hn_str_on(&lm->engine->heap);
    hn_template_origins origins = { 0 };
    hn_status status = render(lm, messages, &o, &text, o.goes_on_last ? &origins : NULL);
    if (status == HN_OK)
        status = hn_give_text(text.text, text.length, to, room, bytes);
    hn_template_origins_free(&origins);
    hn_str_free(&text);
    return status;
}

hn_status hn_lm_render_ids(const hn_lm *lm, const char *messages, const hn_lm_render_options *options, int32_t *ids,
                           size_t room, size_t *n)
{
    HN_ENTER();
    hn_lm_render_options o;
    HN_REQUIRE(lm && messages && n && (ids || !room), HN_ERR_ARGUMENT,
               "hn_lm_render_ids: expected a model, messages and room, found NULL");
    HN_TRY(hn_take_struct("hn_lm_render_options", options, sizeof o, &o));
    HN_TRY(hn_check_variables(o.variables, o.n_variables));
    HN_TRY(hn_lm_want_words(lm));
    HN_TELLS(lm->engine);
    hn_str text = hn_str_on(&lm->engine->heap);
    hn_template_origins origins = { 0 };
    hn_encoding encoding = { 0 };
    hn_status status = render(lm, messages, &o, &text, &origins);
    const hn_text_origins view = hn_template_origins_view(&origins);
    if (status == HN_OK)
        status = hn_prompt_encode(lm->tok, text.text, text.length, &view, &encoding);
    status = hn_give_ids(status, &encoding, ids, room, n);
    hn_template_origins_free(&origins);
    hn_str_free(&text);
    return status;
}

/* ---- a conversation ---- */

static hn_status take_variables(hn_lm_chat *c)
{
    HN_TRY(hn_check_variables(c->o.variables, c->o.n_variables));
    return hn_chat_input_set(&c->input, c->o.variables, c->o.n_variables);
}

/* Its model draws as the chat does, unless it was told otherwise. */
static hn_status make_drafter(hn_lm_chat *c, const hn_lm_draft_options *draft)
{
    hn_lm_sampling likely;
    if (!draft)
        return HN_OK;
    hn_lm_draft_options o = *draft;
    HN_TRY(hn_lm_sampling_default(&likely, sizeof likely));
    if (o.model && !o.sampling)
        o.sampling = c->o.sampling ? c->o.sampling : &likely;
    return hn_lm_drafter_of(&c->drafter, c->lm, &o, hn_session_context(c->session));
}

/* Each answer is a text of the grammar. */
static hn_status allowed(void *context, const int32_t *answer, int64_t n, const uint64_t **out)
{
    hn_lm_chat *c = context;
    hn_lm_mask mask;
    HN_TRY(hn_lm_matcher_set(c->matcher, answer, (size_t)n));
    HN_TRY(hn_lm_matcher_mask(c->matcher, &mask, sizeof mask));
    *out = mask.bits;
    return HN_OK;
}

static hn_status take_grammar(hn_lm_chat *c)
{
    hn_lm_sampling o;
    HN_TRY(hn_take_struct("hn_lm_sampling", c->o.sampling, sizeof o, &o));
    return o.grammar ? hn_lm_matcher_new(&c->matcher, c->lm, o.grammar) : HN_OK;
}

static hn_status open_chat(hn_lm_chat *c, const hn_lm_draft_options *draft)
{
    hn_heap *heap = &c->lm->engine->heap;
    HN_REQUIRE(c->o.max_answer >= 0, HN_ERR_ARGUMENT, "hn_lm_chat_options.max_answer: expected at least 0, found %lld",
               (long long)c->o.max_answer);
    hn_conversation_options o = { .max_answer = c->o.max_answer };
    HN_TRY(take_variables(c));
    HN_TRY(hn_take_json(heap, "tools", c->o.tools, &c->tools));
    HN_TRY(settle(c->lm, &c->input, c->o.variables, name_of(c->o.tools, "of hn_lm_chat_options"), NULL,
                  &o.template_name));
    HN_TRY(hn_lm_inner_sampler(c->lm, c->o.sampling, &c->bias, &c->sampler));
    HN_TRY(take_grammar(c));
    HN_TRY(hn_lm_inner_session(c->lm, c->o.session, draft ? draft->most : 0, &c->session));
    HN_TRY(make_drafter(c, draft));
    o.tools = root_of(c->tools);
    o.vars = c->input.vars;
    o.n_vars = (size_t)c->input.n_vars;
    const hn_conversation_parts parts = { c->lm->tok, c->lm->input.chat, c->session, c->sampler,
                                          hn_lm_drafter_inner(c->drafter), c->matcher ? allowed : NULL, c };
    HN_TRY(hn_conversation_new(&c->inner, heap, &parts, &o));
    return hn_conversation_set_system(c->inner, c->o.system);
}

/* Nothing of the caller's is looked at again but callbacks and their context. */
static void forget_options(hn_lm_chat *c)
{
    c->o = (hn_lm_chat_options){ .on_text = c->o.on_text, .on_thought = c->o.on_thought,
                                 .context = c->o.context };
}

/* `draft`: taken already; NULL: nothing is guessed. */
static hn_status make_new(hn_lm_chat **out, hn_lm *lm, const hn_lm_chat_options *options, const hn_lm_draft_options *draft)
{
    hn_lm_chat_options o;
    HN_TRY(hn_take_struct("hn_lm_chat_options", options, sizeof o, &o));
    HN_TRY(hn_lm_want_words(lm));
    HN_TRY(hn_lm_hold(lm));
    hn_lm_chat *c = hn_alloc(&lm->engine->heap, HN_TAG_TEXT, sizeof *c);
    if (!c) {
        hn_lm_let_go(lm);
        return HN_ERR_MEMORY;
    }
    c->lm = lm;
    c->o = o;
    c->input = (hn_chat_input){ .heap = &lm->engine->heap, .chat = lm->input.chat };
    const hn_status status = open_chat(c, draft);
    forget_options(c);
    if (status != HN_OK) {
        hn_lm_chat_free(c);
        return status;
    }
    *out = c;
    return hn_work_done(HN_OK, "packing weights");
}

hn_status hn_lm_chat_new(hn_lm_chat **out, hn_lm *lm, const hn_lm_chat_options *options)
{
    HN_ENTER();
    HN_REQUIRE(out && lm, HN_ERR_ARGUMENT, "hn_lm_chat_new: expected out and a model, found NULL");
    *out = NULL;
    HN_TELLS(lm->engine);
    return make_new(out, lm, options, NULL);
}

hn_status hn_lm_chat_new_drafting(hn_lm_chat **out, hn_lm *lm, const hn_lm_chat_options *options,
                                  const hn_lm_draft_options *draft)
{
    HN_ENTER();
    hn_lm_draft_options o;
    HN_REQUIRE(out && lm, HN_ERR_ARGUMENT, "hn_lm_chat_new_drafting: expected out and a model, found NULL");
    *out = NULL;
    HN_TRY(hn_lm_take_draft(draft, &o));
    HN_TELLS(lm->engine);
    return make_new(out, lm, options, &o);
}

void hn_lm_chat_free(hn_lm_chat *c)
{
    HN_ENTER();
    if (!c)
        return;
    hn_lm *lm = c->lm;
    hn_conversation_free(c->inner);
    hn_lm_drafter_free(c->drafter);
    hn_session_free(c->session);
    hn_lm_matcher_free(c->matcher);
    hn_sampler_free(c->sampler);
    hn_free(&lm->engine->heap, c->bias);
    hn_json_free(c->tools);
    close_variables(&c->input);
    hn_free(&lm->engine->heap, c);
    hn_lm_let_go(lm);
}

/* Pieces come from strings that end in NUL somewhere behind them: the host's end where they end. */
static void hear(void *context, hn_voice voice, const char *text, size_t bytes)
{
    const hn_lm_chat *c = context;
    void (*call)(void *, const char *, size_t) = voice == HN_VOICE_THOUGHT ? c->o.on_thought : c->o.on_text;
    char part[512];
    while (call && bytes) {
        size_t n = bytes < sizeof part - 1 ? bytes : sizeof part - 1;
        while (n < bytes && n > sizeof part - 5 && ((unsigned char)text[n] & 0xc0) == 0x80)
            n--; /* not within a character */
        memcpy(part, text, n);
        part[n] = 0;
        HN_CALL_HOST();
        call(c->o.context, part, n);
        text += n;
        bytes -= n;
    }
}

static hn_status end_turn(const hn_turn *found, hn_status status, hn_lm_turn *out)
{
    static const hn_lm_end ends[] = { [HN_TURN_DONE] = HN_LM_DONE, [HN_TURN_COUNTED] = HN_LM_COUNTED,
                                      [HN_TURN_FULL] = HN_LM_FULL, [HN_TURN_CANCELLED] = HN_LM_CANCELLED };
    *out = (hn_lm_turn){ .end = found->does_not_fit ? HN_LM_FULL : ends[found->end], .n_prompt = found->n_prompt,
                         .n_reused = found->n_reused, .n_answer = found->n_answer,
                         .prompt_seconds = (double)found->prompt_ns * 1e-9,
                         .answer_seconds = (double)found->answer_ns * 1e-9 };
    HN_TRY(status);
    HN_REQUIRE(found->end != HN_TURN_CANCELLED, HN_ERR_CANCELLED, "the answer was stopped after %lld tokens",
               (long long)found->n_answer);
    return HN_OK;
}

hn_status hn_lm_chat_ask(hn_lm_chat *c, const char *text, hn_lm_turn *to, size_t size)
{
    HN_ENTER();
    HN_GIVES(hn_lm_turn, turn, to, size);
    HN_REQUIRE(c && text, HN_ERR_ARGUMENT, "hn_lm_chat_ask: expected a chat and a text, found NULL");
    HN_TRY(hn_engine_check(c->lm->engine));
    const hn_run_options run = { .cancel = hn_engine_cancelled(c->lm->engine) };
    const hn_ear ear = { hear, c };
    hn_turn found;
    const hn_status status = hn_conversation_ask(c->inner, text, &run, &ear, &found);
    return end_turn(&found, status, turn);
}

hn_status hn_lm_chat_answer(hn_lm_chat *c, const char *messages, hn_lm_turn *to, size_t size)
{
    HN_ENTER();
    HN_GIVES(hn_lm_turn, turn, to, size);
    HN_REQUIRE(c && messages, HN_ERR_ARGUMENT, "hn_lm_chat_answer: expected a chat and messages, found NULL");
    HN_TRY(hn_engine_check(c->lm->engine));
    const hn_run_options run = { .cancel = hn_engine_cancelled(c->lm->engine) };
    const hn_ear ear = { hear, c };
    hn_turn found;
    hn_json_text *json;
    HN_TRY(hn_take_json(&c->lm->engine->heap, "messages", messages, &json));
    const hn_status status = hn_conversation_answer(c->inner, hn_json_root(json), &run, &ear, &found);
    hn_json_free(json);
    return end_turn(&found, status, turn);
}

hn_status hn_lm_chat_set_system(hn_lm_chat *c, const char *text)
{
    HN_ENTER();
    HN_REQUIRE(c, HN_ERR_ARGUMENT, "hn_lm_chat_set_system: expected a chat, found NULL");
    return hn_conversation_set_system(c->inner, text);
}

hn_status hn_lm_chat_reset(hn_lm_chat *c)
{
    HN_ENTER();
    HN_REQUIRE(c, HN_ERR_ARGUMENT, "hn_lm_chat_reset: expected a chat, found NULL");
    hn_conversation_reset(c->inner);
    return HN_OK;
}

hn_status hn_lm_chat_messages(const hn_lm_chat *c, char *to, size_t room, size_t *bytes)
{
    HN_ENTER();
    HN_REQUIRE(c, HN_ERR_ARGUMENT, "hn_lm_chat_messages: expected a chat, found NULL");
    hn_str text = hn_str_on(&c->lm->engine->heap);
    hn_status status = hn_conversation_write(c->inner, &text);
    if (status == HN_OK)
        status = hn_give_text(text.text, text.length, to, room, bytes);
    hn_str_free(&text);
    return status;
}

int64_t hn_lm_chat_context(const hn_lm_chat *c)
{
    HN_ENTER();
    return c ? hn_session_context(c->session) : 0;
}

hn_status hn_lm_chat_save_keys(const hn_lm_chat *c, const char *path)
{
    HN_ENTER();
    HN_REQUIRE(c && path, HN_ERR_ARGUMENT, "hn_lm_chat_save_keys: expected a chat and a path, found NULL");
    HN_TRY(hn_engine_check(c->lm->engine));
    HN_TELLS(c->lm->engine);
    return hn_session_length(c->session) ? hn_work_done(hn_session_save(c->session, path), path) : HN_OK;
}

hn_status hn_lm_chat_load_keys(hn_lm_chat *c, const char *path)
{
    HN_ENTER();
    HN_REQUIRE(c && path, HN_ERR_ARGUMENT, "hn_lm_chat_load_keys: expected a chat and a path, found NULL");
    HN_TRY(hn_engine_check(c->lm->engine));
    HN_TELLS(c->lm->engine);
    return hn_work_done(hn_session_restore(c->session, path), path);
}

hn_status hn_lm_chat_drafted(const hn_lm_chat *c, int64_t *accepted, int64_t *rejected)
{
    HN_ENTER();
    HN_REQUIRE(c && accepted && rejected, HN_ERR_ARGUMENT, "hn_lm_chat_drafted: expected a chat and room, found NULL");
    return hn_lm_drafted(c->drafter, accepted, rejected);
}
