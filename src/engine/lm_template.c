/* A chat template apart from a model. */
#include "engine/lm.h"
#include "hone/chat.h"

struct hn_lm_template {
    hn_engine *engine;
    hn_chat_input input;
    char *chosen; /* the file's name, or the template's */
    const char *which;
    hn_str text;
    hn_template_spans spans;
    hn_template_origins origins;
    hn_lm_span *generated, *own;
    hn_lm_rendered out;
};

static hn_status open_template(hn_lm_template *t, const char *path, const char *file, const char *name)
{
    HN_TRY(hn_chat_input_open(&t->input, path));
    hn_template_choice choice = { file, name };
    if (file && name) /* refused there */
        return hn_chat_input_choose(&t->input, &choice, &t->which);
    if ((file || name) && !(t->chosen = hn_strdup(&t->engine->heap, HN_TAG_TEXT, file ? file : name)))
        return HN_ERR_MEMORY;
    choice = (hn_template_choice){ file ? t->chosen : NULL, name ? t->chosen : NULL };
    return hn_chat_input_choose(&t->input, &choice, &t->which);
}

hn_status hn_lm_template_open(hn_lm_template **out, hn_engine *engine, const char *path, const char *file,
                              const char *name)
{
    HN_ENTER();
    HN_REQUIRE(out && engine && path, HN_ERR_ARGUMENT, "hn_lm_template_open: expected out, engine and path, found NULL");
    *out = NULL;
    HN_TRY(hn_engine_check(engine));
    hn_lm_template *t = hn_alloc(&engine->heap, HN_TAG_TEXT, sizeof *t);
    if (!t)
        return HN_ERR_MEMORY;
    *t = (hn_lm_template){ .engine = engine, .input = { .heap = &engine->heap }, .text = hn_str_on(&engine->heap) };
    const hn_status status = open_template(t, path, file, name);
    if (status != HN_OK) {
        hn_lm_template_free(t);
        return status;
    }
    *out = t;
    return HN_OK;
}

static void forget(hn_lm_template *t)
{
    hn_free(&t->engine->heap, t->spans.at);
    hn_free(&t->engine->heap, t->generated);
    hn_free(&t->engine->heap, t->own);
    hn_template_origins_free(&t->origins);
    t->spans = (hn_template_spans){ 0 };
    t->generated = t->own = NULL;
    hn_str_clear(&t->text);
}

void hn_lm_template_free(hn_lm_template *t)
{
    HN_ENTER();
    if (!t)
        return;
    forget(t);
    hn_str_free(&t->text);
    hn_chat_input_close(&t->input);
    hn_free(&t->engine->heap, t->chosen);
    hn_free(&t->engine->heap, t);
}

static const hn_json *root_of(const hn_json_text *text)
{
    return text ? hn_json_root(text) : NULL;
}

/* What the template does not read changes nothing: as in a chat, it is refused. */
static hn_status check_read(const hn_lm_template *t, const hn_lm_render_options *o, const hn_chat_input *in)
{
    const hn_chat_format *chat = t->input.chat;
    for (int i = 0; i < in->n_vars; i++)
        HN_REQUIRE(hn_chat_format_mentions(chat, t->which, in->vars[i].name), HN_ERR_ARGUMENT,
                   "--set %s: expected a variable that the chat template reads, found that it reads none of this name", o->variables[i]);
    HN_REQUIRE(!o->tools || hn_chat_format_mentions(chat, t->which, "tools"), HN_ERR_ARGUMENT,
               "--tools: expected a chat template that writes tools, found that it reads none");
    HN_REQUIRE(!o->documents || hn_chat_format_mentions(chat, t->which, "documents"), HN_ERR_ARGUMENT,
               "--documents: expected a chat template that writes documents, found that it reads none");
    HN_REQUIRE(!o->clock || hn_chat_format_mentions(chat, t->which, "strftime_now"), HN_ERR_ARGUMENT,
               "--clock: expected a chat template that asks for the time, found that it calls no strftime_now");
    HN_REQUIRE(!o->no_generation_prompt || hn_chat_format_mentions(chat, t->which, "add_generation_prompt"), HN_ERR_ARGUMENT,
               "--no-generation-prompt: expected a chat template that writes one, found that it reads no add_generation_prompt");
    return HN_OK;
}

static hn_status render(hn_lm_template *t, const char *messages, const hn_lm_render_options *o, hn_chat_input *in)
{
    hn_heap *heap = &t->engine->heap;
    hn_json_text *texts[3] = { NULL, NULL, NULL };
    hn_chat_request request = { .no_generation_prompt = o->no_generation_prompt || o->goes_on_last, .template_name = t->which };
    hn_status status = hn_take_json(heap, "messages", messages, &texts[0]);
    if (status == HN_OK)
        status = hn_check_messages(root_of(texts[0]), o);
    if (status == HN_OK)
        status = hn_take_json(heap, "tools", o->tools, &texts[1]);
    if (status == HN_OK)
        status = hn_take_json(heap, "documents", o->documents, &texts[2]);
    if (status == HN_OK)
        status = hn_chat_input_set(in, o->variables, o->n_variables);
    request.messages = root_of(texts[0]);
    request.tools = root_of(texts[1]);
    request.documents = root_of(texts[2]);
    request.vars = in->vars;
    request.options.clock = o->clock ? &o->clock : NULL;
    request.n_vars = (size_t)in->n_vars;
    if (status == HN_OK)
        status = hn_chat_render(t->input.chat, &request, &t->text, &t->spans, &t->origins);
    if (status == HN_OK) /* what is no variable at all was said by now */
        status = check_read(t, o, in);
    if (status == HN_OK && o->goes_on_last)
        status = hn_cut_after_last(request.messages, &t->text, &t->spans, &t->origins);
    for (int i = 0; i < 3; i++)
        hn_json_free(texts[i]);
    return status == HN_OK ? hn_str_status(&t->text) : status;
}

static hn_lm_span *copy_spans(hn_lm_template *t, const hn_template_spans *spans)
{
    hn_lm_span *copy = hn_alloc_array(&t->engine->heap, HN_TAG_TEXT, spans->n + 1, sizeof *copy);
    for (size_t i = 0; copy && i < spans->n; i++)
        copy[i] = (hn_lm_span){ spans->at[i].begin, spans->at[i].end };
    return copy;
}

static hn_status give(hn_lm_template *t, const hn_lm_rendered **out)
{
    t->generated = copy_spans(t, &t->spans);
    t->own = copy_spans(t, &t->origins.own);
    if (!t->generated || !t->own)
        return HN_ERR_MEMORY;
    t->out = (hn_lm_rendered){ .text = t->text.length ? t->text.text : "", .bytes = t->text.length,
                               .generated = t->generated, .n_generated = t->spans.n,
                               .own = t->own, .n_own = t->origins.own.n };
    *out = &t->out;
    return HN_OK;
}

hn_status hn_lm_template_render(hn_lm_template *t, const char *messages, const hn_lm_render_options *options,
                                const hn_lm_rendered **out)
{
    HN_ENTER();
    hn_lm_render_options o;
    HN_REQUIRE(t && messages && out, HN_ERR_ARGUMENT,
               "hn_lm_template_render: expected a template, messages and out, found NULL");
    *out = NULL;
    HN_TRY(hn_take_struct("hn_lm_render_options", options, sizeof o, &o));
    HN_TRY(hn_check_variables(o.variables, o.n_variables));
    HN_TRY(hn_engine_check(t->engine));
    hn_chat_input in = { .heap = &t->engine->heap }; /* of its variables */
    forget(t);
    hn_status status = render(t, messages, &o, &in);
    hn_chat_input_close(&in);
    if (status == HN_OK)
        status = give(t, out);
    return status;
}
