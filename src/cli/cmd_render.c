/* hone render: a conversation as the text that a model is given, by its chat template. */
#include "base/file.h"
#include "cli/command.h"
#include "io/gguf.h"
#include "io/hf_dir.h"
#include "text/chat.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

enum { MOST_BYTES = 1 << 26 };

typedef struct render_args {
    const char *tools, *documents, *template, *name;
    bool no_generation_prompt, spans;
    hn_list set;
} render_args;

static const hn_option options[] = {
    HN_TEXT(render_args, tools, "tools", "T.json", "functions that the model may call"),
    HN_TEXT(render_args, documents, "documents", "D.json", "documents to answer from"),
    HN_FLAG(render_args, no_generation_prompt, "no-generation-prompt",
            "end after the last message"),
    HN_LIST(render_args, set, "set", "KEY=JSON", "a variable, as enable_thinking=false"),
    HN_TEXT(render_args, template, "template", "FILE", "this template instead of the model's"),
    HN_TEXT(render_args, name, "name", "NAME", "the model's template of this name"),
    HN_FLAG(render_args, spans, "spans", "print the bytes of generation blocks, not the text"),
    HN_OPTION_END,
};

enum { MOST_TEXTS = HN_MAX_LIST + 4 };

/* What was read, and lives until the end of the command. */
typedef struct session {
    hn_heap *heap;
    hn_chat_format *chat;
    hn_json_text *texts[MOST_TEXTS];
    int n_texts;
    hn_template_var vars[HN_MAX_LIST];
    char *names[HN_MAX_LIST];
} session;

static hn_status read_json(session *s, const char *name, const char *text, size_t bytes,
                           const hn_json **out)
{
    HN_TRY(hn_json_read(s->heap, name, text, bytes, &s->texts[s->n_texts]));
    *out = hn_json_root(s->texts[s->n_texts++]);
    return HN_OK;
}

static hn_status read_json_file(session *s, const char *path, const hn_json **out)
{
    void *data = NULL;
    size_t bytes = 0;
    *out = NULL;
    if (!path)
        return HN_OK;
    HN_TRY(hn_file_read(s->heap, path, MOST_BYTES, &data, &bytes));
    const hn_status status = read_json(s, path, data, bytes, out);
    hn_free(s->heap, data);
    return status;
}

static hn_status add_file(session *s, const hn_hf_dir *dir, const char *file, const char *name)
{
    void *data = NULL;
    size_t bytes = 0;
    HN_TRY(hn_hf_dir_read(dir, file, MOST_BYTES, &data, &bytes));
    if (!data)
        return HN_OK;
    const hn_status status = hn_chat_format_add(s->chat, name, data, bytes);
    hn_free(s->heap, data);
    return status;
}

/* additional_chat_templates/NAME.jinja */
static hn_status add_additional(session *s, const hn_hf_dir *dir, const char *path)
{
    char folder[2048], file[512], name[256];
    snprintf(folder, sizeof folder, "%s/additional_chat_templates", path);
    DIR *open = opendir(folder);
    hn_status status = HN_OK;
    for (const struct dirent *entry; open && status == HN_OK && (entry = readdir(open));) {
        const size_t n = strlen(entry->d_name);
        if (n < 7 || n >= sizeof name || strcmp(entry->d_name + n - 6, ".jinja"))
            continue;
        snprintf(name, sizeof name, "%.*s", (int)(n - 6), entry->d_name);
        snprintf(file, sizeof file, "additional_chat_templates/%s", entry->d_name);
        status = add_file(s, dir, file, name);
    }
    if (open)
        closedir(open);
    return status;
}

static hn_status add_processor(session *s, const hn_hf_dir *dir)
{
    void *data = NULL;
    size_t bytes = 0;
    const hn_json *root = NULL;
    HN_TRY(hn_hf_dir_read(dir, "chat_template.json", MOST_BYTES, &data, &bytes));
    if (!data)
        return HN_OK;
    hn_status status = read_json(s, "chat_template.json", data, bytes, &root);
    hn_free(s->heap, data);
    return status == HN_OK ? hn_chat_format_add_json(s->chat, root) : status;
}

static hn_status read_dir(session *s, const char *path)
{
    hn_hf_dir *dir = NULL;
    HN_TRY(hn_hf_dir_open(s->heap, path, 0, &dir));
    hn_status status = add_file(s, dir, "chat_template.jinja", "default");
    if (status == HN_OK)
        status = add_additional(s, dir, path);
    if (status == HN_OK && dir->tokenizer_config)
        status = hn_chat_format_add_json(s->chat, hn_json_root(dir->tokenizer_config));
    if (status == HN_OK && dir->special_tokens)
        status = hn_chat_format_add_json(s->chat, hn_json_root(dir->special_tokens));
    if (status == HN_OK)
        status = add_processor(s, dir);
    hn_hf_dir_close(dir);
    return status;
}

static hn_status read_model(session *s, const char *path)
{
    hn_gguf *gguf = NULL;
    if (hn_is_dir(path))
        return read_dir(s, path);
    HN_TRY(hn_gguf_open(s->heap, path, &gguf));
    const hn_status status = hn_chat_format_add_meta(s->chat, hn_gguf_meta(gguf));
    hn_gguf_close(gguf);
    return status;
}

static hn_status read_set(session *s, const hn_list *set)
{
    for (int i = 0; i < set->n; i++) {
        const char *equals = strchr(set->at[i], '=');
        HN_REQUIRE(equals && equals > set->at[i], HN_ERR_ARGUMENT,
                   "--set %s: expected KEY=JSON", set->at[i]);
        const size_t n = (size_t)(equals - set->at[i]);
        s->names[i] = hn_alloc(s->heap, HN_TAG_TEXT, n + 1);
        if (!s->names[i])
            return HN_ERR_MEMORY;
        memcpy(s->names[i], set->at[i], n);
        s->vars[i].name = s->names[i];
        HN_TRY(read_json(s, set->at[i], equals + 1, strlen(equals + 1), &s->vars[i].json));
    }
    return HN_OK;
}

static hn_status read_template(session *s, const char *path)
{
    void *data = NULL;
    size_t bytes = 0;
    HN_TRY(hn_file_read(s->heap, path, MOST_BYTES, &data, &bytes));
    const hn_status status = hn_chat_format_add(s->chat, path, data, bytes);
    hn_free(s->heap, data);
    return status;
}

static hn_status render(session *s, const render_args *args, char **operands, FILE *out)
{
    hn_chat_request request = { .no_generation_prompt = args->no_generation_prompt,
                                .template_name = args->template ? args->template : args->name,
                                .vars = s->vars,
                                .n_vars = (size_t)args->set.n };
    HN_TRY(hn_chat_format_new(s->heap, operands[0], &s->chat));
    HN_TRY(read_model(s, operands[0]));
    if (args->template)
        HN_TRY(read_template(s, args->template));
    HN_TRY(read_json_file(s, operands[1], &request.messages));
    HN_TRY(read_json_file(s, args->tools, &request.tools));
    HN_TRY(read_json_file(s, args->documents, &request.documents));
    HN_TRY(read_set(s, &args->set));
    hn_str text = hn_str_on(s->heap);
    hn_template_spans spans = { 0 };
    const hn_status status =
        hn_chat_render(s->chat, &request, &text, args->spans ? &spans : NULL);
    for (size_t i = 0; status == HN_OK && i < spans.n; i++)
        fprintf(out, "%zu %zu\n", spans.at[i].begin, spans.at[i].end);
    if (status == HN_OK && !args->spans)
        fwrite(text.text, 1, text.length, out);
    hn_free(s->heap, spans.at);
    hn_str_free(&text);
    return status;
}

static hn_status run(const void *parsed, int n_operands, char **operands, FILE *out)
{
    (void)n_operands;
    hn_heap heap;
    hn_heap_init(&heap, NULL);
    session s = { .heap = &heap };
    const hn_status status = render(&s, parsed, operands, out);
    hn_chat_format_free(s.chat);
    for (int i = 0; i < s.n_texts; i++)
        hn_json_free(s.texts[i]);
    for (int i = 0; i < HN_MAX_LIST; i++)
        hn_free(&heap, s.names[i]);
    return status;
}

const hn_command hn_cmd_render = {
    .name = "render",
    .operands = "MODEL MESSAGES.json",
    .summary = "write a conversation as the model's chat template does",
    .details =
        "MODEL is a GGUF file or a Hugging Face directory. MESSAGES.json holds an array of\n"
        "messages, or an object with `messages` and perhaps `tools`.\n",
    .options = options,
    .args_size = sizeof(render_args),
    .min_operands = 2,
    .max_operands = 2,
    .run = run,
};
