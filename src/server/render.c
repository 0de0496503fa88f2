/* Messages of a request as the model's template takes them. */
#include "server/apis.h"
#include "server/message_fields.h"
#include "server/unwritten.h"

#include <string.h>

enum { MOST_VARIABLES = 16 };

/* What a part says: a text, or that it will not; NULL: it is another. */
static const hn_json *said_by(const hn_json *part)
{
    const hn_json *type = hn_json_get(part, "type");
    const bool is_refusal = !strcmp(hn_json_string(type), "refusal");
    const hn_json *said = hn_json_get(part, is_refusal ? "refusal" : "text");
    return (is_refusal || !strcmp(hn_json_string(type), "text")) && said && said->kind == HN_JSON_STRING ? said : NULL;
}

/* Parts that are texts as one text, a line each; others are refused by name. */
static bool add_parts(hn_json_writer *w, hn_heap *heap, const hn_json *parts, hn_failure *why)
{
    hn_str all = hn_str_on(heap);
    for (const hn_json *p = hn_json_first(parts); p; p = p->next) {
        const hn_json *type = hn_json_get(p, "type"), *text = said_by(p);
        if (!text) {
            hn_str_free(&all);
            return hn_refuse_as(why, HN_REFUSED_UNSUPPORTED, "messages", "messages: a part of content of type \"%.40s\": expected text", hn_json_string(type));
        }
        if (p != hn_json_first(parts))
            hn_str_add_char(&all, '\n');
        hn_str_add_bytes(&all, hn_json_string(text), hn_json_bytes(text));
    }
    const hn_json joined = hn_json_of_string(all.text, all.length);
    hn_json_add_scalar(w, &joined);
    hn_str_end(&all, w->to);
    return true;
}

/* A function's arguments are a text of JSON here, and an object where a template reads them. */
static bool add_arguments(hn_json_writer *w, hn_heap *heap, const hn_json *text, hn_failure *why)
{
    hn_json_text *read = NULL;
    if (text->kind != HN_JSON_STRING) {
        hn_json_add_value(w, text);
        return true;
    }
    const hn_status status = hn_json_read(heap, "arguments", hn_json_string(text), hn_json_bytes(text), &read);
    if (status != HN_OK)
        return hn_refuse_by(why, status, "messages");
    hn_json_add_value(w, hn_json_root(read));
    hn_json_free(read);
    return true;
}

static bool add_object(hn_json_writer *w, hn_heap *heap, const hn_json *object, int depth, hn_failure *why);

/* tool_calls: [{"function": {"name": ..., "arguments": "..."}}] */
static bool add_call_part(hn_json_writer *w, hn_heap *heap, const hn_json *v, int depth, hn_failure *why)
{
    if (depth == 2 && !strcmp(v->key, "arguments"))
        return add_arguments(w, heap, v, why);
    if (depth == 1 && !strcmp(v->key, "function") && v->kind == HN_JSON_OBJECT)
        return add_object(w, heap, v, 2, why);
    hn_json_add_value(w, v);
    return true;
}

static bool add_object(hn_json_writer *w, hn_heap *heap, const hn_json *object, int depth, hn_failure *why)
{
    const hn_fields *fields = depth == 1 ? &hn_fields_message_call : &hn_fields_call_function;
    hn_json_begin_object(w);
    for (const hn_json *v = hn_json_first(object); v; v = v->next) {
        if (!hn_field_is_read(fields, v))
            continue;
        hn_json_key(w, v->key);
        if (!add_call_part(w, heap, v, depth, why))
            return false;
    }
    hn_json_end_object(w);
    return true;
}

static bool add_calls(hn_json_writer *w, hn_heap *heap, const hn_json *calls, hn_failure *why)
{
    hn_json_begin_array(w);
    for (const hn_json *c = hn_json_first(calls); c; c = c->next) {
        if (c->kind != HN_JSON_OBJECT)
            return hn_refuse_as(why, HN_REFUSED_INVALID, "messages", "messages: tool_calls: expected objects");
        if (!add_object(w, heap, c, 1, why))
            return false;
    }
    hn_json_end_array(w);
    return true;
}

/* A call of an assistant needs no text beside it, and most clients send none; an answer that is sent back may have `content` null beside its
 * `refusal`, which has the text or is null too. Templates read a text all the same: this one; NULL: the message's own. */
static const char *missing_text(const hn_json *message)
{
    const hn_json *content = hn_json_get(message, "content"), *calls = hn_json_get(message, "tool_calls"),
                  *role = hn_json_get(message, "role"), *refusal = hn_json_get(message, "refusal");
    const bool has_calls = calls && calls->kind == HN_JSON_ARRAY && hn_json_count(calls),
               is_answer = !strcmp(hn_json_string(role), "assistant");
    if (content && content->kind != HN_JSON_NULL)
        return NULL;
    if (is_answer && refusal && refusal->kind == HN_JSON_STRING)
        return hn_json_string(refusal);
    return has_calls || (is_answer && refusal) ? "" : NULL;
}

static bool add_message(hn_json_writer *w, hn_heap *heap, const hn_json *message, hn_failure *why)
{
    if (message->kind != HN_JSON_OBJECT)
        return hn_refuse_as(why, HN_REFUSED_INVALID, "messages", "messages: expected objects of role and content");
    const char *text = missing_text(message);
    hn_json_begin_object(w);
    if (text) {
        hn_json_key(w, "content");
        hn_json_add_string(w, text);
    }
    for (const hn_json *v = hn_json_first(message); v; v = v->next) {
        const bool is_list = v->kind == HN_JSON_ARRAY;
        if ((text && !strcmp(v->key, "content")) || !hn_field_is_read(&hn_fields_chat_message, v))
            continue;
        hn_json_key(w, v->key);
        if (is_list && !strcmp(v->key, "content") ? !add_parts(w, heap, v, why)
            : is_list && !strcmp(v->key, "tool_calls") ? !add_calls(w, heap, v, why) : false)
            return false;
        if (!is_list || (strcmp(v->key, "content") != 0 && strcmp(v->key, "tool_calls") != 0))
            hn_json_add_value(w, v);
    }
    hn_json_end_object(w);
    return true;
}

static bool add_messages(hn_str *out, hn_heap *heap, const hn_json *messages, hn_failure *why)
{
    hn_json_writer w = hn_json_write_to(out);
    hn_json_begin_array(&w);
    for (const hn_json *m = hn_json_first(messages); m; m = m->next)
        if (!add_message(&w, heap, m, why))
            return false;
    hn_json_end_array(&w);
    return hn_str_status(out) == HN_OK || hn_refuse_by(why, HN_ERR_MEMORY, "messages");
}

/* KEY=JSON, one after the other with a NUL each. */
typedef struct variables {
    hn_str words;
    size_t begins[MOST_VARIABLES];
    const char *at[MOST_VARIABLES];
    int32_t n;
} variables;

static bool add_variable(variables *to, const char *name, const hn_json *value, hn_failure *why)
{
    if (!value)
        return true;
    if (to->n == MOST_VARIABLES)
        return hn_refuse_as(why, HN_REFUSED_INVALID, "chat_template_kwargs", "chat_template_kwargs: expected at most %d", MOST_VARIABLES);
    if (!*name || strchr(name, '='))
        return hn_refuse_as(why, HN_REFUSED_INVALID, "chat_template_kwargs", "chat_template_kwargs: \"%.40s\" is no name", name);
    to->begins[to->n++] = to->words.length;
    hn_str_add(&to->words, name);
    hn_str_add_char(&to->words, '=');
    hn_json_writer w = hn_json_write_to(&to->words);
    hn_json_add_value(&w, value);
    hn_str_add_char(&to->words, '\0');
    return true;
}

/* Variables that have fields of their own, and what these are called in the other forms. */
static const struct {
    const char *name, *elsewhere[2];
} own[] = { { "enable_thinking", { "think", "thinking" } }, { "reasoning_effort", { "reasoning", "output_config" } } };

enum { N_OWN = sizeof own / sizeof *own };

static bool add_variables(variables *to, const hn_json *body, hn_failure *why)
{
    const hn_json *given = hn_field_of(body, "chat_template_kwargs");
    for (size_t i = 0; i < N_OWN; i++)
        if (!add_variable(to, own[i].name, hn_field_of(body, own[i].name), why))
            return false;
    for (const hn_json *v = hn_json_first(given); v; v = v->next)
        if (!add_variable(to, v->key, v, why))
            return false;
    for (int32_t i = 0; i < to->n; i++)
        to->at[i] = to->words.text + to->begins[i];
    return hn_str_status(&to->words) == HN_OK || hn_refuse_by(why, HN_ERR_MEMORY, "chat_template_kwargs");
}

/* Harmony's template writes a message's first call and passes over the others, which would be lost. */
static bool check_calls(const hn_answer *a, const hn_json *messages, hn_failure *why)
{
    hn_lm_call_style style;
    const bool is_known = hn_lm_call_style_of(a->model->lm, a->model->o.calls, &style, sizeof style) == HN_OK;
    for (const hn_json *m = is_known && !strcmp(style.form, "harmony") ? hn_json_first(messages) : NULL; m; m = m->next)
        if (hn_json_count(hn_json_get(m, "tool_calls")) > 1)
            return hn_refuse_as(why, HN_REFUSED_UNSUPPORTED, "messages",
                                "messages: tool_calls: the template of %s writes one call a message, found %zu: each is a message of its own",
                                a->model->name, hn_json_count(hn_json_get(m, "tool_calls")));
    return true;
}

/* What a rendering takes of a body, as the library has it. */
typedef struct rendering {
    hn_str messages, documents;
    variables vars;
    hn_lm_render_options o;
} rendering;

static bool open_rendering(rendering *r, hn_answer *a, const char *tools, hn_failure *why)
{
    hn_heap *heap = a->heap;
    const hn_json *body = a->body;
    const hn_json *documents = hn_field_of(body, "documents");
    if (documents && !hn_json_count(documents)) /* as no tools are none */
        documents = NULL;
    *r = (rendering){ .messages = hn_str_on(heap), .documents = hn_str_on(heap), .vars = { .words = hn_str_on(heap) } };
    const hn_json *messages = hn_field_of(body, "messages");
    if (!hn_check_chat_messages(messages, why) || !check_calls(a, messages, why) ||
        !add_messages(&r->messages, heap, messages, why) || !add_variables(&r->vars, body, why))
        return false;
    hn_json_writer w = hn_json_write_to(&r->documents);
    if (documents)
        hn_json_add_value(&w, documents);
    r->o = (hn_lm_render_options){
        .size = sizeof r->o, .tools = tools, .documents = documents ? r->documents.text : NULL, .variables = r->vars.at, .n_variables = r->vars.n,
        .no_generation_prompt = !hn_field_bool(body, "add_generation_prompt", true),
        .goes_on_last = hn_field_bool(body, "continue_final_message", false), .clock = a->clock = a->created,
    };
    return hn_str_status(&r->documents) == HN_OK || hn_refuse_by(why, HN_ERR_MEMORY, "documents");
}

static void close_rendering(rendering *r)
{
    hn_str_free(&r->messages);
    hn_str_free(&r->documents);
    hn_str_free(&r->vars.words);
}

/* Templates seldom add more than that to the words: one that does is rendered once more. */
hn_status hn_render_text(const hn_lm *lm, const char *messages, const hn_lm_render_options *o, hn_str *out)
{
    size_t room = strlen(messages) + (o->tools ? 2 * strlen(o->tools) : 0) + 4096, bytes = 0;
    for (;;) {
        char *text = hn_alloc(out->heap, HN_TAG_TEXT, room);
        if (!text)
            return HN_ERR_MEMORY;
        const hn_status status = hn_lm_render(lm, messages, o, text, room, &bytes);
        if (status == HN_OK)
            hn_str_add_bytes(out, text, bytes);
        hn_free(out->heap, text);
        if (status != HN_ERR_ARGUMENT || bytes < room)
            return status == HN_OK ? hn_str_status(out) : status;
        room = bytes + 1;
    }
}

/* Where a variable was asked for: a field of its own, as this form calls it, or among all. */
static const char *field_of_variable(const hn_answer *a, const char *name, size_t n)
{
    for (size_t i = 0; i < N_OWN; i++) {
        if (strlen(own[i].name) != n || strncmp(own[i].name, name, n) != 0)
            continue;
        for (int j = 0; a->asked && j < 2; j++)
            if (hn_field_of(a->asked, own[i].elsewhere[j]))
                return own[i].elsewhere[j];
        return own[i].name;
    }
    return "chat_template_kwargs";
}

/* The library's sentence about a variable names it as the command line does: what is left of it behind that, and where it was asked for;
 * NULL: it is about none. */
static const char *rest_of_variable(const hn_answer *a, const variables *vars, const char *sentence, const char **field)
{
    const char *word = "--set ";
    for (int32_t i = 0; i < vars->n && !strncmp(sentence, word, strlen(word)); i++) {
        const size_t n = strlen(vars->at[i]);
        if (strncmp(sentence + strlen(word), vars->at[i], n) != 0)
            continue;
        *field = field_of_variable(a, vars->at[i], strcspn(vars->at[i], "="));
        return sentence + strlen(word) + (!strcmp(*field, "chat_template_kwargs") ? 0 : n);
    }
    return NULL;
}

/* A sentence about a template begins with its file, of which a client is told the model's name alone; one about what the template does not
 * read names the field that asked for it. */
static bool refuse_rendering(const hn_answer *a, const variables *vars, hn_status status, hn_failure *why)
{
    static const struct {
        const char *field, *begins; /* as the library calls it */
    } given[] = { { "tools", "--tools of hn_lm_render_options" }, { "documents", "--documents of hn_lm_render_options" } };
    const hn_served *model = a->model;
    const size_t n = strlen(model->o.path);
    const char *said = hn_error_message(), *field = "messages", *rest = rest_of_variable(a, vars, said, &field);
    hn_refuse_by(why, status, field);
    if (rest)
        return hn_refuse_as(why, why->kind, field, "%s%s%s", field, *rest == ':' ? "" : ": ", rest);
    for (size_t i = 0; i < sizeof given / sizeof *given; i++)
        if (!strncmp(said, given[i].begins, strlen(given[i].begins)))
            return hn_refuse_as(why, HN_REFUSED_UNSUPPORTED, given[i].field, "%s%s", given[i].field, said + strlen(given[i].begins));
    if (strncmp(said, model->o.path, n) != 0)
        return false;
    return hn_refuse_as(why, why->kind, "messages", "%s%s", model->name, said + n);
}

/* Whatever messages became, text or ids: it was rendered, and nothing that was said is left out of it. */
static bool settle_rendering(hn_answer *a, const rendering *r, hn_status status, hn_failure *why)
{
    return (status == HN_OK || refuse_rendering(a, &r->vars, status, why)) && hn_unwritten_check(a, r->messages.text, &r->o, why);
}

bool hn_render_messages(hn_answer *a, hn_str *out, hn_failure *why)
{
    rendering r;
    bool is_well = open_rendering(&r, a, a->tools.length ? a->tools.text : NULL, why);
    if (is_well) {
        const hn_status status = hn_render_text(a->model->lm, r.messages.text, &r.o, out);
        is_well = settle_rendering(a, &r, status, why);
    }
    close_rendering(&r);
    return is_well;
}

/* Most prompts have fewer tokens than half their bytes; one that has more is rendered once more. */
static hn_status render_ids(const hn_lm *lm, hn_heap *heap, const rendering *r, hn_prompt *to)
{
    size_t room = r->messages.length / 2 + 256, n = 0;
    for (;;) {
        int32_t *ids = hn_alloc_array(heap, HN_TAG_TEXT, room, sizeof *ids);
        if (!ids)
            return HN_ERR_MEMORY;
        const hn_status status = hn_lm_render_ids(lm, r->messages.text, &r->o, ids, room, &n);
        if (status == HN_OK) {
            to->ids = ids;
            to->n = n;
            return HN_OK;
        }
        hn_free(heap, ids);
        if (status != HN_ERR_ARGUMENT || n <= room)
            return status;
        room = n;
    }
}

bool hn_render_ids(hn_answer *a, hn_prompt *to, hn_failure *why)
{
    rendering r;
    bool is_well = open_rendering(&r, a, a->tools.length ? a->tools.text : NULL, why);
    if (is_well) {
        const hn_status status = render_ids(a->model->lm, a->heap, &r, to);
        is_well = settle_rendering(a, &r, status, why);
    }
    close_rendering(&r);
    return is_well;
}
