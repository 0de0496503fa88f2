/* hone render: a conversation as the text that a model is given, by its chat template. */
#include "cli/command.h"
#include "cli/json_name.h"
#include "cli/machine_options.h"
#include "cli/template_options.h"
#include "hone/chat.h"

#include <stdio.h>

typedef struct render_args {
    const char *tools, *documents;
    hn_template_args template;
    bool no_generation_prompt, spans, origins;
    int64_t clock;
    hn_list set;
} render_args;

static const hn_option options[] = {
    HN_TEXT(render_args, tools, "tools", "T.json", "functions that the model may call"),
    HN_TEXT(render_args, documents, "documents", "D.json", "documents to answer from"),
    HN_FLAG(render_args, no_generation_prompt, "no-generation-prompt",
            "end after the last message"),
    HN_LIST(render_args, set, "set", "KEY=JSON", "a variable, as enable_thinking=false"),
    HN_TEMPLATE_OPTIONS(render_args, template, "this template", ""),
    HN_INT(render_args, clock, "clock", "SECONDS", 1, INT64_C(253402300799), "what strftime_now tells, since 1970, as UTC (default: now, local time)"),
    HN_FLAG(render_args, spans, "spans", "print the bytes of generation blocks, not the text"),
    HN_FLAG(render_args, origins, "origins", "print the bytes that are the template's own words, not the text"),
    HN_OPTION_END,
};

static const hn_option_rule rules[] = {
    { "spans", HN_NOT_WITH, "origins", NULL },
    { "template", HN_NOT_WITH, "template-name", NULL },
    { NULL, 0, NULL, NULL },
};

static hn_status print(const render_args *args, hn_lm_template *template, const char *messages, FILE *out)
{
    char rooms[3][HN_JSON_NAME];
    const hn_lm_rendered *rendered;
    const hn_lm_render_options o = {
        .size = sizeof o, .tools = hn_json_name(args->tools, rooms[0]),
        .documents = hn_json_name(args->documents, rooms[1]), .variables = args->set.at, .n_variables = args->set.n,
        .no_generation_prompt = args->no_generation_prompt, .clock = args->clock,
    };
    HN_TRY(hn_lm_template_render(template, hn_json_name(messages, rooms[2]), &o, &rendered));
    for (size_t i = 0; args->spans && i < rendered->n_generated; i++)
        fprintf(out, "%zu %zu\n", rendered->generated[i].begin, rendered->generated[i].end);
    for (size_t i = 0; args->origins && i < rendered->n_own; i++)
        fprintf(out, "%zu %zu\n", rendered->own[i].begin, rendered->own[i].end);
    if (!args->spans && !args->origins)
        fwrite(rendered->text, 1, rendered->bytes, out);
    return HN_OK;
}

static hn_status run(const void *parsed, int n_operands, char **operands, FILE *out)
{
    (void)n_operands;
    const render_args *args = parsed;
    hn_engine *engine;
    hn_lm_template *template;
    HN_TRY(hn_machine_engine(&(hn_machine_args){ .threads = 1 }, &engine));
    hn_status status =
        hn_lm_template_open(&template, engine, operands[0], args->template.file, args->template.name);
    if (status == HN_OK) {
        status = print(args, template, operands[1], out);
        hn_lm_template_free(template);
    }
    hn_machine_engine_free(engine);
    return status;
}

const hn_command hn_cmd_render = {
    .name = "render",
    .operands = "MODEL MESSAGES.json",
    .summary = "write a conversation as the model's chat template does",
    .details =
        "MODEL is a GGUF file or a Hugging Face directory. MESSAGES.json holds an array of\n"
        "messages, or an object with `messages` and perhaps `tools`.\n",
    .example = "render m.gguf messages.json",
    .options = options,
    .rules = rules,
    .args_size = sizeof(render_args),
    .min_operands = 2,
    .max_operands = 2,
    .run = run,
};
