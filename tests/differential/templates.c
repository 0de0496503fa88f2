/* Templates against Transformers, byte for byte: real ones on conversations, our own that try
 * every feature, and random ones. tools/reference/templates*.py made the references.
 *
 * Templates whose licence keeps them out of this tree are read from the folder HN_TEMPLATES,
 * which has real/NAME.jinja and chats.json as templates/ here has; without it they are skipped.
 */
#include "base/file.h"
#include "tests/harness/check.h"
#include "text/template/chat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static hn_heap heap;
static const int64_t clock_at = 1753531200; /* templates_env.py's */

static hn_json_text *read_json(const char *folder, const char *name)
{
    char path[1024];
    void *data = NULL;
    size_t bytes = 0;
    hn_json_text *text = NULL;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (CHECK_OK(hn_file_read(&heap, path, 1 << 26, &data, &bytes)))
        CHECK_OK(hn_json_read(&heap, path, data, bytes, &text));
    hn_free(&heap, data);
    return text;
}

/* What came out is what Python gave, or both failed; the words of raise_exception are the same.
 */
static bool agrees(const hn_json *want, hn_status status, const hn_str *got)
{
    const hn_json *out = hn_json_get(want, "out"), *error = hn_json_get(want, "error");
    if (out)
        return CHECK_OK(status) &&
               CHECK_THAT(out->as.string.bytes == got->length &&
                              !memcmp(out->as.string.text, got->text, got->length),
                          "expected \"%s\", found \"%s\"", out->as.string.text, got->text);
    const hn_json *kind = hn_json_get(want, "kind");
    CHECK_THAT(status != HN_OK, "expected \"%s\", found \"%s\"", error->as.string.text,
               got->text);
    if (!kind || strcmp(kind->as.string.text, "TemplateError"))
        return true;
    return CHECK_INT(HN_ERR_ARGUMENT, status) &&
           CHECK_THAT(strstr(hn_error_message(), error->as.string.text) != NULL,
                      "expected the words \"%s\", found \"%s\"", error->as.string.text,
                      hn_error_message());
}

static void render_chat(hn_chat_format *chat, const hn_json *given, const hn_json *want)
{
    static const char *const fixed[] = { "messages", "tools", "documents",
                                         "add_generation_prompt" };
    hn_template_var vars[16];
    const hn_json *prompt = hn_json_get(given, "add_generation_prompt");
    hn_chat_request request = { .messages = given,
                                .vars = vars,
                                .no_generation_prompt = prompt && !prompt->as.boolean,
                                .options.clock = &clock_at };
    for (const hn_json *v = given->as.children.first; v; v = v->next) {
        bool is_var = true;
        for (int i = 0; i < 4; i++)
            is_var = is_var && strcmp(v->key, fixed[i]) != 0;
        if (is_var && request.n_vars < 16)
            vars[request.n_vars++] = (hn_template_var){ v->key, v, NULL };
    }
    hn_str out = hn_str_on(&heap);
    agrees(want, hn_chat_render(chat, &request, &out, NULL, NULL), &out);
    hn_str_free(&out);
}

static hn_chat_format *open_chat(const char *folder, const char *name)
{
    static const char *const tokens[][2] = { { "bos_token", "<s>" },
                                             { "eos_token", "</s>" },
                                             { "unk_token", "<unk>" },
                                             { "pad_token", "<pad>" } };
    char path[1024];
    void *data = NULL;
    size_t bytes = 0;
    hn_chat_format *chat = NULL;
    snprintf(path, sizeof path, "%s/real/%s.jinja", folder, name);
    if (!CHECK_OK(hn_file_read(&heap, path, 1 << 22, &data, &bytes)))
        return NULL;
    CHECK_OK(hn_chat_format_new(&heap, name, &chat));
    CHECK_OK(hn_chat_format_add(chat, "default", data, bytes));
    hn_free(&heap, data);
    for (int i = 0; i < 4; i++)
        CHECK_OK(
            hn_chat_format_set_token(chat, tokens[i][0], tokens[i][1], strlen(tokens[i][1])));
    return chat;
}

static void real_templates(const char *folder)
{
    hn_json_text *text = read_json(folder, "chats.json");
    if (!text)
        return;
    const hn_json *chats = hn_json_get(hn_json_root(text), "chats");
    for (const hn_json *t = hn_json_get(hn_json_root(text), "results")->as.children.first; t;
         t = t->next) {
        hn_chat_format *chat = open_chat(folder, t->key);
        for (const hn_json *want = t->as.children.first; chat && want; want = want->next) {
            char group[200];
            snprintf(group, sizeof group, "%s on %s", t->key, want->key);
            check_group(group);
            render_chat(chat, hn_json_get(chats, want->key), want);
        }
        hn_chat_format_free(chat);
    }
    check_group(NULL);
    hn_json_free(text);
}

/* The spans of generation blocks are compared too where the reference has them. */
static void render_alone(const char *source, size_t bytes, const hn_json *variables,
                         const hn_json *want)
{
    hn_template_var vars[32];
    hn_template_input input = { .vars = vars, .options.clock = &clock_at };
    for (const hn_json *v = variables->as.children.first; v && input.n_vars < 32; v = v->next)
        vars[input.n_vars++] = (hn_template_var){ v->key, v, NULL };
    hn_template *t = NULL;
    hn_str out = hn_str_on(&heap);
    hn_template_spans spans = { 0 };
    const hn_json *places = hn_json_get(want, "spans");
    hn_status status = hn_template_parse(&heap, "t", source, bytes, &t);
    if (status == HN_OK)
        status = hn_template_render(t, &input, &out, places ? &spans : NULL, NULL);
    if (!agrees(want, status, &out))
        CHECK_THAT(false, "the template is: %s", source);
    if (places && CHECK_INT((int64_t)places->as.children.n, 2 * (int64_t)spans.n))
        for (size_t i = 0; i < spans.n; i++) {
            CHECK_INT(hn_json_at(places, 2 * i)->as.integer, (int64_t)spans.at[i].begin);
            CHECK_INT(hn_json_at(places, 2 * i + 1)->as.integer, (int64_t)spans.at[i].end);
        }
    hn_free(&heap, spans.at);
    hn_str_free(&out);
    hn_template_free(t);
}

static void own_templates(const char *folder)
{
    hn_json_text *text = read_json(folder, "own.json");
    if (!text)
        return;
    const hn_json *root = hn_json_root(text);
    for (const hn_json *want = hn_json_get(root, "results")->as.children.first; want;
         want = want->next) {
        char path[1024];
        void *data = NULL;
        size_t bytes = 0;
        snprintf(path, sizeof path, "%s/own/%s.jinja", folder, want->key);
        check_group(want->key);
        if (CHECK_OK(hn_file_read(&heap, path, 1 << 22, &data, &bytes)))
            render_alone(data, bytes, hn_json_get(root, "variables"), want);
        hn_free(&heap, data);
    }
    check_group(NULL);
    hn_json_free(text);
}

static void random_templates(const char *folder)
{
    hn_json_text *text = read_json(folder, "random.json");
    if (!text)
        return;
    const hn_json *root = hn_json_root(text);
    for (const hn_json *c = hn_json_get(root, "cases")->as.children.first; c; c = c->next) {
        const hn_json *source = hn_json_get(c, "t");
        render_alone(source->as.string.text, source->as.string.bytes,
                     hn_json_get(root, "variables"), c);
    }
    hn_json_free(text);
}

int main(int argc, char **argv)
{
    const char *folder = HN_SOURCE_DIR "/tests/differential/templates",
               *more = getenv("HN_TEMPLATES");
    check_open(argc, argv);
    hn_heap_init(&heap, NULL);
    real_templates(folder);
    own_templates(folder);
    random_templates(folder);
    if (more)
        real_templates(more);
    else
        check_skip("templates of other licences", "HN_TEMPLATES names no folder");
    CHECK_INT(0, atomic_load(&heap.live_blocks));
    return check_close();
}
