/* hone render: a conversation as the text that a model is given, by its chat template. */
#include "cli/command.h"
#include "cli/template_options.h"
#include "models/open_chat.h"

#include <stdio.h>

typedef struct render_args {
    const char *tools, *documents;
    hn_template_choice template;
    bool no_generation_prompt, spans;
    hn_list set;
} render_args;

static const hn_option options[] = {
    HN_TEXT(render_args, tools, "tools", "T.json", "functions that the model may call"),
    HN_TEXT(render_args, documents, "documents", "D.json", "documents to answer from"),
    HN_FLAG(render_args, no_generation_prompt, "no-generation-prompt",
            "end after the last message"),
    HN_LIST(render_args, set, "set", "KEY=JSON", "a variable, as enable_thinking=false"),
    HN_TEMPLATE_OPTIONS(render_args, template, "this template", ""),
    HN_FLAG(render_args, spans, "spans", "print the bytes of generation blocks, not the text"),
    HN_OPTION_END,
};

static hn_status render(hn_chat_input *in, const render_args *args, char **operands, FILE *out)
{
    hn_chat_request request = { .no_generation_prompt = args->no_generation_prompt,
                                .vars = in->vars,
                                .n_vars = (size_t)args->set.n };
    HN_TRY(hn_chat_input_open(in, operands[0]));
    HN_TRY(hn_chat_input_choose(in, &args->template, &request.template_name));
    HN_TRY(hn_chat_input_json(in, operands[1], &request.messages));
    HN_TRY(hn_chat_input_json(in, args->tools, &request.tools));
    HN_TRY(hn_chat_input_json(in, args->documents, &request.documents));
    HN_TRY(hn_chat_input_set(in, args->set.at, args->set.n));
    hn_str text = hn_str_on(in->heap);
    hn_template_spans spans = { 0 };
    const hn_status status =
        hn_chat_render(in->chat, &request, &text, args->spans ? &spans : NULL);
    for (size_t i = 0; status == HN_OK && i < spans.n; i++)
        fprintf(out, "%zu %zu\n", spans.at[i].begin, spans.at[i].end);
    if (status == HN_OK && !args->spans)
        fwrite(text.text, 1, text.length, out);
    hn_free(in->heap, spans.at);
    hn_str_free(&text);
    return status;
}

static hn_status run(const void *parsed, int n_operands, char **operands, FILE *out)
{
    (void)n_operands;
    hn_heap heap;
    hn_heap_init(&heap, NULL);
    hn_chat_input in = { .heap = &heap };
    const hn_status status = render(&in, parsed, operands, out);
    hn_chat_input_close(&in);
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
    .args_size = sizeof(render_args),
    .min_operands = 2,
    .max_operands = 2,
    .run = run,
};
